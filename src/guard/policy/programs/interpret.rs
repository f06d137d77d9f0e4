//! Assesses a call according to its program's row in the table.

use super::arguments::Arguments;
use super::assessment::{Assessment, Effect, Risk};
use super::effects::{self, changing, reading, secret};
use super::sed_awk;
use super::table::{self, ArgRole, Class, ProgramAction, Row};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};
use crate::shell::interpret::wrappers::assigned;

pub fn assess(call: &Call, scope: &PathScope) -> Option<Assessment> {
    let name = call.name();
    let base = table::program_row(name)?;
    let args = call.args();
    if asks_version(args, base) {
        return Some(Assessment::reads());
    }
    let found = Arguments::read(base, None, args);
    let words: Vec<&str> = found.words.iter().map(|word| word.certain().unwrap_or("$")).collect();
    let row = table::sub_command(name, &words).unwrap_or(base);
    let mut reader = Reader::new(call, scope, row, base);
    if table::has_sub_commands(name) && words.first() == Some(&"$") {
        reader.class(Class::Unsure, "");
    }
    if base.has("each") {
        for word in &words {
            if let Some(row) = table::sub_command(name, &[word.trim_start_matches(':')]) {
                reader.class(reader.effective(row.class), word);
                reader.contains(row, word);
            }
        }
    }
    Some(reader.assess())
}

fn asks_version(args: &[Arg], row: &Row) -> bool {
    let [one] = args else { return false };
    let Some(text) = one.certain() else { return false };
    // For other classes, a word is a file, a target or code.
    let words = matches!(row.class, Class::System | Class::Account | Class::Network | Class::Unsure);
    match row.class {
        Class::Change | Class::Lasting | Class::Destroy => false,
        _ => match text {
            "--version" | "-version" | "--help" | "-V" | "-vV" | "-Vv" => true,
            "-v" => !row.has("verbose"),
            "version" | "help" => words,
            _ => false,
        },
    }
}

struct Reader<'a> {
    call: &'a Call,
    scope: &'a PathScope,
    row: &'a Row,
    base: &'a Row,
    found: Arguments<'a>,
    sub: String,
    result: Assessment,
}

impl<'a> Reader<'a> {
    fn new(call: &'a Call, scope: &'a PathScope, row: &'a Row, base: &'a Row) -> Self {
        let mut found = Arguments::read(row, Some(base), call.args());
        let count = row.sub_words().min(found.words.len());
        let named = if table::has_sub_commands(call.name()) { count.max(1) } else { 0 };
        let sub = found.words.iter().take(named).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        found.words.drain(..count);
        Self { call, scope, row, base, found, sub, result: Assessment::reads() }
    }

    fn assess(mut self) -> Assessment {
        self.whole();
        self.options();
        self.words();
        self.secrets();
        self.result
    }

    fn whole(&mut self) {
        let name = self.call.name();
        let sub = &std::mem::take(&mut self.sub);
        self.class(self.effective(self.row.class), sub);
        let words = self.found.words.len();
        if let Some((most, class)) = self.row.max
            && !self.found.has(ProgramAction::Many)
            && self.found.words.iter().map(|word| 1 + usize::from(word.certain().is_none())).sum::<usize>()
                > most
        {
            self.class(class, sub);
        }
        if let Some(class) = self.row.bare
            && words == 0
            && !self.found.values.iter().any(|(role, _)| *role == ArgRole::Host)
        {
            self.class(class, "");
        }
        if self.row.class == Class::Interpret && words == 0 && !self.found.has_first_word {
            self.result.raise(effects::from_input(self.call, self.scope));
        }
        if self.row.roles.first() == Some(&ArgRole::Process) {
            self.result.raise(effects::signal(self.call.args()));
        }
        if self.row.class != Class::Look {
            self.result.add(Effect::Run(name.to_owned()));
        }
        let is_other = |arg: &&Arg| !self.row.only.is_empty() && !self.row.only.contains(&arg.text.as_str());
        if let Some(other) = self.call.args().iter().find(is_other) {
            self.class(Class::Unsure, &other.text);
        }
        for word in self.found.words.clone() {
            self.contains(self.row, &word.text);
        }
    }

    fn contains(&mut self, row: &Row, word: &str) {
        for (text, class) in &row.contains {
            if word.contains(text) {
                self.class(*class, word);
            }
        }
    }

