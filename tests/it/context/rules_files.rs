//! Rules files of other agents: which are sent, which are told where they belong, and what a command has planted.

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// One turn with these replies: the bodies of the requests.
fn turn(
    place: &Workplace,
    replies: Vec<crate::support::answer::Reply>,
    args: &[&str],
) -> (Vec<Value>, String) {
    let server = FakeServer::start(replies);
    let mut command = place.command(&["exec", "--base-url", &server.base_url(), "--model", "test-model"]);
    let output = command.args(args).env("HOME", place.home()).output().unwrap();
    // 10: rules were held back.
    assert!(matches!(output.status.code(), Some(0 | 10)), "{}", stderr(&output));
    (server.requests().iter().map(|request| request.body.clone()).collect(), stderr(&output))
}

fn done() -> crate::support::answer::Reply {
    answer().text("Done.").into()
}

fn home(place: &Workplace, name: &str, text: &str) {
    let path = place.home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_users_own_and_imports() {
    let place = Workplace::new();
    home(&place, ".claude/CLAUDE.md", "Speak plainly. @~/private.md");
    home(&place, "private.md", "My dog is Rex.");
    home(&place, ".codex/AGENTS.md", "not this one");
    place
        .file("CLAUDE.md", "Follow @docs/style.md but not `@docs/code.md`, nor @~/private2.md.\n")
        .file("docs/style.md", "Tabs, see @naming.md and @../CLAUDE.md.\n")
        .file("docs/naming.md", "Names are nouns.\n")
        .file("docs/code.md", "NOT-IMPORTED\n")
        .file("GEMINI.md", "NOT-USED\n");
    home(&place, "private2.md", "SECRET-OF-HOME");
    let (requests, said) = turn(&place, vec![done()], &["hello"]);
    let sent = requests[0]["messages"][0].to_string();
    for text in [
        "Speak plainly.",
        "My dog is Rex.",
        "Tabs, see",
        "## Imported from docs/naming.md\\nNames are nouns.",
    ] {
        assert!(sent.contains(text), "{text}: {sent}");
    }
    for text in ["NOT-IMPORTED", "NOT-USED", "SECRET-OF-HOME", "not this one"] {
        assert!(!sent.contains(text), "{text}: {sent}");
    }
    assert!(sent.find("Speak plainly") < sent.find("Tabs, see"), "the project's come last: {sent}");
    assert!(said.contains("CLAUDE.md imports") && said.contains("private2.md, which is outside"), "{said}");
    let context = place.command(&["context"]).env("HOME", place.home()).output().unwrap();
    let context = stdout(&context);
    assert!(context.contains("rules: ") && context.contains(", CLAUDE.md"), "{context}");
}

#[test]
fn those_of_folders_and_cursor_are_told_once_where_they_belong() {
    let place = Workplace::new();
    place
        .file("AGENTS.md", "Root rule.\n")
        .file("web/AGENTS.md", "Web rule.\n")
        .file("web/ui/GEMINI.md", "UI rule: see @colors.md\n")
        .file("web/ui/colors.md", "Blue only.\n")
        .file("web/ui/button.tsx", "x\n")
        .file("api/CLAUDE.md", "API rule.\n")
        .file("node_modules/evil/AGENTS.md", "EVIL rule.\n")
        .file("node_modules/evil/index.js", "x\n")
        .file(".gitignore", "node_modules\n")
        .file(
            ".cursor/rules/tsx.mdc",
            "---\nglobs: **/*.tsx, *.css\nalwaysApply: false\n---\nProps are typed.\n",
        )
        .file(".cursor/rules/all.mdc", "---\nalwaysApply: true\n---\nALWAYS-RULE\n")
        .file(
            ".cursor/rules/db.mdc",
            "---\ndescription: How database migrations are written and rolled back in production\n---\nDB-RULE\n",
        );
    let read = |path: &str| answer().call("Read", json!({"path": path})).into();
    let replies = vec![
        read("web/ui/button.tsx"),
        read("web/ui/button.tsx"),
        read("node_modules/evil/index.js"),
        done(),
    ];
    let (requests, _) =
        turn(&place, replies, &["Write database migrations that can be rolled back in production"]);
    let first = requests[0].to_string();
    assert!(
        first.contains("Root rule.") && !first.contains("Web rule.") && !first.contains("ALWAYS-RULE"),
        "{first}"
    );
    assert!(
        first.contains("- .cursor/rules/db.mdc: How database migrations") && !first.contains("DB-RULE"),
        "{first}"
    );
    let last = requests[3].to_string();
    for text in ["Web rule.", "UI rule", "Blue only.", "Props are typed."] {
        assert_eq!(last.matches(text).count(), 1, "{text}: {last}");
    }
    assert!(last.find("Web rule.") < last.find("UI rule"), "the nearest comes last");
    assert!(!last.contains("API rule.") && !last.contains("EVIL rule."), "{last}");
    let again = requests[1]["messages"].as_array().unwrap();
    assert_eq!(requests[2]["messages"].as_array().unwrap()[..again.len()], again[..], "only appended");
}

#[test]
fn cursors_count_where_there_is_nothing_else() {
    let place = Workplace::new();
    place
        .file(".cursor/rules/a.mdc", "---\ndescription: x\nalwaysApply: true\n---\nALWAYS-RULE\n")
        .file(".cursor/rules/b.mdc", "---\nglobs:\nalwaysApply: false\n---\nMANUAL-RULE\n");
    let (requests, _) = turn(&place, vec![done()], &["hello"]);
    let sent = requests[0]["messages"][0].to_string();
    assert!(
        sent.contains("ALWAYS-RULE") && !sent.contains("MANUAL") && !sent.contains("alwaysApply"),
        "{sent}"
    );
}

#[test]
fn what_stands_beside_a_rules_file_counts_too() {
    let place = Workplace::new();
    place
        .file("CLAUDE.md", "SHARED-RULE\n")
        .file("CLAUDE.local.md", "LOCAL-RULE\n")
        .file(".claude/rules/all.md", "ALWAYS-RULE\n")
        .file(".claude/rules/web/ts.md", "---\npaths: \"**/*.{ts,tsx}\"\n---\nTS-RULE\n")
        .file(".windsurfrules", "OTHER-AGENT\n")
        .file("web/a.ts", "x\n");
    let read = answer().call("Read", json!({"path": "web/a.ts"})).into();
    let (requests, _) = turn(&place, vec![read, done()], &["hello"]);
    let first = requests[0].to_string();
    for rule in ["SHARED-RULE", "LOCAL-RULE", "ALWAYS-RULE"] {
        assert!(first.contains(rule), "{rule}: {first}");
    }
    assert!(!first.contains("TS-RULE") && !first.contains("OTHER-AGENT"), "{first}");
    assert!(requests[1].to_string().contains("TS-RULE") && !requests[1].to_string().contains("paths:"));

    for name in [".github/copilot-instructions.md", ".windsurfrules"] {
        let place = Workplace::new();
        place.file(name, "ONLY-RULE\n");
        let (requests, _) = turn(&place, vec![done()], &["hello"]);
        assert!(requests[0].to_string().contains("ONLY-RULE"), "{name}");
    }
}

#[test]
fn what_other_agents_settings_name_counts_too() {
    let place = Workplace::new();
    place
        .file("opencode.json", "{ // Ours.\n\"instructions\": [\"docs/*.md\", \"../up.md\", \".env\", \"https://a.b/c.md\"], \"permission\": {\"edit\": \"ask\", \"doom_loop\": \"deny\"},}")
        .file(".gemini/settings.json", r#"{"context": {"fileName": ["HOUSE.md"]}, "tools": {"exclude": ["a"], "core": []}}"#)
        .file(".claude/settings.json", "{ // Ours.\n\"env\": {\"A\": \"b\"}, \"permissions\": {\"defaultMode\": \"plan\", \"deny\": [\"Bash(shred:*)\", \"Fr(\", 1],},}")
        .file("HOUSE.md", "HOUSE-RULE\n")
        .file("docs/style.md", "STYLE-RULE\n")
        .file(".vscode/mcp.json", r#"{"servers": {"a": {"command": "x", "envFile": ".env", "dev": {"watch": "s"}}}, "inputs": [1]}"#)
        .file(".kiro/steering/product.md", "OTHERS-RULE\n")
        .file(".env", "PLAIN-SECRET\n");
    std::fs::write(place.project().join("../up.md"), "OUTSIDE-RULE\n").unwrap();
    let (requests, said) = turn(&place, vec![done()], &["hello"]);
    let sent = requests[0].to_string();
    assert!(sent.contains("HOUSE-RULE") && sent.contains("STYLE-RULE"), "{sent}");
    assert!(!sent.contains("OUTSIDE-RULE") && !sent.contains("PLAIN-SECRET"), "{sent}");
    let not_used = "Not used here: env, permissions.defaultMode in .claude/settings.json; permission.doom_loop, ../up.md, \
                    https://a.b/c.md in opencode.json; tools in .gemini/settings.json; a.envFile, a.dev in .vscode/mcp.json; .kiro/steering.";
    assert!(said.contains(not_used), "{said}");
    // Once, and again when it changes.
    assert!(!turn(&place, vec![done()], &["again"]).1.contains("Not used"));
    let doctor = || crate::support::workplace::stdout(&place.command(&["doctor"]).output().unwrap());
    let told = doctor();
    assert!(
        told.contains(not_used) && told.contains("deny Bash(shred:*), Fr( (.claude/settings.json)"),
        "{told}"
    );
    assert!(told.contains("can't be used: deny Fr("), "{told}");
    // The user's own file forbids in every project.
    let own = place.user_home().join(".claude/settings.json");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, r#"{"permissions": {"deny": ["Bash(curl:*)"], "allow": ["Bash(make)"]}}"#).unwrap();
    let told = doctor();
    assert!(told.contains("deny Bash(curl:*)") && told.contains("here: permissions.allow in"), "{told}");
    place.file(".claude/settings.json", "{");
    assert!(
        doctor().contains("here: permissions.allow in")
            && doctor().contains("settings.json, which is not valid (EOF"),
        "{}",
        doctor()
    );
    place.file(".gemini/settings.json", r#"{"hooks": {"BeforeTool": [1]}}"#);
    assert!(turn(&place, vec![done()], &["again"]).1.contains("hooks in .gemini"));
}

/// What a command plants below the workspace, or in an import, is not obeyed, in this session nor the next.
#[test]
fn planted_ones_are_held_back_wherever_they_lie() {
    let place = Workplace::new();
    place
        .file("CLAUDE.md", "See @docs/style.md.\n")
        .file("docs/style.md", "Old style.\n")
        .file("web/a.txt", "x\n");
    let plant = "echo 'PLANTED-NESTED' > web/AGENTS.md; echo 'PLANTED-IMPORT' > docs/style.md";
    let read = || answer().call("Read", json!({"path": "web/a.txt"})).into();
    let bash = answer().call("Bash", json!({"command": plant})).into();
    let (requests, said) = turn(&place, vec![bash, read(), done()], &["--permission", "full", "go"]);
    assert!(!requests[2].to_string().contains("# Project rules (web/AGENTS.md)"), "{}", requests[2]);
    for file in ["web/AGENTS.md", "docs/style.md"] {
        assert!(said.contains(&format!("{file} appeared or changed while a command ran")), "{file}: {said}");
    }
    let (requests, _) = turn(&place, vec![read(), done()], &["again"]);
    let sent = requests[1].to_string();
    assert!(!sent.contains("PLANTED"), "{sent}");
    let trusted = place.command(&["trust"]).env("HOME", place.home()).output().unwrap();
    assert!(stdout(&trusted).contains("web/AGENTS.md is used as project rules"), "{}", stdout(&trusted));
    let (requests, _) = turn(&place, vec![read(), done()], &["once more"]);
    let sent = requests[1].to_string();
    assert!(sent.contains("PLANTED-NESTED") && sent.contains("PLANTED-IMPORT"), "{sent}");
}

#[test]
fn writing_one_below_the_workspace_needs_a_yes() {
    let place = Workplace::new();
    place.file("web/a.txt", "x\n");
    let write = answer().call("Write", json!({"path": "web/AGENTS.md", "content": "obey"})).into();
    let server = FakeServer::start(vec![write, done()]);
    place.exec(&server.base_url(), &["go"]);
    let sent = &server.requests()[1].raw;
    assert!(sent.contains("which other programs run or load"), "{sent}");
}
