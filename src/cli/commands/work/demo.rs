//! `mycode demo`: a real session or build on a temporary sample project with a failing test. Only the model
//! is scripted. Needs no key and no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::cli::commands::work::build as build_command;
use crate::cli::report::{self, Failure};
use crate::cli::setup::ports::PORTS;
use agent::assemble::{self, Setup};
use agent::build::progress::Show;
use agent::build::state::BuildOptions;
use base::config::files::load::{self, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::settings::{Permission, ProviderKind};
use frontend::exec::run::{self as exec, ExecStart, OutputForm};
use frontend::tui::run::{self as tui};
use frontend::tui::terminal::setup;
use provider::scripted::Scripted;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Story {
    /// A session that fixes a failing test
    Fix,
    /// A build: specification, plan, two subtasks, review
    Build,
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// What to play
    #[arg(long, default_value = "fix")]
    pub story: Story,
}

const TASK: &str = "The test suite fails. Find the cause, fix it and show that all tests pass.";
const BUILD_TASK: &str = "An order of exactly 100.00 must get the discount.";
const FIX: &str = include_str!("sample/fix.jsonl");
const BUILD: &str = include_str!("sample/build.jsonl");
/// Replacements where cargo doesn't run: the demo must not claim that tests passed.
const WITHOUT_CARGO: &str = include_str!("without_cargo.txt");

fn changes_without_cargo() -> impl Iterator<Item = (&'static str, &'static str)> {
    WITHOUT_CARGO.lines().filter_map(|line| line.split_once(" => "))
}

/// The reply to anything typed after the demo.
const CLOSING: &str = "End of the demo. The model was scripted; everything else is real: try `/context`, `/rewind` or \
                       `/help`. After `/quit`, `mycode doctor` shows how to set up a model.";
const AFTER_BUILD: &str = "\nEnd of the demo. The model was scripted, and the sample project has been removed; sub-agents, files and tests were real. In your own project: mycode build \"what you want\".\n";
const FILES: [(&str, &str); 5] = [
    (".gitignore", include_str!("sample/gitignore.txt")),
    ("Cargo.toml", include_str!("sample/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("sample/lib.rs.txt")),
    ("src/discount.rs", include_str!("sample/discount.rs.txt")),
    ("tests/basket.rs", include_str!("sample/basket_test.rs.txt")),
];

struct Sample(PathBuf);

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub async fn run(story: Story) -> Result<u8, Failure> {
    let sample = sample()?;
    match story {
        Story::Fix => fix(&sample.0).await,
        Story::Build => build_story(&sample.0).await,
    }
}

async fn fix(folder: &Path) -> Result<u8, Failure> {
    let screen = setup::usable().is_ok();
    let setup = setup(folder, FIX, screen)?;
    let settings = setup.loaded.screen.clone();
    let handle = assemble::start(setup)?;
    if screen {
        tui::run(handle.ops, handle.events, Some(TASK.to_owned()), settings, false).await?;
        let _ = handle.task.await;
        return Ok(0);
    }
    report::print(&format!(
        "A real session on a sample project; only the model is scripted.\n\n› {TASK}\n\n"
    ))?;
    let start = ExecStart::Prompt(TASK.to_owned(), Vec::new());
    let outcome = exec::run(handle.ops, handle.events, start, OutputForm::OneStream, None).await;
    Ok(outcome.exit_code)
}

async fn build_story(folder: &Path) -> Result<u8, Failure> {
    report::print(&format!(
        "A real build on a sample project; only the model is scripted.\n\n› mycode build \"{BUILD_TASK}\"\n\n"
    ))?;
    let session = assemble::roles(setup(folder, BUILD, false)?)?;
    let options = BuildOptions { parallel: 1, ..BuildOptions::default() };
    let Some((text, code)) =
        build_command::drive(session, Some(BUILD_TASK), options, Show::new(false, None)).await
    else {
        return Ok(130);
    };
    report::say(&format!("\n{text}"))?;
    report::print(AFTER_BUILD)?;
    Ok(code)
}

fn sample() -> Result<Sample, Failure> {
    let name = format!("mycode-demo-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let folder = std::env::temp_dir().join(name);
    let fail = |error: std::io::Error| {
        let hint = "set TMPDIR to a writable folder";
        Failure::task(format!("can't write the sample project to {}: {error}", folder.display()), hint)
    };
    let project = folder.join("basket");
    for (name, text) in FILES {
        let path = project.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(&path, text).map_err(fail)?;
    }
    Ok(Sample(folder))
}

fn setup(folder: &Path, script: &str, screen: bool) -> Result<Setup, Failure> {
    let workspace = folder.join("basket").canonicalize()?;
    let home = folder.join("home");
    let paths = Paths { config: home.clone(), state: home.join("state") };
    // On a screen, questions are part of the demo.
    let permission = if screen { Permission::Ask } else { Permission::Auto };
    let flags = Raw {
        provider: Some(ProviderKind::Scripted),
        model: Some("demo".to_owned()),
        script: Some(PathBuf::from("(built in)")),
        permission: Some(permission),
        ..Raw::default()
    };
    let loaded = load::load(Sources {
        flags,
        vars: &|_| None,
        paths: &paths,
        workspace: &workspace,
        trust: false,
        skip_user_files: false,
        default_permission: permission,
    })?;
    let script = if cargo_runs(&workspace) { script.to_owned() } else { without_cargo(script) };
    let provider = Scripted::from_text(&paced(&script, screen))?.closing_with(CLOSING);
    let project_state = paths.project(&workspace);
    Ok(Setup {
        loaded,
        provider: Arc::new(provider),
        model: "demo".into(),
        workspace,
        project_state,
        own_folders: vec![home],
        interactive: screen,
        limits: Default::default(),
        resume: None,
        editor: None,
        host: None,
        ports: PORTS,
        instructions: String::new(),
        session_id: None,
    })
}

fn cargo_runs(folder: &Path) -> bool {
    let asked = Command::new("cargo").arg("--version").current_dir(folder).stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.status.success())
}

fn without_cargo(script: &str) -> String {
    changes_without_cargo().fold(script.to_owned(), |script, (with, without)| script.replace(with, without))
}

/// On a screen, text arrives at reading speed.
fn paced(script: &str, screen: bool) -> String {
    if !screen {
        return script.to_owned();
    }
    script
        .lines()
        .filter_map(|line| line.strip_prefix('{'))
        .map(|rest| format!("{{\"delay_ms\":60,{rest}\n"))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn demo_without_cargo() {
        assert!(changes_without_cargo().all(|(with, _)| FIX.contains(with) || BUILD.contains(with)));
        for script in [FIX, BUILD].map(without_cargo) {
            assert!(!script.contains("pass now") && !script.contains("tests pass.\"}"), "{script}");
            assert!(!script.contains("Verified with") && !script.contains("run of the tests"), "{script}");
            Scripted::from_text(&script).unwrap();
        }
    }
}
