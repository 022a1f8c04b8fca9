use super::*;

const GRACE: &str = "spiffe://semgate.test/grace";
const ADA: &str = "spiffe://semgate.test/ada";
const MALLORY: &str = "spiffe://semgate.test/mallory";

const ENTITIES: &str = r#"{"agents":[
    {"id":"spiffe://semgate.test/grace","groups":["releasers","stewards"],"credentials":["officer"]},
    {"id":"spiffe://semgate.test/ada","groups":["releasers"],"credentials":[]},
    {"id":"spiffe://semgate.test/mallory","groups":["stewards"],"credentials":[],"disabled":true}]}"#;

const RULES: &str = r#"@id("release")
permit (principal in Group::"releasers", action == Action::"publish", resource in Line::"acme");
@id("take-back") @four_eyes
permit (principal in Group::"releasers", action in [Action::"revoke", Action::"override"], resource in Line::"acme");
@id("suspend")
permit (principal, action in [Action::"suspend", Action::"resume"], resource)
when { principal.credentials.contains("officer") };
@id("frozen")
forbid (principal, action == Action::"publish", resource)
when { resource.line == "acme.frozen" && resource.major < 3 };
"#;

fn source(rules: &str) -> PolicySource {
    PolicySource {
        files: vec![("publishers.cedar".to_owned(), rules.to_owned())],
        entities: ENTITIES.as_bytes().to_vec(),
        limits: None,
    }
}

fn load(rules: &str) -> Result<PublisherPolicies, Vec<PolicyFault>> {
    PublisherPolicies::load(&source(rules), &PolicyLimits::default())
}

fn report(rules: &str) -> Vec<String> {
    load(rules).unwrap_err().iter().map(ToString::to_string).collect()
}

fn decide(policies: &PublisherPolicies, who: &str, act: PublisherAct, line: &str, version: &str) -> Ruling {
    policies.decide(who, act, &Line::parse(line).unwrap(), Version::parse(version).unwrap())
}

fn by(name: &str) -> Vec<String> {
    vec![format!("publishers.cedar#{name}")]
}

#[test]
fn a_line_holds_those_below_it_and_an_act_is_what_its_policy_names() {
    let policies = load(RULES).unwrap();
    use PublisherAct::*;
    let ask = |who, act, line, version| decide(&policies, who, act, line, version);
    for line in ["acme", "acme.logistics", "acme.logistics.eu"] {
        assert_eq!(ask(ADA, Publish, line, "v1.0"), Ruling::Permitted(by("release")), "{line}");
        assert_eq!(ask(ADA, Revoke, line, "v1.0"), Ruling::FourEyes(by("take-back")), "{line}");
        assert_eq!(ask(GRACE, Override, line, "v1.0"), Ruling::FourEyes(by("take-back")), "{line}");
    }
    for line in ["acmee", "other", "logistics.acme"] {
        assert_eq!(ask(ADA, Publish, line, "v1.0"), Ruling::Denied(Vec::new()), "{line}");
    }
    assert_eq!(ask(GRACE, Suspend, "other", "v1.0"), Ruling::Permitted(by("suspend")));
    assert_eq!(ask(ADA, Suspend, "other", "v1.0"), Ruling::Denied(Vec::new()));
    assert_eq!(ask(GRACE, Floor, "acme", "v1.0"), Ruling::Denied(Vec::new()));
    assert_eq!(ask(ADA, Publish, "acme.frozen", "v2.9"), Ruling::Denied(by("frozen")));
    assert_eq!(ask(ADA, Publish, "acme.frozen", "v3.0"), Ruling::Permitted(by("release")));
}

#[test]
fn who_is_not_in_the_file_or_is_disabled_may_nothing() {
    let policies = load("permit (principal, action, resource);").unwrap();
    let ask = |who| decide(&policies, who, PublisherAct::Publish, "acme", "v1.0");
    assert_eq!(ask(ADA), Ruling::Permitted(by("1")));
    assert_eq!(ask(MALLORY), Ruling::Denied(Vec::new()));
    assert_eq!(ask("spiffe://semgate.test/stranger"), Ruling::Denied(Vec::new()));
}

