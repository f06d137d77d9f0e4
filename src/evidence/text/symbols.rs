//! A file's definitions, read line by line without a parser: fast, and fine with half-written
//! code.

use super::language::FileLanguage;
use base::search::words::listed;

const MAX_SYMBOLS: usize = 4_000;

/// Names of functions, types, constants and the like, in order, may repeat.
pub fn symbols(language: FileLanguage, text: &str) -> Vec<String> {
    let names = lines(language, text).filter_map(|line| {
        let trimmed = line.trim_start();
        symbol(language, trimmed, trimmed.len() == line.len())
    });
    names.take(MAX_SYMBOLS).map(str::to_owned).collect()
}

fn lines(language: FileLanguage, text: &str) -> impl Iterator<Item = &str> {
    let lines = if language.is_code() { text.lines() } else { "".lines() };
    lines.filter(move |line| {
        let trimmed = line.trim_start();
        !trimmed.is_empty() && line.len() <= 400 && !is_comment(language, trimmed)
    })
}

fn is_comment(language: FileLanguage, line: &str) -> bool {
    match language {
        FileLanguage::Python => line.starts_with('#'),
        FileLanguage::Code => line.starts_with("//") || line.starts_with("# "),
        _ => line.starts_with("//") || line.starts_with('*') || line.starts_with("/*"),
    }
}

/// Words that may precede the defining keyword.
const MODIFIERS: &str = "\
    pub export default async static public private protected internal abstract final const unsafe extern \
    inline virtual constexpr explicit override sealed partial open data declare readonly friend typedef \
    template local synchronized native suspend case cdef cpdef";

/// Whether the word is followed by a defined name.
fn defines(language: FileLanguage, word: &str) -> bool {
    let words = match language {
        FileLanguage::Python => "def class cdef cpdef ctypedef",
        FileLanguage::Rust => "fn struct enum trait type mod const static macro_rules! union",
        FileLanguage::Go => "func type const var",
        FileLanguage::Script => "function function* class interface type enum namespace const let var",
        FileLanguage::Java => "class interface enum record object trait fun def struct namespace val var",
        FileLanguage::C => "struct class enum union namespace concept using",
        FileLanguage::Code => {
            "def class module function func sub defmodule defp fn type struct enum interface trait protocol \
             extension message service proc let"
        }
        FileLanguage::Prose | FileLanguage::Data => "",
    };
    listed(words, word)
}

fn symbol(language: FileLanguage, line: &str, margin: bool) -> Option<&str> {
    let defined = || line.strip_prefix("#define ").or_else(|| line.strip_prefix("# define "));
    if language == FileLanguage::C
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
            if language == FileLanguage::Go && word == "func" && after.starts_with('(') {
                after = after.split_once(')')?.1.trim_start();
            }
            if matches!(
                after.split_whitespace().next(),
                Some("mut" | "fn" | "class" | "unsafe" | "struct" | "enum")
            ) {
                rest = after;
                continue;
            }
            if language == FileLanguage::C && rest.contains('(') && !rest.contains('{') {
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
        FileLanguage::C if margin => c_function(line),
        FileLanguage::Java => method(line, true),
        FileLanguage::Script if !margin => method(line, false),
        FileLanguage::Python if margin => assigned(line),
        FileLanguage::Code if margin => shell_function(line),
        _ => None,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: FileLanguage, text: &str) -> String {
        symbols(language, text).join(" ")
    }

    #[test]
    fn python() {
        let text = "import os, sys as system\nfrom .base import Model, Field as F\nLIMIT = 3\nclass Basket(Base):\n    def add_item(self):\n        total = 1\n    async def send(self): ...\n# def no(): pass\nx == 3\n";
        let symbols = read(FileLanguage::Python, text);
        assert_eq!(symbols, "LIMIT Basket add_item send");
    }

    #[test]
    fn rust() {
        let text = "use crate::base::{file, text::elide as cut};\npub use std::fmt;\npub(crate) struct Walk<'a> {\n    pub fn new() {}\n    let x = 3;\nimpl Walk {\n    pub const fn size(&self) {}\n    async unsafe fn go() {}\nmacro_rules! pick {\nconst LIMIT: u8 = 1;\n    static mut COUNT: u8 = 0;\n";
        let symbols = read(FileLanguage::Rust, text);
        assert_eq!(symbols, "Walk new size go pick LIMIT");
    }

    #[test]
    fn go() {
        let text = "import (\n\t\"fmt\"\n\tx \"github.com/a/b\"\n)\nimport \"os\"\nfunc (s *Server) Close() error {\nfunc New() {\ntype Server struct {\n\tvar x = 1\n";
        let symbols = read(FileLanguage::Go, text);
        assert_eq!(symbols, "Close New Server");
    }

    #[test]
    fn script() {
        let text = "import { a,\n  b } from './a';\nconst x = require(\"x\");\nimport 'side';\nexport default class Menu extends B {\n  async open(item: string) {\n    if (x) {\n    const y = 1;\n  render() {\nexport const useThing = () => {\nexport interface Props {\nfunction* walk() {\n";
        let symbols = read(FileLanguage::Script, text);
        assert_eq!(symbols, "Menu open render useThing Props walk");
    }

    #[test]
    fn java_and_c() {
        let text = "import java.util.List;\npublic final class Basket<T> {\n    private static int total(List<T> items) {\n        return total(items);\n        if (x) {\n    @Override public String toString() {\n";
        let symbols = read(FileLanguage::Java, text);
        assert_eq!(symbols, "Basket total toString");
        let text = "#include \"../a/b.h\"\n#include <vector>\n#define MAX_ROWS 3\nstatic int parse_row(char *s,\n\tint n)\n{\n\tcall(x);\nvoid Table::draw() {\nstruct row {\nint declared(void);\ntypedef struct cell cell;\nstruct row *next_row(void)\nenum class Color { red };\n";
        let symbols = read(FileLanguage::C, text);
        assert_eq!(symbols, "MAX_ROWS parse_row draw row cell next_row Color");
    }
}
