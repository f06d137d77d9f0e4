//! What git commands that name files, or bring patches, would change.

use super::changes::Changes;

pub fn patch(on: &mut Changes<'_>) -> Option<()> {
    let looks = ["--check", "--stat", "--numstat", "--summary"];
    if on.args.sub == "apply"
        && (on.args.has(&["--cached"]) || on.args.has(&looks) && !on.args.has(&["--apply"]))
    {
        return Some(());
    }
    if on.args.sub == "am" && on.args.has(&["--quit", "--show-current-patch"]) {
        return Some(());
    }
    let mut args = vec!["apply", "--numstat", "-z"];
    let options =
        ["-R", "--reverse", "--3way", "-3", "--index", "--unidiff-zero", "--recount", "--unsafe-paths"];
    let steers = |arg: &&str| {
        ["-p", "--directory", "--include", "--exclude"]
            .iter()
            .any(|name| arg.starts_with(name) && arg.len() > name.len())
    };
    if on.args.sub == "apply" {
        args.extend(
            on.args.rest.iter().map(String::as_str).filter(|arg| options.contains(arg) || steers(arg)),
        );
    }
    args.push("--");
    args.extend(on.args.words());
    args.extend(on.args.paths().unwrap_or_default().iter().map(String::as_str));
    let bytes = on.git.ask_with(&args, on.input)?;
    let names = bytes.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    // Names in a patch start at the command's folder.
    let front = on.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
    let names = of_numstat(names.collect()).into_iter().map(|name| format!("{front}{name}"));
    on.found.extend(names);
    Some(())
}

pub fn remove(on: &mut Changes<'_>) -> Option<()> {
    if on.args.has(&["--cached"]) || on.args.has(&["-n", "--dry-run"]) {
        return Some(());
    }
    let mut paths = on.args.words();
    paths.extend(on.args.paths().unwrap_or_default().iter().map(String::as_str));
    let names = on.tracked(&paths)?;
    on.add(names);
    Some(())
}

pub fn rename(on: &mut Changes<'_>) -> Option<()> {
    let mut words = on.args.words();
    words.extend(on.args.paths().unwrap_or_default().iter().map(String::as_str));
    let front = on.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
    let target = words.pop()?;
    let names = on.tracked(&words)?;
    on.add(names);
    let target = format!("{front}{}", target.trim_end_matches('/').trim_start_matches("./"));
    for source in words {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        on.found.insert(format!("{target}/{name}"));
    }
    on.found.insert(target);
    Some(())
}

pub fn clean(on: &mut Changes<'_>) -> Option<()> {
    if on.args.has(&["-n", "--dry-run"]) {
        return Some(());
    }
    let mut args = vec!["clean", "-n"];
    args.extend(
        on.args
            .rest
            .iter()
            .map(String::as_str)
            .filter(|arg| !matches!(*arg, "-i" | "--interactive" | "-q" | "--quiet")),
    );
    let rest: Vec<String> = args
        .iter()
        .map(|arg| match arg.starts_with('-') && !arg.starts_with("--") {
            true => arg.replace(['q', 'i'], ""),
            false => (*arg).to_owned(),
        })
        .filter(|arg| arg != "-")
        .collect();
    let text = on.git.ask(&rest.iter().map(String::as_str).collect::<Vec<_>>())?;
    let front = on.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
    on.found.extend(names.map(|name| format!("{front}{}", name.trim_matches('"'))));
    Some(())
}

pub fn read_tree(on: &mut Changes<'_>) -> Option<()> {
    if !on.args.has(&["-u"]) && !on.args.has(&["--reset"]) {
        return Some(());
    }
    for word in on.args.words() {
        let tree = on.git.line(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{word}^{{tree}}"),
        ])?;
        on.against(&tree, &[])?;
    }
    Some(())
}

/// Removes what is in folders that aren't named, and restores what was removed before.
pub fn sparse(on: &mut Changes<'_>) -> Option<()> {
    let words = on.args.words();
    let kept: Vec<&str> = match words.split_first() {
        Some((&("set" | "add" | "init" | "reapply"), rest)) => rest.to_vec(),
        Some((&"disable", _)) => Vec::new(),
        _ => return Some(()),
    };
    let inside = |name: &str| {
        !name.contains('/')
            || kept.iter().any(|folder| name.starts_with(&format!("{}/", folder.trim_matches('/'))))
    };
    let is_plain = !on.args.has(&["--no-cone"]) && !on.args.has(&["--stdin"]);
    let names = on.git.names(&["ls-files", "-t", "-z", "--full-name", ":/"])?;
    let names = names.into_iter().filter_map(|line| {
        let (kind, name) = line.split_once(' ')?;
        let stays =
            kind != "S" && words.first() == Some(&"disable") || is_plain && inside(name) && kind != "S";
        (!stays).then(|| name.to_owned())
    });
    on.add(names.collect());
    Some(())
}

/// The names that `git apply --numstat -z` prints; a rename lists both after an empty one.
pub fn of_numstat(records: Vec<String>) -> Vec<String> {
    records
        .into_iter()
        .filter_map(|record| {
            let name = record.splitn(3, '\t').last()?.to_owned();
            Some(name).filter(|name| !name.is_empty())
        })
        .collect()
}