/// As for messages: all that any permit asks for holds.
#[test]
fn one_permit_with_four_eyes_is_enough_to_need_them() {
    let rules = format!("{RULES}permit (principal, action, resource);");
    let policies = load(&rules).unwrap();
    let Ruling::FourEyes(decided) = decide(&policies, ADA, PublisherAct::Revoke, "acme", "v1.0") else {
        panic!("a broad permit took the second person away");
    };
    assert_eq!(decided.len(), 2);
}

#[test]
fn a_policy_that_cannot_be_evaluated_refuses() {
    let rules = r#"permit (principal, action, resource);
        forbid (principal, action, resource) when { resource.major + 9223372036854775807 > 3 };"#;
    let policies = load(rules).unwrap();
    assert!(
        matches!(decide(&policies, ADA, PublisherAct::Publish, "acme", "v1.0"), Ruling::Errored(ids) if !ids.is_empty())
    );
}

#[test]
fn a_file_that_a_cut_save_left_without_a_policy_keeps_the_set_out() {
    for text in ["", "// frozen lines\n"] {
        let mut cut = source(RULES);
        cut.files.push(("zz.cedar".to_owned(), text.to_owned()));
        let faults = PublisherPolicies::load(&cut, &PolicyLimits::default()).map(drop);
        assert_eq!(faults, Err(vec![PolicyFault::EmptyFile { name: "zz.cedar".to_owned() }]), "{text}");
    }
}

#[test]
fn what_could_do_nothing_or_not_what_was_meant_is_no_policy_and_is_told_with_its_place() {
    let with = |condition: &str| format!("permit (principal, action, resource)\nwhen {{ {condition} }};");
    for (rules, location, why) in [
        ("permit (principal, action resource);", "publishers.cedar:1:27", "unexpected token `resource`"),
        (&with("resource.majr > 1"), "publishers.cedar:2:", "majr"),
        (&with("resource.major > \"1\""), "publishers.cedar:2:", "Long"),
        (&with("context.reason == \"x\""), "publishers.cedar:2:", "reason"),
        (&with("resource.major > 1 && false"), "publishers.cedar:", ""),
        ("permit (principal, action == Action::\"delete\", resource);", "publishers.cedar:1:", "delete"),
        (
            "permit (principal in Group::\"releaser\", action, resource);",
            "publishers.cedar:1:22",
            "did you mean `Group::\"releasers\"`?",
        ),
        (
            "permit (principal == Agent::\"spiffe://semgate.test/adah\", action, resource);",
            "publishers.cedar:1:22",
            "did you mean",
        ),
        (
            "permit (principal, action, resource in Line::\"acme..x\");",
            "publishers.cedar:1:40",
            "`Line::\"acme..x\"`",
        ),
        (
            "permit (principal, action, resource == Version::\"acme:v1.0\");",
            "publishers.cedar:1:40",
            "no names",
        ),
        (
            "@limit(\"3/1m\") permit (principal, action, resource);",
            "publishers.cedar:1:1",
            "no annotation of this name",
        ),
        (
            "@approve(\"why\") @quorum(\"2\") permit (principal, action, resource);",
            "publishers.cedar:1:17",
            "`@quorum`: no annotation of this name: there are `@id` and `@four_eyes`",
        ),
        (
            "@four_eyes permit (principal, action, resource);",
            "publishers.cedar:1:1",
            "publishing does not support four eyes",
        ),
        (
            "@four_eyes forbid (principal, action == Action::\"revoke\", resource);",
            "publishers.cedar:1:1",
            "`permit` only",
        ),
        (
            "@four_eyes(\"two\") permit (principal, action == Action::\"revoke\", resource);",
            "publishers.cedar:1:1",
            "holds no text",
        ),
        ("permit (principal == ?principal, action, resource);", "publishers.cedar:1:1", "template"),
        (
            "@id(\"a\") permit (principal, action, resource);\n@id(\"a\") permit (principal, action, resource);",
            "publishers.cedar:2:1",
            "second policy",
        ),
        ("// nothing\n", "", "no policy"),
    ] {
        let report = report(rules);
        assert!(
            report.iter().any(|one| one.starts_with(location) && one.contains(why)),
            "{rules}: {report:?}"
        );
    }
    let budget = PolicySource { limits: Some(b"{}".to_vec()), ..source(RULES) };
    assert!(PublisherPolicies::load(&budget, &PolicyLimits::default()).is_err());
    let strange = PolicySource { entities: b"[]".to_vec(), ..source(RULES) };
    assert!(PublisherPolicies::load(&strange, &PolicyLimits::default()).is_err());
}

