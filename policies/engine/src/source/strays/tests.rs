//! Tests of `strays`.

use super::{PolicySource, nearly};

#[test]
fn a_file_of_cases_whose_ending_is_one_slip_away_is_near_and_other_endings_are_not() {
    for name in ["p.JSON", "p.json.txt", "p.json.", "p.jsn", "p.josn", "p.jso", "p.Json"] {
        assert_eq!(PolicySource::nearly_json(name).as_deref(), Some("p.json"), "{name}");
    }
    for name in
        ["p.json", "p.jsonl", "p.json5", "p.json.bak", "p.json~", "p.txt", "p.md", "p.js", ".json", "json"]
    {
        assert_eq!(PolicySource::nearly_json(name), None, "{name}");
    }
}

#[test]
fn a_name_that_is_one_slip_away_is_near_and_what_is_set_aside_is_not() {
    for (name, meant) in [
        ("limit.json", "limits.json"),
        ("Limits.json", "limits.json"),
        ("limits.jsn", "limits.json"),
        ("limist.json", "limits.json"),
        ("limits.json.txt", "limits.json"),
        ("entites.json", "entities.json"),
        ("entitties.json", "entities.json"),
        ("ENTITIES.JSON", "entities.json"),
        ("w.ceder", "w.cedar"),
        ("W.CEDAR", "W.cedar"),
        ("w.cedr", "w.cedar"),
        ("w.cedra", "w.cedar"),
        ("w.cder", "w.cedar"),
        ("w.cader", "w.cedar"),
        ("w.ceadr", "w.cedar"),
        ("a.b.cedars", "a.b.cedar"),
        ("w.cedar.txt", "w.cedar"),
        ("w.cedar.", "w.cedar"),
        ("wcedar", "w.cedar"),
        ("W,cedar", "W.cedar"),
        ("w-cedar", "w.cedar"),
        ("w_Cedar", "w.cedar"),
    ] {
        assert_eq!(nearly(name).as_deref(), Some(meant), "{name}");
    }
    let others = "w.cedar entities.json limits.json README.md matrix.txt notes.txt lists.json units.json agents.json w.cedar.bak \
                  limits.json.old w.cedar~ w.cedar_ w.cedar- w.cedar1 W.CEDAR_ limits.json~ #limits.json# .w.ceder .cedar w.cedarschema w.cer w.car w.crd w.cedar.json cedar ceder \
                  .gitignore entities.example.json w.cedar.disabled";
    for name in others.split_whitespace() {
        assert_eq!(nearly(name), None, "{name}");
    }
    for (name, meant) in [
        ("pay.cedar\u{200b}", "pay.cedar"),
        ("pay.ced\u{200b}ar", "pay.cedar"),
        ("pay.cedar\u{feff}", "pay.cedar"),
        ("pay.cedar\u{a0}", "pay.cedar"),
        ("pay.cedar ", "pay.cedar"),
        ("pay\u{ad}.ced\u{ad}ar", "pay.cedar"),
        ("pay.сedar", "pay.cedar"),
        ("pay.cedаr", "pay.cedar"),
        ("pay．cedar", "pay.cedar"),
        ("pay․cedar", "pay.cedar"),
        ("зарплата.сedar", "зарплата.cedar"),
        ("limits.json\u{200b}", "limits.json"),
        ("\u{200b}limits.json", "limits.json"),
        ("lіmits.json", "limits.json"),
        ("entities.jsоn", "entities.json"),
    ] {
        assert_eq!(nearly(name).as_deref(), Some(meant), "{}", name.escape_unicode());
    }
    for name in
        ["зарплата.cedar", "зарплата.md", "выбор.txt", "pay notes.txt", "支付.cedar", ".\u{200b}cedar"]
    {
        assert_eq!(nearly(name), None, "{name}");
    }
    let report = super::stray(std::path::Path::new("nowhere"), "w.cedar_").unwrap_or_default();
    assert!(report.starts_with("`w.cedar_` is not read"), "{report}");
}

#[test]
fn bug_a_policy_that_was_hidden_or_had_an_ending_of_a_page_was_passed_over_in_silence() {
    let report = |name: &str| super::stray(std::path::Path::new("nowhere"), name);
    for name in [".w.cedar", ".W.CEDAR", ".entities.json", ".limits.json"] {
        let why = report(name).unwrap_or_default();
        assert_eq!(why, format!("`{name}` is not read: its name begins with a dot"));
    }
    for name in [
        "w.cedar.md",
        "W.CEDAR.md",
        "w.cedar.cedarschema",
        "w.cedar.bak",
        "w.cedar~",
        "#w.cedar#",
        "w.cedar.json",
    ] {
        let why = report(name).unwrap_or_default();
        assert!(
            why.starts_with(&format!("`{name}` is not read: files of a set end in `.cedar`")),
            "{name}: {why}"
        );
    }
    let others = ".#w.cedar ._w.cedar .~w.cedar ..data ..2026_11_23_10_00_00.123456789 .w.cedar.swp .w.cedar.tmp12 .w.cedar.Xq81Zc \
                  .nfs0000000000a1b2c3 .git .gitignore .cedar .md README.md w.md cedar.md .cedar.md w.cedarschema matrix.txt";
    for name in others.split_whitespace() {
        assert_eq!(report(name), None, "{name}");
    }
}
