//! Edits that are never wrong: a table of cases from the rules (exact, then line ends, trailing whitespace, one uniform
//! shift; else a refusal that says what to do), and the states around an edit.

use base::model::envelope::Status;

use crate::support::tools::Bench;
use crate::support::tools::code;

enum Want<'a> {
    /// The file's bytes afterwards.
    Bytes(&'a [u8]),
    /// Refused with this code and this part of the message; the file is as it was.
    Error(&'a str, &'a str),
    /// Partial: nothing to do, and it says so.
    Standing(&'a str),
}
use Want::{Bytes, Error, Standing};

type Case<'a> = (&'a str, &'a [u8], &'a str, &'a str, bool, Want<'a>);

async fn check(cases: &[Case<'_>]) {
    for (name, before, old, new, all, want) in cases {
        let bench = Bench::new();
        bench.put("f.txt", before);
        let envelope = bench.edit("f.txt", old, new, *all).await;
        let after = bench.bytes("f.txt");
        let shown = String::from_utf8_lossy(&after);
        match want {
            Bytes(bytes) => {
                assert_eq!(envelope.status, Status::Success, "{name}: {}", envelope.wire());
                assert!(after == *bytes, "{name}: {shown:?}");
            }
            Error(want, part) => {
                assert_eq!(code(&envelope), *want, "{name}: {} -> {shown:?}", envelope.wire());
                assert!(envelope.wire().contains(part), "{name}: {}", envelope.wire());
                assert!(after == *before, "{name}: {shown:?}");
            }
            Standing(part) => {
                assert_eq!(envelope.status, Status::Partial, "{name}: {} -> {shown:?}", envelope.wire());
                assert!(
                    envelope.text.contains(part) && envelope.data.to_map()["applied"] == false,
                    "{name}: {}",
                    envelope.text
                );
                assert!(after == *before, "{name}: {shown:?}");
            }
        }
        assert_eq!(bench.names("."), ["f.txt"], "{name}");
    }
}

#[tokio::test]
async fn exact_matches() {
    check(&[
        ("one line", b"a\nb\nc\n", "b", "B", false, Bytes(b"a\nB\nc\n")),
        ("inside a line", b"let x = 1;\n", "x = 1", "y = 2", false, Bytes(b"let y = 2;\n")),
        ("several lines", b"a\nb\nc\n", "a\nb", "x", false, Bytes(b"x\nc\n")),
        ("from inside a line into the next", b"f(a,\n  b)\n", "a,\n  b", "c", false, Bytes(b"f(c)\n")),
        ("deletes a line", b"a\nb\nc\n", "b\n", "", false, Bytes(b"a\nc\n")),
        ("deletes everything", b"a\n", "a\n", "", false, Bytes(b"")),
        ("no final newline stays so", b"a\nb", "b", "c", false, Bytes(b"a\nc")),
        ("replaces all", b"x x\nx\n", "x", "yy", true, Bytes(b"yy yy\nyy\n")),
        ("replaces all, new holds old", b"a a", "a", "aa", true, Bytes(b"aa aa")),
        (
            "twice is ambiguous",
            b"x\ny\nx\n",
            "x",
            "z",
            false,
            Error("INVALID_PARAM", "2 times in f.txt, at lines 1, 3"),
        ),
        (
            "what tells its places apart",
            b"fn a\n x\n y\nfn b\n x\n y\n",
            " y",
            "z",
            false,
            Error("INVALID_PARAM", "replace_all; what tells them apart: line 1 is `fn a`, line 4 is `fn b`"),
        ),
        ("overlapping is ambiguous", b"aaa\n", "aa", "b", false, Error("INVALID_PARAM", "2 times")),
        ("same is no edit", b"x\n", "x", "x", false, Error("INVALID_PARAM", "the same")),
        (
            "dollar and backslash are text",
            b"cost\n",
            "cost",
            "$& $1 \\1 \\n %s {0}",
            false,
            Bytes(b"$& $1 \\1 \\n %s {0}\n"),
        ),
        ("old is no regex", b"a.c\nabc\n", "a.c", "x", false, Bytes(b"x\nabc\n")),
        ("brackets are text", b"f(a)[0]*\n", "f(a)[0]*", "g", false, Bytes(b"g\n")),
        (
            "unicode",
            "naïve “q” – ok\n".as_bytes(),
            "“q” –",
            "“r” —",
            false,
            Bytes("naïve “r” — ok\n".as_bytes()),
        ),
        ("emoji", "a 👩‍👩‍👧 b\n".as_bytes(), "👩‍👩‍👧", "x", false, Bytes(b"a x b\n")),
        ("a blank line in between", b"a\n\nb\n", "a\n\nb", "c", false, Bytes(b"c\n")),
        (
            "tabs are exact",
            b"\tif x:\n\t\ty\n",
            "\tif x:\n\t\ty",
            "\tif z:\n\t\tw",
            false,
            Bytes(b"\tif z:\n\t\tw\n"),
        ),
        ("exact beats tolerant", b"  a\n  b\na\nb\n", "\na\nb", "\nX", false, Bytes(b"  a\n  b\nX\n")),
        ("adds trailing space on demand", b"a\n", "a", "a  ", false, Bytes(b"a  \n")),
        ("removes trailing space on demand", b"a  \nb\n", "a  \n", "a\n", false, Bytes(b"a\nb\n")),
        ("indents on demand", b"x\n  a\ny\n", "  a", "    a", false, Bytes(b"x\n    a\ny\n")),
        (
            "form feed and control characters stay",
            b"a\x0cb\x1b[0m\nc\n",
            "c",
            "d",
            false,
            Bytes(b"a\x0cb\x1b[0m\nd\n"),
        ),
        ("a word in a word is exact", b"foobar\n", "foo", "baz", false, Bytes(b"bazbar\n")),
    ])
    .await;
}

#[tokio::test]
async fn line_ends() {
    check(&[
        ("CRLF file, LF text", b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, Bytes(b"x\r\ny\r\nc\r\n")),
        ("CRLF file, one line into two", b"a\r\nb\r\n", "a", "a1\na2", false, Bytes(b"a1\r\na2\r\nb\r\n")),
        ("CRLF file, line deleted", b"a\r\nb\r\nc\r\n", "b\n", "", false, Bytes(b"a\r\nc\r\n")),
        ("CRLF is never torn", b"a\r\nb\r\n", "\nb", "\nc", false, Bytes(b"a\r\nc\r\n")),
        (
            "a line end that is CRLF elsewhere",
            b"a\r\nb\nc",
            "\n",
            "",
            false,
            Error("INVALID_PARAM", "at lines 1, 2"),
        ),
        ("CRLF join", b"a\r\nb\r\n", "a\nb", "ab", false, Bytes(b"ab\r\n")),
        ("CRLF text, LF file", b"a\nb\nc\n", "a\r\nb\r\n", "x\r\ny\r\n", false, Bytes(b"x\ny\nc\n")),
        ("CRLF given as CRLF", b"a\r\nb\r\n", "a\r\nb", "x\r\ny", false, Bytes(b"x\r\ny\r\n")),
        (
            "mixed, each line keeps its own",
            b"a\r\nb\nc\r\nd\n",
            "a\nb\nc\n",
            "a\nB\nc\n",
            false,
            Bytes(b"a\r\nB\nc\r\nd\n"),
        ),
        (
            "mixed, changed lines keep their ends",
            b"a\r\nb\nc\r\n",
            "a\nb\nc",
            "x\ny\nz",
            false,
            Bytes(b"x\r\ny\nz\r\n"),
        ),
        ("mixed, outside stays", b"p\nq\r\na\r\nb\n", "a\nb", "c\nd", false, Bytes(b"p\nq\r\nc\r\nd\n")),
        ("CR to nothing, all", b"a\r\nb\r\n", "\r", "", true, Bytes(b"a\nb\n")),
        (
            "all means other line ends too",
            b"a\nb\n-\na\r\nb\r\n",
            "a\nb",
            "c\nd",
            true,
            Bytes(b"c\nd\n-\nc\r\nd\r\n"),
        ),
        ("no final newline, old has one", b"a\nb", "b\n", "c\n", false, Bytes(b"a\nc")),
        ("no final newline, CRLF, added line", b"a\r\nb", "b", "b\nc", false, Bytes(b"a\r\nb\r\nc")),
        ("a line end alone does not match the end", b"abc", "\n", "\n\n", false, Error("NOT_FOUND", "")),
        ("lone CR is text", b"a\rb\nc\n", "a\rb", "x", false, Bytes(b"x\nc\n")),
        (
            "ambiguous by line ends",
            b"a\r\nb\r\na\r\nb\r\n",
            "a\nb",
            "c",
            false,
            Error("INVALID_PARAM", "at lines 1, 3"),
        ),
        ("line ends alone: converts when asked", b"a\nb\n", "a\n", "a\r\n", false, Bytes(b"a\r\nb\n")),
        ("CRLF given, LF for the new", b"a\r\nb\r\n", "a\r\nb", "x\ny", false, Bytes(b"x\r\ny\r\n")),
        ("CRLF to LF when that is all", b"a\r\nb\n", "a\r\nb", "a\nb", false, Bytes(b"a\nb\n")),
        ("BOM stays", b"\xEF\xBB\xBFa\r\nb\r\n", "a\nb", "c\nd", false, Bytes(b"\xEF\xBB\xBFc\r\nd\r\n")),
    ])
    .await;
}

#[tokio::test]
async fn trailing_white_space() {
    check(&[
        ("file has it", b"a  \nb\nc\n", "a\nb", "a\nB", false, Bytes(b"a  \nB\nc\n")),
        ("old has it", b"a\nb\n", "a   \nb\n", "x\nb\n", false, Bytes(b"x\nb\n")),
        ("old alone has it", b"foo\nbar\n", "foo  ", "baz", false, Bytes(b"baz\nbar\n")),
        ("not inside a line", b"foobar\n", "foo  ", "baz", false, Error("NOT_FOUND", "")),
        ("blank lines", b"a\n   \nb\n", "a\n\nb", "a\n\nc", false, Bytes(b"a\n   \nc\n")),
        ("blank line with tab in old", b"a\n\nb\n", "a\n\t\nb", "z\n\t\nb", false, Bytes(b"z\n\nb\n")),
        (
            "untouched lines keep theirs",
            b"p\t\na \t\nb  \nq \n",
            "p\na\nb\nq",
            "p\na\nX\nq",
            false,
            Bytes(b"p\t\na \t\nX\nq \n"),
        ),
        ("with CRLF", b"a \r\nb\r\n", "a\nb", "a\nc", false, Bytes(b"a \r\nc\r\n")),
        ("ambiguous", b"a \nb\na  \nb\n", "a\nb", "c", false, Error("INVALID_PARAM", "at lines 1, 3")),
        ("exact one beats tolerant one", b"a \nb\na\nb\n", "a\nb", "c", false, Bytes(b"a \nb\nc\n")),
    ])
    .await;
}

#[tokio::test]
async fn uniform_indentation() {
    check(&[
        (
            "file is deeper, new text follows",
            b"class A:\n    def f():\n        x\n",
            "def f():\n    x\n",
            "def g():\n    y\n    z\n",
            false,
            Bytes(b"class A:\n    def g():\n        y\n        z\n"),
        ),
        (
            "file is shallower",
            b"def f():\n  x\n",
            "    def f():\n      x",
            "    def g():\n      y",
            false,
            Bytes(b"def g():\n  y\n"),
        ),
        ("tabs", b"\t\ta\n\t\t\tb\n", "\ta\n\t\tb\n", "\ta\n\t\tc\n", false, Bytes(b"\t\ta\n\t\t\tc\n")),
        (
            "blank lines get none",
            b"  a\n\n  b\n",
            "a\n\nb",
            "a\n\nc\n\nd",
            false,
            Bytes(b"  a\n\n  c\n\n  d\n"),
        ),
        ("not uniform", b"  a\n    b\n", "a\nb", "x\ny", false, Error("NOT_FOUND", "line 2")),
        (
            "spaces for tabs",
            b"\ta\n\t\tb\n",
            "    a\n        b",
            "    a\n        c\n            d",
            false,
            Bytes(b"\ta\n\t\tc\n\t\t\td\n"),
        ),
        (
            "new text cannot follow",
            b"a\n  b\n",
            "  a\n    b",
            "  a\nc",
            false,
            Error("INVALID_PARAM", "cannot be moved left as far: `c`"),
        ),
        (
            "ambiguous",
            b"  a\n  b\n-\n    a\n    b\n",
            "   a\n   b",
            "x",
            false,
            Error("INVALID_PARAM", "at lines 1, 4"),
        ),
        ("with CRLF", b"  a\r\n  b\r\n", " a\n b\n", " a\n c\n", false, Bytes(b"  a\r\n  c\r\n")),
        ("with trailing space", b"    a  \n    b\n", "a\nb", "a\nc", false, Bytes(b"    a  \n    c\n")),
        (
            "first line given from its text on",
            b"    a\n    b\n",
            "a\n    b",
            "a\n    c",
            false,
            Bytes(b"    a\n    c\n"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn encodings() {
    check(&[
        ("Latin-1, ASCII edit", b"caf\xE9 one\n", "one", "two", false, Bytes(b"caf\xE9 two\n")),
        ("Latin-1, letters in the text", b"caf\xE9\n", "caf\u{e9}", "th\u{e9}", false, Bytes(b"th\xE9\n")),
        ("Latin-1 cannot hold it", b"caf\xE9\n", "caf", "日本", false, Error("INVALID_PARAM", "U+65E5")),
        ("UTF-16LE", b"\xFF\xFEa\0\r\0\n\0b\0", "a\nb", "c\nd", false, Bytes(b"\xFF\xFEc\0\r\0\n\0d\0")),
        ("UTF-16BE", b"\xFE\xFF\0a\0b", "ab", "\u{e9}", false, Bytes(b"\xFE\xFF\0\xE9")),
        ("UTF-16 odd length", b"\xFF\xFEa\0b", "a", "b", false, Error("BINARY_FILE", "cannot be edited")),
        (
            "damaged UTF-8 outside",
            b"\xC3\xA9\xC3\xA9 \xFF one\n",
            "one",
            "two\u{e9}",
            false,
            Bytes(b"\xC3\xA9\xC3\xA9 \xFF two\xC3\xA9\n"),
        ),
        ("binary", b"a\0b\n", "a", "b", false, Error("BINARY_FILE", "binary data")),
        ("decomposed is not composed", "e\u{301}\n".as_bytes(), "\u{e9}", "x", false, Error("NOT_FOUND", "")),
        ("NUL in new", b"a\n", "a", "b\0", false, Error("INVALID_PARAM", "NUL")),
    ])
    .await;
}

#[tokio::test]
async fn not_found_explanations() {
    let code = "fn main() {\n    let quote = “x”;\n    print(quote);\n}\n".as_bytes();
    check(&[
        (
            "numbers pasted",
            code,
            "2\t    let quote",
            "x\n3\ty",
            false,
            Error("NOT_FOUND", "Read's line numbers"),
        ),
        (
            "numbers pasted into new",
            code,
            "    print(quote);",
            "3\t    a();\n4\t    b();",
            false,
            Error("INVALID_PARAM", "new_string contains Read's line numbers"),
        ),
        ("quotes", code, "let quote = \"x\";", "y", false, Error("NOT_FOUND", "typographic")),
        (
            "nearest is only named",
            code,
            "    print(quotes);",
            "y",
            false,
            Error("NOT_FOUND", "file line 3: ····print(quote);"),
        ),
        (
            "nothing near",
            code,
            "SELECT * FROM users",
            "y",
            false,
            Error("NOT_FOUND", "no similar text found"),
        ),
        ("escaped twice", code, "fn main() {\\n    let", "a\nb", false, Error("NOT_FOUND", "double-escaped")),
        ("empty file", b"", "a", "b", false, Error("NOT_FOUND", "empty")),
        ("only blanks", b"a\nb\n", "      ", "b", false, Error("NOT_FOUND", "whitespace")),
        (
            "numbered data may be edited",
            b"1\ta\n2\tb\n",
            "1\ta\n2\tb",
            "1\tx\n2\ty",
            false,
            Bytes(b"1\tx\n2\ty\n"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn already_applied() {
    check(&[
        ("applied before", b"def g():\n    pass\n", "def f():", "def g():", false, Standing("line 1")),
        (
            "insertion made before",
            b"import os\nimport sys\nx\n",
            "import os\n",
            "import os\nimport sys\n",
            false,
            Standing("line 1"),
        ),
        (
            "insertion made before, CRLF",
            b"import os\r\nimport sys\r\nx\r\n",
            "import os",
            "import os\nimport sys",
            false,
            Standing("line 1"),
        ),
        ("indented before", b"x\n    a\ny\n", "  a", "    a", false, Standing("line 2")),
        ("insertion above made before", b"# c\nx = 1\n", "x = 1", "# c\nx = 1", false, Standing("line 2")),
        (
            "a look-alike below is not it",
            b"x = 1\nyellow\n",
            "x = 1",
            "x = 1\ny",
            false,
            Bytes(b"x = 1\ny\nyellow\n"),
        ),
        ("a short word proves nothing", b"ab x\n", "nothere", "x", false, Error("NOT_FOUND", "")),
        ("inside another word proves nothing", b"catalog\n", "dog", "cat", false, Error("NOT_FOUND", "")),
        ("second blank line may be added", b"a\n\nb\n", "a\n", "a\n\n", false, Bytes(b"a\n\n\nb\n")),
        ("renamed everywhere before", b"a.bar() + b.bar()\n", "a.baz()", "a.bar()", true, Standing("line 1")),
        // The new text stands at a place that is not the old one's: nothing was done there.
        (
            "the old text is misquoted and stands elsewhere",
            b"fn a() {\n    return b;\n}\nfn c() {\n    return  a ;\n}\n",
            "return a;",
            "return b;",
            false,
            Error("NOT_FOUND", "new_string is already at line 2"),
        ),
        (
            "nothing of the old text is near",
            b"use std::fmt;\n\nreturn Ok(value);\n",
            "self.cache.clear()",
            "return Ok(value);",
            false,
            Error("NOT_FOUND", "new_string is already at line 3"),
        ),
        (
            "another place is as like it",
            b"a.limit = 10;\nb.limit = 20;\nc.limit = 30;\n",
            "b.limit = 25;",
            "a.limit = 10;",
            false,
            Error("NOT_FOUND", "line 2"),
        ),
    ])
    .await;
}
