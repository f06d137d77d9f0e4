//! Describes servers and their catalogs for users.

use std::time::Instant;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::client::error::McpError;
use super::config::server::{Server, Transport};
use super::servers::Servers;
use base::path::on_one_line;
use base::process::programs;
use base::text::{one_line, plural};

const ABOUT_CHARS: usize = 70;

/// One server with its full catalog; starts the server.
pub async fn offered(servers: &Servers, server: &Server) -> Result<String, McpError> {
    let (mut out, catalog) = head(servers, server).await?;
    let of = &server.name;
    let tools = catalog.tools.iter().map(|tool| (tool.name.to_string(), tool.description.as_deref()));
    let prompts = catalog.prompts.iter();
    let prompts = prompts.map(|prompt| (format!("/{of}:{}", prompt.name), prompt.description.as_deref()));
    let resources = catalog.resources.iter();
    let resources = resources.map(|one| (format!("@{of}:{}", one.uri), Some(one.name.as_str())));
    for (name, about) in tools.chain(prompts).chain(resources) {
        let row = format!("    {}  {}", on_one_line(&name), one_line(about.unwrap_or_default(), ABOUT_CHARS));
        out.push_str(row.trim_end());
        out.push('\n');
    }
    Ok(out)
}

/// Tells of all servers for the chat, of each as soon as it is known; starts them.
pub async fn all(servers: &Servers, tell: impl Fn(String)) {
    let all = servers.all();
    if all.is_empty() {
        tell(
            "No MCP servers. `mycode mcp add` adds one, `mycode mcp import` imports those of other agents."
                .to_owned(),
        );
    }
    let starting = servers.starting();
    if !starting.is_empty() {
        tell(format!("Starting {} …", starting.join(", ")));
    }
    let each = all.into_iter().map(async |server| match head(servers, &server).await {
        Ok((head, catalog)) => {
            let prompts = catalog.prompts.iter().map(|prompt| format!("/{}:{}", server.name, prompt.name));
            let prompts: Vec<String> = prompts.collect();
            let gap = if prompts.is_empty() { "" } else { "\n  prompts: " };
            tell(format!("{}{gap}{}", head.trim_end(), prompts.join(", ")));
        }
        Err(error) => {
            let hint = hint(&server, &error);
            let (first, rest) = hint.split_at(1);
            tell(format!("{}: {error}. {}{rest}.", server.name, first.to_uppercase()));
        }
    });
    join_all(each).await;
}

async fn head(servers: &Servers, server: &Server) -> Result<(String, std::sync::Arc<Catalog>), McpError> {
    let begun = Instant::now();
    let catalog = servers.catalog(&server.name).await?;
    let about = servers.with(&server.name, |connection| async move { Ok(connection.about()) }).await?;
    let counts = [
        (catalog.tools.len(), "tool"),
        (catalog.prompts.len(), "prompt"),
        (catalog.resources.len(), "resource"),
    ];
    let some: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(*count, noun)).collect();
    let some = if some.is_empty() { "nothing".to_owned() } else { some.join(", ") };
    let seconds = begun.elapsed().as_secs_f64();
    Ok((format!("{}: {about}; {some}, in {seconds:.1} s\n", server.name), catalog))
}

pub fn state(server: &Server) -> &'static str {
    match &server.transport {
        _ if !server.enabled => "disabled",
        Transport::Http { .. } => "http",
        Transport::Host => "of the program that started mycode",
        Transport::Stdio { profile: None, .. } => "not in the sandbox",
        Transport::Stdio { profile: Some(profile), .. } if profile.network => "in the sandbox, with network",
        Transport::Stdio { .. } => "in the sandbox, without network",
    }
}

/// Like `codex mcp list --json` (0.171.0), but without the values of variables and headers, which may be keys.
pub fn as_codex(server: &Server, signed_in: bool) -> Value {
    let names = |pairs: &[(String, String)]| {
        let hidden = pairs.iter().map(|(name, _)| (name.clone(), "*****".into()));
        (!pairs.is_empty()).then(|| Value::Object(hidden.collect()))
    };
    let (transport, auth) = match &server.transport {
        Transport::Stdio { command, args, env, cwd, .. } => {
            let env = names(env);
            let shown = json!({"type": "stdio", "command": command, "args": args, "env": env, "env_vars": [], "cwd": cwd});
            (shown, "unsupported")
        }
        Transport::Http { url, headers, oauth } => {
            let has_key = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            let auth = match oauth {
                _ if has_key => "bearer_token",
                _ if signed_in => "o_auth",
                None => "unsupported",
                Some(_) => "not_logged_in",
            };
            let shown = json!({"type": "streamable_http", "url": url, "bearer_token_env_var": null,
                "http_headers": names(headers), "env_http_headers": null});
            (shown, auth)
        }
        Transport::Host => (json!({"type": "sdk"}), "unsupported"),
    };
    json!({
        "name": server.name, "enabled": server.enabled, "disabled_reason": null, "transport": transport,
        "startup_timeout_sec": server.start_timeout.as_secs_f64(),
        "tool_timeout_sec": server.call_timeout.as_secs_f64(), "auth_status": auth,
    })
}

pub fn hint(server: &Server, error: &McpError) -> String {
    match (error, &server.transport) {
        (McpError::Start(why), Transport::Stdio { command, .. })
            if why.contains("could not be started") && !programs::is_installed(command) =>
        {
            format!("install {command}, or correct the server's \"command\"")
        }
        (McpError::SignIn { .. }, _) => format!("`mycode mcp login {}` signs in", server.name),
        (McpError::Start(_) | McpError::Lost(_) | McpError::Timeout(..), Transport::Stdio { profile, .. }) => {
            match profile {
                Some(profile) if !profile.network => {
                    "it runs without network; if it needs it, set \"sandbox\": {\"network\": true}".to_owned()
                }
                Some(_) => "it runs in the sandbox, where keys and settings in your home folder are hidden: give it what it \
                            needs in \"env\", open folders with \"sandbox\": {\"folders\": […]}, or set \"sandbox\": false"
                    .to_owned(),
                None => "start its command by hand to see why".to_owned(),
            }
        }
        (McpError::Start(_) | McpError::Lost(_) | McpError::Timeout(..), Transport::Http { .. } | Transport::Host) => {
            "check the address and the headers; only streamable HTTP is supported, not the older SSE".to_owned()
        }
        (McpError::Hung(limit, _), _) => {
            format!("where its tools take longer, set \"timeout\" above {} (milliseconds)", limit.as_millis())
        }
        (McpError::Invalid, _) => "a newer version of the server may work".to_owned(),
        (McpError::Off, _) => format!("/mcp on {} turns it on", server.name),
        (McpError::Refused(_) | McpError::Cancelled, _) => "this message is from the server".to_owned(),
    }
}
