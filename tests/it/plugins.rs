//! Plugins: what they bring is read by the loaders of the user's own files, at one version, once it is trusted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// A repository outside of the project with a plugin of every kind.
fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn whole_plugin(place: &Workplace) -> PathBuf {
    let folder = place.user_home().join("tools");
    let json = |value: Value| value.to_string();
    write(
        &folder,
        ".claude-plugin/plugin.json",
        json(json!({
            "name": "tools", "description": "Helps", "version": "1.0.0", "commands": ["./commands", "./more/about.md"],
            "mcpServers": {"inline": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/server.js"]}},
            "lspServers": {"odd": {"command": "oddls", "extensionToLanguage": {".odd": "odd"}, "maxRestarts": 1}},
            "skills": "./gone", "userConfig": {"token": {"type": "string"}}, "experimental": {"themes": "./themes"},
        })),
    );
    write(
        &folder,
        "commands/fix.md",
        "---\ndescription: Fixes\n---\nFix $1 with ${CLAUDE_PLUGIN_ROOT}/lib.\n",
    );
    write(&folder, "more/about.md", "Tell about it.\n");
    write(&folder, "skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nRead it.\n");
    write(&folder, "agents/helper.md", "---\nname: helper\ndescription: Helps out\n---\nHelp.\n");
    // Without the key around it, as some plugins have it.
    let hook = "echo $CLAUDE_PLUGIN_ROOT ${CLAUDE_PLUGIN_ROOT} > seen.txt";
    write(
        &folder,
        "hooks/hooks.json",
        json(json!({
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": hook}]}],
        })),
    );
    write(&folder, ".mcp.json", json(json!({"plain": {"type": "http", "url": "http://127.0.0.1:9/mcp"}})));
    std::os::unix::fs::symlink("/etc/hostname", folder.join("commands/out.md")).unwrap();
    commit(place, &folder, "first");
    folder
}

fn commit(place: &Workplace, folder: &Path, message: &str) {
    let steps: [&[&str]; 3] = [
        &["init", "-q", "-b", "main"],
        &["add", "-A"],
        &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", message],
    ];
    for step in steps {
        let mut git = std::process::Command::new("git");
        let done = git.arg("-C").arg(folder).args(step).env("HOME", place.user_home()).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
    }
}

fn run(place: &Workplace, args: &[&str]) -> Output {
    place.command(args).output().unwrap()
}

/// The text of the message that `prompt` became.
fn sent(place: &Workplace, prompt: &str) -> String {
    let server = FakeServer::start(vec![answer().text("Done.").into()]);
    let out = place.exec(&server.base_url(), &[prompt]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{}", stderr(&out));
    requests[0].body["messages"].to_string()
}

#[test]
fn a_plugin_is_active_at_one_commit_once_it_is_trusted() {
    let place = Workplace::new();
    let folder = whole_plugin(&place);
    let url = format!("file://{}", folder.display());
    let added = stdout(&run(&place, &["plugin", "add", &url]));
    assert!(
        added.contains("commands: commands/fix.md, commands/out.md, more/about.md")
            && added.contains("hooks: hooks/hooks.json"),
        "{added}"
    );
    let unused =
        "can't find it: userConfig, experimental.themes, skills ./gone, lspServers.odd.maxRestarts\n";
    assert!(added.contains(unused), "{added}");
    assert!(added.contains("It is not active"), "{added}");
    let inactive = place.exec("http://127.0.0.1:9/v1", &["/tools:fix a"]);
    assert_ne!(inactive.status.code(), Some(0));
    assert!(stderr(&inactive).contains("the plugin tools isn't trusted"), "{}", stderr(&inactive));
    assert!(!place.project().join("seen.txt").exists());
    assert!(!stdout(&run(&place, &["skills"])).contains("tools:pdf"));

    let added = stdout(&run(&place, &["plugin", "add", &url, "--trust"]));
    assert!(added.contains("It is active from the next session on."), "{added}");
    let root = place.home().join("state/plugins/tools").canonicalize().unwrap();
    let told = sent(&place, "/tools:fix a.py");
    assert!(told.contains(&format!("Fix a.py with {}/lib.", root.display())), "{told}");
    assert_eq!(place.text("seen.txt"), format!("{0} {0}\n", root.display()));
    // The plugin's name may be left out.
    assert!(sent(&place, "/about").contains("Tell about it."));
    assert!(stdout(&run(&place, &["skills"])).contains("tools:pdf"));
    let servers = stdout(&run(&place, &["mcp", "list"]));
    assert!(
        servers.contains("plain") && servers.contains(&format!("node {}/server.js", root.display())),
        "{servers}"
    );
    assert!(
        !root.join("commands/out.md").exists()
            || fs::read_to_string(root.join("commands/out.md")).unwrap() == "/etc/hostname"
    );

    place.file("a.odd", "x\n");
    let doctor = place.command(&["doctor"]).env_remove("MYCODE_LANGUAGE_SERVERS").output().unwrap();
    assert!(stdout(&doctor).contains("such as oddls"), "{}", stdout(&doctor));

    // The repository goes on; what was added stays until it is added again, and then needs trust again.
    write(&folder, "commands/fix.md", "Break $1.\n");
    commit(&place, &folder, "second");
    assert!(sent(&place, "/tools:fix a.py").contains("Fix a.py"));
    let again = stdout(&run(&place, &["plugin", "add", &url]));
    assert!(again.contains("-Fix $1 with") && again.contains("+Break $1."), "{again}");
    assert!(stdout(&run(&place, &["plugin", "list"])).contains("not active: this version isn't trusted"));
    // Who changes its files changes nothing unseen.
    run(&place, &["plugin", "add", &url, "--trust"]);
    assert!(sent(&place, "/tools:fix a.py").contains("Break a.py"));
    fs::write(root.join("commands/fix.md"), "Steal.\n").unwrap();
    let doctor = stdout(&run(&place, &["doctor"]));
    assert!(doctor.contains("tools from file://") && doctor.contains("not active"), "{doctor}");

    assert_eq!(stdout(&run(&place, &["plugin", "remove", "tools"])), "Removed tools.\n");
    assert!(!root.exists());
    assert!(stdout(&run(&place, &["plugin", "list"])).starts_with("No plugins."));
    assert_eq!(run(&place, &["plugin", "remove", "tools"]).status.code(), Some(2));
}

#[test]
fn a_list_of_plugins_names_them_and_where_they_are() {
    let place = Workplace::new();
    let other = whole_plugin(&place);
    let folder = place.user_home().join("market");
    write(
        &folder,
        ".claude-plugin/marketplace.json",
        json!({
            "name": "ours", "owner": {"name": "o"}, "metadata": {"pluginRoot": "./plugins"},
            "plugins": [
                {"name": "docs", "source": "./", "strict": false, "skills": ["./skills/word"]},
                {"name": "below", "source": "one"},
                {"name": "far", "source": {"source": "url", "url": format!("file://{}", other.display())}},
                {"name": "out", "source": "../tools"},
                {"name": "pip", "source": {"source": "pip", "package": "x"}},
                {"name": "packed", "source": {"source": "npm", "package": "@a/packed", "version": "^1.0"}},
                {"name": "option", "source": {"source": "npm", "package": "--prefix=/"}},
            ],
        })
        .to_string(),
    );
    write(&folder, "skills/word/SKILL.md", "Write it.\n");
    write(&folder, "skills/excel/SKILL.md", "Count it.\n");
    write(&folder, "plugins/one/commands/go.md", "Go on.\n");
    let source = folder.display().to_string();
    let several = run(&place, &["plugin", "add", &source]);
    assert!(
        stderr(&several)
            .contains("add one of their names after the source: docs, below, far, out, pip, packed, option"),
        "{}",
        stderr(&several)
    );
    let add = |name: &str| run(&place, &["plugin", "add", &source, name, "--trust"]);
    assert!(stdout(&add("docs")).contains("skills: skills/word/SKILL.md\n"));
    assert!(stdout(&add("below")).contains("commands: commands/go.md\n"));
    assert!(sent(&place, "/below:go").contains("Go on."));
    let far = add("far");
    assert!(stdout(&far).contains("commands/fix.md"), "{}{}", stdout(&far), stderr(&far));
    let skills = stdout(&run(&place, &["skills"]));
    assert!(skills.contains("docs:word") && !skills.contains("excel"), "{skills}");
    let refused = [
        ("out", "has no folder"),
        ("pip", "kind 'pip'"),
        ("none", "lists no plugin 'none'"),
        ("option", "isn't an npm package"),
    ];
    for (name, why) in refused {
        let refused = add(name);
        assert!(stderr(&refused).contains(why) && !refused.status.success(), "{}", stderr(&refused));
    }
    // A package, from an npm that answers as the real one does.
    let npm = "#!/bin/sh\ncd \"$5\" && mkdir -p package/commands && echo Hello. > package/commands/hi.md && echo \"$6\" > package/spec.md\n\
               echo '{\"commands\": {\"named\": {\"content\": \"Named it.\", \"description\": \"By name\"}, \"hi\": {\"source\": \"./commands/hi.md\"}}}' > plugin.json\n\
               mkdir package/.claude-plugin && mv plugin.json package/.claude-plugin && tar -czf a-packed-1.2.0.tgz package\n\
               echo '[{\"version\": \"1.2.0\", \"filename\": \"@a/packed-1.2.0.tgz\"}]'\n";
    let bin = place.user_home().join("bin");
    write(&bin, "npm", npm);
    fs::set_permissions(bin.join("npm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = place.command(&["plugin", "add", &source, "packed", "--trust"]);
    let packed = command.env("PATH", path).output().unwrap();
    assert!(stdout(&packed).starts_with("Added packed 1.2.0 "), "{}{}", stdout(&packed), stderr(&packed));
    let root = place.home().join("state/plugins/packed");
    assert_eq!(fs::read_to_string(root.join("spec.md")).unwrap(), "@a/packed@^1.0\n");
    assert!(
        sent(&place, "/packed:named").contains("Named it.") && sent(&place, "/packed:hi").contains("Hello.")
    );

    // Nothing is left of what could not be added.
    let left = fs::read_dir(place.home().join("state/plugins")).unwrap();
    let left: Vec<String> = left.map(|one| one.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.starts_with(".new")), "{left:?}");
    for (source, why) in
        [("no such", "there is no folder"), (&*source, "several"), ("ext::sh -c id", "there is no folder")]
    {
        assert!(stderr(&run(&place, &["plugin", "add", source])).contains(why));
    }
    fs::create_dir(place.user_home().join("empty")).unwrap();
    let empty = run(&place, &["plugin", "add", &place.user_home().join("empty").display().to_string()]);
    assert!(stderr(&empty).contains("it has no skills"), "{}", stderr(&empty));
}

#[test]
fn one_changed_file_of_a_project_asks_for_that_file_only() {
    let place = Workplace::new();
    let hook = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo ran >> ran.txt"}]}]}});
    place.file(".claude/settings.json", hook.to_string());
    place.file(".claude/commands/fix.md", "Fix it well.\n").file(".claude/commands/plan.md", "Plan it.\n");
    run(&place, &["trust"]);
    place.file(".claude/commands/fix.md", "Fix it badly.\n");
    assert!(sent(&place, "/plan").contains("Plan it."));
    assert_eq!(place.text("ran.txt"), "ran\n");
    let out = place.exec("http://127.0.0.1:9/v1", &["/fix"]);
    let told = stderr(&out);
    assert!(told.contains(".claude/commands/fix.md, changed since you trusted it"), "{told}");
    assert!(!told.contains("plan.md"), "{told}");
    let trusted = stdout(&run(&place, &["trust"]));
    assert!(trusted.contains("-Fix it well.\n+Fix it badly.\n"), "{trusted}");
    assert!(sent(&place, "/fix").contains("Fix it badly."));
    place.file(".claude/settings.json", hook.to_string().replace("echo ran", "echo more"));
    let trusted = stdout(&run(&place, &["trust"]));
    assert!(trusted.contains("\n-            \"command\": \"echo ran >> ran.txt\"\n"), "{trusted}");
    run(&place, &["trust", "--revoke"]);
    assert!(stderr(&place.exec("http://127.0.0.1:9/v1", &["/fix"])).contains("hooks"));
}
