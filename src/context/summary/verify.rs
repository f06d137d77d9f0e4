//! Checks a model-written summary against the log: paths, commands and test names that never occurred are struck
//! out. Everything in code marks or code blocks counts as a name, and so does every word that looks like a
//! path or a test, even with look-alike letters of other scripts. Plain words stay.

use regex::Captures;

use base::path;
use base::pattern::Pattern;

use super::grounding::{Grounding, plain};

const STRUCK: &str = "[removed: not in the session log]";

/// Code in backticks, a command with a flag, or any other run of characters that may be a name.
static PIECES: Pattern = Pattern::new(include_str!("pieces.regex"));

static PLACE: Pattern = Pattern::new(r"(?::\d+(?:[-:]\d+)*|#L\d+(?:-L?\d+)?|\(\d+(?:,\d+)?\)|@\d+)$");

const BARE_FILES: &str = " makefile dockerfile justfile rakefile gemfile procfile jenkinsfile vagrantfile gnumakefile \
                          containerfile pipfile brewfile ";

/// First parts that mark a path rather than two alternative words.
const FOLDERS: &str = " src lib libs cmd pkg bin etc usr var apps packages tests docs scripts components utils helpers node_modules dist ";

/// `summary` with every unknown name struck out, and how many were.
pub fn strike_unknown(summary: &str, evidence: &Grounding) -> (String, usize) {
    let mut struck = 0;
    let mut out = String::with_capacity(summary.len());
    let mut fence: Option<&str> = None;
    for line in summary.split_inclusive('\n') {
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                // Words after the opening fence name a language or a file.
                let label = trimmed.trim_start_matches(['`', '~']).trim();
                let known = label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#'))
                    || known_name(label, evidence);
                out.push_str(&if known { line.to_owned() } else { format!("{mark}\n") });
                struck += usize::from(!known);
                fence = Some(mark);
            }
            (Some(open), Some(mark)) if open == mark => {
                out.push_str(line);
                fence = None;
            }
            (Some(_), _)
                if trimmed.is_empty()
                    || trimmed.starts_with('#') && !looks_like_name(trimmed, evidence)
                    || known_code(trimmed, evidence) =>
            {
                out.push_str(line);
            }
            (Some(_), _) => {
                struck += 1;
                out.push_str(STRUCK);
                out.push_str(if line.ends_with('\n') { "\n" } else { "" });
            }
            (None, None) => out.push_str(&strike_line(line, evidence, &mut struck)),
        }
    }
    (out, struck)
}

fn strike_line(line: &str, evidence: &Grounding, struck: &mut usize) -> String {
    let clean = PIECES.replace_all(line, |found: &Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        let known = if found.name("code").is_some() {
            known_code(whole.trim_matches('`').trim(), evidence)
        } else if found.name("command").is_some() {
            known_code(whole.trim_end_matches(['.', ':', '!', '?']), evidence)
        } else {
            let word = if whole.starts_with(['.', '~']) {
                whole.trim_end_matches(['.', ':', '!', '?', '_', '~'])
            } else {
                whole.trim_matches(|c| ".:!?_~=→…#$&。：、".contains(c))
            };
            known_name(word, evidence)
                || known_in_sentence(word, evidence).unwrap_or_else(|| !looks_like_name(word, evidence))
        };
        *struck += usize::from(!known);
        if known { whole.to_owned() } else { STRUCK.to_owned() }
    });
    clean.into_owned()
}

/// `login/logout`, `Ein-/Ausgabe`, `HTTP/2`. A path starts with a folder; in `frontend/backend`, all are words.
fn are_words(shape: &str, evidence: &Grounding) -> bool {
    let is_word = |part: &str| {
        let mut words = part.trim_matches('-').split('-');
        let is_first =
            words.next().is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic));
        is_first
            && words.all(|word| {
                word.chars().all(char::is_alphabetic) && !word.starts_with(|c: char| c.is_ascii_lowercase())
            })
    };
    let is_folder = |part: &str| listed(FOLDERS, part) || evidence.has_folder(part);
    let parts: Vec<&str> = shape.split('/').collect();
    (parts.iter().all(|part| is_shout(part)) || parts.iter().all(|part| is_word(part)))
        && (!is_folder(parts[0]) || parts.iter().all(|part| is_folder(part)))
}

