//! The page about one run for someone who wasn't there: what was asked, done and checked, what failed, what it cost, and
//! what needs the user, with the commands for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::record::{self, Run, RunKind};
use super::session_facts::SessionFacts;
use super::state;
use crate::cli::each::tasks;
use crate::cli::report::Failure;
use agent::build::git;
use agent::build::state::BuildFolder;
use base::clock;
use base::path::on_one_line;
use base::protocol::event::{EndReason, TurnEnd};
use base::protocol::exit_code::ExitCode;
use base::text::{elide, one_line, plural};
use context::report::render;
use frontend::exec::printer;

const ANSWER_CHARS: usize = 2_000;
const LINE_CHARS: usize = 300;
const MAX_RESULTS: u64 = 64 << 20;

#[derive(Serialize)]
pub struct RunPage {
    #[serde(flatten)]
    run: Run,
    state: String,
    cost_usd: Option<f64>,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    done: Vec<String>,
    checked: Vec<String>,
    failed: Vec<String>,
    needs_you: Vec<String>,
    look: Vec<String>,
    #[serde(skip)]
    figures: String,
    #[serde(skip)]
    branches: Vec<String>,
}

impl RunPage {
    pub async fn of(run: Run) -> Self {
        let branches = git::branches(&run.record.folder, "mycode/each/").await.unwrap_or_default();
        let figures = state::figures(&run);
        let ended = run.end.map_or_else(
            || figures.sessions.iter().map(|one| one.ended_ms).max().unwrap_or(0),
            |end| end.ended_ms,
        );
        let mut page = Self {
            state: state::of(&run),
            cost_usd: figures.total.cost_usd(),
            elapsed_ms: ended.saturating_sub(run.record.started_ms),
            report: None,
            done: Vec::new(),
            checked: Vec::new(),
            failed: Vec::new(),
            needs_you: Vec::new(),
            look: Vec::new(),
            figures: render::bullets(&figures),
            branches,
            run,
        };
        match page.run.record.kind {
            RunKind::Exec | RunKind::Goal => page.of_session(),
            RunKind::Batch | RunKind::Attempts => page.of_results(),
            RunKind::Build => page.of_build(),
        }
        match page.run.end {
            None if page.run.running => {
                page.look.push(format!("`mycode attach {}` follows it", page.run.record.id))
            }
            Some(end) if end.exit_code == 0 => {}
            _ => page.needs_you.push(state::how_to_continue(&page.run)),
        }
        if page.run.log().exists() {
            let so_far = if page.run.running { " so far" } else { "" };
            page.look.push(format!("`mycode logs {}` shows its output{so_far}", page.run.record.id));
        }
        page
    }

    fn of_session(&mut self) {
        let Some(log) = state::logs(&self.run).pop() else { return };
        let facts = SessionFacts::read(&log, self.run.record.started_ms);
        self.done.extend(facts.answer.map(|answer| elide(answer.trim(), ANSWER_CHARS)));
        self.checked = facts.checks;
        if let Some(end) = &facts.end {
            self.of_end(end);
        }
        let id = self.run.record.session.clone().unwrap_or_default();
        if self.run.record.tree.is_some() {
            self.of_branch(&id, &format!("mycode/each/exec/{id}"));
        }
        self.look.push(format!("`mycode export {id}` shows the whole session"));
        if self.run.record.tree.is_none() {
            self.look.push(format!("`mycode rewind {id}` undoes it"));
        }
    }

    fn of_end(&mut self, end: &TurnEnd) {
        if end.reason != EndReason::Done {
            self.failed.push(printer::failure(&end.reason));
        }
        self.failed.extend(end.facts.iter().map(|fact| format!("at the end: {}", fact.replace('_', " "))));
        if end.denied > 0 {
            let calls = plural(end.denied as usize, "call");
            self.needs_you
                .push(format!("{calls} denied; --allow or a higher --permission lets them through"));
        }
        if !end.set_aside.is_empty() {
            let files = end.set_aside.join(", ");
            self.needs_you.push(format!("files set aside: {files}; `mycode sandbox restore` lists them"));
        }
        for service in &end.services {
            let command = one_line(&service.command, LINE_CHARS);
            self.needs_you.push(format!("still running: {command}; to stop it: `{}`", service.stop));
        }
    }

    /// Merged and discarded branches need no attention.
    fn of_branch(&mut self, name: &str, branch: &str) {
        if !self.branches.iter().any(|one| one == branch) {
            return;
        }
        self.needs_you.push(format!(
            "`mycode work diff {name}` shows the change, `mycode work merge {name}` merges it"
        ));
    }

