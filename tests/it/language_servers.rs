//! Language servers: what is new after an edit comes back with the result, and nothing a server does or leaves undone holds
//! anything up. The server here is this very test program, started by a script.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use base::config::language_servers::{LanguageServer, RowSetting, ServersSetting};
use guard::sandbox::launch;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::api::{Tool, ToolError};
use tools::find::symbols::Symbols;
use tools::lsp::connection;
use tools::lsp::servers::{LanguageServers, NoServer, ServersSetup};

use crate::support::tools::Bench;
use crate::support::tools::assert_ok;

/// What the server does, by the name in `FAKE_SERVER`.
mod fake {
    use super::*;

    fn send(message: &Value) {
        use std::io::Write as _;
        let mut out = std::io::stdout().lock();
        out.write_all(&connection::frame(message)).and_then(|()| out.flush()).unwrap_or_default();
    }

    /// An error for each `BAD`, a warning for each `ODD`, each in its line.
    fn findings(text: &str) -> Vec<Value> {
        let lines = text.lines().enumerate().filter_map(|(number, line)| {
            let severity = if line.contains("BAD") { 1 } else { 2 };
            let at = line.find("BAD").or_else(|| line.find("ODD"))?;
            let start = json!({"line": number, "character": line[..at].encode_utf16().count()});
            let range = json!({"start": start, "end": start});
            Some(json!({"range": range, "severity": severity, "message": format!("no {line}"), "code": "f1"}))
        });
        lines.collect()
    }

    fn word_places(uri: &Value, text: &str, word: &str) -> Vec<Value> {
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains(word));
        let place = |number: usize| json!({"line": number, "character": 0});
        lines.map(|(n, _)| json!({"uri": uri, "range": {"start": place(n), "end": place(n)}})).collect()
    }

    pub async fn run(mode: &str) {
        let mut input = tokio::io::BufReader::new(tokio::io::stdin());
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        while let Ok(Some(message)) = connection::read(&mut input).await {
            let params = &message["params"];
            let uri = &params["textDocument"]["uri"];
            let name = uri.as_str().unwrap_or("").to_owned();
            let answer =
                |result: Value| send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            match message["method"].as_str().unwrap_or("") {
                "initialize" if mode == "refuses" => {
                    send(&json!({"id": message["id"], "error": {"code": 1, "message": "not here"}}));
                }
                "initialize" => {
                    let pull =
                        if mode == "pull" { json!({"interFileDependencies": false}) } else { Value::Null };
                    answer(json!({"capabilities": {"textDocumentSync": 1, "diagnosticProvider": pull}}));
                }
                "initialized" => {
                    send(&json!({"id": "q", "method": "workspace/configuration", "params": {"items": [{}]}}));
                    send(&json!({"id": "e", "method": "workspace/applyEdit", "params": {}}));
                }
                "textDocument/didOpen" | "textDocument/didChange" => {
                    let changed = message["method"] == "textDocument/didChange";
                    let text = if changed { &params["contentChanges"][0] } else { &params["textDocument"] };
                    let text = text["text"].as_str().unwrap_or("").to_owned();
                    texts.insert(name.clone(), text.clone());
                    match mode {
                        "mute" | "pull" => continue,
                        "crash" if changed => std::process::exit(3),
                        "garbage" if changed => {
                            let noise = vec![b'x'; 1024 * 1024];
                            std::io::Write::write_all(&mut std::io::stdout().lock(), &noise)
                                .unwrap_or_default();
                            continue;
                        }
                        "slow" if changed => {
                            while !Path::new(&std::env::var("FAKE_GATE").unwrap_or_default()).exists() {
                                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                            }
                        }
                        _ => {}
                    }
                    let mut found = findings(&text);
                    if mode == "huge" && changed {
                        found = findings(&"BAD x\n".repeat(9_000));
                    }
                    let version = &params["textDocument"]["version"];
                    let published = json!({"uri": uri, "version": version, "diagnostics": found});
                    send(&json!({"method": "textDocument/publishDiagnostics", "params": published}));
                    if changed && mode == "elsewhere" {
                        let other = name.replace("a.fake", "b.fake");
                        let published = json!({"uri": other, "diagnostics": findings("BAD caller\n")});
                        send(&json!({"method": "textDocument/publishDiagnostics", "params": published}));
                    }
                }
                "textDocument/diagnostic" => {
                    answer(
                        json!({"kind": "full", "items": findings(texts.get(&name).map_or("", |text| text))}),
                    );
                }
                "textDocument/hover" => {
                    answer(json!({"contents": {"kind": "plaintext", "value": "fn work()"}}))
                }
                "textDocument/definition" | "textDocument/references" => {
                    let word =
                        if message["method"] == "textDocument/definition" { "fn work" } else { "work" };
                    let found: Vec<Value> =
                        texts.iter().flat_map(|(uri, text)| word_places(&json!(uri), text, word)).collect();
                    answer(json!(found));
                }
                "workspace/symbol" | "textDocument/documentSymbol" => answer(json!([])),
                "shutdown" => answer(Value::Null),
                "exit" => return,
                _ => {}
            }
        }
    }
}

