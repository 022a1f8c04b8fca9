//! Tests of `terminal`.

use super::*;

#[test]
fn an_escape_sequence_or_a_hidden_character_is_shown_and_never_obeyed() {
    assert_eq!(plain("a\u{1b}[2J\u{9b}2Jb\r"), "a\\u{1b}[2J\\u{9b}2Jb\\u{d}");
    assert_eq!(
        plain("Grace\u{202e}\u{200b}\u{200d}\u{feff}\u{e0041}"),
        "Grace\\u{202e}\\u{200b}\\u{200d}\\u{feff}\\u{e0041}"
    );
    assert_eq!(plain("Zoë\t漢 👍\n"), "Zoë\t漢 👍\n");
}

#[test]
fn a_log_line_is_one_line_whoever_its_words_come_from() {
    static WRITTEN: std::sync::Mutex<Vec<u8>> = std::sync::Mutex::new(Vec::new());
    struct Written;
    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            WRITTEN.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = tracing_subscriber::fmt().with_writer(|| Written).with_ansi(false).without_time();
    let log = log.with_target(false).fmt_fields(log_fields()).finish();
    tracing::subscriber::with_default(log, || {
        let name = "a\u{1b}]0;b\u{7}\nerror: forged\u{202e}";
        tracing::error!(count = 2, shown = %name, "`{name}` is refused");
    });
    let written = String::from_utf8(WRITTEN.lock().unwrap().clone()).unwrap();
    let one = "a\\u{1b}]0;b\\u{7}\\nerror: forged\\u{202e}";
    assert_eq!(written, format!("ERROR `{one}` is refused count=2 shown={one}\n"));
}

#[test]
fn json_says_the_same_when_its_hidden_characters_are_escaped() {
    let cleaned =
        serde_json::json!({"name": "a\u{202e}b\u{7f}\u{9b}\u{e0041}\u{1b}\u{200b}", "beside": "Zoë 👍"});
    let shown = json(&serde_json::to_string_pretty(&cleaned).unwrap());
    assert!(!shown.chars().any(is_hidden), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), cleaned);
}