    fn effective(&self, class: Class) -> Class {
        match class {
            Class::Network | Class::Global if self.found.has(ProgramAction::Offline) => Class::Unsure,
            Class::Global if self.by_path() => Class::Network,
            Class::Global if self.is_staged() => Class::Unsure,
            Class::Module if effects::is_own_module(self.found.words.first(), self.call, self.scope) => {
                Class::Build
            }
            Class::History if self.found.has(ProgramAction::Look) => Class::Look,
            Class::Build if self.found.has(ProgramAction::Inspect) => Class::Inspect,
            Class::Destroy if self.works_on_own_files() => Class::Change,
            Class::Account if self.names_own_repository() => Class::Unsure,
            class => class,
        }
    }

    /// A file system can be created in a file.
    fn works_on_own_files(&self) -> bool {
        !self.found.words.is_empty() && self.found.words.iter().all(|word| self.is_own(word))
    }

    fn is_own(&self, path: &Arg) -> bool {
        path.certain().is_some() && self.scope.changing(path, &self.call.folders) == WriteRisk::Inside
    }

    fn outside(&self, path: &Arg) -> Option<String> {
        match self.scope.changing(path, &self.call.folders) {
            WriteRisk::Outside(what) | WriteRisk::Everything(what) => Some(what),
            _ => None,
        }
    }

    fn risk(&mut self, risk: Risk, why: impl Into<String>) {
        self.result.raise(Assessment::new(risk, why));
    }

    fn installs(&self) -> bool {
        self.call.args().iter().any(|arg| arg.certain().is_none_or(|text| text.contains("install")))
    }

    /// `make install` writes everything below `DESTDIR`.
    fn is_staged(&self) -> bool {
        let given = self.call.args().iter().filter_map(assigned);
        let mut all = self.call.assignments.iter().cloned().chain(given);
        self.call.name().ends_with("make")
            && all.any(|(name, value)| name == "DESTDIR" && self.is_own(&value))
    }

    fn by_path(&self) -> bool {
        (self.row.has("by-path") || self.base.has("by-path")) && self.call.argv[0].text.contains('/')
    }

    /// `what` is the subcommand or option that implies the class.
    fn class(&mut self, class: Class, what: &str) {
        let name = self.call.name();
        let command = if what.is_empty() { name.to_owned() } else { format!("{name} {what}") };
        let (risk, why) = match class {
            Class::Look | Class::Interpret => return,
            Class::Inspect => (Risk::Inspects, "`{command}` runs code of the project to read it"),
            Class::Change => (Risk::Workspace, "changes files in the workspace or temporary files"),
            Class::Build => (Risk::Workspace, "builds, tests or checks the project"),
            Class::History => (Risk::Workspace, "changes the local git history or checkout"),
            Class::Module => (Risk::Unknown, "runs an unknown Python module"),
            Class::Unsure if what.starts_with('-') => {
                (Risk::Unknown, "{what} can make {name} run or change other things")
            }
            Class::Unsure => (Risk::Unknown, "unknown command: `{command}`"),
            Class::Network => (Risk::Network, "`{command}` needs the network"),
            Class::Global => (Risk::Outside, "`{command}` installs outside the workspace"),
            Class::Account => (Risk::Outside, "`{command}` needs the network and your accounts"),
            Class::System => (Risk::Outside, "{name} works outside the workspace"),
            Class::Settings => (Risk::Guarded, "changes git's settings, which can run programs"),
            Class::Remotes => (Risk::Outside, "`{command}` changes where git fetches from and sends work to"),
            Class::Guarded => (Risk::Guarded, "`{command}` can run other programs"),
            Class::Lasting => (Risk::Guarded, "{name} handles secrets or starts programs that keep running"),
            Class::Destroy => (Risk::Destroys, "{name} destroys a disk"),
        };
        let why = why.replace("{name}", name).replacen("{command}", &command, 1).replacen("{what}", what, 1);
        let mut made = Assessment::new(risk, why);
        match class {
            Class::Network | Class::Global | Class::Account => made.add(Effect::Net(command)),
            Class::History => made.add(Effect::Write("the checkout".to_owned())),
            Class::Settings | Class::Remotes => made.add(Effect::Write(".git/config".to_owned())),
            _ => {}
        }
        self.result.raise(made);
    }

    fn options(&mut self) {
        let rows = [self.row, self.base];
        let risky = rows.iter().any(|row| {
            row.options.iter().flat_map(|rule| &rule.actions).any(|action| {
                matches!(
                    action,
                    ProgramAction::Raise(_) | ProgramAction::Value(ArgRole::Write) | ProgramAction::All(_)
                )
            })
        });
        let strict = self.row.has("certain") || self.row.class == Class::Look && risky;
        let mut options = true;
        for arg in self.call.args() {
            options &= arg.text != "--" || self.row.has("nodashes");
            let open = arg.front_is_open()
                || self.scope.may_be_option(arg, &self.call.folders)
                || (arg.text.starts_with('-') && arg.open_at.is_some_and(|at| !arg.text[..at].contains('=')));
            if strict && options && open || self.row.class == Class::Change && arg.front_is_open() {
                self.unknown(arg);
            }
        }
        for (action, option) in std::mem::take(&mut self.found.actions) {
            match action {
                ProgramAction::Raise(class) => self.class(class, &option),
                action => self.found.actions.push((action, option)),
            }
        }
        for (role, value) in std::mem::take(&mut self.found.values) {
            self.word(role, &value);
        }
    }

