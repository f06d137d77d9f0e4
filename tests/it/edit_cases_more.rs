//! More edits through the table of `edit_cases`: byte order marks that are quoted, scripts in one byte a character, mixed
//! line ends under Write, and texts that only seem to stand there already.

use crate::edit_cases::{All, Bytes, C, Edit, Multi, No, Noop, Put, S, U, run};

const MARKED: &[u8] = b"\xEF\xBB\xBFa\nb\na\n";

#[test]
fn a_byte_order_mark_stays_and_stays_single() {
    run(&[
        (U, "quoted in old and new", MARKED, Edit("\u{feff}a", "\u{feff}x"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "quoted in old alone", MARKED, Edit("\u{feff}a", "x"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "quoted in new alone", MARKED, Edit("a\nb", "\u{feff}x\nb"), Bytes(b"\xEF\xBB\xBFx\nb\na\n")),
        (S, "taken away alone", MARKED, Edit("\u{feff}a", "a"), Noop("stay as it is")),
        (S, "given again alone", MARKED, Edit("a\nb", "\u{feff}a\nb"), Noop("stay as it is")),
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

#[test]
fn a_part_of_the_old_text_is_no_proof() {
    run(&[
        (
            S,
            "the rest was misquoted",
            b"import os, sys, re\n",
            Edit("import os, sys, json", "import os, sys"),
            No("nearest"),
        ),
        (S, "a number goes on", b"let x = 1.55;\n", Edit("let x = 1.0;", "let x = 1"), No("not found")),
        (
            S,
            "lines that were misquoted",
            b"keep me\nother\n",
            Edit("keep me\ngone\n", "keep me\n"),
            No("not found"),
        ),
        (
            S,
            "the same with CRLF",
            b"keep me\r\nother\r\n",
            Edit("keep me\ngone\n", "keep me\n"),
            No("not found"),
        ),
        (
            S,
            "a mark follows the letter",
            "cafe\u{301} au lait\n".as_bytes(),
            Edit("caf\u{e9} au", "cafe"),
            No("not found"),
        ),
        (
            S,
            "a joined emoji",
            "say 👩\u{200d}👧 now\n".as_bytes(),
            Edit("say 👩\u{200d}👦 now", "say 👩"),
            No("not found"),
        ),
        (
            S,
            "a deletion sent twice",
            b"alpha\ngamma\n",
            Edit("alpha\nbeta\ngamma", "alpha\ngamma"),
            Noop("already"),
        ),
    ]);
}
