//! What a tired operator writes is refused when it is loaded, with file, line, column and what was meant.

use super::{House, one_file, shipped_contexts};
use crate::{Policies, PolicyFault, PolicyLimits, PolicySource};

const CONTINGENCY: &str = r#"permit (
  principal == Agent::"spiffe://semgate.test/agent/retailer-7",
  action,
  resource is supplyChain::decision_contingency
);
"#;

const AMBIGUITY: &str = r#"permit (
  principal in Group::"partners",
  action in [Action::"QUERY", Action::"REQUEST"],
  resource is snl::ambiguous_parameter
)
when { resource.parameter == "date" };
"#;

const PAYMENT: &str = r#"forbid (principal, action, resource is payment::transfer)
when { resource.amount.greaterThan(decimal("10000.0")) }
unless { principal.credentials.contains("high-value-authorized") };
"#;

/// Every fault of this text, a line each.
fn faults(text: &str) -> String {
    match House::with(text) {
        Ok(_) => panic!("loaded: {text}"),
        Err(faults) => faults.join("\n"),
    }
}

fn broken(text: &str, right: &str, wrong: &str, expected: &[&str]) {
    let broken = text.replacen(right, wrong, 1);
    assert_ne!(broken, text, "nothing replaced");
    let faults = faults(&broken);
    for part in expected {
        assert!(faults.contains(part), "`{part}` is not in:\n{faults}");
    }
}

#[test]
fn the_policies_as_they_are_meant_load() {
    for text in [CONTINGENCY, AMBIGUITY, PAYMENT] {
        assert!(House::with(text).is_ok(), "{text}");
    }
}

#[test]
fn a_wrong_field_is_refused() {
    broken(
        PAYMENT,
        "resource.amount",
        "resource.amuont",
        &["p.cedar:2:8", "`amuont`", "did you mean `amount`?"],
    );
    broken(
        AMBIGUITY,
        "resource.parameter",
        "resource.parameters",
        &["p.cedar:6:8", "`parameters`", "`parameter`"],
    );
    broken(PAYMENT, "principal.credentials", "principal.credential", &["p.cedar:3:10", "`credentials`"]);
    let text = CONTINGENCY.replace(");", ") when { resource.if_condition == \"x\" };");
    assert!(faults(&text).contains("`if_condition`"), "{}", faults(&text));
    let text = CONTINGENCY.replace(");", ") when { context.freetext };");
    assert!(faults(&text).contains("`freetext`"), "{}", faults(&text));
}

#[test]
fn a_wrong_type_is_refused() {
    let right = "resource.amount.greaterThan(decimal(\"10000.0\"))";
    broken(PAYMENT, right, "resource.amount > 10000", &["p.cedar:2:8", "decimal"]);
    broken(PAYMENT, right, "resource.amount.greaterThan(10000)", &["p.cedar:2:", "decimal"]);
    broken(PAYMENT, "decimal(\"10000.0\")", "decimal(\"10000\")", &["p.cedar:2:", "decimal"]);
    broken(PAYMENT, "decimal(\"10000.0\")", "decimal(\"10000.00001\")", &["p.cedar:2:"]);
    broken(AMBIGUITY, "== \"date\"", "== 3", &["p.cedar:6:8"]);
    let text = CONTINGENCY.replace(");", ") when { context.major == \"1\" };");
    assert!(faults(&text).contains("p.cedar:5:"), "{}", faults(&text));
}

#[test]
fn a_wrong_concept_is_refused() {
    broken(
        PAYMENT,
        "payment::transfer",
        "payment::transfr",
        &["p.cedar:1:", "did you mean `payment::transfer`?"],
    );
    broken(
        PAYMENT,
        "payment::transfer",
        "transfer",
        &["p.cedar:1:", "`transfer` is known as `payment::transfer`"],
    );
    broken(
        PAYMENT,
        "payment::transfer",
        "payments::transfer",
        &["`transfer` is known as `payment::transfer`"],
    );
    broken(
        CONTINGENCY,
        "decision_contingency",
        "decision_contigency",
        &["`supplyChain::decision_contingency`"],
    );
    broken(
        AMBIGUITY,
        "snl::ambiguous_parameter",
        "supplyChain::ambiguous_parameter",
        &["`snl::ambiguous_parameter`"],
    );
    broken(
        PAYMENT,
        "resource is payment::transfer",
        "resource == payment::transfer::\"all\"",
        &["names an instance, and instances have no names (write `resource is payment::transfer`)"],
    );
    broken(
        PAYMENT,
        "resource is payment::transfer",
        "resource in payment::transfer::\"all\"",
        &["write `resource is payment::transfer`"],
    );
}

