//! The same of a group: nobody who is in it today is given the credential.

use super::{HIGH, House, one_file, permit, shipped_contexts, warned};
use crate::{Policies, PolicyLimits, PolicySource};

/// The list of groups.
const GROUPS: &str = "\"groups\":[\"g\",\"h\"],";

const HAS: &str = "principal.credentials.contains(\"high-value-authorized\")";

/// Agents `a0`, `a1`, …, each in its groups and with its credentials, and what stands before them.
fn of(text: &str, before: &str, agents: &[(&str, &str)]) -> PolicySource {
    let entry = |(at, (groups, credentials)): (usize, &(&str, &str))| {
        format!(
            r#"{{"id":"spiffe://semgate.test/agent/a{at}","groups":[{groups}],"credentials":[{credentials}]}}"#
        )
    };
    let agents: Vec<String> = agents.iter().enumerate().map(entry).collect();
    let entities = format!("{{{before}\"agents\":[\n{}\n]}}", agents.join(",\n"));
    PolicySource { entities: entities.into(), ..one_file(text) }
}

#[test]
fn bug_a_credential_that_nobody_of_a_group_gives_loaded_without_a_word() {
    let gives = "`entities.json:2:55` gives `spiffe://semgate.test/agent/a0` no credential, `entities.json:3:55` gives \
                 `spiffe://semgate.test/agent/a1` `other`";
    let agents = [("\"g\"", ""), ("\"g\"", "\"other\""), ("", HIGH)];
    for (who, condition, part) in [
        (" in Group::\"g\"", HAS.to_owned(), None),
        (" in Group::\"g\"", format!("principal.credentials.containsAll([{HIGH}])"), None),
        (
            " in Group::\"g\"",
            format!("principal.credentials.containsAny([{HIGH}, \"declared\"])"),
            Some(false),
        ),
        (" is Agent in Group::\"g\"", HAS.to_owned(), None),
        ("", format!("principal in Group::\"g\" && {HAS}"), Some(true)),
        ("", format!("{HAS} && principal in Group::\"g\""), Some(true)),
        ("", format!("principal in [Group::\"g\"] && {HAS}"), Some(true)),
        (
            "",
            format!("context.receiver in Group::\"g\" && context.receiver.credentials.contains({HIGH})"),
            Some(true),
        ),
    ] {
        let told = warned(&of(
            &permit(who, &condition),
            "\"credentials\":[\"declared\",\"other\",\"high-value-authorized\"],",
            &agents,
        ));
        if part == Some(false) {
            assert_eq!(told, [""; 0], "somebody may be given `declared`");
            continue;
        }
        let why = match part {
            Some(_) => format!(" are never true together: {gives})"),
            None => {
                format!("policy `p.cedar#1`: its condition is true for no message (`{condition}`: {gives})")
            }
        };
        assert!(matches!(&told[..], [one] if one.ends_with(&why)), "{condition}: {told:?}");
    }
}

#[test]
fn a_credential_that_one_of_the_group_has_or_may_show_or_that_nobody_has_yet_is_nobodys_mistake() {
    let declared = "\"groups\":[\"g\",\"empty\"],\"credentials\":[\"declared\",\"high-value-authorized\"],";
    let agents = [("\"g\"", ""), ("\"g\"", ""), ("", HIGH)];
    let group = " in Group::\"g\"";
    let asks = |name: &str| permit(group, &format!("principal.credentials.contains(\"{name}\")"));
    for text in [
        asks("declared"),
        asks("token:hr:b"),
        asks("cert:policy:1.1"),
        permit(group, &format!("!{HAS}")),
        permit(group, &format!("{HAS} || resource.amount.lessThan(decimal(\"9.0\"))")),
        permit(group, "resource.amount.lessThan(decimal(\"9.0\"))")
            .replace("};", &format!("}} unless {{ {HAS} }};")),
        permit("", &format!("!(principal in Group::\"g\") && {HAS}")),
        permit("", &format!("(principal in Group::\"g\" || action == Action::\"REQUEST\") && {HAS}")),
        permit("", &format!("context.receiver in Group::\"g\" && {HAS}")),
        permit(" in Group::\"empty\"", HAS),
    ] {
        assert_eq!(warned(&of(&text, declared, &agents)), [""; 0], "{text}");
    }
    let one = [("\"g\"", ""), ("\"g\"", HIGH), ("", HIGH)];
    assert_eq!(warned(&of(&permit(group, HAS), declared, &one)), [""; 0]);
    // nobody has it any more
    let none = [("\"g\"", ""), ("\"g\"", ""), ("", "")];
    assert_eq!(warned(&of(&permit(group, HAS), declared, &none)), [""; 0]);
}

#[test]
fn what_the_entries_of_a_large_group_give_is_told_together() {
    let mut agents = vec![
        ("\"g\"", "\"d\",\"b\""),
        ("\"g\"", ""),
        ("\"g\"", "\"a\""),
        ("\"g\"", "\"a\",\"c\""),
        ("", HIGH),
    ];
    let told = |agents: &[(&str, &str)]| warned(&of(&permit(" in Group::\"g\"", HAS), "", agents));
    let so = |given: &str| {
        let why = format!("(`{HAS}`: the entries of the 4 agents who are meant give {given})");
        [format!("p.cedar:2:8: policy `p.cedar#1`: its condition is true for no message {why}")]
    };
    assert_eq!(told(&agents), so("`a`, `b`, `c`, and 1 more"));
    agents[..4].iter_mut().for_each(|agent| agent.1 = "");
    assert_eq!(told(&agents), so("no credential"));
}

