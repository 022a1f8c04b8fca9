//! A context counts only while all that it refers to counts (`docs/design/firewall.md` §5).

use crate::common;

use bytes::Bytes;
use common::{NOW, agent, inspector, route, say};
use semgate_contexts::{Line, Prefix, Version};
use semgate_inspect::{Code, Delivered, Generation, Inspector, Now, Permit, Refusal};
use semgate_policies::PolicySource;
use semgate_statement::{Act, Follower, Lines, testing::MemoryAuthority, testing::START};
use std::{collections::BTreeMap, sync::Arc};

/// What these tests let pass: the retailer alone may say a pair of the shop, with a small amount of the money that it refers to;
/// everybody may say the rest.
const POLICY: &str = r#"
@id("pairs") permit(principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is shop::pair)
  when { resource has of_money && resource.of_money.n < 100 };
@id("malls") permit(principal, action, resource is mall::pair);
@id("plain") permit(principal, action, resource is plain::thing);
@id("control") permit(principal, action, resource is snl::question);
"#;

/// `money` v1.0 and v1.1, `shop:v1.0` that refers to the first, `mall:v1.0` that refers to the shop; a control vocabulary that
/// refers to `money:v1.0` too.
fn world() -> MemoryAuthority {
    let mut authority = MemoryAuthority::new(START);
    let thing = |short: &str| MemoryAuthority::document(short, "thing");
    authority.publish(&thing("money:v1.0"));
    authority.publish(&thing("money:v1.1"));
    authority.publish(&thing("plain:v1.0"));
    for (short, to) in [("shop:v1.0", ("money:v1.0", "thing")), ("mall:v1.0", ("shop:v1.0", "pair"))] {
        let document = authority.referring(short, &[to]);
        authority.publish(&document);
    }
    // no other context may define the words of the control vocabulary
    let control = authority.referring("snl:v1.0", &[("money:v1.0", "thing")]);
    authority.publish(String::from_utf8(control).unwrap().replace("\"pair\"", "\"question\"").as_bytes());
    authority
}

/// Follows the authority, as one that holds these lines.
struct Seen {
    authority: MemoryAuthority,
    follower: Follower,
    floors: BTreeMap<Line, Version>,
}

impl Seen {
    fn new(mut authority: MemoryAuthority, lines: &[&str]) -> Self {
        let mut config = authority.config();
        config.lines = Lines::parse(lines).unwrap();
        let mut follower = Follower::without_memory(config);
        authority.follow(&mut follower).unwrap();
        Self { authority, follower, floors: BTreeMap::new() }
    }

    fn generation(&mut self) -> Generation {
        self.authority.follow(&mut self.follower).unwrap();
        let view = self.follower.view();
        let source = PolicySource {
            files: vec![("test.cedar".to_owned(), POLICY.to_owned())],
            ..PolicySource::shipped()
        };
        let policies = common::policies(&source, &view);
        Generation::new(vec![view], policies, self.floors.clone(), Prefix::default()).unwrap()
    }

    fn inspector(&mut self) -> Inspector {
        inspector(self.generation())
    }
}

fn message(short: &str, content: &str) -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:{short}","content":{content}}}"#
    )
}

const PAIR: &str = r#"{"concept":"pair","of_money":{"n":7}}"#;
const PAIR_OF_PAIRS: &str = r#"{"concept":"pair","of_shop":{"of_money":{"n":7}}}"#;

fn pair(inspector: &Inspector) -> Result<Permit, Refusal> {
    say(inspector, &route("l8, all lines"), "retailer-7", message("shop:v1.0", PAIR), NOW)
}

const MONEY: &str = "urn:contexts:money:v1.0";

