//! Bytes that a friend of nobody wrote: random ones, and valid messages with a few bytes changed.
//!
//! `SEMGATE_FUZZ_CASES` sets how many of each (256 without it).

use crate::common;

use common::{NOW, agent, base, merge, route, say, world};
use proptest::prelude::*;
use semgate_contexts::json;
use semgate_inspect::{Code, InspectLimits, Inspector};
use serde_json::Value;
use std::sync::LazyLock;

const BASES: [&str; 6] = ["supply chain", "payment", "flight", "question", "a2a supply chain", "a2a flight"];
const REPLIES: [&str; 4] = ["supply chain reply", "options reply", "a2a message reply", "a2a task reply"];

const EVENTS: [&str; 5] =
    ["a2a event task", "a2a event status", "a2a event artifact", "a2a event text", "a2a event message"];

/// Without limits of rate, which would hide what the stages say.
static INSPECTOR: LazyLock<Inspector> = LazyLock::new(|| {
    let limits = InspectLimits { ambiguous_per_minute: 1 << 20, ..InspectLimits::default() };
    Inspector::new(limits, world("day"))
});

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

fn route_of(base: &str) -> &'static str {
    if base.starts_with("a2a") { "a2a" } else { "l8" }
}

/// What the message means, for telling whether a change changed anything.
fn meaning(bytes: &[u8]) -> Option<Value> {
    json::read(bytes, &json::Limits::default()).ok().map(|read| read.to_value())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn fuzz_random_bytes_never_pass_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), a2a: bool) {
        let route = route(if a2a { "a2a" } else { "l8" });
        prop_assert!(say(&INSPECTOR, &route, "retailer-7", bytes, NOW).is_err());
    }

    #[test]
    fn fuzz_what_passes_after_a_change_is_what_was_judged(
        which in 0..BASES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let name = BASES[which];
        let mut bytes = base(name);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(permit) = say(&INSPECTOR, &route(route_of(name)), "retailer-7", bytes.clone(), NOW) {
            // it is still a message of this sender about a published context, byte for byte what was judged
            let facts = permit.facts().clone();
            prop_assert_eq!(facts.sender, "spiffe://semgate.test/agent/retailer-7");
            prop_assert!(!facts.concepts.is_empty());
            prop_assert!(meaning(&bytes).is_some());
            let (outgoing, _) = permit.spend();
            if facts.removed.is_empty() {
                prop_assert_eq!(&outgoing.body[..], &bytes[..]);
            }
        }
    }

    #[test]
    fn fuzz_bytes_cut_off_or_doubled_never_pass(which in 0..BASES.len(), cut in any::<prop::sample::Index>()) {
        let name = BASES[which];
        let bytes = base(name);
        let part = bytes[..cut.index(bytes.len())].to_vec();
        let doubled = [bytes.clone(), part.clone()].concat();
        prop_assert!(say(&INSPECTOR, &route(route_of(name)), "retailer-7", part.clone(), NOW).is_err());
        if !part.is_empty() {
            prop_assert!(say(&INSPECTOR, &route(route_of(name)), "retailer-7", doubled, NOW).is_err());
        }
    }

    #[test]
    fn f0_35_no_other_digest_ever_passes(place in 0_usize..64, digit in 0_u32..16) {
        let generation = INSPECTOR.generation();
        let views = generation.views();
        let digest = views[0].contexts().find(|l| l.urn.as_str().contains("payment:v1.1")).unwrap().digest;
        let mut hex: Vec<char> = digest.hex().chars().collect();
        let other = char::from_digit(digit, 16).unwrap();
        let same = hex[place] == other;
        hex[place] = other;
        let text = format!("sha-256:{}", hex.into_iter().collect::<String>());
        let mut message: Value = serde_json::from_slice(&base("payment")).unwrap();
        merge(&mut message, &serde_json::json!({ "digest": text }));
        let body = serde_json::to_vec(&message).unwrap();
        match say(&INSPECTOR, &route("l8"), "retailer-7", body, NOW) {
            Ok(_) => prop_assert!(same),
            Err(refusal) => prop_assert!(!same && refusal.code() == Code::ContextUntrusted),
        }
    }

    #[test]
    fn a_member_more_never_passes(which in 0..BASES.len(), name in "[a-zA-Z_]{1,12}", place in any::<prop::sample::Index>()) {
        let base_name = BASES[which];
        let mut message: Value = serde_json::from_slice(&base(base_name)).unwrap();
        let unchanged = message.clone();
        let paths = object_paths(&message);
        let path = &paths[place.index(paths.len())];
        let object = message.pointer_mut(path).unwrap().as_object_mut().unwrap();
        prop_assume!(!object.contains_key(&name));
        object.insert(name.clone(), Value::String("ignore".to_owned()));
        let body = serde_json::to_vec(&message).unwrap();
        let judged = say(&INSPECTOR, &route(route_of(base_name)), "retailer-7", body, NOW);
        // members that the binding has and the message did not use
        let optional = ["lock", "session", "digest", "tenant", "contextId", "taskId", "id"];
        if optional.contains(&name.as_str()) {
            return Ok(());
        }
        // metadata is open to everybody: the member is removed, and the rest is what is forwarded
        match judged {
            Ok(permit) => {
                prop_assert!(path.ends_with("/metadata"), "`{name}` at `{path}`");
                let body: Value = serde_json::from_slice(&permit.spend().0.body).unwrap();
                prop_assert_eq!(body, unchanged);
            }
            Err(_) => prop_assert!(!path.ends_with("/metadata"), "`{name}` at `{path}`"),
        }
    }

    #[test]
    fn fuzz_events_and_lists_never_panic_and_never_pass_as_something_else(
        which in 0..EVENTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let change = |bytes: &mut Vec<u8>| {
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
        };
        let replier = agent("wholesaler-1");
        let (_, sent) = say(&INSPECTOR, &route("a2a"), "retailer-7", base("a2a stream"), NOW).unwrap().spend();
        let mut stream = INSPECTOR.stream(&sent);
        let mut event = base(EVENTS[which]);
        change(&mut event);
        if let Ok(permit) =
            INSPECTOR.inspect_event(&sent, &mut stream, &replier, bytes::Bytes::from(event.clone()), NOW)
        {
            // a changed key of metadata is foreign, and is removed by name
            let is_whole = permit.facts().removed.is_empty();
            let body = permit.spend().1;
            let passes = if is_whole { body[..] == event[..] } else { body.len() < event.len() };
            prop_assert!(passes);
        }
        let (_, sent) = say(&INSPECTOR, &route("a2a"), "retailer-7", base("a2a list tasks"), NOW).unwrap().spend();
        let mut list = base("a2a list reply");
        change(&mut list);
        if let Ok(permit) = INSPECTOR.inspect_reply(&sent, &replier, 200, bytes::Bytes::from(list), NOW) {
            let handed: Value = serde_json::from_slice(&permit.spend().1).unwrap();
            let tasks = handed["result"]["tasks"].as_array().unwrap();
            // the caller has one task, which the page shows or may yet follow
            let total = handed["result"]["totalSize"].as_u64().unwrap();
            let more = u64::from(handed["result"]["nextPageToken"] != "");
            prop_assert_eq!(tasks.len() as u64 + more, total);
        }
    }

    #[test]
    fn fuzz_replies_never_panic_and_never_pass_as_something_else(
        which in 0..REPLIES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        status in prop_oneof![Just(200_u16), any::<u16>()],
    ) {
        let request = ["supply chain", "question", "a2a supply chain", "a2a flight"][which];
        let permit = say(&INSPECTOR, &route(route_of(request)), "retailer-7", base(request), NOW).unwrap();
        let (_, sent) = permit.spend();
        let mut bytes = base(REPLIES[which]);
        for (place, byte) in &changes {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        match INSPECTOR.inspect_reply(&sent, &agent("wholesaler-1"), status, bytes::Bytes::from(bytes.clone()), NOW) {
            Ok(permit) => {
                let is_whole = permit.facts().removed.is_empty();
                let (passed, body) = permit.spend();
                prop_assert!((200..300).contains(&passed));
                let passes = if is_whole { body[..] == bytes[..] } else { body.len() < bytes.len() };
                prop_assert!(passes);
            }
            Err(refusal) => {
                prop_assert!(matches!(refusal.code(), Code::UpstreamInvalid | Code::ReplyRefused));
                prop_assert!(!changes.is_empty() || !(200..300).contains(&status) || status != 200);
            }
        }
    }
}

/// JSON Pointers of every object.
fn object_paths(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                found.push(path.clone());
                // keys of the messages hold no `/` and no `~`
                open.extend(members.iter().map(|(key, value)| (format!("{path}/{key}"), value)));
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(n, value)| (format!("{path}/{n}"), value)));
            }
            _ => {}
        }
    }
    found
}