#[test]
fn a_missing_group_or_agent_is_refused() {
    broken(
        AMBIGUITY,
        "\"partners\"",
        "\"partner\"",
        &[
            "p.cedar:2:16: policy `p.cedar#1`: `Group::\"partner\"` is not in entities.json (did you mean `Group::\"partners\"`?)",
        ],
    );
    broken(AMBIGUITY, "\"partners\"", "\"finance\"", &["`Group::\"finance\"` is not in entities.json"]);
    broken(CONTINGENCY, "agent/retailer-7", "agent/retailer-8", &["did you mean", "agent/retailer-7"]);
    broken(
        CONTINGENCY,
        "spiffe://semgate.test/agent/retailer-7",
        "retailer-7",
        &["`Agent::\"retailer-7\"` is not in entities.json (`retailer-7` is an alias: write \
         `Agent::\"spiffe://semgate.test/agent/retailer-7\"`)"],
    );
    let text = PAYMENT.replace(
        "principal.credentials.contains(\"high-value-authorized\")",
        "principal in Group::\"treasury\"",
    );
    assert!(faults(&text).contains("p.cedar:3:"), "{}", faults(&text));
}

#[test]
fn a_string_for_a_number_is_refused() {
    broken(
        PAYMENT,
        "resource.amount.greaterThan(decimal(\"10000.0\"))",
        "resource.amount > \"10000\"",
        &["p.cedar:2:8", "decimal"],
    );
    broken(PAYMENT, "decimal(\"10000.0\")", "\"10000.0\"", &["p.cedar:2:", "decimal"]);
    let text = "permit (principal, action, resource is supplyChain::current_decision)\n  when { resource.quantity < \"100\" };";
    assert!(faults(text).contains("p.cedar:2:"), "{}", faults(text));
}

#[test]
fn a_policy_that_can_never_match_is_refused() {
    broken(
        AMBIGUITY,
        "action in [Action::\"QUERY\", Action::\"REQUEST\"]",
        "action == Action::\"INFORM\"",
        &["p.cedar:1:1: policy `p.cedar#1`: policy is impossible"],
    );
    broken(AMBIGUITY, "Action::\"QUERY\"", "Action::\"ASK\"", &["`Action::\"ASK\"`"]);
    broken(
        PAYMENT,
        "resource.amount.greaterThan(decimal(\"10000.0\"))",
        "resource is travel::bookFlight",
        &["p.cedar:1:1: policy `p.cedar#1`: policy is impossible"],
    );
    broken(CONTINGENCY, "principal == Agent", "principal == Group", &["Group"]);
}

#[test]
fn a_number_that_policies_do_not_see_is_named() {
    let text = "permit (principal, action, resource is supplyChain::local_observation)\n  when { resource.confidence_score == 1 };";
    let faults = faults(text);
    assert!(faults.contains("p.cedar:2:"), "{faults}");
    assert!(
        faults.contains("`confidence_score`") && faults.contains("a number needs a `multipleOf`"),
        "{faults}"
    );
}

#[test]
fn syntax_is_refused_with_its_place() {
    broken(PAYMENT, ")) }", ") }", &["p.cedar:2:"]);
    broken(PAYMENT, "forbid", "forbidden", &["p.cedar:1:1"]);
    broken(CONTINGENCY, "  action,\n", "", &["p.cedar:"]);
    broken(
        CONTINGENCY,
        "Agent::\"spiffe://semgate.test/agent/retailer-7\"",
        "?principal",
        &["p.cedar:1:1", "a template"],
    );
    broken(CONTINGENCY, "permit", "@id(\"a b\") permit", &["p.cedar:1:1", "an `@id` is"]);
    let twice = format!("@id(\"a\") {PAYMENT}\n@id(\"a\") {PAYMENT}");
    assert!(
        faults(&twice).contains("p.cedar:5:1: a second policy with the id `p.cedar#a`"),
        "{}",
        faults(&twice)
    );
}

#[test]
fn characters_that_hide_what_is_read_are_refused_in_comments_too() {
    broken(
        CONTINGENCY,
        "permit",
        "// everybody \u{202e}else\npermit",
        &["p.cedar:1:14: a bidirectional control character (U+202E): the display differs from the content"],
    );
    broken(
        CONTINGENCY,
        "permit",
        "\u{feff}permit",
        &["p.cedar:1:1: a byte-order mark: save the file as UTF-8 without one"],
    );
}

