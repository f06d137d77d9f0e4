//! Token counts without a tokenizer. The estimate goes by classes of characters, fitted to o200k (within −12/+11% from the 5th
//! to the 95th percentile of real tool results). An estimate that is right on average is too small for half of all texts, and
//! hex, base64, rare scripts and minified code are far from average, so the upper bound guards the window: it follows the
//! pieces that o200k splits a text into before it merges bytes (17% too high for ordinary text, at most a few percent too low
//! for adversarial text). Both are linear and load no tables.

/// Tokens per message besides its text (role, separators).
pub const MESSAGE_OVERHEAD: u32 = 4;

/// Estimated tokens of `text` for an o200k-like tokenizer.
pub fn estimate(text: &str) -> u32 {
    let mut words = 0u64;
    let mut long_words = 0u64;
    let mut digit_groups = 0u64;
    let mut spaces = 0u64;
    let mut punctuation = 0u64;
    let mut wide = 0.0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if is_letter(byte) || is_vietnamese(&bytes[at..]) {
            at = run_end(bytes, at, |b| is_letter(b) || b == 0xE1 || b & 0xC0 == 0x80);
            words += 1;
            wide += accents(&bytes[start..at]);
            long_words += (at - start - 1) as u64 / 6;
        } else if byte.is_ascii_digit() {
            at = run_end(bytes, at, |b| b.is_ascii_digit());
            digit_groups += (at - start).div_ceil(3) as u64;
        } else if byte.is_ascii_whitespace() {
            at = run_end(bytes, at, |b| b.is_ascii_whitespace());
            if at - start > 1 || byte != b' ' {
                // Tokenizers have tokens for long runs of blanks, up to a limit.
                spaces += 1 + (at - start) as u64 / 64;
            }
        } else if byte.is_ascii() {
            punctuation += 1;
            at += 1;
        } else {
            wide += wide_cost(&bytes[at..]);
            at += 1 + bytes[at + 1..].iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        }
    }
    // Long runs of letters (hex, base64) take more tokens than words do; these classes cover them.
    let total = 0.958 * words as f64
        + 0.731 * long_words as f64
        + 1.476 * digit_groups as f64
        + 1.113 * spaces as f64
        + 0.461 * punctuation as f64
        + wide;
    total.ceil().min(f64::from(u32::MAX)) as u32
}

/// A letter of a Latin word: ASCII, or the first byte of an accented letter.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, 0xC3..=0xC9)
}

/// `ạ` to `ỹ`, which occur within words.
fn is_vietnamese(text: &[u8]) -> bool {
    matches!(text, [0xE1, 0xBA | 0xBB, ..])
}

/// They break a Latin word apart. Fitted to 2,500 characters each of 14 languages (texts of Django 5.2).
fn accents(word: &[u8]) -> f64 {
    if word.contains(&0xE1) || word.contains(&0xC6) {
        return 0.0;
    }
    let cost = |pair: &[u8]| match pair {
        // ä å æ ö ø ü ß
        [0xC3, 0x84..=0x86 | 0x96 | 0x98 | 0x9C | 0x9F | 0xA4..=0xA6 | 0xB6 | 0xB8 | 0xBC] => 1.5,
        [0xC3, _] => 0.7,
        [0xC4..=0xC9, _] => 1.3,
        _ => 0.0,
    };
    word.windows(2).map(cost).sum()
}

/// Frequent characters of traditional Chinese, which takes more tokens than simplified Chinese or Japanese.
const TRADITIONAL: &str = "這們為會來與檔沒點於後對發關應無將訊";

/// Average tokens per character of another script in running text, by its first bytes.
fn wide_cost(text: &[u8]) -> f64 {
    // Letters that only Ukrainian has.
    if matches!(text, [0xD1, 0x94 | 0x96 | 0x97, ..]) {
        return 1.1;
    }
    match text[0] {
        0xCE..=0xCF => 0.45,
        0xD0..=0xD1 => 0.3,
        0xD2..=0xD3 => 0.9,
        0xD6..=0xD7 => 0.5,
        0xD8..=0xDB => 0.36,
        0xE0 => 0.4,
        // Kana, Han, hangul.
        0xE3 | 0xEF => 0.65,
        0xE4..=0xE9
            if text.get(..3).is_some_and(|c| TRADITIONAL.as_bytes().chunks(3).any(|one| one == c)) =>
        {
            2.2
        }
        0xE4..=0xE9 => 0.71,
        0xEA..=0xED => 0.73,
        0xF0.. => 2.0,
        _ => 0.95,
    }
}

