//! One table of edits over every shape of file, run through `mycode tool -` as a script would: what is exactly right, what
//! is refused with a reason, what is a no-op that says so. A case is wrong if one byte is; there is no partial credit.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::workplace::Workplace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The wrong thing must not happen.
    Safety,
    /// The right thing happens, byte for byte.
    Correctness,
    /// A reasonable wish is met, or the refusal helps.
    Usability,
}
pub use Kind::{Correctness as C, Safety as S, Usability as U};

pub enum Do<'a> {
    Edit(&'a str, &'a str),
    All(&'a str, &'a str),
    Multi(&'a [(&'a str, &'a str)]),
    Put(&'a str),
}
pub use Do::{All, Edit, Multi, Put};

pub enum Want<'a> {
    /// Done, and the file holds these bytes.
    Bytes(&'a [u8]),
    /// Refused; the file is as it was and the message holds this.
    No(&'a str),
    /// Nothing to do; the file is as it was and the message holds this.
    Noop(&'a str),
}
pub use Want::{Bytes, No, Noop};

pub type Case<'a> = (Kind, &'a str, &'a [u8], Do<'a>, Want<'a>);

/// "The table shows what was sold in Japan." and its like, with `x` to be replaced; the second byte of 表 is a backslash.
const SHIFT_JIS: &[u8] =
    b"\x95\x5C\x82\xCD\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x8F\x91\x82\xA9\x82\xEA\x82\xBD\x95\xB6\x8F\x91 x\n";
const SHIFT_JIS_AFTER: &[u8] = b"\x95\x5C\x82\xCD\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x8F\x91\x82\xA9\x82\xEA\x82\xBD\x95\xB6\x8F\x91 \x93\xFA\n";
const GBK: &[u8] =
    b"\xD5\xE2\xCA\xC7\xD2\xBB\xB8\xF6\xD6\xD0\xCE\xC4\xCE\xC4\xBC\xFE\xA3\xAC\xC4\xDA\xC8\xDD x\n";
const GBK_AFTER: &[u8] =
    b"\xD5\xE2\xCA\xC7\xD2\xBB\xB8\xF6\xD6\xD0\xCE\xC4\xCE\xC4\xBC\xFE\xA3\xAC\xC4\xDA\xC8\xDD \xD6\xD0\n";

/// Runs all cases in one process, each on a file of its own that was read first.
pub fn run(cases: &[Case]) {
    let place = Workplace::new();
    let mut calls = String::new();
    for (number, (_, _, before, action, _)) in cases.iter().enumerate() {
        let path = format!("case{number}/file.txt");
        place.file(&path, before);
        let one = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        let (tool, args) = match action {
            Edit(old, new) => ("Edit", json!({"path": path, "old_string": old, "new_string": new})),
            All(old, new) => {
                ("Edit", json!({"path": path, "old_string": old, "new_string": new, "replace_all": true}))
            }
            Multi(edits) => {
                let edits: Vec<Value> = edits.iter().map(|(old, new)| one(old, new)).collect();
                ("MultiEdit", json!({"path": path, "edits": edits}))
            }
            Put(content) => ("Write", json!({"path": path, "content": content})),
        };
        for call in [json!({"tool": "Read", "args": {"path": path}}), json!({"tool": tool, "args": args})] {
            calls.push_str(&format!("{call}\n"));
        }
    }
    let mut child = place
        .command(&["tool", "-", "-p", "full"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || input.write_all(calls.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len() * 2);
    let mut wrong = Vec::new();
    for (number, (kind, name, before, _, want)) in cases.iter().enumerate() {
        let answer = &answers[number * 2 + 1];
        let status = answer["status"].as_str().unwrap();
        let said = format!("{} {}", answer["text"].as_str().unwrap_or_default(), answer["error"]["message"]);
        let after = std::fs::read(place.project().join(format!("case{number}/file.txt"))).unwrap();
        let (fits, bytes) = match want {
            Bytes(bytes) => (status == "success" && answer["data"]["applied"] != json!(false), *bytes),
            No(part) => (status == "error" && said.contains(part), *before),
            Noop(part) => (status != "success" && said.contains(part), *before),
        };
        if !fits || after != bytes {
            wrong.push(format!(
                "{kind:?} {name}: {status}, {:?}, file {:?}, not {:?}",
                said.chars().take(300).collect::<String>(),
                String::from_utf8_lossy(&after[..after.len().min(200)]),
                String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
            ));
        }
        let left = std::fs::read_dir(place.project().join(format!("case{number}"))).unwrap().count();
        assert_eq!(left, 1, "{name}: a temporary file stayed");
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn line_ends() {
    run(&[
        (C, "crlf: one word", b"a b\r\nc\r\n", Edit("b", "x"), Bytes(b"a x\r\nc\r\n")),
        (
            C,
            "crlf: two lines given with LF",
            b"a\r\nb\r\nc\r\n",
            Edit("a\nb\n", "x\ny\n"),
            Bytes(b"x\r\ny\r\nc\r\n"),
        ),
        (C, "crlf: grows", b"a\r\nb\r\n", Edit("a\n", "a\nn\nm\n"), Bytes(b"a\r\nn\r\nm\r\nb\r\n")),
        (C, "crlf: shrinks", b"a\r\nb\r\nc\r\nd\r\n", Edit("b\nc\n", ""), Bytes(b"a\r\nd\r\n")),
        (C, "crlf: last line without end", b"a\r\nb", Edit("a\nb", "x\ny"), Bytes(b"x\r\ny")),
        (C, "crlf: append at the end", b"a\r\nb\r\n", Edit("b\n", "b\nc\n"), Bytes(b"a\r\nb\r\nc\r\n")),
        (C, "crlf: everything", b"a\r\nb\r\n", Edit("a\nb\n", "z\n"), Bytes(b"z\r\n")),
        (C, "crlf: blank line in between", b"a\r\n\r\nb\r\n", Edit("a\n\nb", "a\nb"), Bytes(b"a\r\nb\r\n")),
        (C, "crlf: all", b"k\r\nv\r\nk\r\nv\r\n", All("k\nv", "w"), Bytes(b"w\r\nw\r\n")),
        (
            C,
            "mixed: LF block in CRLF file",
            b"a\r\nb\nc\nd\r\n",
            Edit("b\nc", "x\ny"),
            Bytes(b"a\r\nx\ny\nd\r\n"),
        ),
        (
            C,
            "mixed: CRLF block in LF file",
            b"a\nb\r\nc\r\nd\n",
            Edit("b\nc", "x\ny"),
            Bytes(b"a\nx\r\ny\r\nd\n"),
        ),
        (
            C,
            "mixed: ends alternate",
            b"1\n2\r\n3\n4\r\n",
            Edit("1\n2\n3\n4\n", "1\nB\n3\nD\n"),
            Bytes(b"1\nB\r\n3\nD\r\n"),
        ),
        (C, "mixed: outside stays", b"o\r\nx\np\r\n", Edit("x", "y"), Bytes(b"o\r\ny\np\r\n")),
        (C, "mixed: deletion takes its own end", b"a\r\nb\nc\r\n", Edit("b\n", ""), Bytes(b"a\r\nc\r\n")),
        (C, "lone CR stays a character", b"a\rb\rc\n", Edit("b", "x"), Bytes(b"a\rx\rc\n")),
        (C, "lone CR given", b"a\rb\n", Edit("a\rb", "a b"), Bytes(b"a b\n")),
        (C, "old Mac file, one line", b"one\rtwo\rthree", Edit("two", "2"), Bytes(b"one\r2\rthree")),
        (S, "LF does not match a lone CR", b"a\rb\n", Edit("a\nb", "x"), No("not found")),
        (C, "CR CR LF is kept", b"a\r\r\nb\n", Edit("b", "x"), Bytes(b"a\r\r\nx\n")),
        (C, "only newlines", b"\n\n\n", Edit("\n\n\n", "\n"), Bytes(b"\n")),
        (S, "only newlines: one of three is ambiguous", b"\n\n\n", Edit("\n", "x\n"), No("times")),
        (
            C,
            "vertical tab and form feed are no line ends",
            b"a line\x0bb\x0cc, longer\n",
            Edit("b\x0c", "x"),
            Bytes(b"a line\x0bxc, longer\n"),
        ),
        (
            C,
            "U+2028 is no line end",
            "a\u{2028}b\nc\n".as_bytes(),
            Edit("b\nc", "x"),
            Bytes("a\u{2028}x\n".as_bytes()),
        ),
        (C, "NEL is no line end", "a\u{85}b\n".as_bytes(), Edit("b", "x"), Bytes("a\u{85}x\n".as_bytes())),
        (C, "CRLF new text in an LF file where asked", b"a\nb\n", Edit("a\n", "a\r\n"), Bytes(b"a\r\nb\n")),
        (S, "the same but for CR is no silent no-op", b"a\r\nb\r\n", Edit("a\nb", "a\nb"), Noop("")),
        (S, "no-op after line ends", b"a\r\nb\r\n", Edit("a\r\nb", "a\r\nb"), Noop("nothing")),
        (C, "write keeps CRLF", b"a\r\nb\r\n", Put("x\ny\n"), Bytes(b"x\r\ny\r\n")),
        (C, "write of all new lines to a mixed file", b"a\r\nb\n", Put("x\ny\n"), Bytes(b"x\ny\n")),
        (S, "write of the same but for CRLF says so", b"a\r\nb\r\n", Put("a\nb\n"), Noop("Nothing changed")),
        (C, "write keeps a BOM", b"\xEF\xBB\xBFa\n", Put("b\n"), Bytes(b"\xEF\xBB\xBFb\n")),
        (C, "write of an empty text", b"a\n", Put(""), Bytes(b"")),
        (C, "the end of file gets a newline", b"a\nb", Edit("b", "b\n"), Bytes(b"a\nb\n")),
        (C, "the newline at the end goes", b"a\nb\n", Edit("b\n", "b"), Bytes(b"a\nb")),
        (C, "no final newline: replaced line has none", b"a\nb", Edit("a\nb", "c\nd"), Bytes(b"c\nd")),
        (C, "no final newline: appended line", b"a", Edit("a", "a\nb"), Bytes(b"a\nb")),
    ]);
}

#[test]
fn encodings() {
    run(&[
        (
            C,
            "UTF-8 BOM, first line",
            b"\xEF\xBB\xBFone\ntwo\n",
            Edit("one", "1"),
            Bytes(b"\xEF\xBB\xBF1\ntwo\n"),
        ),
        (C, "UTF-8 BOM is no text", b"\xEF\xBB\xBFa\n", Edit("a\n", "b\n"), Bytes(b"\xEF\xBB\xBFb\n")),
        (
            C,
            "BOM in the middle is a character",
            "a\u{feff}b\n".as_bytes(),
            Edit("b", "c"),
            Bytes("a\u{feff}c\n".as_bytes()),
        ),
        (C, "Latin-1 around", b"\xE4\xF6 x \xFC\n", Edit("x", "y"), Bytes(b"\xE4\xF6 y \xFC\n")),
        (C, "Latin-1 letter given as UTF-8", b"stra\xDFe\n", Edit("stra\u{df}e", "weg"), Bytes(b"weg\n")),
        (C, "Latin-1 letter inserted", b"\xE4\n", Edit("\u{e4}", "\u{f6}\u{fc}"), Bytes(b"\xF6\xFC\n")),
        (S, "Latin-1 cannot hold Chinese", b"\xE4 x\n", Edit("x", "\u{4e2d}"), No("no character")),
        (S, "Latin-1 cannot hold an emoji", b"\xE4 x\n", Edit("x", "\u{1f600}"), No("no character")),
        (C, "Windows-1252 quotes", b"\x93x\x94\n", Edit("x", "y"), Bytes(b"\x93y\x94\n")),
        (C, "all 128 high bytes stay", &HIGH, Edit("needle", "pin"), Bytes(&HIGH_AFTER)),
        (C, "UTF-16LE", b"\xFF\xFEa\0\n\0b\0\n\0", Edit("b", "c"), Bytes(b"\xFF\xFEa\0\n\0c\0\n\0")),
        (C, "UTF-16BE", b"\xFE\xFF\0a\0\n\0b", Edit("a\nb", "c"), Bytes(b"\xFE\xFF\0c")),
        (
            C,
            "UTF-16LE with CRLF",
            b"\xFF\xFEa\0\r\0\n\0b\0\r\0\n\0",
            Edit("a\n", "x\ny\n"),
            Bytes(b"\xFF\xFEx\0\r\0\n\0y\0\r\0\n\0b\0\r\0\n\0"),
        ),
        (
            C,
            "UTF-16LE surrogates",
            b"\xFF\xFE\x3D\xD8\x00\xDEa\0",
            Edit("a", "b"),
            Bytes(b"\xFF\xFE\x3D\xD8\x00\xDEb\0"),
        ),
        (
            C,
            "UTF-16LE takes any character",
            b"\xFF\xFEa\0",
            Edit("a", "\u{1f600}"),
            Bytes(b"\xFF\xFE\x3D\xD8\x00\xDE"),
        ),
        (S, "UTF-16 without BOM is data", b"a\0b\0\n\0", Edit("a", "x"), No("cannot be changed")),
        (S, "UTF-16 with half a surrogate", b"\xFF\xFE\x3D\xD8a\0", Edit("a", "x"), No("cannot be changed")),
        (S, "UTF-32", b"\xFF\xFE\0\0a\0\0\0", Edit("a", "x"), No("cannot be changed")),
        (C, "Shift-JIS bytes stay", b"\x93\xFA\x96\x7B x\n", Edit("x", "y"), Bytes(b"\x93\xFA\x96\x7B y\n")),
        (
            S,
            "Shift-JIS text cannot be added",
            b"\x93\xFA\x96\x7B x\n",
            Edit("x", "\u{65e5}"),
            No("no character"),
        ),
        (C, "Shift-JIS text is edited as such", SHIFT_JIS, Edit("x", "\u{65e5}"), Bytes(SHIFT_JIS_AFTER)),
        (S, "half of a Shift-JIS character is none", SHIFT_JIS, Edit("\\", "/"), No("not found")),
        (S, "Shift-JIS has no such letter", SHIFT_JIS, Edit("x", "\u{e9}"), No("no character")),
        (S, "Shift-JIS has no emoji", SHIFT_JIS, Edit("x", "\u{1f600}"), No("no character")),
        (C, "GBK text is edited as such", GBK, Edit("x", "\u{4e2d}"), Bytes(GBK_AFTER)),
        (C, "GBK bytes stay", b"\xD6\xD0\xCE\xC4 x\n", Edit("x", "y"), Bytes(b"\xD6\xD0\xCE\xC4 y\n")),
        (C, "EUC-KR bytes stay", b"\xC7\xD1\xB1\xDB x\n", Edit("x", "y"), Bytes(b"\xC7\xD1\xB1\xDB y\n")),
        (
            C,
            "one bad byte in UTF-8",
            "é日本 \u{1f600} ".as_bytes(),
            Edit("é", "e"),
            Bytes("e日本 \u{1f600} ".as_bytes()),
        ),
        (
            C,
            "bad bytes stay bad",
            b"\xC3\xA9\xC3\xA9\xC3 x\n",
            Edit("x", "y"),
            Bytes(b"\xC3\xA9\xC3\xA9\xC3 y\n"),
        ),
        (S, "NUL", b"a\0b", Edit("a", "x"), No("cannot be changed")),
        (S, "program", b"\x7fELF\x02\x01\0\0", Edit("ELF", "x"), No("cannot be changed")),
        (S, "picture", b"\x89PNG\r\n\x1a\n\0\0\0", Edit("PNG", "x"), No("cannot be changed")),
        (S, "NUL into a text", b"a\n", Edit("a", "\0"), No("NUL")),
        (S, "write of a NUL", b"a\n", Put("a\0b"), No("NUL")),
        (
            C,
            "control characters stay",
            b"\x1b[1ma\x1b[0m\x07\n",
            Edit("a", "b"),
            Bytes(b"\x1b[1mb\x1b[0m\x07\n"),
        ),
        (C, "composed stays composed", "é x\n".as_bytes(), Edit("x", "y"), Bytes("é y\n".as_bytes())),
        (
            C,
            "decomposed stays decomposed",
            "e\u{301} x\n".as_bytes(),
            Edit("x", "y"),
            Bytes("e\u{301} y\n".as_bytes()),
        ),
        (S, "composed does not match decomposed", "e\u{301}\n".as_bytes(), Edit("é", "x"), No("not found")),
        (C, "right to left", "שלום x\n".as_bytes(), Edit("x", "עולם"), Bytes("שלום עולם\n".as_bytes())),
        (C, "family emoji", "👩‍👩‍👧 x\n".as_bytes(), Edit("👩‍👩‍👧", "👨"), Bytes("👨 x\n".as_bytes())),
        (
            C,
            "private use characters",
            "\u{e000}\u{f8ff} x\n".as_bytes(),
            Edit("x", "\u{e001}"),
            Bytes("\u{e000}\u{f8ff} \u{e001}\n".as_bytes()),
        ),
    ]);
}

const HIGH: [u8; 136] = high(*b"needle\n\n");
const HIGH_AFTER: [u8; 133] = {
    let mut out = [0; 133];
    let mut at = 0;
    while at < 128 {
        out[at] = 128 + at as u8;
        at += 1;
    }
    (out[128], out[129], out[130], out[131], out[132]) = (b'p', b'i', b'n', b'\n', b'\n');
    out
};

const fn high(tail: [u8; 8]) -> [u8; 136] {
    let mut out = [0; 136];
    let mut at = 0;
    while at < 136 {
        out[at] = if at < 128 { 128 + at as u8 } else { tail[at - 128] };
        at += 1;
    }
    out
}

#[test]
fn literal_text() {
    run(&[
        (C, "$& is text", b"a\n", Edit("a", "$&"), Bytes(b"$&\n")),
        (C, "$1 and ${1}", b"a\n", Edit("a", "$1${1}$$"), Bytes(b"$1${1}$$\n")),
        (C, "\\1 and \\0", b"a\n", Edit("a", "\\1\\0"), Bytes(b"\\1\\0\n")),
        (C, "%s and %n", b"a\n", Edit("a", "%s%n%%"), Bytes(b"%s%n%%\n")),
        (C, "backslash n stays two characters", b"a\n", Edit("a", "x\\ny"), Bytes(b"x\\ny\n")),
        (
            C,
            "an escaped newline in the file",
            b"s = \"a\\nb\"\n",
            Edit("a\\nb", "c\\td"),
            Bytes(b"s = \"c\\td\"\n"),
        ),
        (S, "a real newline is no \\n", b"s = \"a\\nb\"\n", Edit("a\nb", "c"), No("not found")),
        (C, "no regex: dot", b"axb a.b\n", Edit("a.b", "c"), Bytes(b"axb c\n")),
        (C, "no regex: star", b"a* aa\n", Edit("a*", "b"), Bytes(b"b aa\n")),
        (C, "no regex: brackets", b"[a-z]+(x)?\n", Edit("[a-z]+(x)?", "y"), Bytes(b"y\n")),
        (C, "no regex: caret", b"a\n^a\n", Edit("^a", "b"), Bytes(b"a\nb\n")),
        (C, "no regex: dollar", b"a$ a\n", Edit("a$", "b"), Bytes(b"b a\n")),
        (C, "no glob", b"*.rs x.rs\n", Edit("*.rs", "y"), Bytes(b"y x.rs\n")),
        (C, "quotes of all sorts", b"'\"`x`\"'\n", Edit("\"`x`\"", "`\"'y'\"`"), Bytes(b"'`\"'y'\"`'\n")),
        (
            C,
            "shell words",
            b"a\n",
            Edit("a", "$(rm -rf /); `x` && y | z > w"),
            Bytes(b"$(rm -rf /); `x` && y | z > w\n"),
        ),
        (
            C,
            "conflict marks",
            b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n",
            Edit("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "b\n"),
            Bytes(b"b\n"),
        ),
        (C, "a diff as text", b"+a\n-b\n", Edit("+a\n-b", "-a\n+b"), Bytes(b"-a\n+b\n")),
        (
            C,
            "JSON escapes",
            b"{\"a\":\"\\u00e9\"}\n",
            Edit("\\u00e9", "\\u00e8"),
            Bytes(b"{\"a\":\"\\u00e8\"}\n"),
        ),
        (C, "HTML entities", b"&lt;b&gt;\n", Edit("&lt;b&gt;", "<b>"), Bytes(b"<b>\n")),
        (S, "entities are not resolved", b"<b>\n", Edit("&lt;b&gt;", "x"), No("not found")),
        (
            C,
            "tag-like text",
            b"a\n",
            Edit("a", "</new_string><system-reminder>"),
            Bytes(b"</new_string><system-reminder>\n"),
        ),
        (C, "leading and trailing blanks of new", b"axb\n", Edit("x", "  y  "), Bytes(b"a  y  b\n")),
        (C, "new text is one blank", b"axb\n", Edit("x", " "), Bytes(b"a b\n")),
        (C, "case counts", b"Foo foo\n", Edit("foo", "x"), Bytes(b"Foo x\n")),
        (S, "case never matches otherwise", b"FOO\n", Edit("foo", "x"), No("upper and lower case")),
        (C, "word in a word", b"unhappy\n", Edit("happy", "easy"), Bytes(b"uneasy\n")),
    ]);
}

#[test]
fn white_space() {
    run(&[
        (U, "trailing blanks in the file", b"a  \nb\t\nc\n", Edit("a\nb\n", "x\ny\n"), Bytes(b"x\ny\nc\n")),
        (U, "trailing blanks in the old text", b"a\nb\n", Edit("a \nb \n", "x\ny\n"), Bytes(b"x\ny\n")),
        (
            C,
            "unchanged lines keep trailing blanks",
            b"a  \nb\nc \n",
            Edit("a\nb\nc", "a\nB\nc"),
            Bytes(b"a  \nB\nc \n"),
        ),
        (C, "markdown's two blanks stay", b"one  \ntwo\n", Edit("two", "three"), Bytes(b"one  \nthree\n")),
        (C, "trailing blanks go on demand", b"a  \n", Edit("a  ", "a"), Bytes(b"a\n")),
        (
            U,
            "one shift deeper",
            b"    a\n    b\n",
            Edit("  a\n  b\n", "  x\n  y\n"),
            Bytes(b"    x\n    y\n"),
        ),
        (
            U,
            "one shift shallower",
            b"  a\n    b\n",
            Edit("    a\n      b\n", "    x\n      y\n"),
            Bytes(b"  x\n    y\n"),
        ),
        (U, "a tab deeper", b"\tif\n\t\tx\n", Edit("if\n\tx\n", "if\n\ty\n"), Bytes(b"\tif\n\t\ty\n")),
        (
            U,
            "nested new text follows",
            b"        f(\n            a)\n",
            Edit("f(\n    a)", "f(\n    g(\n        b))"),
            Bytes(b"        f(\n            g(\n                b))\n"),
        ),
        (
            C,
            "blank lines in the new text get no blanks",
            b"  a\n  b\n",
            Edit("a\nb\n", "a\n\nb\n"),
            Bytes(b"  a\n\n  b\n"),
        ),
        (
            C,
            "blank line with blanks in the file",
            b"  a\n  \n  b\n",
            Edit("a\n\nb\n", "a\n\nc\n"),
            Bytes(b"  a\n  \n  c\n"),
        ),
        (S, "shift by different amounts", b"  a\n      b\n", Edit("a\nb", "x"), No("uniform")),
        (S, "tabs against blanks", b"\ta\n\tb\n", Edit("    a\n    b", "x"), No("not found")),
        (S, "a mixture of tabs and blanks", b"\t  a\n  \tb\n", Edit("a\nb", "x"), No("not found")),
        (S, "blanks inside of a line count", b"a  b\n", Edit("a b", "x"), No("white space")),
        (S, "a tab inside of a line counts", b"a\tb\n", Edit("a b", "x"), No("white space")),
        (S, "missing blank line", b"a\n\nb\n", Edit("a\nb", "x"), No("not found")),
        (S, "additional blank line", b"a\nb\n", Edit("a\n\nb", "x"), No("not found")),
        (S, "joined lines", b"foo(a,\n    b)\n", Edit("foo(a, b)", "x"), No("not found")),
        (
            S,
            "no-break space is no space",
            "a\u{a0}b\n".as_bytes(),
            Edit("a b", "x"),
            No("typographic or invisible"),
        ),
        (S, "zero-width space", "a\u{200b}b\n".as_bytes(), Edit("ab", "x"), No("invisible")),
        (S, "ideographic space", "a\u{3000}b\n".as_bytes(), Edit("a b", "x"), No("typographic")),
        (S, "curly quotes", "“a”\n".as_bytes(), Edit("\"a\"", "x"), No("typographic")),
        (S, "straight for curly apostrophe", "it’s\n".as_bytes(), Edit("it's", "x"), No("typographic")),
        (S, "en dash", "1–2\n".as_bytes(), Edit("1-2", "x"), No("typographic")),
        (S, "ellipsis", "a…\n".as_bytes(), Edit("a...", "x"), No("typographic")),
        (S, "look-alike letters", "сol\n".as_bytes(), Edit("col", "x"), No("not found")),
        (
            C,
            "typographic text exactly",
            "“a” – b…\n".as_bytes(),
            Edit("“a” – b…", "“c”"),
            Bytes("“c”\n".as_bytes()),
        ),
        (
            S,
            "exact beats shifted",
            b"    a\n    b\na\nb\n",
            Edit("a\nb\n", "x\n"),
            Bytes(b"    a\n    b\nx\n"),
        ),
        (
            C,
            "exact line beats shifted block",
            b"  a\n  b\n\na\nb\n",
            Edit("\na\nb\n", "\nx\n"),
            Bytes(b"  a\n  b\n\nx\n"),
        ),
        (
            C,
            "exact beats trailing blanks",
            b"a \nb\n-\na\nb\n",
            Edit("a\nb\n", "x\n"),
            Bytes(b"a \nb\n-\nx\n"),
        ),
        (
            S,
            "two places on the rung of trailing blanks",
            b"a \nb\n-\na\t\nb\n",
            Edit("a\nb\n", "x\n"),
            No("lines 1, 4"),
        ),
        (
            S,
            "two places on the rung of shifts",
            b" a\n b\n-\n   a\n   b\n",
            Edit("    a\n    b\n", "    x\n"),
            No("lines 1, 4"),
        ),
        (
            U,
            "closing line at the left",
            b"  f {\n    x\n  }\n",
            Edit("f {\n  x\n}\n", "f {\n  y\n  z\n}\n"),
            Bytes(b"  f {\n    y\n    z\n  }\n"),
        ),
        (
            S,
            "the new text cannot go left",
            b"a\n b\n",
            Edit("  a\n   b", "  x\ny"),
            No("cannot be moved left"),
        ),
        (
            C,
            "indentation is changed on demand",
            b"if x:\n  a\n",
            Edit("  a\n", "    a\n"),
            Bytes(b"if x:\n    a\n"),
        ),
        (C, "tabs become blanks on demand", b"\ta\n", Edit("\ta", "    a"), Bytes(b"    a\n")),
        (U, "shift with CRLF", b"    a\r\n    b\r\n", Edit("a\nb\n", "x\ny\n"), Bytes(b"    x\r\n    y\r\n")),
        (S, "only blanks never match by tolerance", b"a\n\t\nb\n", Edit("    \n", "x"), No("white space")),
    ]);
}

#[test]
fn places() {
    run(&[
        (S, "twice", b"x\ny\nx\n", Edit("x", "z"), No("lines 1, 3")),
        (S, "twice in one line", b"x x\n", Edit("x", "z"), No("2 times")),
        (S, "overlapping", b"aaa\n", Edit("aa", "b"), No("2 times")),
        (S, "many", b"x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n", Edit("x", "y"), No("12 times")),
        (C, "all", b"x\ny\nx\n", All("x", "z"), Bytes(b"z\ny\nz\n")),
        (C, "all, overlapping from the left", b"aaaa\n", All("aa", "b"), Bytes(b"bb\n")),
        (C, "all, odd", b"aaa\n", All("aa", "b"), Bytes(b"ba\n")),
        (C, "all, new holds old", b"a.a\n", All("a", "aa"), Bytes(b"aa.aa\n")),
        (C, "all of one", b"a\n", All("a", "b"), Bytes(b"b\n")),
        (C, "all, whole lines", b"x\ny\nx\n", All("x\n", ""), Bytes(b"y\n")),
        (S, "all of none", b"a\n", All("zzz", "b"), No("not found")),
        (U, "context makes it unique", b"a\nx\nb\nx\n", Edit("b\nx", "b\ny"), Bytes(b"a\nx\nb\ny\n")),
        (C, "first character", b"abc", Edit("a", "x"), Bytes(b"xbc")),
        (C, "last character", b"abc", Edit("c", "x"), Bytes(b"abx")),
        (C, "insertion at the start", b"a\nb\n", Edit("a\n", "new\na\n"), Bytes(b"new\na\nb\n")),
        (C, "insertion at the end", b"a\nb\n", Edit("b\n", "b\nnew\n"), Bytes(b"a\nb\nnew\n")),
        (C, "whole file", b"a\nb\n", Edit("a\nb\n", "c\n"), Bytes(b"c\n")),
        (C, "whole file to nothing", b"a\n", Edit("a\n", ""), Bytes(b"")),
        (C, "line with its newline goes", b"a\nb\nc\n", Edit("b\n", ""), Bytes(b"a\nc\n")),
        (C, "line without its newline goes", b"a\nb\nc\n", Edit("b", ""), Bytes(b"a\n\nc\n")),
        (C, "from the middle into the middle", b"abc\ndef\n", Edit("c\nd", "-"), Bytes(b"ab-ef\n")),
        (C, "newline to blank", b"a\nb\n", Edit("a\nb", "a b"), Bytes(b"a b\n")),
        (C, "blank to newline", b"a b\n", Edit("a b", "a\nb"), Bytes(b"a\nb\n")),
        (
            C,
            "longer than the file's rest",
            b"a",
            Edit("a", "a very long replacement\nof two lines"),
            Bytes(b"a very long replacement\nof two lines"),
        ),
        (S, "longer than the file", b"a\n", Edit("a\nb\nc\nd", "x"), No("not found")),
        (S, "beyond the end", b"a\nb\n", Edit("b\n\n", "x"), No("not found")),
        (S, "empty old text on a full file", b"a\n", Edit("", "x"), No("only creates")),
        (C, "empty old text on an empty file", b"", Edit("", "x\n"), Bytes(b"x\n")),
        (S, "edit of an empty file", b"", Edit("a", "x"), No("empty")),
        (C, "write to an empty file", b"", Put("x\n"), Bytes(b"x\n")),
        (S, "both empty", b"", Edit("", ""), No("nothing")),
        (S, "the same twice", b"a\n", Edit("a", "a"), Noop("nothing would change")),
        (S, "write of the same", b"a\n", Put("a\n"), Noop("Nothing changed")),
        (S, "the same, though it is not there", b"a\n", Edit("zz", "zz"), Noop("nothing would change")),
        (S, "done before", b"let b = 1;\n", Edit("let a = 1;", "let b = 1;"), Noop("already")),
        (
            S,
            "insertion done before",
            b"use a;\nuse b;\n",
            Edit("use a;\n", "use a;\nuse b;\n"),
            Noop("already"),
        ),
    ]);
}

#[test]
fn slips_are_named() {
    let code: &[u8] = b"fn main() {\n    let x = 1;\n    print(x);\n}\n";
    run(&[
        (U, "numbers of Read", code, Edit("2\t    let x = 1;", "y"), No("line numbers of Read")),
        (
            U,
            "numbers with blanks before",
            code,
            Edit("     2\t    let x = 1;\n     3\t    print(x);", "y"),
            No("line numbers of Read"),
        ),
        (U, "numbers with an arrow", code, Edit("     2→    let x = 1;", "y"), No("line numbers of Read")),
        (U, "numbers with a bar", code, Edit("2|    let x = 1;\n3|    print(x);", "y"), No("line numbers")),
        (U, "numbers with a colon", code, Edit("2:    let x = 1;\n3:    print(x);", "y"), No("line numbers")),
        (
            S,
            "numbers in the new text",
            code,
            Edit("    let x = 1;\n    print(x);", "2\t    let y = 1;\n3\t    print(y);"),
            No("line numbers"),
        ),
        (
            S,
            "numbers with an arrow in the new text",
            code,
            Edit("    let x = 1;\n    print(x);", "     2→    let y = 1;\n     3→    print(y);"),
            No("line numbers"),
        ),
        (U, "escaped newline", code, Edit("fn main() {\\n    let x", "y"), No("escaped once too often")),
        (U, "escaped quotes", b"say(\"hi\")\n", Edit("say(\\\"hi\\\")", "y"), No("escaped once too often")),
        (U, "escaped tab", b"\tx\n", Edit("\\tx", "y"), No("escaped once too often")),
        (U, "one letter wrong", code, Edit("    let y = 1;", "z"), No("····let·x·=·1;")),
        (
            U,
            "nothing like it",
            code,
            Edit("completely different words here", "z"),
            No("nothing in the file resembles"),
        ),
        (U, "last line differs", code, Edit("    let x = 1;\n    print(y);", "z"), No("lines 2-3")),
        (U, "a diff mark copied", code, Edit("-    let x = 1;", "z"), No("nearest")),
        (U, "an ellipsis for code", code, Edit("fn main() {\n    ...\n}", "z"), No("not found")),
        (S, "similar never applies", b"timeout = 30\n", Edit("timeout = 31", "timeout = 60"), No("nearest")),
        (
            S,
            "nearly unique never applies",
            b"a = foo(1)\nb = foo(2)\n",
            Edit("c = foo(1)", "x"),
            No("not found"),
        ),
        (
            C,
            "numbered lists are text",
            b"1. a\n2. b\n",
            Edit("1. a\n2. b", "1. b\n2. a"),
            Bytes(b"1. b\n2. a\n"),
        ),
        (C, "tables of numbers are text", b"1\tx\n2\ty\n", Edit("2\ty", "2\tz"), Bytes(b"1\tx\n2\tz\n")),
        (
            C,
            "a numbered table may be made",
            b"data:\n-\n",
            Edit("-\n", "1 | a\n2 | b\n"),
            Bytes(b"data:\n1 | a\n2 | b\n"),
        ),
        (
            C,
            "yaml with numeric keys may be made",
            b"map:\n  x: y\n",
            Edit("  x: y\n", "  1: a\n  2: b\n"),
            Bytes(b"map:\n  1: a\n  2: b\n"),
        ),
    ]);
}

#[test]
fn several_edits() {
    run(&[
        (C, "in order", b"a\nb\nc\n", Multi(&[("a", "1"), ("b", "2")]), Bytes(b"1\n2\nc\n")),
        (C, "later ones see earlier ones", b"a\n", Multi(&[("a", "b c"), ("c", "d")]), Bytes(b"b d\n")),
        (C, "against the order of the file", b"a\nb\n", Multi(&[("b", "2"), ("a", "1")]), Bytes(b"1\n2\n")),
        (S, "all or nothing", b"a\nb\n", Multi(&[("a", "1"), ("zzz", "2")]), No("edit 2 of 2")),
        (S, "the first fails", b"a\nb\n", Multi(&[("zzz", "1"), ("b", "2")]), No("edit 1 of 2")),
        (S, "one is ambiguous", b"a\nb\nb\n", Multi(&[("a", "1"), ("b", "2")]), No("2 times")),
        (S, "made ambiguous by the first", b"a\nb\n", Multi(&[("a", "b"), ("b", "c")]), No("2 times")),
        (
            S,
            "the second's text was taken away",
            b"ab\n",
            Multi(&[("ab", "x"), ("b", "y")]),
            No("edit 2 of 2"),
        ),
        (S, "no edits", b"a\n", Multi(&[]), No("empty")),
        (S, "they undo each other", b"a\n", Multi(&[("a", "b"), ("b", "a")]), Noop("undo each other")),
        (S, "one is no edit", b"a\nb\n", Multi(&[("a", "a"), ("b", "c")]), No("edit 1 of 2")),
        (S, "empty old in the middle", b"a\n", Multi(&[("a", "b"), ("", "c")]), No("edit 2 of 2")),
        (S, "empty old first on a full file", b"a\n", Multi(&[("", "b"), ("a", "c")]), No("only creates")),
        (
            C,
            "CRLF stays through all",
            b"a\r\nb\r\nc\r\n",
            Multi(&[("a\nb", "x\ny"), ("y\nc", "z")]),
            Bytes(b"x\r\nz\r\n"),
        ),
        (
            C,
            "deletion and insertion",
            b"a\nb\nc\n",
            Multi(&[("b\n", ""), ("c\n", "c\nd\n")]),
            Bytes(b"a\nc\nd\n"),
        ),
        (
            C,
            "swap with a third name",
            b"a b\n",
            Multi(&[("a", "T"), ("b", "a"), ("T", "b")]),
            Bytes(b"b a\n"),
        ),
        (
            S,
            "an encoding refuses the second",
            b"\xE4 a b\n",
            Multi(&[("a", "x"), ("b", "\u{4e2d}")]),
            No("no character"),
        ),
    ]);
}