/// An editor shows what stands behind as a line of its own, and Cedar as the rest of the comment: a forbid was lost that everybody saw.
#[test]
fn attack_a_forbid_behind_what_only_looks_like_the_end_of_a_comment_is_not_lost() {
    for c in ['\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}', '\u{1c}', '\u{1e}', '\r'] {
        let text = format!("// no euro today{c}permit");
        let why = format!(
            "p.cedar:1:17: a character that some editors show as a line end, although a comment continues after it (U+{:04X})",
            u32::from(c)
        );
        broken(CONTINGENCY, "permit", &text, &[&why]);
    }
    for c in ['\u{200b}', '\u{2060}', '\u{ad}', '\u{feff}', '\u{e0041}', '\u{1b}', '\0'] {
        let why = format!("p.cedar:1:6: an invisible character (U+{:04X})", u32::from(c));
        broken(CONTINGENCY, "permit", &format!("// se{c}cret\npermit"), &[&why]);
    }
    let windows = format!("// as\t\r\n{}", CONTINGENCY.replace('\n', "\r\n"));
    assert!(House::with(&windows).is_ok(), "{windows}");
}

#[test]
fn every_fault_is_reported_in_one_go_in_the_order_of_the_file() {
    let text = format!("{}\n{}", PAYMENT.replace("amount", "amuont"), AMBIGUITY.replace("snl::", "sln::"));
    let faults = faults(&text);
    let first = faults.find("amuont").unwrap();
    let second = faults.find("sln::").unwrap();
    assert!(first < second, "{faults}");
}

#[test]
fn no_policy_is_never_loaded() {
    let none = PolicySource { files: Vec::new(), ..PolicySource::shipped() };
    let faults = Policies::load(&none, &shipped_contexts(), &PolicyLimits::default()).unwrap_err();
    assert_eq!(faults, [PolicyFault::Empty]);
}

/// It went live, and what the file had forbidden passed.
#[test]
fn a_file_that_a_cut_save_left_without_a_policy_is_refused_and_not_loaded_without_its_forbids() {
    for text in ["", "\n", "// forbid (principal, action, resource);\n", "// The first comment, cu"] {
        let mut source = PolicySource::shipped();
        let (_, cut) = source.files.iter_mut().find(|(name, _)| name == "payment.cedar").unwrap();
        *cut = text.to_owned();
        let fault = "`payment.cedar` holds no policy: an interrupted save leaves such a file, without the forbids that it held (put back \
                     what it held, or remove the file)";
        let report = |faults: Vec<PolicyFault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>();
        let limits = PolicyLimits::default();
        assert_eq!(Policies::parse(&source, &limits).map_err(report), Err(vec![fault.to_owned()]), "{text}");
        let live = Policies::load(&PolicySource::shipped(), &shipped_contexts(), &limits).unwrap();
        for loaded in [
            Policies::load(&source, &shipped_contexts(), &limits),
            live.reload(&source, &shipped_contexts(), &limits),
        ] {
            assert_eq!(loaded.map(drop).map_err(report), Err(vec![fault.to_owned()]), "{text}");
        }
    }
}

#[test]
fn types_of_lines_that_no_context_has_are_told_once_for_each_line() {
    let faults = Policies::load(&PolicySource::shipped(), &[], &PolicyLimits::default()).unwrap_err();
    let report: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.iter().all(PolicyFault::is_about_contexts), "{report:#?}");
    let spaces: Vec<&str> = faults
        .iter()
        .filter_map(|fault| match fault {
            PolicyFault::UnknownLine { space, .. } => Some(space.as_str()),
            _ => None,
        })
        .collect();
    let mut each = spaces.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!((spaces.len(), report.len()), (each.len(), each.len()), "{report:#?}");
    assert!(each.contains(&"payment") && each.contains(&"supplyChain"), "{report:#?}");
    let payment = report.iter().find(|fault| fault.contains("`payment`")).unwrap();
    assert!(
        payment.starts_with("lines.cedar:")
            && payment.contains(" more policies name it): they come with the authority"),
        "{payment}"
    );
    // a slip of the pen is no line to come
    assert_eq!(
        House::with("permit (principal, action, resource is paiment::transfer);").err().unwrap(),
        [
            "p.cedar:1:40: policy `p.cedar#1`: unrecognized entity type `paiment::transfer` (`transfer` is known as `payment::transfer`)"
        ]
    );
}

