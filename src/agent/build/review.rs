//! The review stage: for a few rounds, a reviewer checks the changes against the spec and a fixer fixes them.

use super::prompts;
use super::roles::{RoleTask, Stop};
use super::state::Build;
use base::pattern::Pattern;

const ROUNDS: usize = 3;

static FINDING: Pattern = Pattern::new(r"(?m)^\s*[-*] \[ \]\s+`?([^\s:`]+)");

/// Reviews and fixes until a review passes; returns whether one did.
pub async fn review(build: &mut Build, spec: &str) -> Result<bool, Stop> {
    for round in 1..=ROUNDS {
        let file = name("review", round);
        let review = match build.folder.read(&file) {
            Some(review) => review,
            None => {
                let changed = build.roles.changed();
                let changed: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
                let part =
                    RoleTask::new("qa_reviewer", format!("review {round}"), prompts::review(spec, &changed));
                let answer = build.roles.work(part).await?.answer;
                build.wrote(&file, &answer)?;
                answer
            }
        };
        if passed(&review) {
            return Ok(true);
        }
        let fix = name("fix", round);
        if round == ROUNDS || build.folder.read(&fix).is_some() {
            continue;
        }
        let part = RoleTask::new("qa_fixer", format!("fix {round}"), prompts::fix(&review, &files(&review)));
        let answer = build.roles.work(part).await?.answer;
        build.wrote(&fix, &answer)?;
        build.commit("Mend what the review found").await?;
    }
    Ok(false)
}

pub fn last(build: &Build) -> Option<(String, String)> {
    (1..=ROUNDS)
        .rev()
        .map(|round| name("review", round))
        .find_map(|file| Some((file.clone(), build.folder.read(&file)?)))
}

fn name(kind: &str, round: usize) -> String {
    if round == 1 { format!("{kind}.md") } else { format!("{kind}-{round}.md") }
}

fn passed(review: &str) -> bool {
    let first = review.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let word = first.trim_start_matches(|c: char| !c.is_alphabetic());
    word.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("pass"))
}

fn files(review: &str) -> Vec<String> {
    let mut files: Vec<String> =
        FINDING.captures_iter(review).filter_map(|parts| Some(parts.get(1)?.as_str().to_owned())).collect();
    files.sort();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        assert!(passed("\nPASS\nAll good.") && passed("**Pass**: fine") && passed("# PASS"));
        assert!(!passed("FAIL\n- [ ] a.rs:3 wrong") && !passed("") && !passed("It passes, mostly"));
    }

    #[test]
    fn findings_name_files() {
        assert_eq!(
            files("FAIL\n- [ ] src/a.rs:3 wrong\n- [ ] `b.rs:1` worse\n- [x] c.rs done\n"),
            ["b.rs", "src/a.rs"]
        );
    }
}
