//! Who is put into a group, or taken out of one, is so at once, and so is whoever loses a credential or his entry: what that leaves a policy
//! to do keeps no set out.

use semgate_contexts::Performative;

use super::{
    Ask, House, RETAILER, STRANGER, WHOLESALER, alone, denied, one_file, permitted, shipped_contexts,
    transfer,
};
use crate::{PolicyLimits, PolicySource, Verdict};

const PERMIT: &str = "@id(\"pay\") permit (principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource is payment::transfer)";

/// The shipped agents, with a group of the suspended in which the first of them, the retailer, is or is not.
fn agents(suspended: bool) -> Vec<u8> {
    let entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    let declared = entities.replacen("\"groups\": [", "\"groups\": [\"suspended\", ", 1);
    let (of_all, of_agents) = declared.split_once("\"agents\"").unwrap();
    let of_agents = match suspended {
        true => of_agents.replacen("\"groups\": [", "\"groups\": [\"suspended\", ", 1),
        false => of_agents.to_owned(),
    };
    format!("{of_all}\"agents\"{of_agents}").into_bytes()
}

fn asked(house: &House) -> Verdict {
    let value = transfer("1");
    house.ask(Ask { action: Performative::Inform, value: &value, urn: "payment:v1.1", ..Ask::default() })
}

#[test]
fn attack_an_agent_goes_on_paying_because_its_suspension_leaves_a_permit_nothing_to_do() {
    assert_eq!(Ask::default().sender, RETAILER);
    let unless = format!("{PERMIT}\nunless {{ principal in Group::\"suspended\" }};");
    let forbid = "@id(\"stop\") forbid (principal in Group::\"suspended\", action, resource);";
    let with_forbid = format!("{PERMIT};\n{forbid}");
    for (text, after) in [(&unless, denied(&[], &[])), (&with_forbid, denied(&["p.cedar#stop"], &[]))] {
        let of = |suspended| PolicySource { entities: agents(suspended), ..one_file(text) };
        let live = House::load(&of(false), shipped_contexts()).unwrap();
        assert!(live.policies.warnings().is_empty(), "{text}");
        assert_eq!(asked(&live), permitted(&["p.cedar#pay"]), "{text}");
        let next = live.policies.reload(&of(true), &live.contexts, &PolicyLimits::default()).unwrap();
        assert_eq!(asked(&House { policies: next, contexts: live.contexts }), after, "{text}");
        // and a gateway that starts with it
        let started = House::load(&of(true), shipped_contexts()).unwrap();
        assert_eq!(asked(&started), after, "{text}");
    }
}

