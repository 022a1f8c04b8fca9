//! A policy about one agent that asks for a credential which its entry does not give today.

mod groups;

use super::{House, loads, one_file, shipped_contexts};
use crate::{Policies, PolicyLimits, PolicySource};

const RETAILER: &str = "Agent::\"spiffe://semgate.test/agent/retailer-7\"";
const TREASURER: &str = "Agent::\"spiffe://semgate.test/agent/treasurer-1\"";
const HIGH: &str = "\"high-value-authorized\"";

fn permit(who: &str, condition: &str) -> String {
    format!("permit (principal{who}, action, resource is payment::transfer)\nwhen {{ {condition} }};")
}

/// What is warned of in a set that loads.
#[track_caller]
fn warned(source: &PolicySource) -> Vec<String> {
    let house = House::load(source, shipped_contexts()).unwrap();
    house.policies.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn bug_a_permit_for_one_agent_with_a_credential_that_its_entry_lacks_loaded_without_a_word() {
    let why = |at: &str, part: &str| {
        format!(
            "p.cedar:{at}: policy `p.cedar#1`: its condition is true for no message ({part}: `entities.json:8:7` gives \
             `spiffe://semgate.test/agent/retailer-7` no credential)"
        )
    };
    let has = format!("principal.credentials.contains({HIGH})");
    let told = warned(&one_file(&permit(&format!(" == {RETAILER}"), &has)));
    assert_eq!(told, [why("2:8", &format!("`{has}`"))]);
    let all = format!("principal.credentials.containsAll([{HIGH}, \"token:hr:b\"])");
    let told = warned(&one_file(&permit(&format!(" == {RETAILER}"), &all)));
    assert_eq!(told, [why("2:8", &format!("`{all}`"))]);
    for (who, condition) in [
        ("", format!("principal == {RETAILER} && {has}")),
        ("", format!("context.receiver == {RETAILER} && context.receiver.credentials.contains({HIGH})")),
        ("", format!("{RETAILER}.credentials.contains({HIGH})")),
    ] {
        let told = warned(&one_file(&permit(who, &condition)));
        assert!(
            matches!(&told[..], [one] if one.contains("true for no message (`")),
            "{condition}: {told:?}"
        );
    }
}

#[test]
fn bug_a_list_of_agents_none_of_whom_has_the_credential_loaded_without_a_word() {
    let has = format!("principal.credentials.contains({HIGH})");
    let courier = "Agent::\"spiffe://semgate.test/agent/courier-5\"";
    let both = format!("[{RETAILER}, {courier}]");
    for (who, condition, told_at) in [
        ("", format!("principal in [{RETAILER}] && {has}"), "principal.cred"),
        ("", format!("[{RETAILER}].contains(principal) && {has}"), "principal.cred"),
        ("", format!("principal in {both} && {has}"), "principal.cred"),
        ("", format!("{both}.contains(principal) && {has}"), "principal.cred"),
        ("", format!("{has} }} when {{ {both}.contains(principal)"), "principal)"),
        ("", format!("(principal == {RETAILER} || principal == {courier}) && {has}"), "principal.cred"),
        (" in Group::\"partners\"", format!("principal in {both} && {has}"), "principal.cred"),
        (
            "",
            format!("{both}.contains(context.receiver) && context.receiver.credentials.contains({HIGH})"),
            "context.receiver.cred",
        ),
        ("", format!("principal in [{RETAILER}] && principal.credentials == [{HIGH}]"), "principal.cred"),
    ] {
        let text = permit(who, &condition);
        let told = warned(&one_file(&text));
        let column = text.lines().nth(1).and_then(|line| line.rfind(told_at)).unwrap() + 1;
        let place = format!("p.cedar:2:{column}: ");
        let given = "never true together: `entities.json:8:7` gives `spiffe://semgate.test/agent/retailer-7` no credential";
        // of alternatives nobody is told apart
        let given = if condition.contains("||") { "never true together)" } else { given };
        let so = |one: &String| one.starts_with(&place) && one.contains(given);
        assert!(matches!(&told[..], [one] if so(one)), "{condition}: {told:?}");
    }
    // one of them has it, or may show it
    for condition in [
        format!("principal in [{RETAILER}, {TREASURER}] && {has}"),
        format!("[{TREASURER}, {RETAILER}].contains(principal) && {has}"),
        format!("!(principal in {both}) && {has}"),
        format!("principal in {both} && !{has}"),
        format!("principal in {both} && principal.credentials.contains(\"token:hr:b\")"),
        format!("principal in [{RETAILER}, {TREASURER}] && principal in Group::\"partners\" && {has}"),
    ] {
        assert_eq!(warned(&one_file(&permit("", &condition))), [""; 0], "{condition}");
    }
    let text = format!(
        "{}\n@id(\"f\") forbid (principal, action, resource is payment::transfer) unless {{ {has} }};",
        permit("", &format!("principal in {both}"))
    );
    let told = warned(&one_file(&text));
    let why = "it permits nothing: `p.cedar#f` forbids all of it (whenever this permit applies, so does what forbids: `entities.json:8:7` \
               gives `spiffe://semgate.test/agent/retailer-7` no credential, `entities.json:26:7` gives \
               `spiffe://semgate.test/agent/courier-5` no credential)";
    let covered = |one: &String| one.ends_with(why);
    assert!(matches!(&told[..], [one] if covered(one)), "{told:?}");
}

#[test]
fn bug_a_credential_taken_from_one_of_two_kept_the_set_out() {
    let agents = |first: &str, second: &str, declared: &str| {
        let entry = |id: &str, has: &str| format!(r#"{{"id":{id},"groups":[],"credentials":[{has}]}}"#);
        let id = |agent: &str| agent.trim_start_matches("Agent::").to_owned();
        let (one, other) = (entry(&id(RETAILER), first), entry(&id(TREASURER), second));
        format!(r#"{{{declared}"agents":[{one},{other}]}}"#)
    };
    let of = |text: &str, entities: String| PolicySource { entities: entities.into(), ..one_file(text) };
    let has = format!("principal.credentials.contains({HIGH})");
    let open = permit("", "resource.amount.lessThan(decimal(\"9.0\"))");
    let to_one = format!("permit (principal == {RETAILER}, action, resource is payment::transfer)");
    for (text, expected) in [
        (permit(&format!(" == {RETAILER}"), &has), "its condition is true for no message"),
        (
            format!("{to_one};\n@id(\"f\") forbid (principal, action, resource) unless {{ {has} }};"),
            "it permits nothing: `p.cedar#f` forbids all of it",
        ),
        (
            format!(
                "{open}\nforbid (principal, action, resource) when {{ principal == {RETAILER} && {has} }};"
            ),
            "its condition is true for no message",
        ),
    ] {
        assert_eq!(warned(&of(&text, agents(HIGH, HIGH, ""))), [""; 0], "{text}");
        let told = warned(&of(&text, agents("", HIGH, "")));
        assert!(matches!(&told[..], [one] if one.contains(expected)), "{text}: {told:?}");
        let declared = format!("\"credentials\":[{HIGH}],");
        assert_eq!(warned(&of(&text, agents("", "", &declared))), [""; 0], "{text}");
        // the last holder of a credential that no list declares
        let told = House::load(&of(&text, agents("", "", "")), shipped_contexts()).err().unwrap_or_default();
        assert!(
            told.iter().any(|fault| fault.contains("nobody has the credential `high-value-authorized`")),
            "{text}: {told:?}"
        );
    }
}

#[test]
fn a_credential_that_the_agent_has_or_may_show_or_that_is_not_needed_is_nobodys_mistake() {
    let has = format!("principal.credentials.contains({HIGH})");
    for (who, condition) in [
        (format!(" == {TREASURER}"), has.clone()),
        (format!(" == {RETAILER}"), "principal.credentials.contains(\"token:hr:b\")".to_owned()),
        (format!(" == {RETAILER}"), "principal.credentials.contains(\"cert:policy:1.1\")".to_owned()),
        (
            format!(" == {RETAILER}"),
            format!("principal.credentials.containsAny([{HIGH}, \"cert:policy:1.1\"])"),
        ),
        (format!(" == {RETAILER}"), format!("{has} || resource.amount.lessThan(decimal(\"9.0\"))")),
        (format!(" == {RETAILER}"), format!("!{has}")),
        (format!(" == {RETAILER}"), format!("context.receiver.credentials.contains({HIGH})")),
        // who is in a group may be another tomorrow
        (" in Group::\"partners\"".to_owned(), has.clone()),
        (String::new(), has),
    ] {
        loads(&permit(&who, &condition));
    }
}

/// `entities.json` with this list of credentials at its top.
fn declaring(text: &str) -> PolicySource {
    let source = one_file(text);
    let entities = String::from_utf8(source.entities.clone()).unwrap();
    let with = entities.replacen(
        "\"groups\"",
        "\"credentials\": [\"high-value-authorized\", \"of-tomorrow\"], \"groups\"",
        1,
    );
    PolicySource { entities: with.into(), ..source }
}

#[test]
fn a_credential_that_is_declared_and_that_nobody_has_yet_may_be_asked_of_one_agent() {
    let asks =
        |name: &str| permit(&format!(" == {RETAILER}"), &format!("principal.credentials.contains({name})"));
    let told = House::load(&declaring(&asks("\"of-tomorrow\"")), shipped_contexts()).err();
    assert_eq!(told, None);
    let told = warned(&declaring(&asks(HIGH)));
    assert!(
        matches!(&told[..], [one] if one.contains("true for no message")),
        "another agent has it: {told:?}"
    );
}

#[test]
fn an_agent_that_loses_a_credential_keeps_no_set_out() {
    let text = permit(&format!(" == {TREASURER}"), &format!("principal.credentials.contains({HIGH})"))
        + &permit(" in Group::\"partners\"", &format!("principal.credentials.contains({HIGH})"));
    let source = one_file(&text);
    let limits = PolicyLimits::default();
    let live = Policies::load(&source, &shipped_contexts(), &limits).unwrap();
    let entities = String::from_utf8(source.entities.clone()).unwrap();
    // another has it now
    let moved = entities.replacen("\"credentials\": []", "\"credentials\": [\"high-value-authorized\"]", 1);
    let (first, rest) = moved.split_once("treasurer-1\",\n      \"alias\"").unwrap();
    let rest = rest.replacen("[\"high-value-authorized\"]", "[]", 1);
    let without = format!("{first}treasurer-1\",\n      \"alias\"{rest}");
    let next = PolicySource { entities: without.into(), ..source };
    let told = live.reload(&next, &shipped_contexts(), &limits).unwrap();
    let told: Vec<String> = told.warnings().iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.contains("`p.cedar#1`") && one.contains("gives")), "{told:?}");
    assert_eq!(warned(&next), told, "a start takes it as well");
}
