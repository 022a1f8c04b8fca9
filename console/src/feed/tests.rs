//! The rings are bounded, and each browser reads them at its own speed.

use super::*;

fn verdict(n: u64, sender: &str, code: Option<&str>) -> Verdict {
    Verdict {
        time: 1_700_000_000 + n,
        n,
        decision_id: "a".repeat(26),
        direction: "request".to_owned(),
        verdict: if code.is_some() { "refused" } else { "allowed" }.to_owned(),
        code: code.map(str::to_owned),
        sender: Some(sender.to_owned()),
        receiver: Some("wholesaler".to_owned()),
        protocol: Some("l8".to_owned()),
        performative: None,
        context: None,
        concepts: Vec::new(),
        others: 0,
    }
}

fn feeds() -> Feeds {
    Feeds::new(["east", "west"].into_iter())
}

#[test]
fn verdicts_of_all_gateways_stand_in_the_order_of_their_arrival() {
    let feeds = feeds();
    for (at, n) in [(0, 7), (1, 3), (0, 8)] {
        feeds.add(at, verdict(n, "a", None));
    }
    let (all, left_out) = feeds.after(0, 10, |_| true);
    let shown: Vec<(&str, u64)> = all.iter().map(|seen| (&*seen.gateway, seen.verdict.n)).collect();
    assert_eq!((shown, left_out), (vec![("east", 8), ("west", 3), ("east", 7)], 0));
    assert_eq!((feeds.last(0), feeds.last(1), feeds.newest()), (Some(8), Some(3), 3));
}

#[test]
fn a_reader_gets_the_newest_that_fit_and_the_number_of_the_others() {
    let feeds = feeds();
    for n in 1..=10 {
        let code = (n % 2 == 0).then_some("policy_denied");
        feeds.add(0, verdict(n, "a", code));
    }
    let refused = |seen: &Seen| seen.verdict.code.is_some();
    let (some, left_out) = feeds.after(3, 2, refused);
    assert_eq!(some.iter().map(|seen| seen.verdict.n).collect::<Vec<_>>(), [10, 8]);
    assert_eq!(left_out, 2);
    assert!(feeds.after(10, 2, |_| true).0.is_empty());
}

#[test]
fn a_loud_gateway_takes_nothing_from_a_quiet_one() {
    let feeds = feeds();
    feeds.add(1, verdict(1, "quiet", None));
    for n in 0..3_000 {
        feeds.add(0, verdict(n, "loud", None));
    }
    let (all, _) = feeds.after(0, usize::MAX, |_| true);
    assert_eq!(all.len(), KEPT + 1);
    let seen = feeds.last_seen();
    assert_eq!((seen["quiet"], seen["loud"], seen.len()), (1_700_000_001, 1_700_002_999, 2));
}

#[test]
fn a_feed_says_why_it_is_silent() {
    let feeds = feeds();
    assert!(feeds.states().iter().all(|state| state.fault.is_some()));
    let mut changes = feeds.changes();
    changes.mark_unchanged();
    feeds.turned(1, None);
    assert!(changes.has_changed().unwrap(), "pages show it at once");
    feeds.missed(1, 5);
    let [east, west] = &feeds.states()[..] else { panic!() };
    assert!(east.fault.is_some() && west.fault.is_none());
    assert_eq!((east.missed, west.missed), (0, 5));
}

#[test]
fn the_route_of_a_reply_is_that_of_its_request() {
    let request = verdict(1, "retailer", None);
    let reply = Verdict {
        direction: "reply".to_owned(),
        sender: request.receiver.clone(),
        receiver: request.sender.clone(),
        ..request.clone()
    };
    assert_eq!((request.agent(), reply.agent()), ("wholesaler", "wholesaler"));
}

#[test]
fn an_unreadable_verdict_is_missed_and_not_asked_for_again() {
    let feeds = feeds();
    let bad = |data: &str, is_bad| events::Event {
        data: data.to_owned(),
        id: Some(9),
        is_bad,
        ..Default::default()
    };
    feeds.add(0, verdict(7, "a", None));
    upstream::take(&feeds, 0, &bad("{\"n\":9}", false));
    upstream::take(&feeds, 0, &bad("", true));
    assert_eq!((feeds.last(0), feeds.states()[0].missed, feeds.newest()), (Some(9), 2, 1));
}