    fn of_results(&mut self) {
        let (Some(path), Some(folder)) = (&self.run.record.results, &self.run.record.tree) else { return };
        let batch = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = base::file::small_text(path, MAX_RESULTS).unwrap_or_default();
        let mut lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        // A task's last line counts.
        let last: HashMap<String, usize> =
            lines.iter().enumerate().map(|(at, line)| (line["id"].to_string(), at)).collect();
        let mut at = 0..;
        lines.retain(|line| last.get(&line["id"].to_string()).copied() == at.next());
        let logs: HashMap<String, PathBuf> = state::logs(&self.run)
            .into_iter()
            .filter_map(|log| Some((log.file_stem()?.to_str()?.to_owned(), log)))
            .collect();
        for line in &lines {
            let text = |name: &str| line[name].as_str().unwrap_or_default();
            let (id, code) = (text("id"), line["exit_code"].as_u64().unwrap_or(1));
            let said =
                one_line(if text("error").is_empty() { text("answer") } else { text("error") }, LINE_CHARS);
            match code {
                0 => self.done.push(format!("{id}: {said}")),
                code => self.failed.push(format!("{id} ({code}): {said}")),
            }
            if let Some(facts) = tasks::facts(line) {
                self.needs_you.push(format!("{id} ended with: {facts}"));
            }
            let checks = logs.get(text("session")).map(|log| SessionFacts::read(log, 0).checks);
            self.checked.extend(checks.into_iter().flatten().map(|check| format!("{id}: {check}")));
        }
        if self.run.end.is_some_and(|end| end.exit_code == ExitCode::CostLimit as u8) {
            self.failed.push("the batch stopped at its cost limit before all tasks had a result".to_owned());
        }
        let shown = path.display().to_string();
        for line in &lines {
            if let (Some(id), Some(branch)) = (line["id"].as_str(), line["branch"].as_str()) {
                self.of_branch(&format!("{batch}/{id}"), branch);
            }
        }
        self.look.push("`mycode work` lists the branches".to_owned());
        self.look.push(format!("{shown} has the results"));
    }

    fn of_build(&mut self) {
        let Some(id) = self.run.record.session.clone() else { return };
        let folder = BuildFolder::open(&self.run.record.folder, &id).ok();
        // A killed run has no report of its own; the file is from an earlier run.
        let report = folder.filter(|_| self.run.end.is_some()).and_then(|folder| folder.read("report.md"));
        let section = report.as_deref().and_then(|text| text.split_once("\n## Checks\n"));
        let lines = section.map(|(_, rest)| rest.lines().take_while(|line| !line.starts_with('#')));
        let checks = lines.into_iter().flatten().filter_map(|line| line.strip_prefix("- "));
        self.checked = checks.map(str::to_owned).collect();
        self.report = report;
        self.look.push(format!("the build's files are in .mycode/builds/{id}"));
        match self.run.record.tree {
            Some(_) => self.of_branch(&id, &format!("mycode/each/build/{id}")),
            None => self.look.push(format!("`mycode rewind {id}` undoes a subtask")),
        }
    }

    pub fn title(&self) -> String {
        format!("Run {}: {}", self.run.record.id, self.state)
    }

    pub fn markdown(&self) -> String {
        let record = &self.run.record;
        let mut out = format!("# {}\n\n", self.title());
        out.push_str(&format!("- Asked: {}\n", on_one_line(&record.task)));
        out.push_str(&format!("- Folder: {}\n", on_one_line(&record.folder.display().to_string())));
        out.push_str(&format!(
            "- Started: {}, took {}\n{}",
            clock::local(record.started_ms),
            render::duration(self.elapsed_ms),
            self.figures
        ));
        // A build's report tells what was done and checked.
        let report = self.report.as_deref().map(|text| text.replace("\n## ", "\n### "));
        if let Some((_, rest)) = report.as_deref().and_then(|text| text.split_once('\n')) {
            out.push_str(&format!("\n## Report\n\n{}\n", rest.trim()));
        }
        let has_report = report.is_some();
        let sections = [
            ("Needs you", &self.needs_you, "nothing"),
            ("Failed", &self.failed, ""),
            ("Checked", &self.checked, if has_report { "" } else { "nothing was checked" }),
            ("Done", &self.done, ""),
            ("Look", &self.look, ""),
        ];
        for (name, lines, none) in sections {
            if (lines.is_empty() && none.is_empty()) || (has_report && name == "Checked") {
                continue;
            }
            out.push_str(&format!("\n## {name}\n\n"));
            match lines.as_slice() {
                [] => out.push_str(&format!("- {none}\n")),
                [one] if name == "Done" => out.push_str(&format!("{one}\n")),
                lines => lines.iter().for_each(|line| out.push_str(&format!("- {line}\n"))),
            }
        }
        out
    }
}

pub async fn last(project_state: &Path) -> Result<RunPage, Failure> {
    match record::of_project(project_state).into_iter().next() {
        Some(run) => Ok(RunPage::of(run).await),
        None => Err(Failure::usage(
            "this project has no run yet",
            "`mycode exec` and `mycode build` make one; `mycode report` reports a chat",
        )),
    }
}
