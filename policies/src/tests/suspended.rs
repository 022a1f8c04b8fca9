//! Who is put into a group, or taken out of one, is so at once: what a policy can do by who is in which group keeps no set out.

use semgate_contexts::Performative;

use super::{Ask, House, RETAILER, denied, one_file, permitted, shipped_contexts, transfer};
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
    for (text, after, told) in [
        (
            &unless,
            denied(&[], &[]),
            "p.cedar:2:1: policy `p.cedar#pay`: its condition is true for no message",
        ),
        (
            &with_forbid,
            denied(&["p.cedar#stop"], &[]),
            "p.cedar:1:1: policy `p.cedar#pay`: it permits nothing: `p.cedar#stop` forbids all of it without a condition",
        ),
    ] {
        let of = |suspended| PolicySource { entities: agents(suspended), ..one_file(text) };
        let live = House::load(&of(false), shipped_contexts()).unwrap();
        assert!(live.policies.warnings().is_empty(), "{text}");
        assert_eq!(asked(&live), permitted(&["p.cedar#pay"]), "{text}");
        let next = live.policies.reload(&of(true), &live.contexts, &PolicyLimits::default()).unwrap();
        let told_of: Vec<String> = next.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(told_of, [told], "{text}");
        assert_eq!(asked(&House { policies: next, contexts: live.contexts }), after, "{text}");
        // and a gateway that starts with it
        let started = House::load(&of(true), shipped_contexts()).unwrap();
        assert_eq!(asked(&started), after, "{text}");
    }
}
