//! What golden pairs cannot show: counting, time that passes, generations that move, and what a permit holds.

use crate::common;

use bytes::Bytes;
use common::{
    NOW, agent, arrived, base, generation, inspector, library, route, say, supply_chain, view, world,
};
use semgate_contexts::{Line, Prefix, Version};
use semgate_inspect::{
    Code, Delivered, Generation, GenerationFault, HeaderClaims, InspectLimits, Inspector, LineScope, Notice,
    Now, Peer, RouteFault, RpcId,
};
use semgate_statement::{Act, Lines, Step, View};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

fn later(ms: u64) -> Now {
    Now { monotonic_ms: NOW.monotonic_ms + ms, ..NOW }
}

#[test]
fn f0_43_the_eleventh_question_within_a_minute_is_refused_and_one_after_it_is_not() {
    let inspector = inspector(world("day"));
    let route = route("l8");
    for n in 0..10 {
        let _ = say(&inspector, &route, "retailer-7", base("question"), later(n)).unwrap();
    }
    let refusal = say(&inspector, &route, "retailer-7", base("question"), later(10)).unwrap_err();
    assert_eq!(refusal.code(), Code::AmbiguityLimited);
    assert_eq!(refusal.retry_after(), Some(Duration::from_millis(60_001 - 10)));
    assert_eq!(refusal.facts().concepts, ["ambiguous_parameter"]);
    // others are not touched, nor are other messages of this one
    let _ = say(&inspector, &route, "retailer-7", supply_chain(), later(11)).unwrap();
    let treasurer = String::from_utf8(base("question")).unwrap().replace("retailer-7", "treasurer-1");
    let _ = say(&inspector, &route, "treasurer-1", treasurer, later(12)).unwrap();
    let _ = say(&inspector, &route, "retailer-7", base("question"), later(60_001)).unwrap();
}