    fn unknown(&mut self, arg: &Arg) {
        self.risk(Risk::Unknown, format!("uses {}, whose value is unknown", arg.text));
    }

    fn words(&mut self) {
        let all = self.found.actions.iter().find_map(|(action, _)| match action {
            ProgramAction::All(role) => Some(*role),
            _ => None,
        });
        let mut roles = self.row.roles.clone();
        if roles.is_empty() {
            roles.push(ArgRole::Arg);
        }
        if self.found.has_first_word && roles.len() > 1 {
            match self.row.but_last {
                true => drop(roles.pop()),
                false => drop(roles.remove(0)),
            }
        }
        let last = roles.len() - 1;
        let words = std::mem::take(&mut self.found.words);
        let mut shifted = false;
        for (at, word) in words.iter().enumerate() {
            let role = match self.row.but_last {
                true if at + 1 < words.len() => roles[0],
                true => roles[last],
                false => roles[at.min(last)],
            };
            let role = match all {
                Some(all) if matches!(role, ArgRole::Read | ArgRole::Name | ArgRole::Arg) => all,
                _ => role,
            };
            self.word(role, word);
            // An uncertain word may be several words, and an unknown option may take one.
            shifted |= word.certain().is_none() || self.found.has_unknown && role == ArgRole::Pattern;
            if shifted && !self.row.but_last && role != roles[last] {
                self.word(roles[last], word);
            }
        }
        for arg in std::mem::take(&mut self.found.options) {
            match roles[last] {
                role @ (ArgRole::Text | ArgRole::Name | ArgRole::Skip) => self.word(role, arg),
                ArgRole::Read | ArgRole::Tree => {
                    self.result.raise(reading(arg, self.call, self.scope, false))
                }
                ArgRole::Inside => self.word(ArgRole::Inside, arg),
                _ => self.secret(arg, false),
            }
        }
        if let Some(all) = all.filter(|_| words.is_empty()) {
            self.word(all, &Arg::known("."));
        }
        if self.row.has("here") || self.found.has(ProgramAction::Here) {
            self.word(ArgRole::Tree, &Arg::known("."));
        }
    }

    fn secret(&mut self, arg: &Arg, deep: bool) {
        let parts = arg.text.split(['@', '<']).skip(1);
        let file = arg.text.split_once("file:").map(|(_, path)| path.strip_prefix("//").unwrap_or(path));
        let parts: Vec<Arg> = parts.chain(file).map(Arg::known).collect();
        for arg in std::iter::once(arg).chain(&parts) {
            if let ReadRisk::Secret(what) = self.scope.reading(arg, &self.call.folders, deep) {
                self.result.raise(secret(&what));
            }
        }
    }