fn run_end(bytes: &[u8], from: usize, class: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| !class(*byte)).map_or(bytes.len(), |length| from + length)
}

/// The first lines of `whole` that take at most `max_tokens`, or the start of a longer line.
pub fn beginning(whole: &str, max_tokens: u32) -> &str {
    let (mut end, mut tokens) = (0, 0);
    for line in whole.split_inclusive('\n') {
        tokens += estimate(line);
        if tokens > max_tokens {
            break;
        }
        end += line.len();
    }
    let end =
        if whole[..end].trim().is_empty() { whole.floor_char_boundary(max_tokens as usize * 3) } else { end };
    whole[..end].trim_end()
}

/// Raises the measured figures so that random letters and bytes stay below the bound.
const MARGIN: f64 = 1.1;

/// The most tokens an o200k-like tokenizer makes of `text`.
pub fn upper_bound(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut total = 0.0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let (cost, end) = if byte.is_ascii_alphabetic() {
            word(bytes, at)
        } else if byte.is_ascii_digit() {
            let end = run_end(bytes, at, |b| b.is_ascii_digit());
            // A preceding blank is part of a word's token, but not of a number's.
            let blank = at > 0 && bytes[at - 1] == b' ';
            ((end - at).div_ceil(3) as f64 + if blank { 1.0 } else { 0.0 }, end)
        } else if byte.is_ascii_whitespace() {
            let end = run_end(bytes, at, |b| b.is_ascii_whitespace());
            let alone = end - at == 1 && byte == b' ';
            let cost = 1.0 + 0.34 * changes(&bytes[at..end]) + (end - at) as f64 / 16.0;
            (if alone { 0.0 } else { cost }, end)
        } else if byte.is_ascii() {
            let end = run_end(bytes, at, |b| b.is_ascii_punctuation() || b.is_ascii_control()).max(at + 1);
            let changed = changes(&bytes[at..end]);
            let joins = end - at == 1 && bytes.get(end).is_some_and(u8::is_ascii_alphabetic);
            let same = (end - at - 1) as f64 - changed;
            let first = match byte {
                // Tokenizers have tokens for words after these characters, such as `.len` or `/src`.
                b'.' | b'_' | b'/' | b'-' | b'(' | b'[' | b'"' | b'\'' | b'$' | b'@' | b'#' | b'<'
                    if joins =>
                {
                    0.45
                }
                _ => 0.9,
            };
            (first + 0.6 * changed + same / 6.0, end)
        } else {
            wide(text, at)
        };
        total += cost;
        at = end;
    }
    (total * MARGIN).ceil().min(f64::from(u32::MAX)) as u32
}

/// Capitals and the lowercase letters after them. English and most names merge; consonant clusters don't.
fn word(bytes: &[u8], at: usize) -> (f64, usize) {
    let small = run_end(bytes, at, |b| b.is_ascii_uppercase());
    let end = run_end(bytes, small, |b| b.is_ascii_lowercase());
    let mut consonants = 0;
    let mut heaped = 0;
    for byte in &bytes[at..end] {
        if matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y') {
            consonants = 0;
        } else {
            consonants += 1;
            heaped += usize::from(consonants >= 3);
        }
    }
    let length = end - at;
    let capitals = small - at;
    let shouted = if capitals > 3 { (capitals - 1) as f64 * 0.2 } else { 0.0 };
    (1.0 + 0.95 * heaped as f64 + (length.saturating_sub(4) / 5) as f64 * 0.8 + shouted, end)
}

/// One non-ASCII character. In running text of one alphabet, several make a token; a lone one can take three.
fn wide(text: &str, at: usize) -> (f64, usize) {
    let Some(c) = text[at..].chars().next() else { return (0.0, text.len()) };
    let before = text[..at].chars().next_back().unwrap_or(' ');
    let near = u32::from(c) >> 7 == u32::from(before) >> 7;
    let cost = match u32::from(c) {
        _ if c == before => 2.3_f64.min(c.len_utf8() as f64 / 2.0 + 0.3),
        ..0x800 if near => 0.55,
        ..0x800 => 1.75,
        // Han, kana, hangul; rare ones take two or three.
        0x3000..0xA000 | 0xAC00..0xD7B0 => 2.3,
        ..0x10000 if near => 1.7,
        _ => 3.0,
    };
    (cost, at + c.len_utf8())
}