/// `CPU`, `UTF-8`
fn is_shout(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        && !word.contains(|c: char| c == '/' || c.is_lowercase())
}

/// Characters of scripts that don't separate words with blanks.
fn unparted(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
        || matches!(c, '\u{f900}'..='\u{faff}' | '\u{ff61}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether every name in a sentence without blanks occurred; `None` if its script has blanks.
fn known_in_sentence(word: &str, evidence: &Grounding) -> Option<bool> {
    let mut last = ' ';
    let ends = |c: char| if unparted(std::mem::replace(&mut last, c)) && c == '。' { '、' } else { c };
    // In `変更。a.rs` the stop ends a sentence; in `a。rs` it looks like a dot.
    let shape = skeleton(&word.chars().map(ends).collect::<String>());
    if !shape.contains(unparted) {
        return None;
    }
    let mut before = String::new();
    let mut rest = shape.as_str();
    while let Some(from) = rest.find(|c| !unparted(c)) {
        before.push_str(&rest[..from]);
        let end = rest[from..].find(unparted).map_or(rest.len(), |end| from + end);
        let name = rest[from..end].trim_matches(|c| ".:!?_~=→…#$&(),;".contains(c));
        // `内存/CPU`
        let name = name.strip_prefix('/').filter(|word| is_shout(word)).unwrap_or(name);
        let whole = &rest[from..end];
        // `设计.md`: the name may begin anywhere in the sentence.
        let ending = whole.starts_with('.') && looks_like_name(&format!("x{whole}"), evidence);
        let known = if ending && !before.is_empty() {
            before.char_indices().any(|(at, _)| evidence.has(&format!("{}{whole}", &before[at..])))
        } else {
            !looks_like_name(name, evidence) || name == "/" || known_name(name, evidence)
        };
        if !known {
            return Some(false);
        }
        rest = &rest[end..];
    }
    Some(true)
}

fn known_code(code: &str, evidence: &Grounding) -> bool {
    let code = code.strip_prefix("$ ").or_else(|| code.strip_prefix("> ")).unwrap_or(code).trim();
    let code = code.trim_end_matches(['.', ',', ';', ':']);
    // The commands of `a && b` and `a | b` may have been run one by one.
    let parts: Vec<&str> =
        code.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty()).collect();
    known_name(code, evidence) || parts.len() > 1 && parts.iter().all(|part| known_name(part, evidence))
}

/// Whether one name occurred: unchanged, without its location, or as `path::name` with both parts together.
fn known_name(name: &str, evidence: &Grounding) -> bool {
    let whole = plain(name);
    let whole = whole.trim();
    if whole.is_empty() || evidence.has(whole) {
        return true;
    }
    let bare = PLACE.replace(whole, "");
    let bare = bare.trim_end_matches("()").trim_end_matches(['/', '.', ',', ';', ':']).trim();
    let parts: Vec<&str> = bare.split("::").filter(|part| !part.is_empty()).collect();
    !bare.is_empty() && (evidence.has(bare) || parts.len() > 1 && evidence.together(&parts))
}

fn looks_like_name(word: &str, evidence: &Grounding) -> bool {
    let shape = skeleton(word);
    let letters = shape.chars().any(char::is_alphabetic);
    if !letters || shape.chars().count() < 2 {
        return false;
    }
    let lower = shape.to_ascii_lowercase();
    if lower.contains('/') || lower.contains('\\') {
        return lower.contains('\\') || !are_words(&shape, evidence);
    }
    if lower.contains("::") || listed(BARE_FILES, &lower) {
        return true;
    }
    let bare = PLACE.replace(&lower, "");
    if let Some((stem, ending)) = bare.rsplit_once('.')
        && !ending.is_empty()
        && path::is_file_ending(ending)
        && (stem.is_empty() || stem.chars().any(char::is_alphanumeric))
        && !matches!(&*bare, "node.js" | "next.js" | "vue.js" | "three.js" | "express.js")
    {
        return true;
    }
    if bare.starts_with('.') && bare.len() > 3 {
        return true;
    }
    let test = |part: &str| matches!(part, "test" | "tests" | "spec" | "should");
    let snake: Vec<&str> = bare.split('_').filter(|part| !part.is_empty()).collect();
    let camel = shape.starts_with("Test") && shape[4..].starts_with(|c: char| c.is_ascii_uppercase())
        || (shape.ends_with("Test") || shape.ends_with("Tests") || shape.ends_with("Spec"))
            && shape.len() > 5;
    snake.len() > 1 && snake.iter().any(|part| test(part)) || camel
}

fn listed(list: &str, word: &str) -> bool {
    list.contains(&format!(" {word} "))
}

/// The word as it looks: look-alikes become ASCII, invisible characters are removed.
fn skeleton(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(*c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}'))
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
            c if c.is_ascii() => c,
            c => LOOK_ALIKES
                .split_whitespace()
                .find_map(|pair| pair.strip_prefix(c)?.chars().next())
                .unwrap_or(c),
        })
        .collect()
}

