//! Where files are, and how commands are confined.

use super::findings::Findings;
use base::config::paths;
use base::process::quiet;
use guard::sandbox::probe as sandbox;

pub fn check(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    findings.line("workspace", opened.workspace.display().to_string());
    let exists = |path: &std::path::Path| if path.exists() { "" } else { " (not found)" };
    let user = opened.paths.user_config();
    findings.line("user config", format!("{}{}", user.display(), exists(&user)));
    let project = paths::project_config(&opened.workspace);
    findings.line("project config", format!("{}{}", project.display(), exists(&project)));
    findings.line("state", opened.project_state.display().to_string());
    findings.line(
        "permission",
        format!("{} in the chat, auto in exec unless set", opened.loaded.work.permission.into_str()),
    );
}

/// The variables that keep the model's commands from asking and paging.
pub fn check_environment(findings: &mut Findings<'_>) {
    let added = quiet::for_command(|name| std::env::var_os(name));
    let names = quiet::ALWAYS.into_iter().chain(added).map(|(name, value)| format!("{name}={value}"));
    findings.line("environment", names.collect::<Vec<_>>().join(" "));
}

pub fn check_sandbox(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    if opened.loaded.work.sandbox {
        let held = sandbox::status();
        for layer in &held.rows {
            let state = if layer.available { "available" } else { "missing" };
            findings.line(&format!("  {}", layer.name), format!("{state}: {}", layer.detail));
        }
        let whole = match (held.files, held.network) {
            (true, true) => {
                "read-only and auto are enforced by the kernel (`.env` files in the workspace stay readable)"
            }
            (true, false) => {
                "file access is enforced by the kernel, network access is not: auto asks before unknown commands"
            }
            _ => {
                "unavailable: auto asks before commands that may leave the workspace; exec refuses read-only and auto"
            }
        };
        findings.line("sandbox", whole);
        for limit in held.limits() {
            findings.line("", limit);
        }
    } else {
        findings.line("sandbox", "off (sandbox = false)");
    }
}
