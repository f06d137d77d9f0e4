//! A file's definitions, found line by line without a parser, which is fast and works with unfinished code.

use super::language::FileLanguage;
use base::pattern::Pattern;
use base::search::words::listed;

const MAX_SYMBOLS: usize = 4_000;

/// Each group is a name. Constants inside functions are left out, because nobody searches for them.
static DEFINITIONS: [(FileLanguage, Pattern); 7] = [
    (FileLanguage::Python, Pattern::new(include_str!("symbols/python.regex"))),
    (FileLanguage::Rust, Pattern::new(include_str!("symbols/rust.regex"))),
    (FileLanguage::Go, Pattern::new(include_str!("symbols/go.regex"))),
    (FileLanguage::Script, Pattern::new(include_str!("symbols/script.regex"))),
    (FileLanguage::Java, Pattern::new(include_str!("symbols/java.regex"))),
    (FileLanguage::C, Pattern::new(include_str!("symbols/c.regex"))),
    (FileLanguage::Code, Pattern::new(include_str!("symbols/code.regex"))),
];

/// Words that may precede a parenthesis but aren't names.
const CONTROL: &str = "\
    if for while switch catch return else do try sizeof function constructor super await throw new typeof \
    using lock foreach synchronized assert defined elif match with";

pub fn symbols(language: FileLanguage, text: &str) -> Vec<String> {
    let Some((_, pattern)) = DEFINITIONS.iter().find(|(of, _)| *of == language) else { return Vec::new() };
    let has_calls = matches!(language, FileLanguage::C | FileLanguage::Java | FileLanguage::Script);
    let names = pattern.captures_iter(text).filter_map(|found| found.iter().skip(1).flatten().next());
    let names = names.map(|name| name.as_str()).filter(|name| !has_calls || !listed(CONTROL, name));
    names.take(MAX_SYMBOLS).map(str::to_owned).collect()
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