#[test]
fn a_directory_is_read_as_it_is() {
    let dir = std::env::temp_dir().join(format!("semgate-policies-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let shipped = PolicySource::shipped();
    for (name, text) in &shipped.files {
        std::fs::write(dir.join(name), text).unwrap();
    }
    assert!(
        matches!(PolicySource::read_dir(&dir), Err(PolicyFault::Unreadable { .. })),
        "without entities.json"
    );
    std::fs::write(dir.join("entities.json"), &shipped.entities).unwrap();
    std::fs::write(dir.join("notes.txt"), "not a policy").unwrap();
    assert_eq!(PolicySource::read_dir(&dir), Ok(shipped));
    std::fs::write(dir.join("bytes.cedar"), [0xff]).unwrap();
    let report = PolicySource::read_dir(&dir).unwrap_err().to_string();
    assert_eq!(report, "bytes.cedar:1:1: byte 0xff is not UTF-8 (save the file as UTF-8)");
    // bug: it was told without a place
    for (bytes, report) in [
        (
            &b"permit (principal,\n  action, // \xc3\xa4 gr\xfc\xdfe"[..],
            "2:18: byte 0xfc is not UTF-8 (save the file as UTF-8)",
        ),
        (b"\xff\xfep\0e\0", "1:1: byte 0xff is not UTF-8 (save the file as UTF-8 and not as UTF-16)"),
        (b"permit (\xc3", "1:9: byte 0xc3 is not UTF-8 (save the file as UTF-8)"),
    ] {
        std::fs::write(dir.join("bytes.cedar"), bytes).unwrap();
        let fault = PolicySource::read_dir(&dir).unwrap_err().to_string();
        assert_eq!(fault, format!("bytes.cedar:{report}"));
    }
    std::fs::remove_file(dir.join("bytes.cedar")).unwrap();
    let limits = PolicyLimits { max_file_bytes: 10, ..PolicyLimits::default() };
    assert!(matches!(PolicySource::read_dir_within(&dir, &limits), Err(PolicyFault::TooLarge { .. })));
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(matches!(PolicySource::read_dir(&dir), Err(PolicyFault::Unreadable { .. })), "no directory");
}

#[test]
fn what_is_no_regular_file_or_lies_elsewhere_is_refused_as_a_gateway_does_and_a_pipe_holds_nobody_up() {
    let root = std::env::temp_dir().join(format!("semgate-located-{}", std::process::id()));
    let dir = root.join("policies");
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&dir).unwrap();
    let shipped = PolicySource::shipped();
    std::fs::write(dir.join("entities.json"), &shipped.entities).unwrap();
    std::fs::write(dir.join("p.cedar"), PAYMENT).unwrap();
    std::fs::write(root.join("outside.cedar"), CONTINGENCY).unwrap();
    assert!(PolicySource::read_dir(&dir).is_ok());
    let pipe = |name: &str| {
        assert!(std::process::Command::new("mkfifo").arg(dir.join(name)).status().unwrap().success());
    };
    let refused = |name: &str, expected: &str| {
        let fault = PolicySource::read_dir(&dir).unwrap_err().to_string();
        assert!(fault.contains(expected), "{name}: {fault}");
        std::fs::remove_file(dir.join(name)).unwrap();
    };
    std::os::unix::fs::symlink("../outside.cedar", dir.join("o.cedar")).unwrap();
    refused("o.cedar", "links must lead into one");
    std::os::unix::fs::symlink("/dev/null", dir.join("o.cedar")).unwrap();
    refused("o.cedar", "not a regular file");
    pipe("o.cedar");
    refused("o.cedar", "o.cedar` cannot be read: not a regular file");
    std::fs::remove_file(dir.join("entities.json")).unwrap();
    pipe("entities.json");
    refused("entities.json", "entities.json` cannot be read: not a regular file");
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn bounds_hold() {
    let limits = PolicyLimits { max_policies: 1, max_files: 1, ..PolicyLimits::default() };
    let twice = format!("{PAYMENT}{CONTINGENCY}");
    let load = |source: &PolicySource| Policies::load(source, &shipped_contexts(), &limits).map(drop);
    assert!(load(&one_file(CONTINGENCY)).is_ok());
    assert!(matches!(load(&one_file(&twice)).unwrap_err()[0], PolicyFault::TooLarge { .. }));
    assert!(matches!(load(&PolicySource::shipped()).unwrap_err()[0], PolicyFault::TooLarge { .. }));
}
