//! Programs that change the files which their words name. Flat tables.

use super::assessment::{Assessment, Effect, Risk};
use super::options;
use super::path_effects::{changing, device, of_change, reading, secret, through_links};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};

/// Which words are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterRule {
    All,
    /// The last word, or the folder of `-t`; the others are read.
    Last,
    /// All but the first, which is a mode or an owner.
    ButFirst,
    /// Files that the words name, and others beside them in the folder.
    Here,
}

use WriterRule::{All, ButFirst, Here, Last};

const CHANGERS: &[(&str, WriterRule)] = &[
    ("rm", All),
    ("rmdir", All),
    ("unlink", All),
    ("shred", All),
    ("mv", All),
    ("cp", Last),
    ("tee", All),
    ("ln", Last),
    ("link", Last),
    ("install", Last),
    ("rsync", Last),
    ("chmod", ButFirst),
    ("chown", ButFirst),
    ("chgrp", ButFirst),
    ("chattr", ButFirst),
    ("setfacl", ButFirst),
    ("touch", All),
    ("mkdir", All),
    ("mkfifo", All),
    ("mknod", All),
    ("mktemp", Here),
    ("truncate", All),
    ("fallocate", All),
    ("tar", Here),
    ("bsdtar", Here),
    ("cpio", Here),
    ("zip", Here),
    ("unzip", Here),
    ("gzip", All),
    ("gunzip", All),
    ("bzip2", All),
    ("bunzip2", All),
    ("xz", All),
    ("unxz", All),
    ("zstd", All),
    ("7z", Here),
    ("split", Here),
    ("csplit", Here),
    ("patch", Here),
    ("rename", ButFirst),
    ("sponge", All),
    ("trash", All),
    ("dos2unix", All),
    ("unix2dos", All),
    ("xxd", All),
    ("uniq", All),
    ("sort", Here),
    ("tree", Here),
    ("find", Here),
    ("sed", ButFirst),
    ("gsed", ButFirst),
    ("perl", ButFirst),
    ("ruby", ButFirst),
    ("jq", Here),
    ("yq", Here),
    ("dd", Here),
    ("date", Here),
    ("hostname", Here),
];

/// Options that make a changer run something else or leave the folder.
const MORE: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
            "-I",
            "-F",
            "-P",
            "--absolute-names",
            "-T",
            "--files-from",
        ],
    ),
    ("bsdtar", &["--use-compress-program", "-P", "--newer-mtime"]),
    ("zip", &["-TT", "--unzip-command", "-@"]),
    ("rsync", &["-e", "--rsh", "--rsync-path", "--files-from", "--daemon", "--server"]),
    ("cpio", &["--rsh-command", "--to-stdout", "--no-absolute-filenames"]),
    ("sort", &["--compress-program", "--files0-from"]),
    ("split", &["--filter"]),
    ("patch", &["-p0", "-d", "--directory"]),
    ("install", &["--strip-program"]),
    ("7z", &["-si", "-so"]),
];

pub fn is_changer(name: &str) -> bool {
    CHANGERS.iter().any(|(known, _)| *known == name)
}

/// What the changer does; `None` when the program is none.
pub fn judge(call: &Call, place: &PathScope) -> Option<Assessment> {
    let name = call.name();
    let args = call.args();
    let (_, changes) = CHANGERS.iter().find(|(known, _)| *known == name)?;
    let mut finding = Assessment::new(Risk::Works, "it changes files in the workspace");
    if let Some((_, more)) = MORE.iter().find(|(known, _)| *known == name)
        && let Some(option) = more.iter().find(|option| options::has(args, &[option]))
    {
        finding.raise(Assessment::new(Risk::Unsure, format!("it is told by {option} to do more")));
    }
    match name {
        // What only shows them has been let through before.
        "date" | "hostname" => {
            finding.raise(Assessment::new(Risk::Outside, format!("it changes the machine's {name}")));
        }
        "mknod" => finding.raise(Assessment::new(Risk::Unsure, "it makes a device")),
        _ => {}
    }
    if name == "dd" {
        finding.raise(dd(call, place));
        return Some(finding);
    }
    let optionless: Vec<&Arg> = options::operands(args, &valued(name));
    let recursive = options::has(args, &["-r", "-R", "--recursive", "--archive"])
        || (name == "cp" && options::has(args, &["-a"]));
    let target = options::value(
        args,
        if matches!(name, "cp" | "mv" | "ln" | "install") { "-t" } else { "" },
        "--target-directory",
    );
    let (read, changed): (Vec<&Arg>, Vec<&Arg>) = match changes {
        All => (Vec::new(), optionless.clone()),
        Last if target.is_some() => (optionless.clone(), Vec::new()),
        Last => match optionless.split_last() {
            Some((last, rest)) => (rest.to_vec(), vec![*last]),
            None => (Vec::new(), Vec::new()),
        },
        ButFirst => {
            // Without `-e` the script of `sed` is its first word.
            let given = options::has(args, &["--expression", "--file", "--reference"])
                || (name != "chmod" && args.iter().any(|arg| arg.text == "-e"));
            (Vec::new(), optionless.iter().skip(usize::from(!given)).copied().collect())
        }
        Here => (Vec::new(), optionless.clone()),
    };
    let follows = match name {
        "cp" | "rsync" => options::has(args, &["-L", "--dereference", "--copy-links"]),
        // Its letters may stand without a dash.
        "tar" | "bsdtar" => {
            let first = args.first().map_or("", |arg| arg.text.strip_prefix('-').unwrap_or(&arg.text));
            options::has(args, &["-h", "--dereference"])
                || first.contains('h') && !first.contains(['/', '.', '-'])
        }
        _ => false,
    };
    let followed = if follows { optionless.as_slice() } else { &[] };
    for arg in followed {
        finding.raise(through_links(arg, call, place));
    }
    for arg in &read {
        finding.raise(reading(arg, call, place, recursive || name == "rsync"));
        if matches!(name, "ln" | "link")
            && matches!(place.changing(arg, &call.folders), WriteRisk::Outside(_))
        {
            finding.raise(Assessment::new(Risk::Unsure, "it makes a way out of the workspace"));
        }
    }
    for arg in changed.iter().copied().chain(&target) {
        finding.raise(changed_word(name, arg, call, place));
    }
    // Values glued to options: `-C/etc`, `--directory=/etc`, `-d /etc`.
    for (short, long) in [
        ("-C", "--directory"),
        ("-d", "--one-top-level"),
        ("-o", "--output"),
        ("-D", "--dump"),
        ("", "--backup-dir"),
        ("", "--log-file"),
    ] {
        let takes = match short {
            "-C" => name.ends_with("tar"),
            "-d" => name == "unzip",
            "-o" => matches!(name, "sort" | "tree" | "patch"),
            _ => short.is_empty(),
        };
        if takes && let Some(value) = options::value(args, short, long) {
            finding.raise(changing(&value, call, place));
        }
    }
    for arg in args {
        if let ReadRisk::Secret(what) =
            place.reading(arg, &call.folders, matches!(name, "tar" | "zip" | "rsync" | "7z" | "bsdtar"))
        {
            finding.raise(secret(&what));
        }
        if arg.front_is_open() && !matches!(finding.grade, Risk::Guarded | Risk::Never) {
            finding.raise(Assessment::new(Risk::Unsure, format!("what {} names is not known", arg.text)));
        }
    }
    if matches!(name, "chmod") && args.first().is_some_and(|mode| sets_id(&mode.text)) {
        finding.raise(Assessment::new(Risk::Guarded, "it lets others run a file as its owner"));
    }
    Some(finding)
}

