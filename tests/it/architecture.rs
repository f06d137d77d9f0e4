//! The house rules that a machine can check: floors, cycles, sizes, `mod.rs` files, top level. When this fails, move the
//! code, not the rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates below `src/`; cargo holds which of them may know which.
const CRATES: &[&str] =
    &["base", "guard", "provider", "evidence", "context", "tools", "frontend", "agent", "records"];

/// The floor of each room within its crate; a file imports only from lower floors or from its own room.
const FLOORS: &[(&str, u32)] = &[
    ("base/system", 0),
    ("base", 1),
    ("base/model", 2),
    ("base/search", 2),
    ("base/config", 3),
    ("base/protocol", 4),
    ("guard/shell", 0),
    ("guard/redact", 0),
    ("guard/sandbox", 1),
    ("guard/policy", 2),
    ("provider", 0),
    ("evidence", 0),
    ("evidence/note", 1),
    ("context/session", 0),
    ("context", 1),
    ("context/report", 2),
    ("tools/skill", 0),
    ("tools/lsp", 0),
    ("tools", 1),
    ("tools/hook", 1),
    ("tools/mcp", 2),
    ("frontend/exec", 0),
    ("frontend/acp", 1),
    ("frontend/tui", 1),
    ("agent", 0),
    ("agent/build", 1),
    ("records/import", 0),
    ("records/trace", 0),
    ("records/export", 0),
    ("cli", 0),
];

/// What a reader of any change must know, as opposed to rooms that are entered for one purpose.
const CORE: &[&str] = &["base", "context", "tools", "agent"];
const BESIDE_CORE: &[&str] =
    &["base/search", "base/system", "context/report", "tools/lsp", "tools/mcp", "agent/build"];
/// Lines. A change that needs more says so in its message, and why.
const MAX_CODE: usize = 96_292;
const MAX_COMMENTS: usize = 6_986;
const MAX_CORE_CODE: usize = 38_705;

const MAX_LINES: usize = 500;
const MAX_IMPORTS: usize = 15;
/// The wiring: the two places that know every part, of an agent and of a sub-agent; what any tool may work with; lists that name
/// all of a kind. Everything else keeps to the limit.
const WIRING: &[&str] = &[
    "agent/assemble.rs",
    "agent/sub_agents/template.rs",
    "tools/cx.rs",
    "tools/registry.rs",
    "cli/command_line.rs",
    "cli/commands/table.rs",
    "frontend/tui/command/table.rs",
];
const TOP_LEVEL: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "prompts",
    "tests",
    "CODE_LAW.md",
    "README.md",
    "config.toml",
    "LICENSE",
];

struct Source {
    /// Such as `context/ledger.rs`.
    name: String,
    text: String,
    /// Modules of ours that it imports, such as `model/item.rs`.
    imports: BTreeSet<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(&src)
        .into_iter()
        .flatten()
        .map(|entry| entry.path().to_owned())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let names: BTreeSet<String> = files.iter().map(|path| relative(path, &src)).collect();
    files
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let name = relative(path, &src);
            let imports = imports(&name, without_tests(&text), &names);
            Source { name, text, imports }
        })
        .collect()
}

fn relative(path: &Path, base: &Path) -> String {
    path.strip_prefix(base).unwrap().to_string_lossy().replace('\\', "/")
}

fn without_tests(text: &str) -> &str {
    text.find("\n#[cfg(test)]").map_or(text, |at| &text[..at])
}

/// Every path in the code that begins with `crate`, `super` or one of our crates, resolved to the file that defines it.
fn imports(name: &str, text: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let folder: Vec<String> =
        name.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').map(str::to_owned).collect();
    let own = CRATES.iter().copied().filter(|own| name.starts_with(&format!("{own}/")));
    let mut starts = vec![("super", folder), ("crate", own.map(str::to_owned).collect())];
    starts.extend(CRATES.iter().map(|other| (*other, vec![(*other).to_owned()])));
    let mut found = BTreeSet::new();
    for (start, at) in starts {
        for tail in after(&code, start) {
            let (mut base, mut tail) = (at.clone(), tail);
            while let Some(further) = tail.strip_prefix("super::") {
                base.pop();
                tail = further;
            }
            for path in expand(tail) {
                let mut parts = base.clone();
                for part in path.split("::").map(str::trim) {
                    parts.push(part.to_owned());
                    let file = format!("{}.rs", parts.join("/"));
                    if names.contains(&file) && file != name {
                        found.insert(file);
                        break;
                    }
                }
            }
        }
    }
    found
}

