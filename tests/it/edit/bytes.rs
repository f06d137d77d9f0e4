//! Edits of files with every line end, encoding and byte order mark: what the edit leaves alone keeps its very bytes.

use super::table::{All, Bytes, C, Edit, Multi, No, Noop, Put, S, U, run};

/// "The table shows what was sold in Japan." and its like, with `x` to be replaced; the second byte of 表 is a backslash.
const SHIFT_JIS: &[u8] =
    b"\x95\x5C\x82\xCD\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x8F\x91\x82\xA9\x82\xEA\x82\xBD\x95\xB6\x8F\x91 x\n";
const SHIFT_JIS_AFTER: &[u8] = b"\x95\x5C\x82\xCD\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x8F\x91\x82\xA9\x82\xEA\x82\xBD\x95\xB6\x8F\x91 \x93\xFA\n";
const GBK: &[u8] =
    b"\xD5\xE2\xCA\xC7\xD2\xBB\xB8\xF6\xD6\xD0\xCE\xC4\xCE\xC4\xBC\xFE\xA3\xAC\xC4\xDA\xC8\xDD x\n";
const GBK_AFTER: &[u8] =
    b"\xD5\xE2\xCA\xC7\xD2\xBB\xB8\xF6\xD6\xD0\xCE\xC4\xCE\xC4\xBC\xFE\xA3\xAC\xC4\xDA\xC8\xDD \xD6\xD0\n";

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
        (S, "UTF-16 without BOM is data", b"a\0b\0\n\0", Edit("a", "x"), No("cannot be edited")),
        (S, "UTF-16 with half a surrogate", b"\xFF\xFE\x3D\xD8a\0", Edit("a", "x"), No("cannot be edited")),
        (S, "UTF-32", b"\xFF\xFE\0\0a\0\0\0", Edit("a", "x"), No("cannot be edited")),
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
        (S, "NUL", b"a\0b", Edit("a", "x"), No("cannot be edited")),
        (S, "program", b"\x7fELF\x02\x01\0\0", Edit("ELF", "x"), No("cannot be edited")),
        (S, "picture", b"\x89PNG\r\n\x1a\n\0\0\0", Edit("PNG", "x"), No("cannot be edited")),
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

const MARKED: &[u8] = b"\xEF\xBB\xBFa\nb\na\n";