#[test]
fn f0_43_a_message_with_three_questions_counts_three() {
    let inspector = inspector(world("day"));
    let route = route("l8");
    let ask = |n: usize| {
        let one = r#"{"concept":"ambiguous_parameter","parameter":"date","value":"soon"}"#;
        let all: Vec<_> = (0..n).map(|k| format!(r#""q{k}":{one}"#)).collect();
        let mut message: serde_json::Value = serde_json::from_slice(&base("question")).unwrap();
        message["content"] = serde_json::from_str(&format!("{{{}}}", all.join(","))).unwrap();
        serde_json::to_vec(&message).unwrap()
    };
    for n in 0..3 {
        let _ = say(&inspector, &route, "retailer-7", ask(3), later(n)).unwrap();
    }
    let refusal = say(&inspector, &route, "retailer-7", ask(3), later(3)).unwrap_err();
    assert_eq!(refusal.code(), Code::AmbiguityLimited);
    let _ = say(&inspector, &route, "retailer-7", ask(1), later(4)).unwrap();
    let refusal = say(&inspector, &route, "retailer-7", ask(1), later(5)).unwrap_err();
    assert_eq!(refusal.code(), Code::AmbiguityLimited);
    assert!(!refusal.never_passes() && refusal.retry_after().is_some());
    // more than a minute ever holds: nobody is told to come back with it
    let refusal = say(&inspector, &route, "retailer-7", ask(11), later(120_000)).unwrap_err();
    assert_eq!((refusal.code(), refusal.retry_after()), (Code::AmbiguityLimited, None));
    assert!(refusal.never_passes() && refusal.detail().contains("can never pass"), "{}", refusal.detail());
    assert_eq!(refusal.facts().limited[0].again_in, None);
}

#[test]
fn a_question_that_policy_denies_is_not_counted() {
    let inspector = inspector(world("day"));
    let route = route("l8");
    let denied = String::from_utf8(base("question")).unwrap().replace("\"QUERY\"", "\"REQUEST\"");
    let by_replier = denied.replace("retailer-7", "wholesaler-1");
    for n in 0..50 {
        let refusal = say(&inspector, &route, "wholesaler-1", by_replier.clone(), later(n)).unwrap_err();
        assert_eq!(refusal.code(), Code::PolicyDenied);
    }
}

#[test]
fn a_permit_holds_exactly_the_bytes_that_were_judged_and_where_they_may_go() {
    let inspector = inspector(world("day"));
    let route = route("l8");
    let body = Bytes::from(supply_chain());
    let permit = say(&inspector, &route, "retailer-7", body.clone(), NOW).unwrap();
    assert_eq!(permit.generation(), 1);
    assert!(Arc::ptr_eq(permit.destination(), &route));
    assert_eq!(permit.len(), body.len());
    let (outgoing, sent) = permit.spend();
    assert_eq!(outgoing.body.as_ptr(), body.as_ptr(), "a copy is not what was judged");
    assert_eq!(sent.caller(), &agent("retailer-7"));
    assert_eq!(sent.facts().context.as_deref(), Some("urn:contexts:supplyChain:v1.0"));
    assert_eq!(sent.facts().message_id.as_deref(), Some("msg-0001"));
    assert!(sent.facts().digest.is_some());
    assert_eq!(sent.rpc_id(), None);
}

#[test]
fn a_permit_given_before_a_revocation_is_not_good_after_it() {
    let mut authority = library();
    let mut follower = authority.follower();
    let inspector = inspector(generation(&mut authority));
    let route = route("l8");
    let permit = say(&inspector, &route, "retailer-7", supply_chain(), NOW).unwrap();
    authority.change(Act::Revoke, "supplyChain:v1.0");
    authority.follow(&mut follower).unwrap();
    let moved = inspector.generation().with_views(vec![follower.view()]).unwrap();
    assert_eq!(inspector.swap(moved), 2);
    let refusal = inspector.renew(permit, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.delivered()), (Code::ContextRevoked, Delivered::No));
    assert_eq!(refusal.facts().generation, 2);
}

#[test]
fn a_permit_is_renewed_under_a_new_generation_without_being_counted_again() {
    let mut authority = library();
    let inspector = inspector(generation(&mut authority));
    let route = route("l8");
    let mut permits: Vec<_> =
        (0..10).map(|n| say(&inspector, &route, "retailer-7", base("question"), later(n)).unwrap()).collect();
    inspector.swap(generation(&mut authority));
    for permit in permits.drain(..) {
        let renewed = inspector.renew(permit, later(20)).unwrap();
        assert_eq!(renewed.generation(), 2);
        assert_eq!(&renewed.spend().0.body[..], &base("question")[..]);
    }
    let refusal = say(&inspector, &route, "retailer-7", base("question"), later(30)).unwrap_err();
    assert_eq!(refusal.code(), Code::AmbiguityLimited, "ten were counted, no more and no fewer");
}

#[test]
fn a_permit_that_waited_until_the_status_ran_out_is_judged_again() {
    let inspector = inspector(world("day"));
    let route = route("l8");
    let permit = say(&inspector, &route, "retailer-7", supply_chain(), NOW).unwrap();
    let until = permit.fresh_until();
    let permit = inspector.renew(permit, Now { unix: until, ..NOW }).unwrap();
    let refusal = inspector.renew(permit, Now { unix: until + 1, ..NOW }).unwrap_err();
    assert_eq!(refusal.code(), Code::StatusStale);
}

/// Push is a hint and so are polls: whoever is cut off believes its last head until `next_update`, and not a second longer.
#[test]
fn who_reaches_its_authority_no_more_refuses_at_next_update_to_the_second() {
    let mut authority = library();
    let mut follower = authority.follower();
    authority.follow(&mut follower).unwrap();
    let (inspector, route) = (inspector(generation(&mut authority)), route("l8"));
    let until = follower.view().next_update();
    for unix in NOW.unix..until + 3 {
        if let Step::Get(request) = follower.next(unix) {
            let _ = follower.unreachable(&request.path, unix);
        }
        if unix + 3 < until {
            continue;
        }
        inspector.swap(inspector.generation().with_views(vec![follower.view()]).unwrap());
        let said = say(&inspector, &route, "retailer-7", supply_chain(), Now { unix, ..NOW });
        let wanted = if unix < until { Ok(()) } else { Err(Code::StatusStale) };
        assert_eq!(said.map(drop).map_err(|refusal| refusal.code()), wanted, "{unix} of {until}");
    }
}

#[test]
fn an_a2a_permit_can_be_renewed_too() {
    let mut authority = library();
    let inspector = inspector(generation(&mut authority));
    let permit = say(&inspector, &route("a2a"), "retailer-7", base("a2a supply chain"), NOW).unwrap();
    inspector.swap(generation(&mut authority));
    let permit = inspector.renew(permit, NOW).unwrap();
    assert_eq!(permit.generation(), 2);
    let (_, sent) = permit.spend();
    assert_eq!(sent.rpc_id(), Some(&RpcId::Text("req-1".to_owned())));
}

#[test]
fn a_reply_under_a_context_that_was_revoked_meanwhile_is_refused_and_says_that_the_request_was_delivered() {
    let mut authority = library();
    let mut follower = authority.follower();
    let inspector = inspector(generation(&mut authority));
    let (_, sent) = say(&inspector, &route("l8"), "retailer-7", supply_chain(), NOW).unwrap().spend();
    authority.change(Act::Revoke, "supplyChain:v1.0");
    authority.follow(&mut follower).unwrap();
    inspector.swap(inspector.generation().with_views(vec![follower.view()]).unwrap());
    let body = Bytes::from(base("supply chain reply"));
    let refusal = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::ContextRevoked)));
    assert_eq!(refusal.delivered(), Delivered::Yes);
}

