//! Replies without a call that clearly aren't an end: an announced step, or a question that nobody answers.

use crate::work::claims;
use base::pattern::{Pattern, PhrasePattern};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Announced,
    Shown,
    Question,
}

impl Ending {
    pub fn said(&self) -> (&'static str, &'static str) {
        match self {
            Self::Announced => (
                "You announced a step but made no call. Make the call now, or say that you're done.",
                "the reply announced a step and took none",
            ),
            Self::Shown => (
                "The command in your reply did not run: only a call runs something. Call Bash with it, or say that \
                 you're done.",
                "the reply shows a command and made no call",
            ),
            Self::Question => (
                "No one can answer questions in this run. Make the choice a careful developer would make, say what you \
                 assumed, and continue.",
                "no one can answer a question in this run",
            ),
        }
    }
}

/// Why a reply isn't an end; `None` if it is. `settled`: the turn has changed something, or answers a question.
pub fn of(text: &str, headless: bool, settled: bool) -> Option<Ending> {
    static COMMAND: Pattern = Pattern::new(include_str!("words/command_alone.regex"));
    let text = text.trim_end();
    let prose = without_last_block(text);
    let last = prose.rsplit("\n\n").next().unwrap_or_default().trim();
    let is_short = last.chars().count() <= STEP_CHARS;
    let is_label = last.ends_with([':', '：']) && !last.starts_with(['#', '|']);
    if is_short && is_label && (prose.len() == text.len() || is_announced(last))
        || headless && is_short && is_announced(last)
    {
        return Some(Ending::Announced);
    }
    if headless && !settled && COMMAND.is_match(text.trim()) {
        return Some(Ending::Shown);
    }
    (headless && !settled && is_question(last)).then_some(Ending::Question)
}

/// Removes a final code block: "Let me run the tests:" announces the command in it.
fn without_last_block(text: &str) -> &str {
    let open = text.strip_suffix("```").and_then(|rest| rest.rfind("```"));
    open.map_or(text, |at| text[..at].trim_end()).trim_end()
}

const STEP_CHARS: usize = 300;

fn is_announced(last: &str) -> bool {
    static STEP: PhrasePattern = PhrasePattern::new(include_str!("words/step.regex"));
    static ELSEWHERE: PhrasePattern = PhrasePattern::new(include_str!("words/step_elsewhere.regex"));
    static NO_STEP: PhrasePattern = PhrasePattern::new(include_str!("words/no_step.regex"));
    static QUOTES: Pattern = Pattern::new(r#""[^"]*"|“[^”]*”|«[^»]*»|「[^」]*」|`[^`]*`"#);
    let own: String = match last.contains(['"', '“', '«', '「', '`']) {
        true => QUOTES.replace_all(last, "").into_owned(),
        false => last.to_owned(),
    };
    let lower = own.to_lowercase();
    (STEP.is_match(&lower) || !claims::is_english(&own) && ELSEWHERE.is_match(&lower))
        && !NO_STEP.is_match(&own)
        && !is_report(last)
}

/// A list of what was done isn't an announced step.
fn is_report(last: &str) -> bool {
    last.lines().count() > 1 && last.lines().all(|line| line.trim_start().starts_with(['-', '*', '•']))
}

fn is_question(last: &str) -> bool {
    static ASKS: PhrasePattern = PhrasePattern::new(include_str!("words/question.regex"));
    let line = last.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    static REQUESTS: PhrasePattern = PhrasePattern::new(include_str!("words/request.regex"));
    (line.ends_with(['?', '？']) || line.ends_with("か。")) && ASKS.is_match(last) || REQUESTS.is_match(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headless(text: &str) -> Option<Ending> {
        of(text, true, false)
    }

    #[test]
    fn announced_steps_and_questions() {
        for text in [
            "I'll now edit the file.",
            "Found it.\n\nLet me run the tests",
            "Next, I will fix the parser.",
            "现在修改文件：",
            "I will now restore the tests.",
            "Let me run the tests:\n\n```bash\npython3 -m unittest\n```",
            "これからテストを実行します。",
            "次にテストを追加します。",
            "接下来我将运行测试。",
            "Ahora voy a ejecutar las pruebas.",
            "A continuación corregiré el fichero.",
            "Agora vou executar os testes.",
            "Em seguida, corrigirei o arquivo.",
            "Je vais maintenant lancer les tests.",
            "Zuerst prüfe ich die Datei.",
            "Ich werde die Tests ausführen.",
            "Сейчас запущу тесты.",
            "이제 테스트를 실행하겠습니다.",
            "讓我檢查測試檔案。",
            "我先查看文件内容。",
        ] {
            assert_eq!(headless(text), Some(Ending::Announced), "{text}");
        }
        let command = "```bash\npython3 -m unittest\n```";
        assert_eq!((headless(command), of(command, true, true)), (Some(Ending::Shown), None));
        for text in [
            "Should I delete the old file?",
            "Two ways exist.\n\nWhich one do you want?",
            "Soll ich die alte Datei löschen?",
            "Quelle version voulez-vous ?",
            "¿Quieres que borre el archivo?",
            "Devo apagar o arquivo antigo?",
            "Какой вариант выбрать?",
            "您希望我删除旧文件吗？",
            "古いファイルを削除してもよろしいですか。",
            "이전 파일을 삭제할까요?",
        ] {
            assert_eq!(headless(text), Some(Ending::Question), "{text}");
            assert_eq!(of(text, true, true), None);
            assert_eq!(of(text, false, false), None);
        }
        for text in [
            "Fixed. Let me know if you want more.",
            "Done: src/a.rs:3 now checks the length.",
            "I fixed the parser and ran the tests.",
            "Would you like me to also update the docs?",
            "The fix:\n\n```rust\nlet x = 1;\n```\n\nAll tests pass.",
            "テストはすべて成功しました。",
            "修改完成，测试已运行。",
            "现在程序可以正常运行了。",
            "现在所有测试都通过了。",
            "f führt jetzt die Tests aus.",
            "Los tests pasan ahora; corregí el archivo.",
            "Agora os testes passam.",
            "Les tests passent maintenant.",
            "Теперь тесты проходят.",
            "이제 모든 테스트가 통과합니다.",
            "次にテストを追加することをお勧めします。",
            "如果需要，我会添加测试。",
        ] {
            assert!(!matches!(headless(text), Some(Ending::Announced)), "{text}");
        }
    }
}