/// Not a test: what the script starts.
#[test]
fn fake_server() {
    let Ok(mode) = std::env::var("FAKE_SERVER") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fake::run(&mode));
}

struct Place {
    bench: Bench,
    gate: PathBuf,
    never: CancellationToken,
}

fn script(folder: &Path) -> PathBuf {
    let path = folder.join("fake-server");
    let test = std::env::current_exe().unwrap();
    // Two threads: with one the name of the test is printed in front of what it writes.
    let line = format!(
        "#!/bin/sh\nRUST_TEST_THREADS=2 exec '{}' --exact language_servers::fake_server --nocapture\n",
        test.display()
    );
    fs::write(&path, line).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

impl Place {
    fn new(mode: &str) -> Self {
        launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
        let mut bench = Bench::new();
        bench.put("fake.lock", "");
        let gate = bench.root.join("gate");
        let program = script(&bench.root);
        let row = LanguageServer {
            files: BTreeMap::from([("fake".to_owned(), "fake".to_owned())]),
            commands: vec![vec!["fake-server".to_owned()]],
            needs: BTreeMap::from([("fake.lock".to_owned(), "no fake.lock".to_owned())]),
            environment: BTreeMap::from([
                ("FAKE_SERVER".to_owned(), mode.to_owned()),
                ("FAKE_GATE".to_owned(), gate.display().to_string()),
            ]),
            ..LanguageServer::default()
        };
        bench.cx.language_servers = LanguageServers::new(ServersSetup {
            workspace: bench.root.clone(),
            sandbox: None,
            setting: Some(ServersSetting::Rows(BTreeMap::from([(
                "fake".to_owned(),
                RowSetting::Row(Box::new(row)),
            )]))),
            projects: vec![program],
            ..ServersSetup::default()
        });
        Self { bench, gate, never: CancellationToken::new() }
    }

    /// Edits the file as the model would.
    async fn edit(&self, old: &str, new: &str) {
        let args = json!({"path": "a.fake", "old_string": old, "new_string": new});
        assert_ok(&self.bench.call("Edit", args).await);
    }

    /// A file that was read.
    async fn put(&self, text: &str) {
        self.bench.put("a.fake", text);
        assert_ok(&self.bench.call("Read", json!({"path": "a.fake"})).await);
    }

    /// What comes with the result, or late.
    async fn told(&self) -> Option<String> {
        let servers = &self.bench.cx.language_servers;
        match servers.after_edits(&self.never).await {
            Some(told) => Some(told),
            // The machine may be slow; the server isn't.
            None => servers.late(&self.never).await,
        }
    }

    async fn symbols(&self, args: Value) -> Result<String, String> {
        let said = |error: ToolError| error.to_string();
        let call = Symbols.prepare(args).map_err(said)?;
        call.run(&self.bench.cx).await.map(|envelope| envelope.wire().into_owned()).map_err(said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_new_problems_come_with_the_result() {
    for mode in ["push", "pull"] {
        let place = Place::new(mode);
        place.put("one\nBAD old\nthree\n").await;
        place.edit("three", "ä BAD new\nODD thing").await;
        assert_eq!(
            place.told().await.as_deref(),
            Some(
                "New problems (fake-server):\na.fake:3:3 error no ä BAD new [f1]\n\
                 a.fake:4:1 warning no ODD thing [f1]"
            ),
            "{mode}"
        );
        // What was told is not told again, and lines that moved are no news.
        place.edit("one", "zero\none").await;
        assert_eq!(place.told().await, None, "{mode}");
        place.edit("ODD thing", "BAD again").await;
        assert!(place.told().await.is_some_and(|told| told.ends_with("a.fake:5:1 error no BAD again [f1]")));
        place.bench.cx.language_servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_project_lacks_is_said_once() {
    let place = Place::new("push");
    fs::remove_file(place.bench.path("fake.lock")).unwrap();
    place.put("one\n").await;
    place.edit("one", "two").await;
    assert_eq!(place.told().await.as_deref(), Some("fake-server: no fake.lock."));
    place.edit("two", "BAD").await;
    assert!(place.told().await.is_some_and(|told| told.contains("error") && !told.contains("lock")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_changes_a_file_counts_too() {
    let place = Place::new("push");
    place.put("one\ntwo\n").await;
    fs::write(place.bench.path("a.fake"), "one\ntwo BAD\n").unwrap();
    place.bench.cx.language_servers.edited(&place.bench.path("a.fake"), Some("one\ntwo\n"), "one\ntwo BAD\n");
    assert!(place.told().await.is_some_and(|told| told.contains("a.fake:2:5 error")));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_in_other_files_follow() {
    let place = Place::new("elsewhere");
    place.put("one\n").await;
    place.edit("one", "BAD one").await;
    let told = place.told().await.unwrap_or_default();
    assert!(
        told.contains("a.fake:1:1 error") && told.ends_with("b.fake:1:1 error no BAD caller [f1]"),
        "{told}"
    );
    place.edit("BAD one", "two").await;
    assert_eq!(place.told().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_is_heard_later_and_an_interrupt_waits_for_nothing() {
    let place = Place::new("slow");
    place.put("one\n").await;
    place.edit("one", "BAD one").await;
    let servers = &place.bench.cx.language_servers;
    assert_eq!(servers.after_edits(&place.never).await, None);
    let interrupted = CancellationToken::new();
    interrupted.cancel();
    place.edit("BAD one", "BAD two").await;
    assert_eq!(servers.after_edits(&interrupted).await, None);
    fs::write(&place.gate, "").unwrap();
    // Of both edits the last is told, once.
    let told = servers.late(&place.never).await.unwrap_or_default();
    assert!(told.contains("no BAD two") && !told.contains("no BAD one"), "{told}");
    assert_eq!(servers.late(&place.never).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_or_says_too_much_holds_nothing_up() {
    for (mode, status) in [("crash", "it ended"), ("garbage", "isn't a message"), ("refuses", "none running")]
    {
        let place = Place::new(mode);
        place.put("one\n").await;
        place.edit("one", "BAD one").await;
        assert_eq!(place.told().await, None, "{mode}");
        let servers = &place.bench.cx.language_servers;
        assert!(servers.status().contains(status), "{mode}: {}", servers.status());
        // It is left alone for a while, or for good.
        place.edit("BAD one", "BAD two").await;
        assert_eq!(place.told().await, None, "{mode}");
        let again = servers.server(&place.bench.path("a.fake")).await;
        assert!(matches!(again, Err(NoServer::Failed(..))), "{mode}");
    }
    let place = Place::new("huge");
    place.put("one\n").await;
    place.edit("one", "BAD one").await;
    let told = place.told().await.unwrap_or_default();
    assert!(told.lines().count() <= 10 && told.len() < 900 && told.contains(" more"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols() {
    let place = Place::new("push");
    place.bench.put("a.fake", "fn work() {\n}\n\nuse work\n");
    let found = place.symbols(json!({"symbol": "work", "path": "a.fake"})).await.unwrap();
    assert!(found.contains("1 definition") && found.contains("a.fake\n1: fn work() {"), "{found}");
    let found = place.symbols(json!({"action": "references", "symbol": "work"})).await.unwrap();
    assert!(found.contains("2 references") && found.contains("4: use work"), "{found}");
    let found = place.symbols(json!({"action": "hover", "path": "a.fake", "line": 4})).await.unwrap();
    assert!(found.contains("fn work()"), "{found}");
    let error = place.symbols(json!({"symbol": "absent", "path": "a.fake"})).await.unwrap_err();
    assert!(error.contains("isn't in a.fake"), "{error}");
    place.bench.put("c.txt", "x\n");
    let error = place.symbols(json!({"symbol": "x", "path": "c.txt"})).await.unwrap_err();
    assert!(error.contains("no language server is known") && error.contains("Use Grep"), "{error}");
    assert!(place.symbols(json!({})).await.is_err());
}

#[test]
fn the_binary_tells_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(&work).unwrap();
    script(dir.path());
    let config = "sandbox = false\n[language_servers.fake]\nfiles = { fake = \"fake\" }\n\
                  commands = [[\"fake-server\"]]\nenvironment = { FAKE_SERVER = \"push\" }\n";
    fs::write(home.join("config.toml"), config).unwrap();
    fs::write(work.join("a.fake"), "one\n").unwrap();
    let mycode = |args: &[&str]| {
        let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(env!("CARGO_BIN_EXE_mycode"));
        command.args(args).current_dir(&work).env("MYCODE_HOME", &home).env("PATH", path);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let doctor = mycode(&["doctor"]);
    assert!(doctor.contains("fake") && doctor.contains("fake-server (1 file)"), "{doctor}");
    let found =
        mycode(&["tool", "Symbols", "--args", r#"{"symbol": "one", "path": "a.fake", "action": "hover"}"#]);
    assert!(found.contains("fn work()"), "{found}");
}
