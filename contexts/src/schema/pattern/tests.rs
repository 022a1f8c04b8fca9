use super::*;
use crate::schema::SchemaLimits;
use serde_json::json;

fn takes(pattern: &str, text: &str) -> bool {
    let schema = json!({ "pattern": dots_spelt_out(pattern) });
    super::super::compile_plain(&schema).unwrap().accepts(&crate::json::Json::String(text.into())).is_ok()
}

#[test]
fn a_dot_matches_no_line_terminator_and_everything_else() {
    for text in ["\n", "\r", "\u{2028}", "\u{2029}"] {
        assert!(
            !takes("^.$", text) && !takes("^(a|.)$", text) && !takes("^[^.].$", &format!("a{text}")),
            "{text:?}"
        );
        assert!(takes("^[.\\s]$", text) && takes("^[^a]$", text), "{text:?}");
    }
    // next line is none by ECMA-262
    for text in ["a", " ", "\t", "\u{85}", "\u{b}", "\u{e4}", "\u{1f600}"] {
        assert!(takes("^.$", text), "{text:?}");
    }
}

#[test]
fn only_a_dot_that_is_one_is_spelt_out() {
    for pattern in
        [r"^a\.b$", r"^[.]$", r"^[^\].]$", r"^\\[.]", "^[a-z]+$", "(?s:.)", "(?i)a.", "[].]", "[^]."]
    {
        assert_eq!(dots_spelt_out(pattern), pattern);
    }
    let spelt = |text: &str| text.replace('D', NO_LINE_END);
    for (pattern, wanted) in [
        (".", "D"),
        (r"\\.", r"\\D"),
        (r"[.].[.]", "[.]D[.]"),
        (r"[\]].", r"[\]]D"),
        ("(?:.){2,3}", "(?:D){2,3}"),
        ("(?<a>.)", "(?<a>D)"),
        ("(?P<a.b>.)", "(?P<a.b>D)"),
        ("]..", "]DD"),
    ] {
        assert_eq!(dots_spelt_out(pattern), spelt(wanted), "{pattern}");
    }
}

/// What was published before must go on loading.
#[test]
fn what_was_taken_as_it_is_written_compiles_spelt_out() {
    let limits = SchemaLimits::default();
    let spelt = Matchers::new(&limits);
    let mut largest = 0;
    for (head, tail) in [("^.{1,", "}$"), ("^(a.|.b){0,", "}$"), ("^(.{2}x){1,", "}$")] {
        for n in 1..400 {
            let pattern = format!("{head}{n}{tail}");
            // as it is written its dots are the engine's
            if Matchers::new(&limits).get(&pattern).is_some() {
                largest = largest.max(n);
                assert!(spelt.get(&dots_spelt_out(&pattern)).is_some(), "{pattern}");
            }
        }
    }
    assert!(largest > 20, "{largest}");
}

/// What only looks like flags or an empty class, since it is escaped or stands in a class, left every dot of the pattern to the engine.
#[test]
fn bug_a_dot_beside_what_only_looks_like_flags_or_an_empty_class_matched_a_line_terminator() {
    for (pattern, text, plain) in [
        (r"^\(?a.b$", "a\rb", "axb"),
        (r"^\(?i.$", "i\u{2028}", "ix"),
        (r"^\[].$", "[]\r", "[]x"),
        (r"^item\[].name.$", "item[].name\u{2028}", "item[].namex"),
        (r"^[^[].$", "x\r", "xx"),
        (r"^.+\[[^[]*]$", "a\r[b]", "ax[b]"),
        (r"^[[].$", "[\r", "[x"),
        (r"^[\[^].$", "^\r", "^x"),
        (r"^[(?a].$", "a\r", "ax"),
        (r"^[(?i]?a.$", "a\r", "ax"),
        (r"^\[]$|^.$", "\r", "x"),
    ] {
        assert!(!takes(pattern, text), "{pattern}");
        assert!(takes(pattern, plain), "{pattern}");
    }
}
