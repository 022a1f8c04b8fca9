use super::*;

fn compiled(pattern: &str) -> Arc<Matcher> {
    Matchers::new(&SchemaLimits::default()).get(pattern).unwrap()
}

#[test]
fn a_pattern_as_people_write_them_takes_one_step_for_each_byte() {
    for pattern in [
        "^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$",
        "^[A-Za-z0-9+/_-]*={0,2}$",
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        "^[^\\x00-\\x1F\\x7F-\\x9F\\x{061C}\\x{2028}-\\x{202E}]*$",
        "^https?://[!-~]+$",
        "^[^\\n\\r\\u2028\\u2029]{1,100}$",
    ] {
        assert_eq!(compiled(pattern).steps_a_byte(), 1, "{pattern}");
    }
}

#[test]
fn a_pattern_without_a_table_takes_a_step_for_each_state() {
    // all subsets of 20 places, and a word boundary that the table does not have
    for pattern in ["(a|b)*a(a|b){20}", "(?:[a-y]?){110}\\b[0-9]{2}"] {
        let matcher = compiled(pattern);
        assert!(matcher.steps_a_byte() > 60, "{pattern}: {}", matcher.steps_a_byte());
        assert_eq!(matcher.steps(100), START + 101 * matcher.steps_a_byte(), "{pattern}");
    }
}

#[test]
fn both_engines_say_what_the_regex_crate_says() {
    let texts = ["", "a", "ab", "zz99", "é 12", "aab\n", "x\u{2028}", "αβγ", "12 ab", "\u{1f600}"];
    for pattern in [
        "",
        "^$",
        "a*",
        "\\bab\\b",
        "^[^\\n]*$",
        "(a|b)*a(a|b){20}",
        "[0-9]{2}",
        "(?i)AB",
        "^\\S*$",
        "\\p{Greek}+",
    ] {
        let matcher = compiled(pattern);
        let schema = serde_json::json!({ "patternProperties": { pattern: false } });
        let names = super::super::compile_plain(&schema).unwrap();
        for text in texts {
            let object = serde_json::json!({ text: 1 }).to_string();
            let read = crate::json::read(object.as_bytes(), &crate::json::Limits::default()).unwrap();
            assert_eq!(matcher.matches(text), names.accepts(&read).is_err(), "{pattern} {text:?}");
        }
    }
}

#[test]
fn a_pattern_is_compiled_once_however_often_it_is_asked_for() {
    let matchers = Matchers::new(&SchemaLimits::default());
    let (first, second) = (matchers.get("^a+$").unwrap(), matchers.get("^a+$").unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    let bytes = matchers.bytes();
    assert!(matchers.get("^b+$").is_some() && matchers.bytes() > bytes);
    assert!(matchers.get("(").is_none() && matchers.get("(?=a)").is_none());
}