fn valued(name: &str) -> Vec<&'static str> {
    match name {
        "mkdir" | "install" | "mkfifo" => vec!["-m", "-o", "-g", "--mode", "-t", "--target-directory"],
        "touch" => vec!["-d", "-t", "-r"],
        "truncate" => vec!["-s", "-r", "--size"],
        "cp" | "mv" | "ln" => vec!["-t", "-S", "--target-directory", "--suffix"],
        "sed" | "gsed" => vec!["-e", "-f", "-l", "--expression", "--file"],
        "perl" | "ruby" => vec!["-e", "-I", "-M"],
        "split" => vec!["-l", "-b", "-n", "-a", "-C"],
        "patch" => vec!["-p", "-i", "-d", "-o", "-r"],
        "tar" | "bsdtar" => vec!["--exclude", "-X", "--transform", "--strip-components"],
        "zip" => vec!["-x", "-i"],
        "rsync" => vec!["--exclude", "--include", "-f"],
        "sort" => vec!["-k", "-t", "-S"],
        "fallocate" => vec!["-l", "-o"],
        "mktemp" => vec!["--suffix"],
        "xz" | "gzip" | "zstd" => vec![],
        _ => vec![],
    }
}

fn changed_word(name: &str, arg: &Arg, call: &Call, place: &PathScope) -> Assessment {
    if let Some(finding) = device(arg) {
        return finding;
    }
    let what = arg.text.as_str();
    let changing = place.changing(arg, &call.folders);
    let args = call.args();
    let deep = match name {
        "rm" | "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => {
            options::has(args, &["-r", "-R", "--recursive"])
        }
        "mv" | "shred" | "rmdir" | "trash" => true,
        "find" => options::has(args, &["-delete"]),
        "rsync" => options::has(
            args,
            &["--delete", "--delete-before", "--delete-after", "--delete-during", "--remove-source-files"],
        ),
        _ => false,
    };
    match changing {
        WriteRisk::Everything(what) if deep => {
            Assessment::new(Risk::Never, format!("it would change everything in {what}"))
                .with(Effect::Write(what))
        }
        // Making what is there already changes nothing, and copying into a folder is not copying over it.
        WriteRisk::Guarded(_)
            if matches!(
                name,
                "cp" | "mv" | "install" | "rsync" | "mkdir" | "unzip" | "touch" | "tar" | "find" | "zip"
            ) && names_workspace(what, call, place)
                && !(name == "mv" && call.args().last() != Some(arg)) =>
        {
            Assessment::new(Risk::Works, "it changes files in the workspace")
                .with(Effect::Write(what.to_owned()))
        }
        other => of_change(other, what),
    }
}

/// Whether the word is the workspace's own folder.
fn names_workspace(text: &str, call: &Call, place: &PathScope) -> bool {
    call.folders.iter().all(|folder| crate::base::path::follow(&folder.join(text)) == place.workspace)
}

fn dd(call: &Call, place: &PathScope) -> Assessment {
    let mut finding = Assessment::looks();
    for arg in call.args() {
        let Some((name, value)) = crate::shell::interpret::wrappers::assigned(arg) else { continue };
        match name.as_str() {
            "of" => finding.raise(changing(&value, call, place)),
            "if" => finding.raise(reading(&value, call, place, false)),
            _ => {}
        }
    }
    finding
}

/// Modes that let others run a file as its owner.
fn sets_id(mode: &str) -> bool {
    let octal =
        mode.len() >= 4 && mode.bytes().all(|byte| byte.is_ascii_digit()) && !mode.starts_with(['0', '1']);
    octal || (mode.contains(['+', '=']) && mode.contains('s'))
}
