//! Settings with which a repository's git runs nothing and goes nowhere else: what git itself writes for
//! branches, remotes, submodules and sparse checkouts. All others count as harmful.

use std::process::Command;
use std::time::Duration;

use base::process::timeout;

const LIMIT: Duration = Duration::from_secs(5);

/// In full; a `*` is any name.
const HARMLESS: &str = "\
    core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase \
    core.precomposeunicode core.symlinks core.autocrlf core.eol core.sparsecheckout \
    core.sparsecheckoutcone index.sparse extensions.worktreeconfig extensions.objectformat \
    extensions.refstorage user.name user.email branch.*.remote branch.*.pushremote branch.*.merge \
    branch.*.rebase branch.*.description submodule.active submodule.*.url submodule.*.active \
    submodule.*.branch";

/// What a fresh clone also has.
const OF_CLONES: &str = "\
    remote.*.url remote.*.pushurl remote.*.fetch remote.*.tagopt remote.*.prune remote.*.promisor \
    remote.*.partialclonefilter extensions.partialclone core.worktree remote.pushdefault pull.rebase \
    pull.ff push.default init.defaultbranch";

/// Its name as git writes it, and its value.
pub type Setting = (String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A repository that existed before the command.
    User,
    /// A repository that a command created.
    Command,
}

/// In git's order; `None` if git doesn't understand it.
pub fn settings(text: &[u8]) -> Option<Vec<Setting>> {
    let mut git = Command::new("git");
    git.args(["config", "--no-includes", "--file", "-", "--list", "-z"]).current_dir("/");
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_DIR", "/dev/null");
    let bytes = timeout::ask(&mut git, text, LIMIT)?;
    let records = bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    let settings = records.map(|record| {
        let text = std::str::from_utf8(record).ok()?;
        let (name, value) = text.split_once('\n').unwrap_or((text, "true"));
        Some((name.to_owned(), value.to_owned()))
    });
    settings.collect()
}

pub fn is_harmless((name, value): &Setting, owner: Owner) -> bool {
    let fits = |known: &str| match known.split_once('*') {
        Some((front, end)) => {
            let long = name.len() > front.len() + end.len();
            // Subsections keep their case.
            long && name.starts_with(front) && name.ends_with(end)
        }
        None => name == known,
    };
    let known = HARMLESS.split(' ').any(fits) || owner == Owner::Command && OF_CLONES.split(' ').any(fits);
    // Such addresses name a program.
    let runs = value.contains("::");
    // A branch's remote must be a name, and files must be below the repository.
    let elsewhere = value.contains([':', '\\']) || value.starts_with(['/', '~']) || value.starts_with("..");
    let led = name.starts_with("branch.") && name.ends_with("remote") && elsewhere
        || name == "core.worktree" && value.starts_with(['/', '~']);
    known && !runs && !led
}

/// Settings of `after` that are neither in `before` nor harmless; `None` if one of the two isn't understood.
pub fn harmful(before: &[u8], after: &[u8], owner: Owner) -> Option<Vec<Setting>> {
    let (before, after) = (settings(before)?, settings(after)?);
    Some(after.into_iter().filter(|one| !before.contains(one) && !is_harmless(one, owner)).collect())
}

pub fn written(settings: &[Setting]) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        let (Some((section, rest)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.')) else {
            continue;
        };
        let between = rest.strip_suffix(key).map_or("", |front| front.trim_end_matches('.'));
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        text += &match between {
            "" => format!("[{section}]\n"),
            name => format!("[{section} \"{}\"]\n", quoted(name)),
        };
        text += &format!("\t{key} = \"{}\"\n", quoted(value).replace('\n', "\\n").replace('\t', "\\t"));
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_found() {
        let plain = b"[core]\n\tbare = false\n[remote \"o.x\"]\n\turl = https://h/x\n[branch \"a\"]\n\tremote = o.x\n";
        assert_eq!(harmful(b"", plain, Owner::Command).unwrap(), []);
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\thooksPath = x\n",
            "[core] pager = x",
            "[alias]\n\tst = !sh\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[diff \"x\"]\n\ttextconv = x\n",
            "[filter \"branch.x\"]\n\tremote = x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[credential]\n\thelper = x\n",
            "[submodule \"x\"]\n\tupdate = !x\n",
            "[merge \"x\"]\n\tdriver = x\n",
            "[gpg]\n\tprogram = x\n",
        ] {
            assert_eq!(harmful(b"", text.as_bytes(), Owner::Command).unwrap().len(), 1, "{text}");
        }
        assert_eq!(harmful(b"", b"[remote \"o\"]\n\turl = h\n", Owner::User).unwrap().len(), 1);
        assert_eq!(harmful(b"", b"[core", Owner::User), None);
        assert_eq!(harmful(b"[alias]\n\tst = !sh\n", b"[alias]\n\tst = !sh\n", Owner::User).unwrap(), []);
    }

    #[test]
    fn settings_are_written_as_they_were_read() {
        let text = b"[a]\n\tb = \"x \\\"y\\\" \\\\ #\"\n[a \"q\\\"r.s\"]\n\tc = one\n\tc = two\n\td\n";
        let read = settings(text).unwrap();
        assert_eq!(settings(written(&read).as_bytes()).unwrap(), read);
    }
}
