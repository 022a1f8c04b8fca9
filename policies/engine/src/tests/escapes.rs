//! Where a fault stands beside texts that are written with escapes, with characters of several bytes, or that look like what is sought.

use super::faults;

#[test]
fn bug_a_text_with_an_escape_was_told_at_the_beginning_of_its_policy() {
    for (condition, location, why) in [
        (r#"resource.sender_id != "a\u{e4}b""#, r#""a\u"#, "is `\"aäb\"` in no version"),
        (
            r#"resource.currency != "EUR" && resource.currency == "\x58xX""#,
            r#""\x58"#,
            "is `\"XxX\"` in no version",
        ),
        (
            r#"principal.credentials.contains("no\u{62}ody")"#,
            r#""no\u"#,
            "`credential \"nobody\"` is not in entities.json",
        ),
        (r#"principal in Group::"g\u{6f}ne""#, "Group::", "`Group::\"gone\"` is not in entities.json"),
        (
            r#"resource.amount.lessThan(decimal("1.0")) && principal == Agent :: "no\x62ody""#,
            "Agent ::",
            "`Agent::\"nobody\"` is not",
        ),
    ] {
        let text =
            format!("forbid (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};");
        let line = text.lines().nth(1).unwrap();
        let column = line.split(location).next().unwrap().chars().count() + 1;
        let report = faults(&text);
        let so = |one: &String| one.starts_with(&format!("p.cedar:2:{column}: ")) && one.contains(why);
        assert!(report.iter().any(so), "{condition}, column {column}: {report:?}");
    }
}

#[test]
fn a_fault_behind_an_escape_or_a_character_of_several_bytes_stands_where_an_editor_shows_it() {
    for text in [r"a\u{e4}b", r"a\nb", "aäb", "a𝄞b", r#"a\"b"#, r"a\\", "// x", "Group::"] {
        let before = format!("when {{ resource.sender_id != \"{text}\" && principal in ");
        let text =
            format!("forbid (principal, action, resource is payment::transfer)\n{before}Group::\"gone\" }};");
        let location = format!("p.cedar:2:{}: ", before.chars().count() + 1);
        let report = faults(&text);
        let so =
            |one: &String| one.starts_with(&location) && one.contains("`Group::\"gone\"` is not in entities");
        assert!(report.iter().any(so), "{location}: {report:?}");
    }
}

#[test]
fn bug_a_name_or_an_annotation_in_a_text_or_comment_was_taken_for_the_one_that_is_wrong() {
    let named = "@notice(\"Group::'gone'\")\n// Group::\"gone\"\nforbid (principal in Group::\"gone\", action, resource);";
    let report = faults(named);
    assert!(report.iter().any(|one| one.starts_with("p.cedar:3:22: ")), "{report:?}");
    let key = "@limit(\"1/day\") @notice(\"@limit_key\") // @limit_key\n@limit_key(\"lime\") permit (principal, action, resource is payment::transfer);";
    let report = faults(key);
    assert!(matches!(&report[..], [one] if one.starts_with("p.cedar:2:1: ")), "{report:?}");
}