#[test]
fn f0_43_questions_in_replies_are_counted_against_the_replier() {
    let mut source = semgate_policies::PolicySource::shipped();
    let text = r#"@id("repliers-ask") permit(principal in Group::"repliers", action, resource is snl::ambiguous_parameter);"#;
    source.files.push(("ask-back.cedar".to_owned(), text.to_owned()));
    let mut authority = library();
    let inspector = inspector(common::generation_with(view(&mut authority), &source, &[]));
    let ask_back = || {
        let text = String::from_utf8(base("question")).unwrap();
        let text = text
            .replace("retailer-7", "x")
            .replace("wholesaler-1", "retailer-7")
            .replace("\"x\"", "\"wholesaler-1\"");
        Bytes::from(text)
    };
    for n in 0..11 {
        let (_, sent) =
            say(&inspector, &route("l8"), "retailer-7", base("flight"), later(n)).unwrap().spend();
        let judged = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, ask_back(), later(n));
        if n < 10 {
            assert_eq!(judged.unwrap().facts().concepts, ["ambiguous_parameter"]);
        } else {
            let refusal = judged.unwrap_err();
            assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::AmbiguityLimited)));
        }
    }
}

#[test]
fn a_deprecated_context_passes_with_a_notice_that_names_the_newest() {
    let inspector = inspector(world("payment v1.1 retired"));
    let permit = say(&inspector, &route("l8"), "retailer-7", base("payment"), NOW).unwrap();
    assert_eq!(permit.notice(), Some(&Notice::Deprecated { newest: Some(Version::new(2, 0)) }));
    let other = String::from_utf8(base("payment")).unwrap().replace("payment:v1.1", "payment:v2.0");
    let permit = say(&inspector, &route("l8"), "retailer-7", other, NOW).unwrap();
    assert_eq!(permit.notice(), None);
}