    fn word(&mut self, role: ArgRole, arg: &Arg) {
        let (call, scope) = (self.call, self.scope);
        let links = self.found.has(ProgramAction::Links);
        match role {
            ArgRole::Skip | ArgRole::Name | ArgRole::Pattern | ArgRole::Process => {}
            // Without a pattern it is at most printed; a pattern expands to file names.
            ArgRole::Text if arg.glob_at.is_none() => {}
            ArgRole::Text | ArgRole::Arg | ArgRole::Repository => self.secret(arg, false),
            ArgRole::DeepArg => self.secret(arg, true),
            ArgRole::Read | ArgRole::Tree => {
                let deep = role == ArgRole::Tree || self.found.has(ProgramAction::Tree);
                self.result.raise(match deep && links {
                    true => effects::through_links(arg, call, scope),
                    false => reading(arg, call, scope, deep),
                });
                self.result.add(Effect::Read(arg.text.clone()));
            }
            ArgRole::Write => self.change(arg, false),
            ArgRole::Into => self.change(arg, true),
            ArgRole::Pack => {
                if links {
                    self.result.raise(effects::through_links(arg, call, scope));
                }
                self.secret(arg, true);
                self.change(arg, true);
            }
            ArgRole::Link => {
                self.result.raise(reading(arg, call, scope, false));
                if self.outside(arg).is_some() {
                    self.risk(Risk::Unknown, "creates a link out of the workspace");
                }
            }
            ArgRole::Prefix if self.is_staged() || !self.installs() => {}
            ArgRole::Out | ArgRole::Prefix | ArgRole::Inside => {
                if let Some(what) = self.outside(arg) {
                    let why = format!("names {what}, outside the workspace");
                    self.result.raise(Assessment::new(Risk::Guarded, why).with(Effect::Write(what)));
                }
                self.secret(arg, false);
            }
            ArgRole::JavaClass if !arg.text.contains('/') => self.class(Class::Build, ""),
            ArgRole::Script | ArgRole::JavaClass => self.result.raise(effects::script(arg, call, scope)),
            ArgRole::Code => self.result.raise(
                Assessment::new(Risk::Unknown, format!("{} runs code from the command line", call.name()))
                    .with(Effect::Run("code".to_owned())),
            ),
            ArgRole::Sed if arg.open_at.is_none() && sed_awk::sed_looks(&arg.text) => {}
            ArgRole::Awk if arg.certain().is_some_and(sed_awk::awk_looks) => {}
            ArgRole::Sed | ArgRole::Awk => {
                let why = format!("its {} script may run commands or write files", call.name());
                self.risk(Risk::Unknown, why);
            }
            ArgRole::Subscript if arg.open_at.is_some() || arg.text.contains('[') => {
                self.risk(Risk::Unknown, "a subscript may run commands");
            }
            ArgRole::Mode if sets_id(&arg.text) => {
                self.risk(Risk::Guarded, "sets the setuid or setgid bit");
            }
            ArgRole::Subscript | ArgRole::Mode => {}
            ArgRole::Host => {
                self.result.raise(effects::target(arg));
                self.secret(arg, false);
            }
            ArgRole::Tool => self.tool(arg),
        }
    }

    /// `into`: the target may be the workspace folder itself.
    fn change(&mut self, arg: &Arg, into: bool) {
        let (call, scope) = (self.call, self.scope);
        let deep = self.row.has("deep") || self.found.has(ProgramAction::Deep);
        let own =
            |folder: &std::path::PathBuf| base::path::follow(&folder.join(&arg.text)) == scope.workspace;
        self.result.raise(match scope.changing(arg, &call.folders) {
            WriteRisk::Everything(what) if deep => {
                Assessment::new(Risk::Destroys, format!("it would change everything in {what}"))
                    .with(Effect::Write(what))
            }
            // Creating what exists changes nothing, and copying into a folder doesn't replace it.
            WriteRisk::Guarded(what) if into && call.folders.iter().all(own) => {
                Assessment::new(Risk::Workspace, "changes files in the workspace").with(Effect::Write(what))
            }
            _ => changing(arg, call, scope),
        });
        self.secret(arg, false);
    }

    /// `npx` runs what the project has installed, and downloads anything else.
    fn tool(&mut self, arg: &Arg) {
        let known = arg.certain().filter(|tool| !tool.contains(['/', '@'])).is_some_and(|tool| {
            let folders = self.call.folders.iter();
            let inside = |up: &&std::path::Path| up.starts_with(&self.scope.workspace);
            folders
                .flat_map(|folder| folder.ancestors().take_while(inside))
                .any(|folder| folder.join("node_modules/.bin").join(tool).exists())
                || self.found.has(ProgramAction::Offline)
                || table::program_row(tool).is_some_and(|row| row.class == Class::Build)
        });
        if !known {
            self.class(Class::Network, &arg.text);
        }
    }

    fn names_own_repository(&self) -> bool {
        let Some(first) = self.found.words.first() else { return false };
        let by_path = first.certain().is_some_and(|text| {
            matches!(text, "." | "..") || ["./", "../", "/"].iter().any(|front| text.starts_with(front))
        });
        self.row.roles.first() == Some(&ArgRole::Repository)
            && by_path
            && self.outside(first).is_none()
            && !self.found.has_unknown
    }

    fn secrets(&mut self) {
        let class = self.row.class;
        if matches!(class, Class::Look | Class::Change | Class::History | Class::Lasting | Class::Destroy)
            || self.row.roles.first() == Some(&ArgRole::Skip)
            || self.row.roles.first() == Some(&ArgRole::Repository)
        {
            return;
        }
        effects::secrets(&mut self.result, self.call, self.scope, class == Class::Interpret);
    }
}

fn sets_id(mode: &str) -> bool {
    let octal =
        mode.len() >= 4 && mode.bytes().all(|byte| byte.is_ascii_digit()) && !mode.starts_with(['0', '1']);
    octal || (mode.contains(['+', '=']) && mode.contains('s'))
}
