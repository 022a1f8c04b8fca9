use crate::{
    Call, ContentFormat, Form, Message, MessageFault, MetaKeys, Otherwise, Party, PartySide, Reading,
    TextParts, Vocabulary,
    a2a::{Version, request},
};
use proptest::prelude::*;
use semgate_contexts::{
    Context, Digest, Performative,
    Performative::{Accept, Inform, Propose, Query, Reject},
    Prefix, canonical, json,
};
use serde_json::{Value, json};
use std::sync::LazyLock;

mod attacks;

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const SUPPLY: &str = "urn:contexts:supplyChain:v1.0";

const ADMITS: Reading<'static> = Reading {
    extension: EXTENSION,
    max_concepts: 16,
    admit: TextParts { text: false, raw: false, url: false, data: false },
    tenant: None,
    meta: MetaKeys::NONE,
    untyped: false,
    formats: &[ContentFormat::Sstp],
};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| {
    let (_, bytes) = semgate_contexts::library::all().iter().find(|(name, _)| *name == "sstp-v1.0").unwrap();
    Context::check(bytes, &Prefix::default(), &Default::default()).unwrap()
});

/// An object as the package's own models write it.
fn l9(subprotocol: &str, kind: &str, data: Value) -> Value {
    json!({
        "header": {
            "protocol": "SSTP", "subprotocol": subprotocol, "version": "0.0.6", "kind": kind, "subkind": null,
            "participants": {"actors": [
                {"id": "spiffe://a.test/agent/one", "role": "sender", "attestation": null},
                {"id": "spiffe://a.test/agent/two", "role": "recipient", "attestation": null},
                {"id": "spiffe://a.test/agent/three", "role": "observer", "attestation": null}], "groups": {}},
            "message": {"id": "m-1", "parents": [], "episode": "ep-1"},
            "policy": {"sensitivity": "internal", "propagation": "restricted", "retention_policy": "30d"},
            "attributes": null,
            "context": {"topic": "reorder", "epistemic": null,
                "semantic": {"schema_id": "urn:ioc:schema:siep:v1", "ontology_ref": "", "provenance": null}}},
        "payload": {"type": "json", "data": data}})
}

fn siep() -> Value {
    json!({
        "utterance": {"evidence": ["urn:concept:beer"], "addresses_evidence": [], "turn_depth": 2.0},
        "grounding": {"contingency_verified": null, "contingency_score": null, "repair_reason": null, "challenges": []},
        "belief": {"prior": 0.5, "posterior": 0.5, "revision_cause": null}})
}

fn tfp(operation: &str) -> Value {
    json!({"operation": operation, "poll_id": "urn:ioc:tfp:poll:1", "task": null, "required_skills": [], "offer": null,
        "selection": null, "reason": null, "reasoning_summary": null})
}

/// Data of SAB with its hash.
fn sab(semantic_context: Value, more: Value) -> Value {
    let mut data = json!({"message_id": "n1", "version": "0", "dt_created": "2026-06-22T10:00:02Z",
        "origin": {"actor_id": "spiffe://a.test/agent/one", "attestation": null}, "semantic_context": semantic_context});
    let members = data.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    let hash = Digest::of(&canonical::jcs(&data).unwrap()).hex();
    data["payload_hash"] = hash.into();
    data
}

fn negotiation() -> Value {
    json!({"schema_version": "1.0", "encoding": "json", "session_id": "s-1",
        "sao_response": {"response": 3.0, "outcome": {"price": "high"}, "data": null}})
}

fn with_subkind(mut l9: Value, subkind: &str) -> Value {
    l9["header"]["subkind"] = subkind.into();
    l9
}

fn asking(data: &Value) -> Value {
    json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": data, "mediaType": "application/vnd.sstp.l9+json"}]})
}

