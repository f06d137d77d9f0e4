//! Token counts without a tokenizer: an estimate by classes of characters, fitted to o200k (within −12/+11% from the 5th to
//! the 95th percentile of real tool results). Linear, a few hundred MB/s, no tables to load.

/// Tokens that a message costs besides its text (role, separators).
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
        if is_letter(byte) {
            at = run_end(bytes, at, |b| is_letter(b) || b & 0xC0 == 0x80);
            words += 1;
            // Letters of Central Europe break words apart; those of Western Europe hardly do.
            wide += 1.3 * bytes[start..at].iter().filter(|byte| matches!(byte, 0xC4..=0xC9)).count() as f64;
            long_words += (at - start - 1) as u64 / 6;
        } else if byte.is_ascii_digit() {
            at = run_end(bytes, at, |b| b.is_ascii_digit());
            digit_groups += (at - start).div_ceil(3) as u64;
        } else if byte.is_ascii_whitespace() {
            at = run_end(bytes, at, |b| b.is_ascii_whitespace());
            if at - start > 1 || byte != b' ' {
                // Tokenizers have tokens for long runs of blanks, but not for endless ones.
                spaces += 1 + (at - start) as u64 / 64;
            }
        } else if byte.is_ascii() {
            punctuation += 1;
            at += 1;
        } else {
            wide += wide_cost(byte);
            at += 1 + bytes[at + 1..].iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        }
    }
    // Long runs of letters (hex, base64) take more than words do; the word classes cover them.
    let total = 0.958 * words as f64
        + 0.731 * long_words as f64
        + 1.476 * digit_groups as f64
        + 1.113 * spaces as f64
        + 0.461 * punctuation as f64
        + wide;
    total.ceil().min(f64::from(u32::MAX)) as u32
}

/// Of a Latin word: ASCII, or the first byte of an accented letter.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, 0xC3..=0xC9)
}

/// Tokens that o200k takes for a character of another script, on average in running text; by its first byte.
fn wide_cost(byte: u8) -> f64 {
    match byte {
        0xCE..=0xCF => 0.45,
        0xD0..=0xD3 => 0.33,
        0xD6..=0xD7 => 0.5,
        0xD8..=0xDB => 0.36,
        0xE0 => 0.4,
        // Kana, Han, hangul.
        0xE3 | 0xEF => 0.65,
        0xE4..=0xE9 => 0.71,
        0xEA..=0xED => 0.73,
        0xF0.. => 2.0,
        _ => 0.95,
    }
}

fn run_end(bytes: &[u8], from: usize, class: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| !class(*byte)).map_or(bytes.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