/// A gateway holds a new document before its policies are compiled beside it, for milliseconds or, among hundreds of contexts, seconds.
#[test]
fn a_context_that_the_policies_are_not_compiled_with_yet_is_for_later() {
    let typed = || Seen::new(world(), &["*"]).generation();
    let mut later = Seen::new(world(), &["*"]);
    let _ = later.authority.publish(&MemoryAuthority::document("plain:v1.1", "thing"));
    let text = String::from_utf8(MemoryAuthority::document("plain:v1.2", "thing")).unwrap();
    let (before, after) = (text.find(r#""n":{"#).unwrap(), text.find("}}").unwrap());
    let text = format!(r#"{}"n":{{"type":"string"{}"#, &text[..before], &text[after..]);
    let _ = later.authority.publish(text.as_bytes());
    let said = |generation: Generation, short: &str, n: &str| {
        let content = format!(r#"{{"concept":"thing","n":{n}}}"#);
        say(&inspector(generation), &route("l8, all lines"), "retailer-7", message(short, &content), NOW)
    };
    let early = |later: &mut Seen| typed().with_views(later.generation().views()).unwrap();
    let _ = said(early(&mut later), "plain:v1.0", "1").unwrap();
    let refusal = said(early(&mut later), "plain:v1.1", "1").unwrap_err();
    assert_eq!((refusal.code(), refusal.code().status()), (Code::StatusStale, 503), "{refusal}");
    assert!(refusal.detail().contains("urn:contexts:plain:v1.1` came after"), "{}", refusal.detail());
    let _ = said(later.generation(), "plain:v1.1", "1").unwrap();
    assert_eq!(said(early(&mut later), "plain:v1.2", "\"x\"").unwrap_err().code(), Code::StatusStale);
    // no policy reads `n`, which has two types in these versions: policies see it in neither, and both count
    let _ = said(later.generation(), "plain:v1.2", "\"x\"").unwrap();
}

#[test]
fn a_context_is_refused_as_if_it_were_the_one_that_it_refers_to() {
    type Change = fn(&mut Seen);
    let cases: [(&str, Change, Code); 4] = [
        (
            "revoked",
            |w| {
                let _ = w.authority.change(Act::Revoke, "money:v1.0");
            },
            Code::ContextRevoked,
        ),
        (
            "suspended",
            |w| {
                let _ = w.authority.change(Act::Suspend, "money:v1.0");
            },
            Code::ContextSuspended,
        ),
        (
            "authority",
            |w| {
                let _ = w.authority.floor("money", "v1.1");
            },
            Code::ContextBelowFloor,
        ),
        (
            "operator",
            |w| {
                let _ = w.floors.insert(Line::parse("money").unwrap(), Version::new(1, 1));
            },
            Code::ContextBelowFloor,
        ),
    ];
    for lines in [&["*"][..], &["shop", "mall", "plain", "snl"]] {
        for (why, change, code) in &cases {
            let mut world = Seen::new(world(), lines);
            let _ = pair(&world.inspector()).unwrap();
            change(&mut world);
            let inspector = world.inspector();
            let refusal = pair(&inspector).unwrap_err();
            assert_eq!(refusal.code(), *code, "{why}");
            assert!(
                refusal.detail().contains(MONEY) && refusal.detail().contains(why),
                "{}",
                refusal.detail()
            );
            let outside = format!("{} {}", refusal.reason(), refusal.hint());
            assert!(outside.contains("refer") && !outside.contains("money"), "{outside}");
            // what refers to it by way of another
            let mall = message("mall:v1.0", PAIR_OF_PAIRS);
            let refusal = say(&inspector, &route("l8, all lines"), "retailer-7", mall, NOW).unwrap_err();
            assert_eq!(refusal.code(), *code, "{why}, two steps away");
            // and nothing else
            let plain = message("plain:v1.0", r#"{"concept":"thing","n":1}"#);
            let _ = say(&inspector, &route("l8, all lines"), "retailer-7", plain, NOW).unwrap();
        }
    }
}

#[test]
fn a_deprecated_reference_passes() {
    let mut world = Seen::new(world(), &["*"]);
    world.authority.change(Act::Retire, "money:v1.0");
    let permit = pair(&world.inspector()).unwrap();
    assert_eq!(permit.notice(), None);
}

#[test]
fn a_context_with_references_is_stale_when_its_authority_is() {
    let mut world = Seen::new(world(), &["shop", "mall", "plain", "snl"]);
    let late = Now { unix: START + 600, ..NOW };
    let body = message("shop:v1.0", PAIR);
    let refusal = say(&world.inspector(), &route("l8, all lines"), "retailer-7", body, late).unwrap_err();
    assert_eq!(refusal.code(), Code::StatusStale);
}

#[test]
fn the_first_fault_of_all_that_count_together_answers() {
    let mut world = Seen::new(world(), &["*"]);
    world.floors.insert(Line::parse("shop").unwrap(), Version::new(2, 0));
    assert_eq!(pair(&world.inspector()).unwrap_err().code(), Code::ContextBelowFloor);
    world.authority.change(Act::Suspend, "money:v1.0");
    assert_eq!(pair(&world.inspector()).unwrap_err().code(), Code::ContextSuspended, "before its own floor");
    world.authority.change(Act::Revoke, "money:v1.0");
    world.authority.change(Act::Suspend, "shop:v1.0");
    let refusal = pair(&world.inspector()).unwrap_err();
    assert_eq!(refusal.code(), Code::ContextRevoked, "before its own suspension");
    world.authority.change(Act::Revoke, "shop:v1.0");
    let refusal = pair(&world.inspector()).unwrap_err();
    assert_eq!(refusal.reason(), "the authority revoked this context", "its own before others'");
}

#[test]
fn what_is_borrowed_is_typed_for_policies_and_closed_like_ones_own() {
    let mut world = Seen::new(world(), &["shop", "mall", "plain", "snl"]);
    let inspector = world.inspector();
    let of = |content: &str| {
        say(&inspector, &route("l8, all lines"), "retailer-7", message("shop:v1.0", content), NOW)
    };
    let _ = of(r#"{"concept":"pair","of_money":{"n":99}}"#).unwrap();
    assert_eq!(of(r#"{"concept":"pair","of_money":{"n":100}}"#).unwrap_err().code(), Code::PolicyDenied);
    let refusal = of(r#"{"concept":"pair","of_money":{"n":1,"more":1}}"#).unwrap_err();
    assert_eq!(refusal.code(), Code::ContentInvalid);
    assert!(refusal.reason().contains("/content/of_money"), "{refusal}");
    let body = message("money:v1.0", r#"{"concept":"thing","n":1}"#);
    let refusal = say(&inspector, &route("l8, all lines"), "retailer-7", body, NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::PolicyDenied, "a reference names nothing for messages");
}

#[test]
fn concepts_of_the_control_vocabulary_count_only_with_what_it_refers_to() {
    let mut world = Seen::new(world(), &["*"]);
    let body = || message("plain:v1.0", &PAIR.replace("pair", "question"));
    let _ = say(&world.inspector(), &route("l8, all lines"), "retailer-7", body(), NOW).unwrap();
    world.authority.change(Act::Suspend, "money:v1.0");
    let refusal = say(&world.inspector(), &route("l8, all lines"), "retailer-7", body(), NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::ContextSuspended);
    assert!(
        refusal.detail().contains("urn:contexts:snl:v1.0") && refusal.detail().contains(MONEY),
        "{}",
        refusal.detail()
    );
}

#[test]
fn a_reference_that_is_revoked_meanwhile_ends_permits_and_replies() {
    let mut world = Seen::new(world(), &["shop", "mall", "plain", "snl"]);
    let inspector = world.inspector();
    let (waiting, spent) = (pair(&inspector).unwrap(), pair(&inspector).unwrap());
    let (_, sent) = spent.spend();
    world.authority.change(Act::Revoke, "money:v1.0");
    inspector.swap(world.generation());
    assert_eq!(inspector.renew(waiting, NOW).unwrap_err().code(), Code::ContextRevoked);
    let reply = message("shop:v1.0", PAIR).replace("retailer-7", "x").replace("wholesaler-1", "retailer-7");
    let reply = Bytes::from(reply.replace("\"x\"", "\"wholesaler-1\""));
    for (status, body) in [(200, reply), (202, Bytes::new()), (204, Bytes::new())] {
        let refusal = inspector.inspect_reply(&sent, &agent("wholesaler-1"), status, body, NOW).unwrap_err();
        assert_eq!(refusal.code(), Code::ReplyRefused);
        assert_eq!(refusal.delivered(), Delivered::Yes);
        // who may not use the line at all hears nothing of its state; an acknowledgement does not use it
        let cause = if status == 200 { Code::PolicyDenied } else { Code::ContextRevoked };
        assert_eq!(refusal.cause(), Some(cause), "{status}");
    }
}

#[test]
fn an_empty_acknowledgement_passes_only_while_the_context_of_the_request_counts() {
    let (mut world, route) = (Seen::new(world(), &["*"]), route("l8, all lines"));
    let inspector = Arc::new(world.inspector());
    let plain = message("plain:v1.0", r#"{"concept":"thing","n":1}"#);
    let (_, plain) = say(&inspector, &route, "retailer-7", plain, NOW).unwrap().spend();
    let (_, shop) = pair(&inspector).unwrap().spend();
    let acknowledge =
        |sent, status, now| inspector.inspect_reply(sent, &agent("wholesaler-1"), status, Bytes::new(), now);
    for status in [202, 204] {
        // no policy lets the replier use the line of the shop, and none is needed to say nothing
        for sent in [&plain, &shop] {
            let (passed, body) = acknowledge(sent, status, NOW).unwrap().spend();
            assert_eq!((passed, body.len()), (status, 0));
        }
    }
    let late = Now { unix: START + 600, ..NOW };
    let cause = |sent, now| acknowledge(sent, 202, now).unwrap_err().cause().unwrap();
    assert_eq!(cause(&plain, late), Code::StatusStale);
    for (act, code) in [(Act::Suspend, Code::ContextSuspended), (Act::Revoke, Code::ContextRevoked)] {
        world.authority.change(act, "plain:v1.0");
        inspector.swap(world.generation());
        assert_eq!(cause(&plain, NOW), code);
        let refusal = acknowledge(&plain, 202, NOW).unwrap_err();
        assert_eq!((refusal.code(), refusal.delivered()), (Code::ReplyRefused, Delivered::Yes));
        assert_eq!(refusal.facts().sender, common::agent_id("wholesaler-1"));
        let _ = acknowledge(&shop, 202, NOW).unwrap();
    }
    world.floors.insert(Line::parse("shop").unwrap(), Version::new(1, 1));
    inspector.swap(world.generation());
    assert_eq!(cause(&shop, NOW), Code::ContextBelowFloor);
}

/// A term that declares `task`, which native L8 reads as the name of its type.
const DELEGATE: &str = r#"{"context": "urn:contexts:tools:v1.0", "tasks": {"delegate": {
    "parameters": {"type": "object", "properties": {"task": {"type": "string", "maxLength": 20}}}, "results": {"type": "object"}}}}"#;

#[test]
fn attack_native_content_names_its_type_with_a_member_that_its_schema_declares() {
    let mut authority = world();
    authority.publish(DELEGATE.as_bytes());
    let mut seen = Seen::new(authority, &["*"]);
    seen.authority.follow(&mut seen.follower).unwrap();
    let policy = "@id(\"tools\") permit(principal, action, resource is tools::delegate);".to_owned();
    let source = PolicySource { files: vec![("test.cedar".to_owned(), policy)], ..PolicySource::shipped() };
    let view = seen.follower.view();
    let policies = common::policies(&source, &view);
    let inspector =
        inspector(Generation::new(vec![view], policies, BTreeMap::new(), Prefix::default()).unwrap());
    let said = |content: &str| {
        let body = message("tools:v1.0", content).replace("INFORM", "REQUEST");
        let judged = say(&inspector, &route("l8, all lines"), "retailer-7", body, NOW);
        judged.map(drop).map_err(|refusal| (refusal.code(), refusal.reason().to_owned()))
    };
    assert_eq!(said(r#"{"concept_type": "delegate"}"#), Ok(()));
    let (code, reason) = said(r#"{"task": "delegate"}"#).unwrap_err();
    assert_eq!(code, Code::ContentInvalid);
    assert!(reason.contains("names its type with `task`, which its schema declares as content"), "{reason}");
    let (code, reason) = said(r#"{"concept_type": "delegate", "task": "delete all"}"#).unwrap_err();
    assert_eq!((code, reason.contains("names its type with two members")), (Code::Malformed, true));
}