/// The wholesaler, and the retailer, if there is one, with these groups and credentials.
fn two(retailer: Option<(&str, &str)>) -> Vec<u8> {
    let entry = |id: &str, (groups, credentials): (&str, &str)| {
        format!(r#"{{"id":"{id}","groups":[{groups}],"credentials":[{credentials}]}}"#)
    };
    let first = retailer.map(|of| entry(RETAILER, of) + ",").unwrap_or_default();
    format!(r#"{{"agents":[{first}{}]}}"#, entry(WHOLESALER, ("", ""))).into_bytes()
}

fn of(text: &str, entities: Vec<u8>) -> PolicySource {
    PolicySource { entities, ..alone(text) }
}

/// The next generation after what is live.
fn reloaded(live: &House, source: &PolicySource) -> Result<House, Vec<String>> {
    let contexts = live.contexts.clone();
    match live.policies.reload(source, &contexts, &PolicyLimits::default()) {
        Ok(policies) => Ok(House { policies, contexts }),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
    }
}

fn warned(house: &House) -> Vec<String> {
    house.policies.warnings().iter().map(ToString::to_string).collect()
}

const PAY: &str = "@id(\"pay\") permit (principal, action, resource is payment::transfer);";

#[test]
fn attack_who_loses_the_last_of_a_credential_is_let_through_because_nobody_has_it_any_more() {
    let text = format!(
        "{PAY}\n@id(\"audit\") forbid (principal, action, resource is payment::transfer)\nunless {{ principal.credentials.contains(\"auditor\") }};"
    );
    let (held, lost) = (two(Some(("", "\"auditor\""))), two(Some(("", ""))));
    let live = House::load(&of(&text, held.clone()), shipped_contexts()).unwrap();
    assert_eq!((asked(&live), warned(&live).len()), (permitted(&["p.cedar#pay"]), 0));
    let next = reloaded(&live, &of(&text, lost.clone())).unwrap();
    assert_eq!(asked(&next), denied(&["p.cedar#audit"], &[]));
    let fault = ["p.cedar:3:41: policy `p.cedar#audit`: `credential \"auditor\"` is not in entities.json"];
    assert_eq!(warned(&next), fault);
    // and so on, until it is given again
    let again = reloaded(&next, &of(&format!("{text}\n// looked at"), lost.clone())).unwrap();
    assert_eq!((asked(&again), warned(&again)), (denied(&["p.cedar#audit"], &[]), warned(&next)));
    let back = reloaded(&again, &of(&text, held)).unwrap();
    assert_eq!((asked(&back), warned(&back).len()), (permitted(&["p.cedar#pay"]), 0));
    // a start is strict, and so is a name that was never declared
    assert_eq!(House::load(&of(&text, lost.clone()), shipped_contexts()).err().unwrap(), fault);
    let other = format!(
        "{text}\npermit (principal, action, resource) when {{ principal.credentials.contains(\"boss\") }};"
    );
    let faults = reloaded(&next, &of(&other, lost)).err().unwrap();
    assert!(matches!(&faults[..], [one] if one.contains("credential \"boss\"")), "{faults:?}");
}

#[test]
fn attack_the_last_of_a_group_cannot_be_put_out_of_it_nor_a_policy_before_one_be_deleted() {
    let other = "permit (principal, action, resource is payment::refund);\n";
    let other = other.replace("payment::refund", "supplyChain::current_decision");
    let payers = "permit (principal in Group::\"payers\", action, resource is payment::transfer);";
    let both = format!("{other}{payers}");
    let live = House::load(&of(&both, two(Some(("\"payers\"", "")))), shipped_contexts()).unwrap();
    assert_eq!(asked(&live), permitted(&["p.cedar#2"]));
    let gone = two(Some(("", "")));
    let next = reloaded(&live, &of(&both, gone.clone())).unwrap();
    assert_eq!(asked(&next), denied(&[], &[]));
    let report = |id: u8| {
        format!(
            "p.cedar:{id}:22: policy `p.cedar#{id}`: `Group::\"payers\"` is not in entities.json (a group exists once an agent is in it, or the list `groups` names it)"
        )
    };
    assert_eq!(warned(&next), [report(2)]);
    // the second of the file becomes its first, and says what it said
    let fewer = reloaded(&next, &of(payers, gone.clone())).unwrap();
    assert_eq!((asked(&fewer), warned(&fewer)), (denied(&[], &[]), vec![report(1)]));
    let refused = House::load(&of(payers, gone), shipped_contexts()).err().unwrap();
    assert_eq!(refused, [report(1)]);
}

#[test]
fn attack_an_agent_keeps_its_rights_because_a_policy_or_a_budget_names_it_and_its_entry_goes() {
    let forbid = format!(
        "@id(\"stop\") forbid (principal == Agent::\"{RETAILER}\", action == Action::\"REQUEST\", resource is payment::transfer);"
    );
    let text = format!("{PAY}\n{forbid}");
    let limits = format!(
        r#"{{"budgets":[{{"name":"all","limit":"9/day"}},{{"name":"some","limit":"5/day","agents":["{RETAILER}"],"groups":["payers"]}}]}}"#
    );
    let with = |text: &str, entities, limits: &str| PolicySource {
        limits: Some(limits.as_bytes().to_vec()),
        ..of(text, entities)
    };
    let live = House::load(&with(&text, two(Some(("\"payers\"", ""))), &limits), shipped_contexts()).unwrap();
    let value = transfer("1");
    let by = |house: &House, sender: &str, action| {
        house.ask(Ask { sender, action, value: &value, urn: "payment:v1.1", ..Ask::default() })
    };
    assert_eq!(by(&live, RETAILER, Performative::Inform), permitted(&["p.cedar#pay"]));
    assert_eq!(by(&live, RETAILER, Performative::Request), denied(&["p.cedar#stop"], &[]));
    let gone = with(&text, two(None), &limits);
    let mut next = reloaded(&live, &gone).unwrap();
    for _ in 0..2 {
        // as a stranger it would pass by the open permit, and no scope of a forbid would find it
        for action in [Performative::Inform, Performative::Request] {
            assert_eq!(by(&next, STRANGER, action), permitted(&["p.cedar#pay"]), "{action}");
            assert_eq!(by(&next, RETAILER, action), denied(&[], &["the sender is disabled"]), "{action}");
        }
        let to_it = Ask {
            sender: STRANGER,
            receiver: RETAILER,
            value: &value,
            urn: "payment:v1.1",
            ..Ask::default()
        };
        assert_eq!(next.ask(to_it), denied(&[], &["the receiver is disabled"]));
        let names: Vec<&str> =
            next.policies.budgets_of(STRANGER).iter().map(|budget| &*budget.name).collect();
        assert_eq!(names, ["all"]);
        let report = warned(&next);
        let expected = [
            "is not in entities.json",
            "entities.json no longer declares this name",
            "entities.json no longer declares this name",
        ];
        assert_eq!(report.len(), expected.len(), "{report:?}");
        assert!(report.iter().zip(expected).all(|(one, part)| one.contains(part)), "{report:?}");
        next = reloaded(&next, &gone).unwrap();
    }
    // a budget alone keeps it out too, a name that was never there is none, and whoever comes back is there
    let alone = limits.replace(r#","groups":["payers"]"#, "");
    let budget = reloaded(&next, &with(PAY, two(None), &alone)).unwrap();
    assert_eq!(by(&budget, RETAILER, Performative::Inform), denied(&[], &["the sender is disabled"]));
    let typed = limits.replace("payers", "payer");
    let faults = reloaded(&next, &with(&text, two(None), &typed)).err().unwrap();
    assert!(
        matches!(&faults[..], [one] if one.contains("no group of this name is in entities.json")),
        "{faults:?}"
    );
    let back = reloaded(&next, &with(&text, two(Some(("\"payers\"", ""))), &limits)).unwrap();
    assert_eq!(by(&back, RETAILER, Performative::Inform), permitted(&["p.cedar#pay"]));
    assert!(House::load(&gone, shipped_contexts()).is_err(), "a start knows nobody who is gone");
}

const KILL: &str = "@id(\"kill\") forbid (principal, action, resource);";

#[test]
fn attack_old_rights_stay_live_because_the_stop_of_everything_comes_with_a_new_permit() {
    let live = House::load(&of(PAY, two(Some(("", "")))), shipped_contexts()).unwrap();
    assert_eq!(asked(&live), permitted(&["p.cedar#pay"]));
    let new =
        "@id(\"new\") permit (principal, action, resource is payment::transfer) when { context.locked };";
    for (kill, permits, notices) in [
        (KILL.to_owned(), format!("{PAY}\n{new}"), &[][..]),
        (format!("@notice(\"all is stopped\")\n{KILL}"), format!("{PAY}\n{new}"), &["all is stopped"][..]),
        (KILL.to_owned(), format!("{}\n{new}", PAY.replace("principal,", "principal is Agent,")), &[][..]),
    ] {
        let text = format!("{permits}\n{kill}");
        let next = reloaded(&live, &of(&text, two(Some(("", ""))))).unwrap();
        assert_eq!(asked(&next), denied(&["p.cedar#kill"], notices));
        // and where nothing was live before
        let first = House::load(&of(&text, two(Some(("", "")))), shipped_contexts()).unwrap();
        assert_eq!(asked(&first), denied(&["p.cedar#kill"], notices));
        // once it is taken away they permit again
        let back = reloaded(&next, &of(&permits, two(Some(("", ""))))).unwrap();
        assert_eq!(warned(&back), [""; 0]);
        assert!(matches!(asked(&back), Verdict::Permitted { .. }));
    }
}

#[test]
fn attack_a_forbid_holds_for_nobody_because_its_group_is_renamed_or_its_credential_dropped() {
    let in_group = "principal in Group::\"held\"";
    let has = "principal.credentials.contains(\"auditor\")";
    let before = two(Some(("\"held\"", "\"auditor\"")));
    let after = two(Some(("\"other\"", "")));
    let head = "forbid (principal, action, resource is payment::transfer)";
    for widens in [
        format!("forbid ({in_group}, action, resource is payment::transfer);"),
        format!("{head} when {{ {in_group} }};"),
        format!("{head} when {{ resource.amount.greaterThan(decimal(\"5.0\")) && {has} }};"),
        format!("{head} unless {{ !({has}) }};"),
        format!("permit (principal, action, resource is payment::refund) unless {{ {has} }};")
            .replace("payment::refund", "payment::transfer"),
        format!("{head} when {{ if {in_group} then true else false }};"),
    ] {
        let live = House::load(&of(&format!("{PAY}\n{widens}"), before.clone()), shipped_contexts()).unwrap();
        let faults = reloaded(&live, &of(&format!("{PAY}\n{widens}"), after.clone())).err();
        let faults = faults.unwrap_or_else(|| panic!("{widens}"));
        assert!(
            matches!(&faults[..], [one] if one.contains("is not in entities.json")),
            "{widens}: {faults:?}"
        );
    }
    for narrows in [
        format!("permit ({in_group}, action, resource is payment::transfer);"),
        format!("{head} unless {{ {has} || {in_group} }};"),
        format!("permit (principal, action, resource is payment::transfer) unless {{ !({in_group}) }};"),
    ] {
        let live = House::load(&of(&narrows, before.clone()), shipped_contexts()).unwrap();
        let next = reloaded(&live, &of(&narrows, after.clone()))
            .unwrap_or_else(|faults| panic!("{narrows}: {faults:?}"));
        assert!(!warned(&next).is_empty(), "{narrows}");
    }
}
