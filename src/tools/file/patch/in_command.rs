//! Finds the patch in a command that only applies one: `apply_patch <<'EOF' …`, perhaps after `cd FOLDER &&`.

use std::path::{Path, PathBuf};

use guard::shell::syntax::ast::{Connector, Node, RedirectKind, Simple, When, Word, WordPiece};
use guard::shell::syntax::parser;

/// The patch, and the folder that its paths are relative to.
pub fn find(command: &str, cwd: &Path) -> Option<(String, PathBuf)> {
    if !command.contains("*** Begin Patch") {
        return None;
    }
    let script = parser::parse(command).ok().flatten()?;
    match &script {
        Node::Steps(steps) => match steps.as_slice() {
            [Connector { node, background: false, .. }] => Some((patch(node)?, cwd.to_owned())),
            [
                Connector { node: Node::Simple(cd), background: false, .. },
                Connector { node, when: When::Succeeded, background: false },
            ] => match cd.words.as_slice() {
                [cd, folder] if literal(cd)? == "cd" => Some((patch(node)?, cwd.join(literal(folder)?))),
                _ => None,
            },
            _ => None,
        },
        node => Some((patch(node)?, cwd.to_owned())),
    }
}

fn patch(node: &Node) -> Option<String> {
    let Node::Simple(Simple { assignments, words, redirects, .. }) = node else { return None };
    let (program, args) = words.split_first()?;
    if !assignments.is_empty() || !["apply_patch", "applypatch"].contains(&&*literal(program)?) {
        return None;
    }
    match (args, redirects.as_slice()) {
        ([patch], []) => literal(patch),
        ([], [input]) => match input.kind {
            RedirectKind::HereDocument => literal(input.body.as_ref()?.get()?),
            RedirectKind::HereString => literal(&input.target),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a word without expansions.
fn literal(word: &Word) -> Option<String> {
    let parts = word.parts.iter().map(|part| match part {
        WordPiece::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_applies_a_patch_is_one() {
        let patch = "*** Begin Patch\n*** Add File: a\n+it's $5 `x`\n*** End Patch";
        let found = |command: &str| find(command, Path::new("/w"));
        let quoted = patch.replace('\'', r"'\''");
        for (command, folder) in [
            (format!("apply_patch <<'EOF'\n{patch}\nEOF"), "/w"),
            (format!("apply_patch << \"PATCH\"\n{patch}\nPATCH\n"), "/w"),
            (format!("cd sub && apply_patch <<'EOF'\n{patch}\nEOF\n"), "/w/sub"),
            (format!("cd '/tmp/a b' && applypatch <<'EOF'\n{patch}\nEOF"), "/tmp/a b"),
            (format!("apply_patch '{quoted}'"), "/w"),
        ] {
            let (text, at) = found(&command).unwrap_or_default();
            assert_eq!((text.trim_end(), at), (patch, PathBuf::from(folder)), "{command}");
        }
        for command in [
            format!("apply_patch <<EOF\n{patch}\nEOF"),
            format!("apply_patch <<'EOF' && rm -rf x\n{patch}\nEOF"),
            format!("rm x; apply_patch <<'EOF'\n{patch}\nEOF"),
            format!("cat <<'EOF'\n{patch}\nEOF"),
            format!("PATH=. apply_patch <<'EOF'\n{patch}\nEOF"),
            "apply_patch".to_owned(),
        ] {
            assert_eq!(found(&command), None, "{command}");
        }
    }
}
