//! Tests of vi's keys: each row is a text with `|` at the cursor, keys, and the result. `\u{1b}` is Esc.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::tui::composer::buffer::Buffer;

const ESC: char = '\u{1b}';

fn press(vim: &mut Vim, buffer: &mut Buffer, keys: &str) {
    for key in keys.chars() {
        if key == ESC {
            vim.escape(buffer);
        } else if vim.normal {
            vim.key(buffer, key);
        } else {
            let edit = if key == '\n' { EditCommand::Newline } else { EditCommand::Insert(key) };
            buffer.edit(edit);
            vim.typed(edit);
        }
    }
}

fn after(text: &str, keys: &str) -> String {
    let (mut vim, mut buffer) = (Vim::default(), Buffer::default());
    let at = text.find('|').unwrap_or(0);
    buffer.set(&text.replace('|', ""));
    vim.escape(&mut buffer);
    buffer.move_to(at);
    press(&mut vim, &mut buffer, keys);
    let mut shown = buffer.text().to_owned();
    shown.insert(buffer.cursor(), '|');
    shown
}

#[test]
fn motions() {
    for (text, keys, expected) in [
        ("|one two.three", "w", "one |two.three"),
        ("|one two.three", "3w", "one two.|three"),
        ("|one two.three four", "2W", "one two.three |four"),
        ("one two.thr|ee", "b", "one two.|three"),
        ("one two.thr|ee", "B", "one |two.three"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("  one| two", "0", "|  one two"),
        ("  one| two", "^", "  |one two"),
        ("|one two", "$", "one tw|o"),
        ("one\nt|wo\nthree", "gg", "|one\ntwo\nthree"),
        ("|one\ntwo\nthree", "G", "one\ntwo\n|three"),
        ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
        ("on|e\ntwo", "j", "one\ntw|o"),
        ("one\ntw|o", "k", "on|e\ntwo"),
        ("|a,b,c", "f,;", "a,b|,c"),
        ("|a,b,c", "t,;", "a,|b,c"),
        ("a,b,|c", "F,;,", "a,b|,c"),
        ("a,b,|c", "T,", "a,b,|c"),
        ("|日本語 text", "ll", "日本|語 text"),
    ] {
        assert_eq!(after(text, keys), expected, "{text} {keys}");
    }
}

#[test]
fn changes() {
    for (text, keys, expected) in [
        ("|abc", "x", "|bc"),
        ("|abc", "2xp", "ca|b"),
        ("ab|c", "X", "a|c"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "4rx", "|abc"),
        ("|aBc", "3~", "Ab|C"),
        ("one|\n  two", "J", "one| two"),
        ("|one two", "dw", "|two"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two", "cwx\u{1b}", "|x two"),
        ("|a two", "cwx\u{1b}", "|x two"),
        ("|one two three", "2cwx\u{1b}", "|x three"),
        ("o|ne two", "D", "|o"),
        ("o|ne two", "Cx\u{1b}", "o|x"),
        ("one\n|two\nthree", "dd", "one\n|three"),
        ("one\n|two", "dd", "|one"),
        ("|one\ntwo\nthree", "2dd", "|three"),
        ("|one\ntwo\nthree", "ddp", "two\n|one\nthree"),
        ("one\n|two\nthree", "ddP", "one\n|two\nthree"),
        ("|one\ntwo\nthree", "dj", "|three"),
        ("one\nt|wo\nthree", "ccx\u{1b}", "one\n|x\nthree"),
        ("|one\ntwo", "yyp", "one\n|one\ntwo"),
        ("|one two", "ywP", "one| one two"),
        ("|one\ntwo", "Yjp", "one\ntwo\n|one"),
        ("one t|wo", "diw", "one| "),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("say \"o|ne two\" x", "ci\"y\u{1b}", "say \"|y\" x"),
        ("say \"o|ne two\" x", "da\"", "say | x"),
        ("f(a, (b|), c)", "di(", "f(a, (|), c)"),
        ("f(a, (b), |c)", "da(", "|f"),
        ("|a,b", "df,", "|b"),
        ("|a,b", "dt,", "|,b"),
        ("a,|b", "dF,", "a|b"),
        ("|one", "A two\u{1b}", "one tw|o"),
        ("  o|ne", "Ix\u{1b}", "  |xone"),
        ("o|ne", "ax\u{1b}", "on|xe"),
        ("o|ne", "ix\u{1b}", "o|xne"),
        ("|one", "otwo\u{1b}", "one\ntw|o"),
        ("|one", "Otwo\u{1b}", "tw|o\none"),
        ("|one two three", "dw.", "|three"),
        ("|one two", "cwx\u{1b}w.", "x |x"),
        ("|abcdef", "x3.", "|ef"),
        ("|one two", "dwu", "|one two"),
        ("|one", "A two three\u{1b}u", "on|e"),
        ("|one two", "dwu\u{12}", "|two"),
        ("|one", "dz", "|one"),
    ] {
        assert_eq!(after(text, keys), expected, "{text} {keys}");
    }
}

#[test]
fn escape_ends_insert_and_then_a_command() {
    let (mut vim, mut buffer) = (Vim::default(), Buffer::default());
    assert!(vim.escape(&mut buffer) && vim.normal);
    press(&mut vim, &mut buffer, "2d");
    assert_eq!(vim.pending, "2d");
    assert!(vim.escape(&mut buffer));
    assert!(!vim.escape(&mut buffer), "now Esc is what it is elsewhere");
}

proptest! {
    #[test]
    fn any_keys_keep_the_cursor_on_a_boundary(
        text in "(\\PC|[\u{300}-\u{302}]|👩|\u{200d}|🇩|\n| |[(\"]){0,20}",
        keys in "([a-zA-Z0-9$^~;,.\"( ]|\u{1b}|\u{12}|dd|ciw|yy|da\\(|é|\n){0,30}",
    ) {
        let (mut vim, mut buffer) = (Vim::default(), Buffer::default());
        buffer.set(&text);
        for key in keys.chars() {
            press(&mut vim, &mut buffer, key.encode_utf8(&mut [0; 4]));
            let (now, at) = (buffer.text(), buffer.cursor());
            let at_boundary = at == now.len() || now.grapheme_indices(true).any(|(index, _)| index == at);
            prop_assert!(at_boundary, "{now:?} at {at}");
        }
    }
}
