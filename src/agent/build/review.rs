//! The review stage: for a few rounds, a reviewer checks the changes against the spec and a fixer fixes them.

use super::changes;
use super::checks;
use super::git;
use super::prompts;
use super::roles::{RoleStart, RoleTask, Stop};
use super::state::Build;
use crate::qa::checks as qa;
use crate::qa::reviewer::{self, review_prompt};
use crate::qa::verdict::{self, ReviewVerdict};
use crate::session;
use base::process::task;
use context::report::figures::LineCounts;

/// In one run; a resumed build starts reviewing again.
const ROUNDS: usize = 3;

/// Reviews and fixes until a review passes; returns why none did.
pub async fn review(build: &mut Build, wanted: [(&str, &str); 2]) -> Result<Option<String>, Stop> {
    let first = 1 + (1..).take_while(|round| build.folder.read(&name("review", *round)).is_some()).count();
    for round in first.. {
        let results = checks::run(build).await?;
        let mut problems = checks::problems(build, &results);
        problems.extend(only_deletes_tests(build));
        let shown = qa::text(&results);
        build.checks = Some(results);
        let verdict = judge(build, wanted, round, &shown).await?;
        if verdict.passes() && problems.is_empty() {
            break;
        }
        if round + 1 == first + ROUNDS {
            let found =
                if verdict.passes() { None } else { Some("the last review still finds problems".to_owned()) };
            let why: Vec<String> = problems.into_iter().chain(found).collect();
            return Ok(Some(why.join("; ")));
        }
        let prompt = prompts::fix(&verdict.text(), &problems, &shown, &verdict.files());
        let answer =
            build.roles.work(RoleTask::new("qa_fixer", format!("fix {round}"), prompt)).await?.answer;
        build.wrote(&name("fix", round), &answer)?;
        build.commit("Fix what the review found").await?;
    }
    Ok(None)
}

fn only_deletes_tests(build: &Build) -> Option<String> {
    let changed = changes::all(build.cx());
    let deletes = |(path, lines): (&String, &LineCounts)| git::is_test(path) && lines.added == 0;
    let names = || changed.keys().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!changed.is_empty() && changed.iter().all(deletes))
        .then(|| format!("the build only deletes tests ({})", names()))
}

/// If the verdict is unreadable, asks for it again in the same window.
async fn judge(
    build: &mut Build,
    wanted: [(&str, &str); 2],
    round: usize,
    checks: &str,
) -> Result<ReviewVerdict, Stop> {
    let (file, part) = (name("review", round), format!("review {round}"));
    let (all, cx) = (changes::all(build.cx()), build.cx().clone());
    let looked = task::blocking(move || {
        let mut changes = session::review::changes(&cx, false);
        changes
            .files
            .retain(|file| all.contains_key(&file.path) && !cx.denied.hides(&cx.root.join(&file.path)));
        (all.into_keys().collect::<Vec<_>>().join("\n"), reviewer::diff(&changes))
    });
    let (names, diff) = looked.await.unwrap_or_default();
    let [spec, task] = wanted;
    let prompt = review_prompt(&[spec, task, ("Changed files", &names)], ("Changes", &diff), checks);
    let ask = RoleTask::new("qa_reviewer", part.clone(), prompt);
    let mut report = build.roles.work(RoleTask { start: RoleStart::Fresh, ..ask }).await?;
    let mut read = ReviewVerdict::read(&report.answer);
    if let Err(why) = &read {
        let again = RoleTask::new("qa_reviewer", format!("{part}, again"), verdict::asked_again(why));
        report = build.roles.work(RoleTask { start: RoleStart::In(report.id), ..again }).await?;
        read = ReviewVerdict::read(&report.answer);
    }
    match read {
        Ok(verdict) => {
            build.wrote(&file, &verdict.text())?;
            Ok(verdict)
        }
        Err(why) => {
            build.wrote(&file, &format!("Verdict: unreadable, because {why}\n\n{}", report.answer))?;
            Err(Stop::failed(
                format!(
                    "The reviewer's verdict couldn't be read twice ({why}), so the review doesn't count as passed"
                ),
                format!("read {}, or review with another model (--model)", build.folder.path(&file)),
            ))
        }
    }
}

pub fn last(build: &Build) -> Option<(String, String)> {
    let reviews = (1..)
        .map(|round| name("review", round))
        .map_while(|file| Some((file.clone(), build.folder.read(&file)?)));
    reviews.last()
}

fn name(kind: &str, round: usize) -> String {
    if round == 1 { format!("{kind}.md") } else { format!("{kind}-{round}.md") }
}
