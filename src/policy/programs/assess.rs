//! What one call does, put together: its program, its redirections, its variables. The order of the judges is from the
//! particular to the general; what none of them knows is unsure.

use super::assessment::{Assessment, Effect, Risk};
use super::builds;
use super::filters::{self, sed_is_tame};
use super::git;
use super::interpreters;
use super::network;
use super::path_effects::{self, reading, secret};
use super::readers::{self, Opens};
use super::writers;
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::policy::protected_variables;
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::{Arg, BOMB, Call, Input};
use crate::shell::interpret::wrappers::assigned;

/// The finding for one call. `written` are the files that the whole script writes: running one of them is running
/// what nobody has seen.
pub fn assess(call: &Call, place: &PathScope, written: &[String]) -> Assessment {
    let mut finding = match &call.hidden {
        Some(why) if why == BOMB => Assessment::new(Risk::Never, why.clone()),
        Some(why) if why.contains("is fed") => Assessment::new(Risk::Outside, why.clone()),
        Some(why) => Assessment::new(Risk::Unsure, why.clone()),
        None if call.argv.is_empty() || call.is_function => Assessment::looks(),
        None => program(call, place),
    };
    if !call.argv.is_empty() && !call.is_function {
        let name = call.argv[0].text.clone();
        if finding.grade > Risk::Looks
            && !finding.effects.iter().any(|effect| matches!(effect, Effect::Run(_)))
        {
            finding.add(Effect::Run(name));
        }
    }
    for file in &call.files {
        finding.raise(if file.writes {
            path_effects::changing(&file.target, call, place)
        } else if let Some(device) = path_effects::device(&file.target) {
            device
        } else {
            reading(&file.target, call, place, false).with(Effect::Read(file.target.text.clone()))
        });
    }
    let exported = matches!(call.name(), "export" | "declare" | "typeset" | "local" | "readonly" | "env")
        .then(|| call.args().iter().filter_map(assigned))
        .into_iter()
        .flatten();
    for (name, value) in call.assignments.iter().cloned().chain(exported) {
        if protected_variables::steers(&name, value.certain()) {
            finding.raise(Assessment::new(Risk::Unsure, format!("it sets {name}, which steers programs")));
        }
    }
    if finding.grade >= Risk::Works && finding.grade < Risk::Unsure && runs_written(call, written) {
        finding.raise(Assessment::new(Risk::Unsure, "it runs what the same script writes"));
    }
    finding
}

fn runs_written(call: &Call, written: &[String]) -> bool {
    let runs = interpreters::is_interpreter(call.name())
        || matches!(call.name(), "make" | "source" | ".")
        || call.argv.first().is_some_and(|program| program.text.contains('/'));
    let plain = |text: &str| text.trim_start_matches("./").to_owned();
    runs && call.argv.iter().any(|arg| written.iter().any(|file| plain(file) == plain(&arg.text)))
}

fn program(call: &Call, place: &PathScope) -> Assessment {
    let name = call.name();
    let Some(text) = call.argv[0].certain() else {
        return Assessment::new(Risk::Unsure, "the program's name is not known");
    };
    if name == "git" && is_standard(text) {
        return git::judge(call, place);
    }
    if let Some(opens) = readers::looks(call, place) {
        return look(call, place, opens);
    }
    if let Some(finding) = filters::judge(call, place) {
        return finding;
    }
    if let Some(finding) = network::judge(call, place) {
        return finding;
    }
    match name {
        "source" | "." => {
            return match call.args().first() {
                Some(file) => interpreters::script(file, call, place),
                None => Assessment::looks(),
            };
        }
        "cd" | "pushd" => return Assessment::looks(),
        "shopt" => {
            let tame = call.args().iter().all(|arg| {
                matches!(
                    arg.text.as_str(),
                    "-s" | "-u"
                        | "-q"
                        | "nullglob"
                        | "globstar"
                        | "dotglob"
                        | "failglob"
                        | "nocaseglob"
                        | "inherit_errexit"
                        | "lastpipe"
                )
            });
            return if tame {
                Assessment::looks()
            } else {
                Assessment::new(Risk::Unsure, "it changes how the shell reads")
            };
        }
        "exec" | "nohup" | "nice" | "timeout" | "setsid" | "stdbuf" | "time" | "watch" | "ionice"
        | "builtin" | "eval" => {
            // What they run is a call of its own.
            return Assessment::looks();
        }
        _ => {}
    }
    if name == "find" || writers::is_changer(name) {
        // Code that changes files in place is code all the same.
        let coded = matches!(name, "perl" | "ruby");
        if let Some(mut finding) = writers::judge(call, place) {
            if coded && let Some(code) = interpreters::judge(call, place) {
                finding.raise(code);
            }
            if matches!(name, "sed" | "gsed") && !sed_is_tame(call) {
                finding
                    .raise(Assessment::new(Risk::Unsure, "sed runs commands or writes files of its script"));
            }
            return finding;
        }
    }
    if let Some(finding) = interpreters::judge(call, place) {
        return with_secrets(finding, call, place);
    }
    if let Some(finding) = builds::judge(call, place) {
        return with_secrets(finding, call, place);
    }
    if text.contains('/') {
        return with_secrets(own_program(&call.argv[0], call, place), call, place);
    }
    if readers::asks_version(call.args()) {
        return Assessment::new(Risk::Works, format!("it asks {name} for its version"));
    }
    with_secrets(Assessment::new(Risk::Unsure, format!("what {name} does is not known")), call, place)
}