/// What follows each `word::` that no path leads to.
fn after<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let marker = format!("{word}::");
    let whole = |at: &usize| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    code.match_indices(&marker)
        .filter(|(at, _)| whole(at))
        .map(|(at, _)| &code[at + marker.len()..])
        .collect()
}

/// `a::{b, c::d}` as `a::b`, `a::c::d`.
fn expand(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let head = &text[..end];
    if !text[end..].starts_with('{') || !(head.is_empty() || head.ends_with("::")) {
        return vec![head.to_owned()];
    }
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for c in text[end..].chars() {
        match c {
            '{' => {
                depth += 1;
                if depth > 1 {
                    parts.last_mut().unwrap().push(c);
                }
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                parts.last_mut().unwrap().push(c);
            }
            ',' if depth == 1 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
        .flat_map(|part| expand(part).into_iter().map(|tail| format!("{head}{tail}")).collect::<Vec<_>>())
        .collect()
}

/// The room of a file, and its floor: the deepest that is listed.
fn floor(name: &str) -> Option<(&'static str, u32)> {
    let holds = |room: &str| name.strip_prefix(room).is_some_and(|rest| rest.starts_with('/'));
    FLOORS.iter().copied().filter(|(room, _)| holds(room)).max_by_key(|(room, _)| room.len())
}

fn crate_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

#[test]
fn imports_go_down() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some((room, level)) = floor(&source.name) else { continue };
        for import in &source.imports {
            let Some((other, other_level)) = floor(import) else { continue };
            if crate_of(other) == crate_of(room) && other != room && other_level >= level {
                wrong.push(format!("{} → {import}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that go up or sideways:\n{}", wrong.join("\n"));
}

#[test]
fn every_folder_has_a_floor() {
    let unknown: Vec<String> = sources()
        .into_iter()
        .map(|source| source.name)
        .filter(|name| name.contains('/') && floor(name).is_none() && !name.ends_with("/lib.rs"))
        .collect();
    assert!(unknown.is_empty(), "folders without a floor: {unknown:?}");
}

/// Lines of code and of comment in a source, without its tests.
fn count(source: &Source) -> (usize, usize) {
    let (mut code, mut comments) = (0, 0);
    if !source.name.ends_with("_tests.rs") {
        for line in without_tests(&source.text).lines().map(str::trim).filter(|line| !line.is_empty()) {
            *(if line.starts_with("//") { &mut comments } else { &mut code }) += 1;
        }
    }
    (code, comments)
}

#[test]
fn the_house_stays_within_its_budget() {
    let (mut code, mut comments, mut core) = (0, 0, 0);
    for source in sources() {
        let (of_code, of_comment) = count(&source);
        code += of_code;
        comments += of_comment;
        let beside = floor(&source.name).is_some_and(|(room, _)| BESIDE_CORE.contains(&room));
        if CORE.contains(&crate_of(&source.name)) && !beside {
            core += of_code;
        }
    }
    assert!(code <= MAX_CODE, "{code} lines of code, {MAX_CODE} allowed");
    assert!(comments <= MAX_COMMENTS, "{comments} lines of comment, {MAX_COMMENTS} allowed");
    assert!(core <= MAX_CORE_CODE, "{core} lines of code in the core, {MAX_CORE_CODE} allowed");
}

/// The lines of a source that are code and not tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    without_tests(text).lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The type of a line that opens an inherent `impl`.
fn inherent_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => &generics[generics.find("> ")? + 1..],
        None => rest,
    };
    let name = rest.trim_start();
    if name.contains(" for ") || !line.ends_with('{') {
        return None;
    }
    Some(&name[..name.find(|c: char| !c.is_alphanumeric() && c != '_')?])
}

/// Whether the line defines the type.
fn defines(line: &str, name: &str) -> bool {
    ["struct ", "enum "].iter().any(|kind| {
        let rest = line.split_once(kind).and_then(|(_, rest)| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// A call of a method needs no import, so methods in another file than their type's would be edges that no import shows,
/// and cycles through them would be hidden. With this rule whoever can call a method reaches its file through imports.
#[test]
fn methods_stand_beside_their_type() {
    let mut wrong = Vec::new();
    for source in sources() {
        for name in code(&source.text).filter_map(inherent_impl) {
            if !code(&source.text).any(|line| defines(line, name)) {
                wrong.push(format!("{} has methods of {name}, which is defined elsewhere", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One word for one meaning: a reader who searches for a type finds one. Only the arguments of a tool or
/// sub-command are `Args` everywhere.
#[test]
fn public_types_have_a_name_of_their_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for line in code(&source.text) {
            let kinds = ["pub struct ", "pub enum ", "pub trait "];
            let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else { continue };
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            places.entry(rest[..end].to_owned()).or_default().push(source.name.clone());
        }
    }
    places.retain(|name, files| files.len() > 1 && name != "Args");
    assert!(places.is_empty(), "public types with the same name: {places:?}");
}

#[test]
fn only_base_and_sandbox_know_the_system() {
    let knowing = ["std::os::", "rustix", "libc::", "signal::unix", "net::unix", "cfg(unix)"];
    let mut wrong = Vec::new();
    for source in sources() {
        let may = ["base/", "guard/sandbox/"].iter().any(|room| source.name.starts_with(room));
        for line in code(&source.text).filter(|line| !may && knowing.iter().any(|word| line.contains(word))) {
            wrong.push(format!("{}: {}", source.name, line.trim()));
        }
    }
    assert!(wrong.is_empty(), "what knows the system belongs behind base/system:\n{}", wrong.join("\n"));
}

#[test]
fn no_cycles() {
    let sources = sources();
    let graph: BTreeMap<&str, &BTreeSet<String>> =
        sources.iter().map(|source| (source.name.as_str(), &source.imports)).collect();
    let mut done = BTreeSet::new();
    for start in graph.keys() {
        let mut path = Vec::new();
        assert!(visit(start, &graph, &mut path, &mut done), "import cycle: {}", path.join(" → "));
    }
}

fn visit<'a>(
    node: &'a str,
    graph: &BTreeMap<&'a str, &'a BTreeSet<String>>,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> bool {
    if done.contains(node) {
        return true;
    }
    if path.contains(&node) {
        path.push(node);
        return false;
    }
    path.push(node);
    for next in graph.get(node).into_iter().flat_map(|imports| imports.iter()) {
        if !visit(next, graph, path, done) {
            return false;
        }
    }
    path.pop();
    done.insert(node);
    true
}

#[test]
fn mod_files_hold_only_words_and_mod_lines() {
    for source in sources()
        .into_iter()
        .filter(|source| source.name.ends_with("/mod.rs") || source.name.ends_with("/lib.rs"))
    {
        for line in source.text.lines() {
            let fine = line.is_empty()
                || line.starts_with("//!")
                || line.starts_with("#[cfg_attr(") && line.contains(", path = \"")
                || line.starts_with("pub mod ") && line.ends_with(';')
                || line.starts_with("mod ") && line.ends_with(';');
            assert!(fine, "{}: {line}", source.name);
        }
    }
}

#[test]
fn files_are_short_say_why_they_exist_and_import_little() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = without_tests(&source.text).lines().count();
        if lines > MAX_LINES {
            wrong.push(format!("{} has {lines} lines", source.name));
        }
        if !source.text.starts_with("//!") {
            wrong.push(format!("{} does not say what it is for", source.name));
        }
        // They stand for tokio's own way to start work, and for what the standard library has for Unix only.
        let own = ["base/process/task.rs", "base/system/os.rs"];
        let imported = source.imports.iter().filter(|name| !own.contains(&name.as_str())).count();
        if imported > MAX_IMPORTS && !WIRING.contains(&source.name.as_str()) {
            wrong.push(format!("{} imports {imported} of our files", source.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_of_tests_are_short_too() {
    let files = walkdir::WalkDir::new(root().join("tests/it")).into_iter().flatten();
    let sources = files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"));
    let long: Vec<PathBuf> = sources
        .map(|entry| entry.path().to_owned())
        .filter(|path| fs::read_to_string(path).unwrap().lines().count() > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "split these: {long:?}");
}

#[test]
fn the_top_level_holds_what_the_design_card_fixed() {
    // Only what git tracks counts: a user may keep notes of their own beside it.
    let Ok(listed) = std::process::Command::new("git").args(["ls-files"]).current_dir(root()).output() else {
        return;
    };
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for path in listed.lines() {
        let top = path.split('/').next().unwrap();
        assert!(top.starts_with('.') || TOP_LEVEL.contains(&top), "{path} does not belong at the top level");
    }
}

/// A package that has other features in the tests is built twice, and all that stands on it.
#[test]
fn the_program_and_its_tests_share_one_build() {
    let packages = |edges: &str| {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "--locked", "--workspace", "--prefix", "none"]);
        let listed = cargo.args(["-e", edges, "-f", "{p} {f}"]).current_dir(root()).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let lines = String::from_utf8(listed.stdout).unwrap();
        // Marked where it stands for the second time.
        lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect::<BTreeSet<String>>()
    };
    let (program, tests) = (packages("no-dev"), packages("normal,build,dev"));
    let twice: Vec<&String> = program.difference(&tests).collect();
    assert!(twice.is_empty(), "give them the features that the tests' packages ask for: {twice:#?}");
}