#[test]
fn bug_a_name_that_nobody_has_had_the_place_of_a_comment_before_it() {
    let report = report("permit (principal // Group::\"staf\"\n in Group::\"staf\", action, resource);");
    assert!(report.len() == 1 && report[0].starts_with("publishers.cedar:2:5: "), "{report:?}");
}

#[test]
fn bug_what_was_meant_by_a_wrong_name_was_far_fetched_and_another_one_each_time() {
    for (scope, hint) in [
        ("principal, action == Action::\"publsh\", resource", Some("did you mean `Action::\"publish\"`?")),
        (
            "principal, action == Action::\"REQUEST\", resource",
            Some("the actions are `publish`, `revoke`, `suspend`, `resume`, `retire`, `floor`, `override`"),
        ),
        ("principal in Grup::\"staff\", action, resource", Some("did you mean `Group`?")),
        ("principal, action, resource in supply::\"chain\"", None),
    ] {
        let faults = load(&format!("permit ({scope});")).unwrap_err();
        let report = match &faults[..] {
            [PolicyFault::Invalid { why, hint, .. }] if why.starts_with("unrecognized ") => hint.as_deref(),
            _ => panic!("{scope}: {faults:?}"),
        };
        assert_eq!(report, hint, "{scope}");
    }
}

#[test]
fn attack_a_publisher_keeps_its_rights_because_a_policy_names_it_and_its_entry_goes() {
    let rules = format!(
        "{RULES}\n@id(\"hers\") permit (principal == Agent::\"{ADA}\", action, resource);\n\
         @id(\"stewards\") permit (principal in Group::\"stewards\", action == Action::\"floor\", resource);\n\
         @id(\"looks\") forbid (principal, action == Action::\"retire\", resource)\n\
         when {{ Agent::\"{ADA}\".credentials.contains(\"officer\") }};"
    );
    let limits = PolicyLimits::default();
    let of = |rules: &str, entities: &str| PolicySource { entities: entities.into(), ..source(rules) };
    let live = PublisherPolicies::load(&source(&rules), &limits).unwrap();
    let ask = |policies: &PublisherPolicies, who, act| decide(policies, who, act, "acme", "v1.0");
    use PublisherAct::*;
    assert!(matches!(ask(&live, ADA, Publish), Ruling::Permitted(_)));
    // her entry goes, and with the others' the last of a group
    let without = r#"{"agents":[{"id":"spiffe://semgate.test/grace","groups":["releasers"],"credentials":["officer"]}]}"#;
    let gone = of(&rules, without);
    let report = |faults: &[PolicyFault]| -> Vec<String> { faults.iter().map(ToString::to_string).collect() };
    let refused = PublisherPolicies::load(&gone, &limits).unwrap_err();
    assert_eq!(refused.len(), 3, "a first start is strict: {refused:?}");
    let mut live = live;
    for _ in 0..2 {
        let next = live.reload(&gone, &limits).unwrap();
        assert_eq!(report(next.warnings()), report(&refused));
        for act in PublisherAct::ALL {
            assert_eq!(ask(&next, ADA, act), Ruling::Denied(Vec::new()), "{act:?}");
        }
        assert_eq!(ask(&next, GRACE, Publish), Ruling::Permitted(by("release")));
        // nor is anybody else stopped by a policy that looks at what she held
        let open = of(&format!("{rules} permit (principal, action, resource);"), without);
        let open = next.reload(&open, &limits).unwrap();
        assert!(matches!(ask(&open, GRACE, Retire), Ruling::Permitted(_)), "{:?}", ask(&open, GRACE, Retire));
        live = next;
    }
    // a name that was never declared is a fault
    let typed = of(&rules.replace("stewards", "stewarts"), without);
    let faults = report(&live.reload(&typed, &limits).unwrap_err());
    assert!(matches!(&faults[..], [one] if one.contains("stewarts")), "{faults:?}");
}
