//! Tests of `visible`.

use super::*;
use askama::Template;

#[derive(Template)]
#[template(source = "<p title=\"{{ text }}\">{{ text|visible }}</p>{{ text }}", ext = "html")]
struct Page<'a> {
    text: &'a str,
}

fn page(text: &str) -> String {
    Page { text }.render().unwrap()
}

#[test]
fn attack_markup_of_an_agent_stays_text() {
    let html = page("<script>alert(1)</script>\"' onmouseover='x' &amp;");
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&lt;script&gt;"), "{html}");
    assert!(
        html.contains(
            "title=\"&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onmouseover=&#39;x&#39; &amp;amp;\""
        ),
        "{html}"
    );
}

#[test]
fn attack_bidirectional_and_invisible_characters_are_shown_as_codes() {
    let html = page("a\u{202E}b\u{200B}c\u{2066}d\u{FEFF}e\u{E0041}f\u{0}g\u{1B}[2Jh\u{AD}i\u{2028}j\u{A0}k");
    for code in ["202E", "200B", "2066", "FEFF", "E0041", "0", "1B", "AD", "2028", "A0"] {
        assert!(html.contains(&format!("<span class=\"code\">\\u{{{code}}}</span>")), "{code}: {html}");
        assert!(html.contains(&format!("\\u{{{code}}}")), "{code}");
    }
    assert!(!html.chars().any(is_hidden), "{html:?}");
}

#[test]
fn a_text_that_spells_a_code_looks_different_from_a_code() {
    assert_eq!(marked("\\u{202E}", 99), "\\u{202E}");
    assert_eq!(marked("\u{202E}", 99), "<span class=\"code\">\\u{202E}</span>");
}

#[test]
fn attack_a_megabyte_is_cut() {
    let html = page(&"x".repeat(1 << 20));
    let shown = html.split("<p").nth(1).unwrap().split("</p>").next().unwrap();
    let filtered = shown.split_once('>').unwrap().1;
    assert!(filtered.len() < MAX_CHARS + 100, "{}", filtered.len());
    assert!(filtered.contains("more characters"), "the reader sees that it was cut");
}

#[test]
fn ordinary_text_of_every_script_stays_as_it_is() {
    for text in ["Grüße, 世界", "مرحبا", "שלום", "नमस्ते", "two\nlines\tand a tab", "emoji 🚀"]
    {
        assert_eq!(marked(text, 999), text);
    }
}

#[test]
fn every_character_that_unicode_lets_browsers_ignore_is_hidden_from_nobody() {
    // the ranges of Default_Ignorable_Code_Point (Unicode 17) and of Bidi_Control
    let ranges = [
        0xAD..=0xAD,
        0x34F..=0x34F,
        0x61C..=0x61C,
        0x115F..=0x1160,
        0x17B4..=0x17B5,
        0x180B..=0x180F,
        0x200B..=0x200F,
        0x202A..=0x202E,
        0x2060..=0x206F,
        0x3164..=0x3164,
        0xFE00..=0xFE0F,
        0xFEFF..=0xFEFF,
        0xFFA0..=0xFFA0,
        0xFFF0..=0xFFF8,
        0x1BCA0..=0x1BCA3,
        0x1D173..=0x1D17A,
        0xE0000..=0xE0FFF,
    ];
    for number in ranges.into_iter().flatten() {
        let Some(c) = char::from_u32(number) else { continue };
        assert!(is_hidden(c), "U+{number:04X}");
    }
}

/// The expressions of a template that stand within a tag, where markup ends the attribute.
fn within_tags(template: &str) -> Vec<&str> {
    let (mut rest, mut in_tag, mut quote, mut all) = (template, false, None, Vec::new());
    while let Some(c) = rest.chars().next() {
        let end = match rest.get(..2) {
            Some("{{") => Some("}}"),
            Some("{%") => Some("%}"),
            Some("{#") => Some("#}"),
            _ => None,
        };
        if let Some(end) = end {
            let (expression, after) = rest.split_once(end).unwrap();
            if in_tag {
                all.push(expression);
            }
            rest = after;
            continue;
        }
        match (c, quote) {
            ('"' | '\'', None) if in_tag => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('<', None) => in_tag = true,
            ('>', None) => in_tag = false,
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    assert!(!in_tag && quote.is_none(), "the tags of a template are not closed");
    all
}

#[test]
fn no_template_puts_the_markup_of_visible_into_an_attribute() {
    let within = within_tags("<a title=\"{{ a|visible }}\" {% if b %}c{% endif %}>{{ d|visible }}</a>");
    assert_eq!(within, ["{{ a|visible ", "{% if b ", "{% endif "]);
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut seen = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for expression in within_tags(&text) {
            seen += 1;
            assert!(!expression.contains("visible"), "{}: {expression}", path.display());
        }
    }
    assert!(seen > 50, "{seen}");
}
