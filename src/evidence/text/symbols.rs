//! A file's definitions and imports, read line by line without a parser: fast, and fine with half-written
//! code.

use super::language::Language;
use super::words::listed;

const MAX_SYMBOLS: usize = 4_000;
const MAX_IMPORTS: usize = 300;

/// Names of functions, types, constants and the like, in order, may repeat.
pub fn symbols(language: Language, text: &str) -> Vec<String> {
    let names = lines(language, text).filter_map(|line| {
        let trimmed = line.trim_start();
        symbol(language, trimmed, trimmed.len() == line.len())
    });
    names.take(MAX_SYMBOLS).map(str::to_owned).collect()
}

pub fn imports(language: Language, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_go_imports = false;
    for line in lines(language, text).map(str::trim_start) {
        if found.len() >= MAX_IMPORTS {
            break;
        }
        if language == Language::Go {
            in_go_imports = go_import(line, in_go_imports, &mut found);
        } else {
            import(language, line, &mut found);
        }
    }
    found
}

/// The lines that may be code.
fn lines(language: Language, text: &str) -> impl Iterator<Item = &str> {
    let lines = if language.is_code() { text.lines() } else { "".lines() };
    lines.filter(move |line| {
        let trimmed = line.trim_start();
        !trimmed.is_empty() && line.len() <= 400 && !is_comment(language, trimmed)
    })
}

fn is_comment(language: Language, line: &str) -> bool {
    match language {
        Language::Python => line.starts_with('#'),
        Language::Code => line.starts_with("//") || line.starts_with("# "),
        _ => line.starts_with("//") || line.starts_with('*') || line.starts_with("/*"),
    }
}

/// Words that may precede the defining keyword.
const MODIFIERS: &str = "\
    pub export default async static public private protected internal abstract final const unsafe extern \
    inline virtual constexpr explicit override sealed partial open data declare readonly friend typedef \
    template local synchronized native suspend case cdef cpdef";

/// Whether the word is followed by a defined name.
fn defines(language: Language, word: &str) -> bool {
    let words = match language {
        Language::Python => "def class cdef cpdef ctypedef",
        Language::Rust => "fn struct enum trait type mod const static macro_rules! union",
        Language::Go => "func type const var",
        Language::Script => "function function* class interface type enum namespace const let var",
        Language::Java => "class interface enum record object trait fun def struct namespace val var",
        Language::C => "struct class enum union namespace concept using",
        Language::Code => {
            "def class module function func sub defmodule defp fn type struct enum interface trait protocol \
             extension message service proc let"
        }
        Language::Prose | Language::Data => "",
    };
    listed(words, word)
}

fn symbol(language: Language, line: &str, margin: bool) -> Option<&str> {
    let defined = || line.strip_prefix("#define ").or_else(|| line.strip_prefix("# define "));
    if language == Language::C
        && let Some(rest) = defined()
    {
        return name_at(rest.trim_start());
    }
    let mut rest = line;
    let mut modified = false;
    for _ in 0..6 {
        let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == '<').unwrap_or(rest.len());
        let word = &rest[..end];
        // Skip constants inside functions: no one looks for them.
        let is_value = matches!(word, "const" | "let" | "var" | "val" | "static");
        if defines(language, word) && (!is_value || margin || modified) {
            let mut after = rest[end..].trim_start();
            if language == Language::Go && word == "func" && after.starts_with('(') {
                after = after.split_once(')')?.1.trim_start();
            }
            if matches!(
                after.split_whitespace().next(),
                Some("mut" | "fn" | "class" | "unsafe" | "struct" | "enum")
            ) {
                rest = after;
                continue;
            }
            if language == Language::C && rest.contains('(') && !rest.contains('{') {
                break;
            }
            return name_at(after);
        }
        if listed(MODIFIERS, word) {
            modified = true;
            rest = rest[end..].trim_start();
            // `pub(crate) fn`, `template <class T>`.
            if let Some(inside) = rest.strip_prefix('(') {
                rest = inside.split_once(')')?.1.trim_start();
            }
            continue;
        }
        break;
    }
    match language {
        Language::C if margin => c_function(line),
        Language::Java => method(line, true),
        Language::Script if !margin => method(line, false),
        Language::Python if margin => assigned(line),
        Language::Code if margin => shell_function(line),
        _ => None,
    }
}