#[test]
fn a_refusal_repeats_the_json_rpc_id_as_soon_as_a_valid_one_was_read() {
    let inspector = inspector(world("day"));
    let a2a = route("a2a");
    let id = |body: &str| {
        let refusal = say(&inspector, &a2a, "retailer-7", body.to_owned(), NOW).unwrap_err();
        refusal.rpc_id().map(RpcId::to_json)
    };
    assert_eq!(
        id(r#"{"jsonrpc":"2.0","id":"a-1","method":"GetTask","params":{}}"#).as_deref(),
        Some("\"a-1\"")
    );
    assert_eq!(
        id(r#"{"jsonrpc":"2.0","id":41.0,"method":"SendMessage","params":{"x":1}}"#).as_deref(),
        Some("41")
    );
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":null,"method":"SendMessage"}"#), None);
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":"a b","method":"SendMessage"}"#), None);
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":{},"method":"SendMessage"}"#), None);
    assert_eq!(id("not json"), None);
}

#[test]
fn a_gateway_that_knows_no_authority_yet_lets_nothing_pass() {
    let empty = Arc::new(View::empty("semgate.test", Lines::All));
    let policies = common::policies(&semgate_policies::PolicySource::shipped(), &view(&mut library()));
    let generation =
        Generation::new(vec![empty], Arc::clone(&policies), BTreeMap::new(), Prefix::default()).unwrap();
    let refusal = say(&inspector(generation), &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::StatusStale, "{refusal}");
    let none = Generation::new(Vec::new(), policies, BTreeMap::new(), Prefix::default()).unwrap();
    let refusal = say(&inspector(none), &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::ContextUnknown);
}

#[test]
fn two_authorities_cannot_share_a_line() {
    let policies = common::policies(&semgate_policies::PolicySource::shipped(), &view(&mut library()));
    let of = |name: &str, lines: &[&str]| Arc::new(View::empty(name, Lines::parse(lines).unwrap()));
    let together = |first: Arc<View>, second: Arc<View>| {
        Generation::new(vec![first, second], Arc::clone(&policies), BTreeMap::new(), Prefix::default())
    };
    for (first, second) in [
        (&["*"][..], &["payment"][..]),
        (&["payment", "travel"], &["travel"]),
        (&["acme.*"], &["acme.logistics"]),
        (&["acme.*"], &["acme.logistics.*"]),
        (&["acme.logistics.*"], &["acme.*"]),
    ] {
        let fault = together(of("a", first), of("b", second)).unwrap_err();
        assert_eq!(fault, GenerationFault::SharedLine { first: "a".to_owned(), second: "b".to_owned() });
    }
    together(of("a", &["acme"]), of("b", &["acme.*", "acmeb"])).unwrap();
}

#[test]
fn scopes_of_a_route_have_four_forms_and_no_fifth() {
    let payment = Line::parse("payment").unwrap();
    assert_eq!(LineScope::parse("*").unwrap(), LineScope::All);
    assert_eq!(LineScope::parse("payment").unwrap(), LineScope::Line(payment.clone()));
    assert_eq!(LineScope::parse("payment:v1").unwrap(), LineScope::Major(payment.clone(), 1));
    assert_eq!(LineScope::parse("payment:v1.1").unwrap(), LineScope::Exact(payment, Version::new(1, 1)));
    for bad in [
        "",
        ":",
        "payment:",
        "payment:1",
        "payment:v01",
        "payment:v1.",
        "payment:v1.1.1",
        "pay ment",
        "a:b:c",
    ] {
        assert_eq!(LineScope::parse(bad).unwrap_err(), RouteFault::Scope { text: bad.to_owned() });
    }
    for text in ["*", "payment", "payment:v1", "payment:v1.1"] {
        assert_eq!(LineScope::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn one_inspector_serves_many_threads_while_generations_move() {
    let mut authority = library();
    let inspector = Arc::new(Inspector::new(InspectLimits::default(), generation(&mut authority)));
    let route = route("l8");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (inspector, route) = (Arc::clone(&inspector), Arc::clone(&route));
            std::thread::spawn(move || {
                for n in 0..100 {
                    let peer: Peer = agent("retailer-7");
                    let said = arrived(&route, supply_chain());
                    let permit = inspector
                        .inspect(&route, &peer, &HeaderClaims::default(), said, later(n * 10))
                        .unwrap();
                    inspector.renew(permit, later(n * 10)).unwrap().spend();
                }
            })
        })
        .collect();
    for n in 0..20 {
        let next = generation(&mut authority);
        assert_eq!(inspector.swap(next), n + 2);
    }
    for thread in threads {
        thread.join().unwrap();
    }
}
