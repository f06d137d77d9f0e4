//! What git commands that name files, or bring patches, would change.

use super::changes::GitChanges;

pub fn patch(on: &mut GitChanges<'_>) -> Option<()> {
    let is_apply = on.args.sub == "apply";
    let looks = on.args.has("--check --stat --numstat --summary") && !on.args.has("--apply");
    on.only_if(!match is_apply {
        true => looks || on.args.has("--cached"),
        false => on.args.has("--quit --show-current-patch"),
    })?;
    const STEERING: &str = "-R --reverse --3way -3 --index --unidiff-zero --recount --unsafe-paths -p --directory= --include= --exclude=";
    let steers = |arg: &&str| *arg != "-p" && STEERING.split(' ').any(|name| arg.starts_with(name));
    let mut args: Vec<&str> = on.args.rest.iter().map(String::as_str).filter(steers).collect();
    args.retain(|_| is_apply);
    args.push("--");
    args.extend(on.args.named());
    patched(on, &args)
}

/// Adds the names in patches; a rename lists both after an empty one.
pub fn patched(on: &mut GitChanges<'_>, args: &[&str]) -> Option<()> {
    let bytes = on.git.ask_with(&[&["apply", "--numstat", "-z"], args].concat(), on.input)?;
    let text = String::from_utf8_lossy(&bytes);
    let names = text.split('\0').filter_map(|record| record.splitn(3, '\t').last());
    on.found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    Some(())
}

pub fn remove(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("--cached -n --dry-run"))?;
    on.listed(&[], &on.args.named())
}

pub fn rename(on: &mut GitChanges<'_>) -> Option<()> {
    let mut words = on.args.named();
    let target = words.pop()?.trim_end_matches('/').trim_start_matches("./");
    let target = format!("{}{target}", on.prefix());
    on.listed(&[], &words)?;
    for source in words {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        on.found.insert(format!("{target}/{name}"));
    }
    on.found.insert(target);
    Some(())
}

pub fn clean(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("-n --dry-run"))?;
    let rest: Vec<&str> = on.args.rest.iter().map(String::as_str).collect();
    let (options, paths) = rest.split_at(rest.iter().position(|arg| *arg == "--").unwrap_or(rest.len()));
    // The last of contradicting options wins.
    let harmless = ["--dry-run", "--no-quiet", "--no-interactive"];
    let text = on.git.ask(&[&["clean"], options, &harmless, paths].concat())?;
    let prefix = on.prefix();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
    on.found.extend(names.map(|name| format!("{prefix}{}", name.trim_matches('"'))));
    Some(())
}

pub fn read_tree(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(on.args.has("-u --reset"))?;
    for word in on.args.words() {
        let tree = on.git.object(word, "tree")?;
        on.against(&tree, &[])?;
    }
    Some(())
}

/// Removes what is in folders that aren't named, and restores what was removed before.
pub fn sparse(on: &mut GitChanges<'_>) -> Option<()> {
    let words = on.args.words();
    let (all, kept) = match words.split_first() {
        Some((&("set" | "add" | "init" | "reapply"), kept)) => (false, kept),
        Some((&"disable", _)) => (true, &[][..]),
        _ => return None,
    };
    let is_plain = !on.args.has("--no-cone --stdin");
    let inside = |name: &str| {
        !name.contains('/')
            || kept.iter().any(|folder| name.starts_with(&format!("{}/", folder.trim_matches('/'))))
    };
    let lines = on.git.names(&["ls-files", "-t", "-z", "--full-name", ":/"])?;
    let entries = lines.iter().filter_map(|line| line.split_once(' '));
    let changed = entries.filter(|(kind, name)| *kind == "S" || !(all || is_plain && inside(name)));
    on.found.extend(changed.map(|(_, name)| name.to_owned()));
    Some(())
}