fn is_standard(program: &str) -> bool {
    !program.contains('/')
        || ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().any(|front| program.starts_with(front))
}

/// A program by its path. Those of the system are judged by their names.
fn own_program(program: &Arg, call: &Call, place: &PathScope) -> Assessment {
    if is_standard(&program.text) {
        let mut bare = call.clone();
        bare.argv[0] = Arg::known(call.name());
        return self::program(&bare, place);
    }
    interpreters::script(program, call, place)
}

/// A looker's words.
fn look(call: &Call, place: &PathScope, opens: Opens) -> Assessment {
    let mut finding = Assessment::looks();
    let pattern = readers::pattern_of(call);
    let name = call.name();
    let follows = readers::follows_links(call);
    for (at, arg) in call.args().iter().enumerate() {
        // A delimiter, not a path.
        let delimiter = matches!((name, arg.text.as_str()), ("cut", "-d/") | ("sort", "-t/"));
        // The program of jq is its first word.
        let is_code = name == "jq" && !arg.text.starts_with('-') && at == first_word(call);
        if delimiter || pattern == Some(at) || is_code {
            continue;
        }
        match opens {
            Opens::Nothing if arg.glob_at.is_none() => {}
            // Names of files are no secret.
            Opens::Names => {}
            // A pattern becomes names, which it may at most print.
            Opens::Nothing => {
                if let ReadRisk::Secret(what) = place.reading(arg, &call.folders, false) {
                    finding.raise(path_effects::secret(&what));
                }
            }
            Opens::Files => finding.raise(reading(arg, call, place, false)),
            Opens::Trees if follows => finding.raise(path_effects::through_links(arg, call, place)),
            Opens::Trees => finding.raise(reading(arg, call, place, true)),
        }
    }
    // Without words the folder itself is walked through.
    if matches!(name, "rg" | "ag" | "ack")
        || (name == "grep" && super::options::has(call.args(), &["-r", "-R", "--recursive"]))
    {
        let here = Arg::known(".");
        finding.raise(match follows {
            true => path_effects::through_links(&here, call, place),
            false => reading(&here, call, place, true),
        });
    }
    if matches!(opens, Opens::Files | Opens::Trees) {
        for arg in call.args().iter().filter(|arg| !arg.text.starts_with('-')) {
            finding.add(Effect::Read(arg.text.clone()));
        }
    }
    finding
}

fn first_word(call: &Call) -> usize {
    let valued = ["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent"];
    let mut at = 0;
    while let Some(arg) = call.args().get(at) {
        if valued.contains(&arg.text.as_str()) {
            at += 3;
        } else if arg.text.starts_with('-') {
            at += 1;
        } else {
            return at;
        }
    }
    usize::MAX
}

/// What the words and the text of a program that is not a looker must not name.
fn with_secrets(mut finding: Assessment, call: &Call, place: &PathScope) -> Assessment {
    for arg in call.args() {
        if let ReadRisk::Secret(what) = place.reading(arg, &call.folders, false) {
            finding.raise(secret(&what));
        }
        let outside = matches!(place.changing(arg, &call.folders), WriteRisk::Everything(_));
        if outside && finding.grade == Risk::Works && !arg.text.starts_with('-') && arg.text != "/" {
            finding.raise(Assessment::new(Risk::Unsure, format!("it is given {}", arg.text)));
        }
    }
    let text = match &call.input {
        Input::Text(text) => text.text.as_str(),
        _ => "",
    };
    let code = call.args().iter().map(|arg| arg.text.as_str()).chain([text]);
    if finding.grade >= Risk::Unsure
        && let Some(mark) = code
            .filter(|code| code.contains(char::is_whitespace) || code.contains('/'))
            .find_map(secret_paths::named_in)
    {
        finding.raise(Assessment::new(Risk::Guarded, format!("it names a secret place ({mark})")));
    }
    finding
}