#[test]
fn bug_a_permit_for_a_group_that_a_forbid_of_all_without_a_credential_covers_loaded_without_a_word() {
    let without = format!("@id(\"f\") forbid (principal, action, resource) unless {{ {HAS} }};");
    let agents = [("\"g\"", ""), ("\"g\",\"h\"", ""), ("\"h\"", HIGH)];
    let why = "it permits nothing: `p.cedar#f` forbids all of it (whenever this permit applies, so does what forbids: `entities.json:2:55` \
               gives `spiffe://semgate.test/agent/a0` no credential, `entities.json:3:59` gives `spiffe://semgate.test/agent/a1` no \
               credential)";
    for permit in [
        "permit (principal in Group::\"g\", action, resource is payment::transfer);".to_owned(),
        permit("", "principal in Group::\"g\""),
        permit(" in Group::\"g\"", "resource.amount.lessThan(decimal(\"9.0\"))"),
    ] {
        let told = warned(&of(&format!("{permit}\n{without}"), GROUPS, &agents));
        assert!(matches!(&told[..], [one] if one.ends_with(why)), "{permit}: {told:?}");
    }
    // one of them has it, and a forbid of more than a certain amount leaves something
    let of_group = |group: &str| {
        format!("permit (principal in Group::\"{group}\", action, resource is payment::transfer);")
    };
    let dear = format!(
        "forbid (principal, action, resource is payment::transfer) when {{ resource.amount.greaterThan(decimal(\"9.0\")) }} \
         unless {{ {HAS} }};"
    );
    for text in [of_group("h") + &without, of_group("g") + &dear] {
        assert_eq!(warned(&of(&text, GROUPS, &agents)), [""; 0], "{text}");
    }
}

#[test]
fn a_forbid_of_a_group_for_a_credential_that_nobody_of_it_has_is_told() {
    let text = format!(
        "{}\n@id(\"f\") forbid (principal in Group::\"g\", action, resource is payment::transfer) when {{ {HAS} }};",
        permit("", "resource.amount.lessThan(decimal(\"9.0\"))")
    );
    let told = warned(&of(&text, "", &[("\"g\"", ""), ("", HIGH)]));
    assert!(
        matches!(&told[..], [one] if one.contains("policy `p.cedar#f`: its condition is true for no message")),
        "{told:?}"
    );
}

#[test]
fn bug_a_credential_that_only_disabled_members_of_a_group_have_was_not_told() {
    let agents = [("\"g\"", ""), ("\"g\"", HIGH), ("", HIGH)];
    let why = "its condition is true only with agents that never come: disabled ones, or of a trust domain that is not configured";
    for (who, condition) in
        [(" in Group::\"g\"", HAS.to_owned()), ("", format!("principal in Group::\"g\" && {HAS}"))]
    {
        let source = of(&permit(who, &condition), "", &agents);
        assert_eq!(warned(&source), [""; 0]);
        let text = String::from_utf8(source.entities.clone()).unwrap();
        let disabled = text.replacen("agent/a1\"", "agent/a1\",\"disabled\":true", 1);
        let told = warned(&PolicySource { entities: disabled.into(), ..source.clone() });
        assert!(matches!(&told[..], [one] if one.ends_with(why)), "{condition}: {told:?}");
        // another who is disabled changes nothing
        let disabled = text.replacen("agent/a0\"", "agent/a0\",\"disabled\":true", 1);
        assert_eq!(warned(&PolicySource { entities: disabled.into(), ..source }), [""; 0], "{condition}");
    }
}

#[test]
fn the_last_of_a_group_who_loses_a_credential_or_leaves_keeps_no_set_out() {
    let text = permit(" in Group::\"g\"", HAS);
    let before = of(&text, "", &[("\"g\"", ""), ("\"g\"", HIGH), ("", HIGH)]);
    let limits = PolicyLimits::default();
    let live = Policies::load(&before, &shipped_contexts(), &limits).unwrap();
    for agents in [[("\"g\"", ""), ("\"g\"", ""), ("", HIGH)], [("\"g\"", ""), ("", HIGH), ("", HIGH)]] {
        let next = of(&text, "", &agents);
        let told = live.reload(&next, &shipped_contexts(), &limits).unwrap();
        let told: Vec<String> = told.warnings().iter().map(ToString::to_string).collect();
        assert!(matches!(&told[..], [one] if one.contains("true for no message")), "{told:?}");
        assert_eq!(warned(&next), told, "a start takes it as well");
        // and a set that was refused for another reason is so beside it
        let both = of(
            &format!("{text}\n{}", permit("", "principal.credentials.contains(\"nobodys\")")),
            "",
            &agents,
        );
        let told = House::load(&both, shipped_contexts()).err().unwrap_or_default();
        assert!(told.iter().any(|fault| fault.contains("nobody has the credential `nobodys`")), "{told:?}");
        assert!(!told.iter().any(|fault| fault.contains("p.cedar#1")), "{told:?}");
    }
}