/// Reads a request with this message. Content of the format fits its context, if it is read.
fn reads<T>(
    message: &Value,
    reading: &Reading<'_>,
    test: impl FnOnce(Result<Message<'_>, MessageFault>) -> T,
) -> T {
    let value = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
        .to_string();
    let json = json::read(value.as_bytes(), &json::Limits { max_depth: 64, ..Default::default() }).unwrap();
    test(request(&json, &Call::a2a(Version::V10, Form::JsonRpc), reading))
}

fn fault(message: &Value) -> String {
    reads(message, &ADMITS, |read| read.unwrap_err().to_string())
}

/// The concept of the data, the performative, and the count of questions.
fn spoken(l9: &Value) -> (String, Performative, usize) {
    reads(&asking(l9), &ADMITS, |read| {
        let message = read.unwrap();
        let instance = message.instances.last().unwrap();
        assert_eq!(instance.performative, message.performative);
        let [Otherwise { instance: 1, of: Vocabulary::Format(ContentFormat::Sstp), term }] =
            message.otherwise[..]
        else {
            panic!("{:?}", message.otherwise)
        };
        let header = &message.instances[0];
        assert_eq!((header.of, header.name), (Vocabulary::Format(ContentFormat::Sstp), "header"));
        for (name, instance) in [("header", header), (term, instance)] {
            let shape = CONTEXT.term(name).unwrap().side(instance.performative).unwrap();
            shape.conform(instance.object, None).unwrap_or_else(|why| panic!("{name}: {why:?}"));
        }
        (term.to_owned(), message.performative, message.questions)
    })
}

#[test]
fn every_subprotocol_becomes_its_own_concept_and_performative() {
    let commit = |outcome: &str| {
        sab(json!({"session_id": "s-1", "outcome": outcome, "final_agreement": null}), json!({}))
    };
    let round = || sab(negotiation(), json!({"round_messages": []}));
    let cases = [
        (l9("SIEP", "intent", siep()), "siep", Propose, 0),
        (l9("SIEP", "exchange", siep()), "siep", Inform, 0),
        (l9("SIEP", "contingency", siep()), "siep", Query, 1),
        (l9("SIEP", "commit", siep()), "siep", Accept, 0),
        (with_subkind(l9("SIEP", "commit", siep()), "converged"), "siep", Accept, 0),
        (with_subkind(l9("SIEP", "commit", siep()), "rejected"), "siep", Reject, 0),
        (with_subkind(l9("SIEP", "commit", siep()), "ready"), "siep", Inform, 0),
        (l9("CIP", "knowledge", siep()), "cip", Inform, 0),
        (l9("TFP", "intent", tfp("poll_open")), "tfp", Query, 0),
        (l9("TFP", "exchange", tfp("bid")), "tfp", Propose, 0),
        (l9("TFP", "exchange", tfp("decline")), "tfp", Reject, 0),
        (l9("TFP", "exchange", tfp("select")), "tfp", Accept, 0),
        (l9("TFP", "exchange", tfp("accept")), "tfp", Accept, 0),
        (l9("TFP", "exchange", tfp("reject")), "tfp", Reject, 0),
        (l9("TFP", "exchange", tfp("clarify")), "tfp", Query, 1),
        (l9("TFP", "commit", tfp("form_converged")), "tfp", Accept, 0),
        (with_subkind(l9("TFP", "commit", tfp("form_failed")), "abort"), "tfp", Reject, 0),
        (l9("SAB", "intent", sab(json!({"encoding": "json"}), json!({}))), "sab_intent", Propose, 0),
        (l9("SAB", "contingency", sab(json!({}), json!({}))), "sab_intent", Query, 1),
        (with_subkind(l9("SAB", "contingency", round()), "negotiation"), "sab_negotiate", Query, 1),
        (l9("SAB", "commit", commit("agreement")), "sab_commit", Accept, 0),
        (with_subkind(l9("SAB", "commit", commit("broken")), "timeout"), "sab_commit", Reject, 0),
    ];
    for (l9, term, performative, questions) in cases {
        assert_eq!(spoken(&l9), (term.to_owned(), performative, questions), "{}", l9["header"]);
    }
}

#[test]
fn the_sender_and_the_recipients_are_noted_and_other_actors_are_not() {
    let bargain = l9("SAB", "contingency", sab(negotiation(), json!({})));
    let mut origin_alone = bargain.clone();
    origin_alone["header"]["participants"]["actors"] = json!([{"id": "x", "role": "participant"}]);
    let party = |name, side| Party { name, side, names: "sstp" };
    let one = party("spiffe://a.test/agent/one", PartySide::Sender);
    let two = party("spiffe://a.test/agent/two", PartySide::Receiver);
    for (l9, parties) in [(bargain, vec![one, two]), (origin_alone, vec![one])] {
        reads(&asking(&l9), &ADMITS, |read| assert_eq!(read.unwrap().parties, parties));
    }
}

#[test]
fn a_schema_id_is_the_claim_only_if_it_names_a_context() {
    let mut ours = l9("SIEP", "exchange", siep());
    reads(&asking(&ours), &ADMITS, |read| assert!(read.unwrap().claims.is_empty()));
    ours["header"]["context"]["semantic"]["schema_id"] = SUPPLY.into();
    reads(&asking(&ours), &ADMITS, |read| {
        let message = read.unwrap();
        assert_eq!(message.claims.len(), 1);
        assert_eq!((message.claims[0].urn, message.claims[0].location), (SUPPLY, super::SCHEMA_ID));
    });
    let mut both = asking(&ours);
    both["metadata"] = json!({EXTENSION: {"context": SUPPLY}});
    reads(&both, &ADMITS, |read| assert_eq!(read.unwrap().claims.len(), 1));
}

#[test]
fn a_subprotocol_without_a_schema_speaks_in_concepts_of_the_context_alone() {
    let mut other = l9("PRICING", "exchange", json!({"item_id": "beer", "quantity": 3}));
    other["payload"]["type"] = "current_decision".into();
    reads(&asking(&other), &ADMITS, |read| {
        let message = read.unwrap();
        assert_eq!(
            (message.instances[1].name, message.instances[1].of),
            ("current_decision", Vocabulary::Context)
        );
        assert!(message.otherwise.is_empty());
    });
}

#[test]
fn a_route_without_the_format_reads_the_object_as_data_without_a_concept() {
    let closed = Reading { formats: &[], ..ADMITS };
    reads(&asking(&l9("SIEP", "exchange", siep())), &closed, |read| {
        let message = read.unwrap();
        assert!(message.instances.is_empty() && message.gap.is_some());
    });
}

#[test]
fn a_round_message_is_judged_by_itself() {
    let mut round = l9("SAB", "contingency", sab(negotiation(), json!({})));
    round["header"]["participants"]["actors"] =
        json!([{"id": "spiffe://a.test/agent/one", "role": "sender"}, {"id": "buyer", "role": "recipient"}]);
    let whole =
        l9("SAB", "contingency", sab(negotiation(), json!({"round_messages": [round.clone(), round]})));
    reads(&asking(&whole), &ADMITS, |read| {
        let message = read.unwrap();
        let names: Vec<_> = message.instances.iter().map(|one| one.name).collect();
        assert_eq!(names, ["header", "json", "header", "sab_negotiate", "header", "sab_negotiate"]);
        let at: Vec<_> = message.instances.iter().map(|one| one.pointer.to_string()).collect();
        assert_eq!(at[3], "/params/message/parts/0/data/payload/data/round_messages/0/payload/data");
        // its recipients are those that the receiver passes it on to
        assert_eq!(message.parties.len(), 2);
        assert_eq!(message.questions, 1);
        let data = message.instances[1].object;
        CONTEXT.term("sab_negotiate").unwrap().side(Query).unwrap().conform(data, None).unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any one value of a good object replaced by another: read whole, or refused, and never with a panic.
    #[test]
    fn fuzz_l9_objects_are_read_whole_or_refused(
        which in 0..4_usize,
        at in any::<prop::sample::Index>(),
        with in prop::sample::select(vec![json!(null), json!(""), json!("SSTP"), json!(7), json!([]), json!({}), json!([{}]), json!({"header": {}})]),
    ) {
        let rounds = json!({"round_messages": [l9("SAB", "contingency", sab(negotiation(), json!({})))]});
        let mut l9 = [
            l9("SIEP", "exchange", siep()), l9("TFP", "exchange", tfp("bid")),
            l9("SAB", "contingency", sab(negotiation(), rounds)), l9("OTHER", "commit", json!({"a": 1})),
        ][which].clone();
        let mut pointers = Vec::new();
        all_pointers(&l9, String::new(), &mut pointers);
        let pointer = at.get(&pointers).clone();
        *l9.pointer_mut(&pointer).unwrap() = with;
        reads(&asking(&l9), &ADMITS, |read| {
            let Ok(message) = read else { return };
            let headers = message.instances.iter().filter(|one| one.name == "header").count();
            assert!(headers >= 1 && message.instances.len() == 2 * headers);
            assert!(message.parties.iter().any(|party| party.side == PartySide::Sender));
        });
    }
}

fn all_pointers(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, inner)| all_pointers(inner, format!("{at}/{key}"), into))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| all_pointers(inner, format!("{at}/{n}"), into))
        }
        _ => {}
    }
    if !at.is_empty() {
        into.push(at);
    }
}