/// The identifier at the start.
fn name_at(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['*', '&', '$', '@', '"']);
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let name = &text[..end];
    (name.len() > 1 && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

/// `static int name(…` unindented, also `Type Class::name(…`; not a call or statement.
fn c_function(line: &str) -> Option<&str> {
    let open = line.find('(')?;
    let head = line[..open].trim_end();
    if head.contains(['=', '"', '#', '.', ';', '{', '}']) || line.trim_end().ends_with(';') {
        return None;
    }
    let start = head.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
    let name = name_at(&head[start..])?;
    (!listed(CONTROL, name)).then_some(name)
}

const CONTROL: &str = "\
    if for while switch catch return else do try sizeof function constructor super await throw new typeof \
    using lock foreach synchronized assert defined elif match with";

/// `name(…) {` in a class; with `typed`, only after a type or modifier.
fn method(line: &str, typed: bool) -> Option<&str> {
    let end = line.trim_end();
    if !(end.ends_with('{') || typed && end.ends_with([',', ')', '('])) {
        return None;
    }
    let open = line.find('(')?;
    let head = line[..open].trim_end();
    if head.contains(['=', '"', '\'', '.', ';', '{', '}', ':']) {
        return None;
    }
    let start = head.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).map_or(0, |at| at + 1);
    let first = head.split_whitespace().next()?;
    if typed && start == 0 || listed(CONTROL, first) {
        return None;
    }
    name_at(&head[start..]).filter(|name| !listed(CONTROL, name))
}

/// A constant or alias of a Python module.
fn assigned(line: &str) -> Option<&str> {
    let name = name_at(line)?;
    let rest = line[name.len()..].trim_start();
    (rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(": ")).then_some(name)
}

fn shell_function(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once("()")?;
    rest.trim_start().starts_with('{').then(|| name_at(name)).flatten().filter(|found| *found == name.trim())
}

fn import(language: Language, line: &str, found: &mut Vec<String>) {
    match language {
        Language::Python => python_import(line, found),
        Language::Rust => {
            if let Some(rest) = line.trim_start_matches("pub ").strip_prefix("use ") {
                rust_use(rest.trim_end_matches(';'), found);
            }
        }
        Language::Script => {
            let quoted = |text: &str| {
                let start = text.find(['\'', '"'])? + 1;
                let end = start + text[start..].find(['\'', '"'])?;
                Some(text[start..end].to_owned())
            };
            let import =
                line.starts_with("import ") || line.starts_with("export ") || line.contains("} from ");
            let source = if import && line.contains(" from ") {
                line.rsplit_once(" from ").and_then(|(_, rest)| quoted(rest))
            } else if let Some((_, rest)) = line.split_once("require(") {
                quoted(rest)
            } else if line.starts_with("import ") {
                quoted(line)
            } else {
                None
            };
            found.extend(source);
        }
        Language::Java => {
            if let Some(rest) = line.strip_prefix("import ") {
                let rest = rest.trim_start_matches("static ").trim_end_matches([';', '*', '.', ' ']);
                found.push(rest.to_owned());
            }
        }
        Language::C => {
            let rest = line.strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("include"));
            if let Some(name) = rest.map(|rest| rest.trim().trim_matches(['"', '<', '>'])) {
                let name = name.split(['"', '>']).next().unwrap_or(name);
                found.push(name.trim_start_matches("../").to_owned());
            }
        }
        _ => {}
    }
}

fn python_import(line: &str, found: &mut Vec<String>) {
    let clean =
        |name: &str| name.split(" as ").next().unwrap_or("").trim_matches([' ', '(', ')', '\\']).to_owned();
    if let Some(rest) = line.strip_prefix("from ") {
        let Some((module, names)) = rest.split_once(" import ") else { return };
        let module = module.trim();
        found.push(module.to_owned());
        for name in names.split(',').map(clean).filter(|name| !name.is_empty() && name != "*").take(20) {
            let dot = if module.ends_with('.') { "" } else { "." };
            found.push(format!("{module}{dot}{name}"));
        }
    } else if let Some(rest) = line.strip_prefix("import ") {
        found.extend(rest.split(',').map(clean).filter(|name| !name.is_empty()));
    }
}