/// Characters that look like ASCII, each with its look-alike.
const LOOK_ALIKES: &str = "⁄/ ∕/ ╱/ ⧸/ ⟋/ ⼃/ ∖\\ ⧵\\ ╲\\ ﹨\\ ․. ‧. ·. 。. ｡. ٠. ۰. ‐- ‑- ‒- –- −- ∶: ː: ꞉: \
                           аa еe оo οo օo рp ρp сc ϲc уy хx іi ιi ıi јj ѕs һh ԁd ⅼl ӏl ɡg ᴍm мm тt τt кk κk пn νv ѡw";

#[cfg(test)]
mod tests {
    use super::*;
    use base::model::call::ToolCall;
    use base::model::envelope::Envelope;
    use base::model::item::{Item, ToolResult, UserMessage};

    fn evidence() -> Grounding {
        let mut first = UserMessage::new("fix src/a.rs, see \"docs/my plan.md\" and 文書/設計.md");
        first.injected.push("<system-reminder>Workspace: /home/u/proj. linux</system-reminder>".into());
        let call =
            |args: &str| Item::ToolCall(ToolCall { id: "c".into(), name: "Bash".into(), args: args.into() });
        let result = |tool: &str, envelope: Envelope| Item::ToolResult(ToolResult::new("c", tool, envelope));
        let items = [
            Item::User(first),
            call(r#"{"command":"cargo test --lib parse_all && grep -n \"foo bar\" src/mylib.rs"}"#),
            result(
                "LS",
                Envelope::success("").with("path", "src/deep").with_body("entries", "one.rs\nMakefile\nsub/"),
            ),
            result(
                "Read",
                Envelope::success("").with("path", "tests/x.py").with_body("content", "1\tdef test_y():"),
            ),
            result(
                "Bash",
                Envelope::success("")
                    .with("command", "cargo test")
                    .with_body("output", "test parser::tests::works ... ok"),
            ),
            call(r#"{"path":"win\\dir\\b.c"}"#),
        ];
        Grounding::gather(items.iter(), "Files edited: lib/kept.ts")
    }

    #[test]
    fn known_names_stay() {
        for text in [
            "Edited `src/a.rs:10`, ./src/a.rs, \"src/a.rs\", **src/a.rs**, (src/a.rs:3:7) and src/a.rs#L10-L12.",
            "See /home/u/proj/src/a.rs and `docs/my plan.md`, 文書/設計.md.",
            "Ran `cargo test --lib parse_all`; `grep -n 'foo bar' src/mylib.rs` and $ cargo test",
            "Read src/deep/one.rs, `src/deep/Makefile`, tests/x.py::test_y; parser::tests::works passes, test_y too.",
            "win/dir/b.c and win\\dir\\b.c; lib/kept.ts and/or I/O, 3/5, e.g. Node.js v1.2",
            "```sh\n$ cargo test --lib parse_all\n# run it\n```\n",
            "Plain words stay: tests pass, the parser works. `parse_all()` too.",
            "修改了src/a.rs中的登录/注册逻辑，并运行了测试。设计见文書/設計.md。",
            "src/a.rsを編集し、tests/x.pyのテストを実行した。",
            "ログイン/ログアウトを修正。src/a.rsを変更。tests/x.pyは未確認。",
            "로그인/등록을 고쳤고 src/a.rs를 편집했다.",
            "Исправлено в src/a.rs: вход и/или выход, чтение/запись.",
            "Anmelden/Abmelden in src/a.rs geprüft; la sesión sirve para leer/escribir; lecture/écriture corrigée.",
            "前端/后端都检查了，改为 GET/POST 请求。追加/削除しました。",
            "接口支持两种方法（GET/POST）；LIB/READ 也检查了。Both GET/POST work.",
            "Checked login/logout/register, create/read/update/delete, dev/prod, iOS/Android/Web, HTTP/2, A/B, UTF-8/UTF-16 and km/h.",
            "Frontend/Backend/Datenbank: Ein-/Ausgabe, Benutzer/-innen, Soll/Ist-Vergleich; el/la usuario/a, inicio/fin/pausa.",
            "Вход/выход/регистрация, ч/б, GET/POST/PUT; le/la développeur/euse; ligado/desligado/pausado.",
            "支持 iOS/Android/Web。支持 iOS/Android/Web 三端，内存/CPU使用率正常。ログイン/ログアウト/登録。",
            "Arreglado en src/a.rs, y/o en la prueba; gelesen und/oder geschrieben.",
        ] {
            assert_eq!(strike_unknown(text, &evidence()), (text.to_owned(), 0));
        }
    }

    #[test]
    fn unknown_names_are_struck() {
        for name in [
            "`src/ghost.rs`",
            "src/ghost.rs",
            "src/ghost.rs:12",
            "./src/ghost.rs",
            "/home/u/proj/src/ghost.rs",
            "/etc/src/a.rs",
            "src\\ghost.rs",
            "C:\\work\\ghost.rs",
            "src/ghost",
            "lib/ghost",
            "deep/ghost",
            "tests/ghost/",
            "/api/v9/ghost",
            "ghost/a.rs",
            "lib.rs",
            "**ghost.py**",
            "Ghost.java",
            "Dockerfile",
            "`Ghostfile`",
            "tests/x.py::test_ghost",
            "tests/ghost.py::test_y",
            "parser::tests::ghost_case",
            "test_ghost_case",
            "TestGhostCase",
            "`cargo fly`",
            "``cargo fly``",
            "cargo fly --fast",
            "[the file](src/ghost.md)",
            "\u{201c}src/ghost.rs\u{201d}",
            "src/\u{0430}.rs",
            "src\u{2215}ghost.rs",
            "src/a\u{200b}.rs",
            "ghost\u{2024}rs",
            "src/ａ.rs",
            ".ghostrc",
        ] {
            let (clean, struck) = strike_unknown(&format!("We changed {name} today."), &evidence());
            assert_eq!(struck, 1, "{name}: {clean}");
            assert!(
                !clean.contains("ghost") && clean.contains(STRUCK) && clean.ends_with("today."),
                "{name}: {clean}"
            );
        }
        for sentence in [
            "修改了src/ghost.rs中的逻辑。",
            "修改了lib/ghost中的逻辑。",
            "ghost.pyを編集した。",
            "修正した。ghost.pyは未確認。",
            "ghost。pyを編集した。",
            "见文書/ghost.md。",
        ] {
            assert_eq!(strike_unknown(sentence, &evidence()).1, 1, "{sentence}");
        }
        let (clean, struck) =
            strike_unknown("```\ncargo fly --fast\ncat src/ghost.rs\ncargo test\n```\nend", &evidence());
        assert_eq!((clean.matches(STRUCK).count(), struck), (2, 2), "{clean}");
        assert!(clean.contains("\ncargo test\n"), "{clean}");
    }
}