fn changes(bytes: &[u8]) -> f64 {
    bytes.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::OnceLock;

    use proptest::prelude::*;

    use super::*;
    use crate::tokens::estimate::estimate;

    #[test]
    fn adversarial_text_is_not_free() {
        let million = 1 << 20;
        assert!(estimate(&"a".repeat(million)) > 100_000);
        assert!(estimate(&" ".repeat(million)) > 10_000);
        assert!(estimate(&"漢".repeat(1000)) > 500);
        assert_eq!(estimate(""), 0);
    }

    #[test]
    fn scripts_are_counted_as_o200k_does() {
        let Ok(bpe) = tiktoken_rs::o200k_base() else { unreachable!("the tables are in the crate") };
        for (name, text) in [
            (
                "zh",
                "用户登录后一分钟就会超时，请检查会话模块并修复这个问题。修改完成以后需要运行全部测试，并且把配置项写进文档里，说明默认值是多少，以及怎样关闭这个功能。",
            ),
            (
                "zh-hant",
                "使用者登入後一分鐘就會逾時，請檢查工作階段模組並修正這個問題。修改完成後需要執行全部測試，並把設定項目寫進文件，說明預設值是多少。",
            ),
            (
                "ja",
                "ログインすると一分でタイムアウトします。セッションの処理を調べて直してください。変更したらすべてのテストを実行し、設定の既定値と無効にする方法を文書に書いてください。",
            ),
            (
                "ko",
                "로그인한 뒤 일 분이 지나면 세션이 만료됩니다. 세션 모듈을 확인하고 문제를 고쳐 주세요. 수정한 다음 모든 테스트를 실행하고 설정의 기본값을 문서에 적어 주세요.",
            ),
            (
                "ru",
                "После входа сеанс истекает через минуту. Проверьте модуль сеансов и исправьте ошибку. После изменений запустите все тесты и опишите в документации значение по умолчанию и способ отключения.",
            ),
            (
                "uk",
                "Після входу сеанс закінчується через хвилину. Перевірте модуль сеансів і виправте помилку. Після змін запустіть усі тести та опишіть у документації типове значення.",
            ),
            (
                "el",
                "Μετά τη σύνδεση η συνεδρία λήγει σε ένα λεπτό. Ελέγξτε τη μονάδα συνεδριών και διορθώστε το σφάλμα. Μετά τις αλλαγές εκτελέστε όλες τις δοκιμές.",
            ),
            (
                "ar",
                "بعد تسجيل الدخول تنتهي الجلسة خلال دقيقة واحدة. افحص وحدة الجلسات وأصلح الخطأ. بعد التغييرات شغّل جميع الاختبارات واكتب القيمة الافتراضية في الوثائق.",
            ),
            (
                "he",
                "לאחר הכניסה ההפעלה פגה תוך דקה. בדוק את מודול ההפעלות ותקן את השגיאה. לאחר השינויים הרץ את כל הבדיקות ותעד את ערך ברירת המחדל.",
            ),
            (
                "hi",
                "लॉगिन के एक मिनट बाद सत्र समाप्त हो जाता है। सत्र मॉड्यूल की जाँच करें और त्रुटि ठीक करें। बदलाव के बाद सभी परीक्षण चलाएँ।",
            ),
            (
                "th",
                "หลังจากเข้าสู่ระบบ เซสชันจะหมดอายุภายในหนึ่งนาที โปรดตรวจสอบโมดูลเซสชันและแก้ไขข้อผิดพลาด จากนั้นรันการทดสอบทั้งหมด",
            ),
            (
                "es",
                "Después de iniciar sesión, la sesión caduca al cabo de un minuto. Revisa el módulo de sesiones y corrige el error. Después de los cambios ejecuta todas las pruebas y describe en la documentación cómo se desactiva la función.",
            ),
            (
                "fr",
                "Après la connexion, la session expire au bout d'une minute. Vérifie le module des sessions et corrige l'erreur. Après les modifications, exécute tous les tests et décris la valeur par défaut dans la documentation.",
            ),
            (
                "de",
                "Nach der Anmeldung läuft die Sitzung nach einer Minute ab. Prüfe das Sitzungsmodul und behebe den Fehler. Führe nach den Änderungen alle Tests aus und beschreibe den Standardwert und wie man die Funktion ausschaltet.",
            ),
            (
                "pt",
                "Depois de iniciar a sessão, ela expira em um minuto. Verifique o módulo de sessões e corrija o erro. Após as alterações, execute todos os testes e descreva o valor padrão na documentação.",
            ),
            (
                "de-long",
                "Behebe den Fehler in der Bestellabwicklung: Beim Stornieren wird das Geld zweimal erstattet, und der Lagerbestand wird nicht aktualisiert. Prüfe außerdem die Überweisungsaufträge und ergänze fehlende Prüfungen für ungültige Kontonummern.",
            ),
            (
                "sv",
                "Rätta felet i beställningsflödet: när en order avbryts återbetalas pengarna två gånger och lagersaldot uppdateras inte. Lägg även till tester för ogiltiga kontonummer och beskriv ändringarna.",
            ),
            (
                "fi",
                "Korjaa tilausten käsittelyn virhe: peruutettaessa rahat palautetaan kahdesti eikä varastosaldo päivity. Lisää myös testit virheellisille tilinumeroille ja kuvaile muutokset ohjeissa.",
            ),
            (
                "vi",
                "Hãy sửa lỗi trong phần xử lý đơn hàng: khi hủy đơn, tiền được hoàn lại hai lần và số lượng tồn kho không được cập nhật. Thêm các bài kiểm thử và mô tả thay đổi trong tài liệu.",
            ),
            (
                "pl",
                "Po zalogowaniu sesja wygasa po minucie. Sprawdź moduł sesji i popraw błąd. Po zmianach uruchom wszystkie testy i opisz w dokumentacji wartość domyślną oraz sposób wyłączenia tej funkcji.",
            ),
            (
                "box",
                "├── src\n│   ├── main.rs\n│   └── lib.rs\n└── tests → ✓ passed … ✗ failed • item — dash “quoted”",
            ),
        ] {
            let real = bpe.encode_ordinary(text).len() as f64;
            let told = f64::from(estimate(text));
            let off = told / real - 1.0;
            assert!(name == "box" || off.abs() < 0.18, "{name}: {told} for {real}");
        }
    }

    fn real(text: &str) -> f64 {
        static BPE: OnceLock<tiktoken_rs::CoreBPE> = OnceLock::new();
        BPE.get_or_init(|| tiktoken_rs::o200k_base().unwrap()).encode_ordinary(text).len() as f64
    }

    /// Texts as tools return them, including very hard ones.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::collection::vec("[0-9a-f]{40}", 20..60).prop_map(|lines| lines.join("\n")),
            "[A-Za-z0-9+/]{800,2000}",
            "[a-z]{800,2000}",
            proptest::collection::vec("[A-Z]{3,9}", 100..200).prop_map(|words| words.join(" ")),
            "[\u{4e00}-\u{9fff}]{300,900}",
            "[\u{3040}-\u{30ff}]{300,900}",
            "[а-яё ]{300,900}",
            "[!-~]{800,2000}",
            "[!-~ \n\t]{800,2000}",
            "[\u{1f300}-\u{1f6ff}]{200,400}",
            proptest::collection::vec("[a-f]\\.[a-z]\\([a-z],[a-z]\\)&&", 100..200)
                .prop_map(|parts| parts.concat()),
            proptest::collection::vec("\"[a-z]{2,5}\":\\{\"[a-z]\":[0-9]{1,6}\\},", 60..120)
                .prop_map(|parts| parts.concat()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_takes_noticeably_more(text in text()) {
            prop_assert!(f64::from(upper_bound(&text)) >= real(&text) * 0.97, "{} < {}: {text}", upper_bound(&text), real(&text));
        }
    }

    #[test]
    fn ordinary_text_stays_close() {
        for text in [
            include_str!("request_size.rs"),
            include_str!("../compaction/policy.rs"),
            include_str!("../../../README.md"),
        ] {
            let share = f64::from(upper_bound(text)) / real(text);
            assert!((1.0..1.5).contains(&share), "{share}");
            assert!(upper_bound(text) >= estimate(text));
        }
    }
}
