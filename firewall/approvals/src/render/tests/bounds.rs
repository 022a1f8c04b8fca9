//! Bounds of the chat services.

use proptest::prelude::*;

use super::*;

fn units(value: &Value) -> usize {
    value.as_str().unwrap().encode_utf16().count()
}

fn check(hold: &Hold) {
    let message = slack(&card(hold));
    let blocks = message["blocks"].as_array().unwrap();
    assert!(blocks.len() <= 50, "{}", blocks.len());
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "header" => assert!((1..=150).contains(&units(&block["text"]["text"]))),
            "section" => assert!((1..=3000).contains(&units(&block["text"]["text"]))),
            "actions" => {
                let elements = block["elements"].as_array().unwrap();
                assert!((1..=25).contains(&elements.len()));
                for element in elements {
                    assert!((1..=75).contains(&units(&element["text"]["text"])));
                    assert!(element.get("value").is_none_or(|value| units(value) <= 2000));
                    assert!(element.get("style").is_none_or(|style| style == "primary" || style == "danger"));
                }
            }
            "divider" | "context" => {}
            other => panic!("{other}"),
        }
    }
    let size = teams(&card(hold), &links()).to_string().len();
    assert!(size <= 28_000, "{size}");
}

#[test]
fn large_texts_fit_the_bounds() {
    for text in ["x".repeat(5_000), "\n".repeat(3_200), "日".repeat(2_000), "👍\"\\".repeat(700)] {
        for hold in subjects(&text) {
            check(&hold);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_text_fits_the_bounds(text in any::<String>(), times in 0_usize..200, options in 1_usize..40) {
        let text: String = text.repeat(times).chars().take(1_600).collect();
        for hold in subjects(&text) {
            check(&hold);
        }
        let short: String = text.chars().take(120).collect();
        let options = vec![short.as_str(); options];
        check(&opened(asking(InteractionKind::Clarification, &short, &options), Vec::new()));
    }
}