/// `a::{b, c::d}` as `a::b`, `a::c::d`; deeper braces are left out.
fn rust_use(text: &str, found: &mut Vec<String>) {
    let clean =
        |name: &str| name.split(" as ").next().unwrap_or("").trim_matches([' ', '}', ',', '{']).to_owned();
    match text.split_once('{') {
        Some((head, names)) => {
            found.push(head.trim_end_matches("::").trim().to_owned());
            for name in names.split(',').map(clean).filter(|name| !name.is_empty()).take(20) {
                found.push(format!("{}{name}", head.trim()));
            }
        }
        None => found.push(clean(text)),
    }
}

/// Returns whether the next line is still in an import block.
fn go_import(line: &str, inside: bool, found: &mut Vec<String>) -> bool {
    if !inside && !line.starts_with("import") {
        return false;
    }
    if let Some((_, rest)) = line.split_once('"')
        && let Some((path, _)) = rest.split_once('"')
    {
        found.push(path.to_owned());
    }
    if inside { !line.starts_with(')') } else { line.contains('(') && !line.contains(')') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, text: &str) -> (String, String) {
        (symbols(language, text).join(" "), imports(language, text).join(" "))
    }

    #[test]
    fn python() {
        let text = "import os, sys as system\nfrom .base import Model, Field as F\nLIMIT = 3\nclass Basket(Base):\n    def add_item(self):\n        total = 1\n    async def send(self): ...\n# def no(): pass\nx == 3\n";
        let (symbols, imports) = read(Language::Python, text);
        assert_eq!(symbols, "LIMIT Basket add_item send");
        assert_eq!(imports, "os sys .base .base.Model .base.Field");
    }

    #[test]
    fn rust() {
        let text = "use crate::base::{file, text::elide as cut};\npub use std::fmt;\npub(crate) struct Walk<'a> {\n    pub fn new() {}\n    let x = 3;\nimpl Walk {\n    pub const fn size(&self) {}\n    async unsafe fn go() {}\nmacro_rules! pick {\nconst LIMIT: u8 = 1;\n    static mut COUNT: u8 = 0;\n";
        let (symbols, imports) = read(Language::Rust, text);
        assert_eq!(symbols, "Walk new size go pick LIMIT");
        assert_eq!(imports, "crate::base crate::base::file crate::base::text::elide std::fmt");
    }

    #[test]
    fn go() {
        let text = "import (\n\t\"fmt\"\n\tx \"github.com/a/b\"\n)\nimport \"os\"\nfunc (s *Server) Close() error {\nfunc New() {\ntype Server struct {\n\tvar x = 1\n";
        let (symbols, imports) = read(Language::Go, text);
        assert_eq!(symbols, "Close New Server");
        assert_eq!(imports, "fmt github.com/a/b os");
    }

    #[test]
    fn script() {
        let text = "import { a,\n  b } from './a';\nconst x = require(\"x\");\nimport 'side';\nexport default class Menu extends B {\n  async open(item: string) {\n    if (x) {\n    const y = 1;\n  render() {\nexport const useThing = () => {\nexport interface Props {\nfunction* walk() {\n";
        let (symbols, imports) = read(Language::Script, text);
        assert_eq!(symbols, "Menu open render useThing Props walk");
        assert_eq!(imports, "./a x side");
    }

    #[test]
    fn java_and_c() {
        let text = "import java.util.List;\npublic final class Basket<T> {\n    private static int total(List<T> items) {\n        return total(items);\n        if (x) {\n    @Override public String toString() {\n";
        let (symbols, imports) = read(Language::Java, text);
        assert_eq!(symbols, "Basket total toString");
        assert_eq!(imports, "java.util.List");
        let text = "#include \"../a/b.h\"\n#include <vector>\n#define MAX_ROWS 3\nstatic int parse_row(char *s,\n\tint n)\n{\n\tcall(x);\nvoid Table::draw() {\nstruct row {\nint declared(void);\ntypedef struct cell cell;\nstruct row *next_row(void)\nenum class Color { red };\n";
        let (symbols, imports) = read(Language::C, text);
        assert_eq!(symbols, "MAX_ROWS parse_row draw row cell next_row Color");
        assert_eq!(imports, "a/b.h vector");
    }
}