#[test]
fn byte_order_marks() {
    run(&[
        (U, "quoted in old and new", MARKED, Edit("\u{feff}a", "\u{feff}x"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "quoted in old alone", MARKED, Edit("\u{feff}a", "x"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "quoted in new alone", MARKED, Edit("a\nb", "\u{feff}x\nb"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "taken away alone", MARKED, Edit("\u{feff}a", "a"), Noop("nothing would change")),
        (S, "given again alone", MARKED, Edit("a\nb", "\u{feff}a\nb"), Noop("nothing would change")),
        (S, "in the content of a Write", MARKED, Put("\u{feff}z\n"), Bytes(b"\xEF\xBB\xBFz\n")),
        (S, "a Write that adds nothing else", MARKED, Put("\u{feff}a\nb\na\n"), Noop("Nothing changed")),
        (
            C,
            "in the first of two edits",
            MARKED,
            Multi(&[("\u{feff}a", "\u{feff}x"), ("\na", "\ny")]),
            Bytes(b"\xEF\xBB\xBFx\nb\ny\n"),
        ),
        (C, "UTF-16", b"\xFF\xFEa\0\n\0", Edit("\u{feff}a", "\u{feff}b"), Bytes(b"\xFF\xFEb\0\n\0")),
        (
            C,
            "before other line ends",
            b"\xEF\xBB\xBFa\r\nb\r\n",
            Edit("\u{feff}a\nb", "c\nd"),
            Bytes(b"\xEF\xBB\xBFc\r\nd\r\n"),
        ),
        (
            C,
            "two marks in the file are its own affair",
            b"\xEF\xBB\xBF\xEF\xBB\xBFa\n",
            Edit("a", "b"),
            Bytes(b"\xEF\xBB\xBF\xEF\xBB\xBFb\n"),
        ),
        (S, "no mark in the file", b"a\n", Edit("\u{feff}a", "x"), No("invisible")),
    ]);
}

#[test]
fn scripts_in_one_byte() {
    run(&[
        (C, "KOI8", KOI8, Edit("x", "да"), Bytes(KOI8_AFTER)),
        (C, "windows-1251", WINDOWS_1251, Edit("x", "да"), Bytes(WINDOWS_1251_AFTER)),
        (C, "Greek", GREEK, Edit("x", "ναι"), Bytes(GREEK_AFTER)),
        (C, "its own words match", WINDOWS_1251, Edit("привет, мир, это тест ", ""), Bytes(b"x\n")),
        (
            S,
            "no letter of another script slips in",
            WINDOWS_1251,
            Edit("x", "\u{e9}"),
            No("no character 'é'"),
        ),
        (S, "nor in Greek", GREEK, Edit("x", "\u{444}"), No("no character")),
        (
            C,
            "a few accents are Western",
            b"d\xE9j\xE0 vu, na\xEFve x\n",
            Edit("x", "\u{fc}"),
            Bytes(b"d\xE9j\xE0 vu, na\xEFve \xFC\n"),
        ),
        (
            C,
            "a text full of umlauts is Western",
            b"\xC4rger \xFCber sch\xF6ne gr\xFC\xDFe, m\xFCde V\xF6gel h\xF6ren x\n",
            Edit("x", "\u{e4}"),
            Bytes(b"\xC4rger \xFCber sch\xF6ne gr\xFC\xDFe, m\xFCde V\xF6gel h\xF6ren \xE4\n"),
        ),
        (
            S,
            "no byte comes out of a private-use character",
            b"ok \xC3\xA9\xC3\xA9\xFF\nb\n",
            Edit("b", "\u{f7fff}"),
            No("private-use"),
        ),
        (S, "nor by Write", b"ok \xC3\xA9\xC3\xA9\xFF\nb\n", Put("\u{f7fc3}\n"), No("private-use")),
        (
            S,
            "the sign for a bad byte does not match it",
            b"ok \xC3\xA9\xC3\xA9\xFF\n",
            Edit("\u{fffd}", "!"),
            No("not found"),
        ),
        (C, "ISO-2022-JP stays", b"\x1B$B4A;z\x1B(B x\n", Edit("x", "y"), Bytes(b"\x1B$B4A;z\x1B(B y\n")),
    ]);
}

const KOI8: &[u8] = b"\xD0\xD2\xC9\xD7\xC5\xD4, \xCD\xC9\xD2, \xDC\xD4\xCF \xD4\xC5\xD3\xD4 x\n";
const KOI8_AFTER: &[u8] = b"\xD0\xD2\xC9\xD7\xC5\xD4, \xCD\xC9\xD2, \xDC\xD4\xCF \xD4\xC5\xD3\xD4 \xC4\xC1\n";
const WINDOWS_1251: &[u8] = b"\xEF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0, \xFD\xF2\xEE \xF2\xE5\xF1\xF2 x\n";
const WINDOWS_1251_AFTER: &[u8] =
    b"\xEF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0, \xFD\xF2\xEE \xF2\xE5\xF1\xF2 \xE4\xE0\n";
const GREEK: &[u8] =
    b"\xEA\xE1\xEB\xE7\xEC\xDD\xF1\xE1 \xEA\xFC\xF3\xEC\xE5 \xE1\xF5\xF4\xFC \xE5\xDF\xED\xE1\xE9 x\n";
const GREEK_AFTER: &[u8] = b"\xEA\xE1\xEB\xE7\xEC\xDD\xF1\xE1 \xEA\xFC\xF3\xEC\xE5 \xE1\xF5\xF4\xFC \xE5\xDF\xED\xE1\xE9 \xED\xE1\xE9\n";

#[test]
fn write_keeps_mixed_line_ends() {
    let mixed: &[u8] = b"1\r\n2\n3\r\n4\n";
    run(&[
        (C, "one line changes", mixed, Put("1\n2\nX\n4\n"), Bytes(b"1\r\n2\nX\r\n4\n")),
        (C, "one goes", mixed, Put("1\n3\n4\n"), Bytes(b"1\r\n3\r\n4\n")),
        (C, "one comes after CRLF", mixed, Put("1\n2\n3\nn\n4\n"), Bytes(b"1\r\n2\n3\r\nn\r\n4\n")),
        (C, "one comes after LF", mixed, Put("1\n2\nn\n3\n4\n"), Bytes(b"1\r\n2\nn\n3\r\n4\n")),
        (C, "the last end goes", mixed, Put("1\n2\n3\n4"), Bytes(b"1\r\n2\n3\r\n4")),
        (S, "the same but for what nobody sees", mixed, Put("1\n2\n3\n4\n"), Noop("Nothing changed")),
        (
            C,
            "carriage returns given are meant",
            mixed,
            Put("1\r\n2\r\n3\r\n4\r\n"),
            Bytes(b"1\r\n2\r\n3\r\n4\r\n"),
        ),
        (C, "everything new, as given", mixed, Put("a\nb\n"), Bytes(b"a\nb\n")),
        (
            C,
            "edit of all places, each with its end",
            b"a\r\nz\r\na\nz\n",
            All("a\nz", "q\nw"),
            Bytes(b"q\r\nw\r\nq\nw\n"),
        ),
        (C, "CRLF on purpose", b"a\nb\n", All("\n", "\r\n"), Bytes(b"a\r\nb\r\n")),
        (C, "LF on purpose", b"a\r\nb\r\n", All("\r\n", "\n"), Bytes(b"a\nb\n")),
    ]);
}
