//! `policy test`: cases as files, played through the stages of the gateway.

use super::{change, copied, policy, rules, word};
use serde_json::{Value, json};

#[test]
fn the_shipped_cases_pass_and_every_shipped_policy_decides_one() {
    let cases = rules().join("cases");
    let (status, shown, errors) = policy(&["test", word(&cases), "--require-coverage"]);
    assert_eq!(status, 0, "{shown}{errors}");
    assert!(shown.contains(" 0 failed; "), "{shown}");
}

#[test]
fn a_case_that_comes_out_otherwise_is_named_with_what_was_expected_and_what_came() {
    let dir = copied();
    change(&dir.path().join("payment.cedar"), "10000.0", "20000.0");
    let cases = dir.path().join("cases");
    let (status, shown, _) = policy(&["test", word(&cases)]);
    assert_eq!(status, 1, "{shown}");
    let line = "payment.json: case 4 `12000 does not`: expected denied by payment.cedar#high-value, got permitted by lines.cedar#transfers";
    assert!(shown.lines().any(|shown| shown == line), "{shown}");
    let (status, shown, _) = policy(&["test", word(&cases), "--json"]);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(status, 1);
    assert_eq!(report["failures"][0]["expected"], "denied by payment.cedar#high-value", "{report}");
}

#[test]
fn the_right_verdict_by_another_policy_is_a_failure() {
    let dir = copied();
    change(&dir.path().join("lines.cedar"), r#"@id("transfers")"#, r#"@id("renamed")"#);
    let (status, shown, _) = policy(&["test", word(&dir.path().join("cases"))]);
    assert_eq!(status, 1);
    assert!(
        shown.contains("expected permitted by lines.cedar#transfers, got permitted by lines.cedar#renamed"),
        "{shown}"
    );
}

#[test]
fn a_policy_that_no_case_decides_is_listed_and_fails_where_that_is_asked() {
    let dir = copied();
    let extra = "@id(\"extra\") permit(principal in Group::\"planners\", action == Action::\"QUERY\", resource is travel::bookFlight);\n";
    std::fs::write(dir.path().join("zz.cedar"), extra).unwrap();
    let cases = dir.path().join("cases");
    let (status, shown, _) = policy(&["test", word(&cases)]);
    assert_eq!((status, shown.contains("no case decides by: zz.cedar#extra")), (0, true), "{shown}");
    assert_eq!(policy(&["test", word(&cases), "--require-coverage"]).0, 1);
}

#[test]
fn a_case_with_a_member_that_there_is_not_or_twice_or_without_a_subject_is_refused() {
    let whole = json!({"shows": "x", "sender": "retailer-7", "receiver": "wholesaler-1", "expect": "denied",
        "context": "payment:v1.1", "concept": "transfer", "performative": "REQUEST", "content": {}});
    let with = |name: &str, value: Value| {
        let mut case = whole.clone();
        case[name] = value;
        case.to_string()
    };
    let mut bare = whole.clone();
    bare.as_object_mut().unwrap().remove("content");
    for (case, why) in [
        (with("polices", json!([])), "unknown field `polices`"),
        (whole.to_string().replacen('{', r#"{"shows":"y","#, 1), "duplicate field `shows`"),
        (bare.to_string(), "a case has `message`"),
        (with("message", json!({})), "not both"),
        (with("expect", json!("forbidden")), "`expect` must be"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("one.json"), format!("[{case}]")).unwrap();
        let (status, _, errors) = policy(&["test", word(dir.path()), "--policies", word(&rules())]);
        assert_eq!(status, 1, "{case}");
        assert!(errors.contains(why) && errors.contains("one.json"), "{errors}");
    }
    let empty = tempfile::tempdir().unwrap();
    let (status, _, errors) = policy(&["test", word(empty.path()), "--policies", word(&rules())]);
    assert!(status == 1 && errors.contains("holds no case"), "{errors}");
}

/// They were left out without a word, and the rest passed.
#[test]
fn a_file_of_cases_whose_name_is_nearly_read_is_refused_and_not_left_out() {
    for (name, meant) in
        [("more.JSON", "more.json"), ("more.json.txt", "more.json"), ("more.jsn", "more.json")]
    {
        let dir = tempfile::tempdir().unwrap();
        for file in ["payment.json", name] {
            std::fs::copy(rules().join("cases/payment.json"), dir.path().join(file)).unwrap();
        }
        let live = rules();
        let words = ["test", word(dir.path()), "--policies", word(&live)];
        let (status, _, errors) = policy(&words);
        assert!(status == 1 && errors.contains(&format!("`{meant}`?")) && errors.contains(name), "{errors}");
        let aside = dir.path().join("more.json.bak");
        std::fs::rename(dir.path().join(name), aside).unwrap();
        assert_eq!(policy(&words).0, 0);
    }
}

#[test]
fn a_message_is_judged_as_it_is_sent_duplicate_members_included() {
    let dir = tempfile::tempdir().unwrap();
    let message = r#"{"protocol":"L8/1.0","message_id":"m","performative":"REQUEST","sender_id":"retailer-7","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:payment:v1.1","content":{}}"#;
    std::fs::write(dir.path().join("sent.txt"), message).unwrap();
    let case = |subject: &str| {
        format!(
            r#"{{"shows":"twice","sender":"retailer-7","receiver":"wholesaler-1",{subject},"expect":"duplicate_key","policies":[]}}"#
        )
    };
    let cases = [case(r#""message_file":"sent.txt""#), case(&format!(r#""message":{message}"#))];
    std::fs::write(dir.path().join("one.json"), format!("[{}]", cases.join(","))).unwrap();
    let (status, shown, errors) = policy(&["test", word(dir.path()), "--policies", word(&rules())]);
    assert_eq!(status, 0, "{shown}{errors}");
}

/// Policies that ask for what cases can set, beside the shipped ones.
const ASKING: &str = r#"
@id("locked") forbid (principal, action, resource is payment::transfer)
unless { context.locked || principal.credentials.contains("cert:eku:1.2.3.1") };
@id("short") forbid (principal, action, resource is payment::transfer)
when { context has session && context.session.expires < datetime("2026-06-01T12:10:00Z") };
@id("audited") forbid (principal, action, resource is payment::transfer)
when { principal.credentials.contains("token:hr:audit") && !context.receiver.credentials.contains("cert:eku:1.2.3.2") };
"#;

#[test]
fn a_case_may_be_of_an_older_version_of_its_protocol() {
    let dir = copied();
    let old = "@id(\"old\") permit (principal in Group::\"partners\", action, resource is a2a::text)\nwhen { context.binding_version == \"0.3\" };\n";
    std::fs::write(dir.path().join("old.cedar"), old).unwrap();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
        "kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": "hello"}]}}});
    let case = |version: Value, expect: &str| {
        json!([{"shows": "a text", "sender": "retailer-7", "receiver": "wholesaler-1", "protocol": "a2a", "binding_version": version,
            "message": message, "expect": expect}])
    };
    let folder = tempfile::tempdir().unwrap();
    let play = |case: Value| {
        std::fs::write(folder.path().join("one.json"), case.to_string()).unwrap();
        policy(&["test", word(folder.path()), "--policies", word(dir.path())])
    };
    let (status, shown, errors) = play(case(json!("0.3"), "permitted"));
    assert_eq!(status, 0, "{shown}{errors}");
    let (status, shown, _) = play(case(json!("1.0"), "permitted"));
    assert_eq!(status, 1, "{shown}");
    let (_, shown, _) = play(case(json!("0.2"), "permitted"));
    assert!(shown.contains("`a2a` has no version `0.2`; hint: write `1.0` or `0.3`"), "{shown}");
}

fn played(dir: &std::path::Path, cases: &[Value]) -> (i32, String, String) {
    std::fs::write(dir.join("lines-more.cedar"), ASKING).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.json"), json!(cases).to_string()).unwrap();
    policy(&["test", word(folder.path()), "--policies", word(dir)])
}

#[test]
fn cases_may_set_a_lock_and_what_both_ends_show() {
    let dir = copied();
    let transfer = json!({"sender_id": "a", "receiver_id": "b", "amount": 12, "currency": "EUR"});
    let case = |shows: &str, more: Value, expect: &str, by: &str| {
        let mut case = json!({"shows": shows, "sender": "retailer-7", "receiver": "wholesaler-1", "context": "payment:v1.1",
            "concept": "transfer", "performative": "REQUEST", "content": transfer, "expect": expect, "policies": [by]});
        case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        case
    };
    let sent = json!({"protocol": "L8/1.0", "message_id": "m", "performative": "REQUEST", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": "urn:contexts:payment:v1.1",
        "content": {"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 12, "currency": "EUR"}});
    let message = json!({"shows": "a message of who shows a certificate's word", "sender": "retailer-7", "receiver": "wholesaler-1",
        "message": sent, "sender_shows": ["cert:eku:1.2.3.1"], "expect": "permitted", "policies": ["lines.cedar#transfers"]});
    let (lock, desk) =
        (json!({"lock_until": "2026-06-01T13:00:00Z"}), json!({"sender_shows": ["cert:eku:1.2.3.1"]}));
    let (status, shown, errors) = played(
        dir.path(),
        &[
            case("no lock", json!({}), "denied", "lines-more.cedar#locked"),
            case("a lock", lock, "permitted", "lines.cedar#transfers"),
            case(
                "a short lock",
                json!({"lock_until": "2026-06-01T12:05:00Z"}),
                "denied",
                "lines-more.cedar#short",
            ),
            case("its certificate says so", desk, "permitted", "lines.cedar#transfers"),
            case(
                "a token",
                json!({"sender_shows": ["cert:eku:1.2.3.1", "token:hr:audit"]}),
                "denied",
                "lines-more.cedar#audited",
            ),
            case(
                "both",
                json!({"sender_shows": ["cert:eku:1.2.3.1", "token:hr:audit"], "receiver_shows": ["cert:eku:1.2.3.2"]}),
                "permitted",
                "lines.cedar#transfers",
            ),
            message.clone(),
        ],
    );
    assert_eq!(status, 0, "{shown}{errors}");
    let with = |name: &str, value: Value| {
        let mut case = message.clone();
        case[name] = value;
        case
    };
    for (wrong, why) in [
        (with("lock_until", json!("2026-06-01T13:00:00Z")), "`lock_until` is for one concept"),
        (with("sender_shows", json!(["high-value-authorized"])), "no agent shows `high-value-authorized`"),
    ] {
        let (status, _, errors) = played(dir.path(), &[wrong]);
        assert!(status == 1 && errors.contains(why), "{errors}");
    }
}

#[test]
fn fault_a_case_of_one_ambiguous_question_was_decided_as_if_none_were_asked() {
    let dir = copied();
    let forbid = r#"@id("none") forbid (principal, action, resource) when { context.scores.ambiguous > 0 && !context.locked };"#;
    std::fs::write(dir.path().join("scores.cedar"), forbid).unwrap();
    let case = json!({"shows": "an ambiguous question", "sender": "retailer-7", "receiver": "wholesaler-1", "context": "snl:v1.0",
        "concept": "ambiguous_parameter", "performative": "QUERY", "content": {"parameter": "dest_code", "value": "Paris"},
        "expect": "denied", "policies": ["scores.cedar#none"]});
    let (status, shown, errors) = played(dir.path(), &[case]);
    assert_eq!(status, 0, "{shown}{errors}");
}

#[test]
fn a_message_of_mcp_is_played_as_it_is_sent() {
    let dir = copied();
    let asked = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    };
    let case = |shows: &str, message: Value, expect: &str| {
        json!({"shows": shows, "sender": "retailer-7", "receiver": "wholesaler-1", "protocol": "mcp", "context": "supplyChain:v1.0",
            "message": message, "expect": expect})
    };
    let mut listed = case(
        "the answer to it",
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [], "resultType": "complete"}}),
        "permitted",
    );
    for (name, value) in [
        ("sender", json!("wholesaler-1")),
        ("receiver", json!("retailer-7")),
        ("direction", json!("reply")),
        ("answers", asked("tools/list", json!({}))),
    ] {
        listed[name] = value;
    }
    let (status, shown, errors) = played(
        dir.path(),
        &[
            case("partners may list tools", asked("tools/list", json!({})), "permitted"),
            listed,
            case(
                "no context has this tool",
                asked("tools/call", json!({"name": "rm", "arguments": {}})),
                "concept_undefined",
            ),
            case("what is no method of MCP", asked("tools/run", json!({})), "method_unsupported"),
        ],
    );
    assert_eq!(status, 0, "{shown}{errors}");
}

#[test]
fn a_directory_of_cases_that_is_not_there_is_told_as_that() {
    let dir = copied();
    let (status, shown, errors) = policy(&["test", word(&dir.path().join("nodir"))]);
    assert_eq!((status, shown.as_str()), (1, ""), "{errors}");
    assert!(
        errors.contains("nodir` is not a directory") && errors.contains("hint: name a directory of"),
        "{errors}"
    );
}

#[test]
fn a_directory_of_cases_below_the_policies_changes_nothing_of_what_is_loaded() {
    let dir = copied();
    let digest = |json: &str| serde_json::from_str::<Value>(json).unwrap()["digest"].clone();
    let with = policy(&["check", word(dir.path()), "--json"]);
    std::fs::remove_dir_all(dir.path().join("cases")).unwrap();
    let without = policy(&["check", word(dir.path()), "--json"]);
    assert_eq!((with.0, digest(&with.1)), (0, digest(&without.1)));
}

/// Through the binary: what a limit on `amount` refuses did pass as `Amount` beside it, in an open object of a map and in one that declares
/// its members in branches.
#[test]
fn attack_a_twin_of_a_declared_member_is_refused_in_maps_and_branches() {
    let dir = tempfile::tempdir().unwrap();
    let amount = json!({"type": "number", "multipleOf": 0.01, "maximum": 100});
    let open = json!({"type": "object", "properties": {"amount": amount}, "additionalProperties": true});
    let branch = json!({"type": "object", "additionalProperties": true, "anyOf": [{"properties": {"amount": amount}, "required": ["amount"]}, {"required": ["z"]}]});
    let document = json!({"context": "urn:contexts:twin:v1.0", "concepts": {"mapped": {"type": "object", "additionalProperties": open}, "branched": branch}});
    let case = |concept: &str, content: Value, expect: &str| {
        json!({"shows": concept, "sender": "spiffe://e/a", "receiver": "spiffe://e/b", "context": "urn:contexts:twin:v1.0", "concept": concept,
            "performative": "REQUEST", "content": content, "expect": expect})
    };
    let (plain, twin) = (json!({"amount": 1}), json!({"amount": 1, "Amount": 1_000_000}));
    let cases = json!([
        case("mapped", json!({"p": plain}), "permitted"),
        case("mapped", json!({"p": twin}), "content_invalid"),
        case("branched", plain, "permitted"),
        case("branched", twin, "content_invalid"),
    ]);
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(at("rules/cases")).unwrap();
    std::fs::write(at("twin.json"), document.to_string()).unwrap();
    std::fs::write(at("rules/entities.json"), r#"{"groups": [], "agents": []}"#).unwrap();
    std::fs::write(at("rules/all.cedar"), "permit(principal, action, resource);").unwrap();
    std::fs::write(at("rules/cases/twins.json"), cases.to_string()).unwrap();
    let (cases, context) = (at("rules/cases"), at("twin.json"));
    let (status, shown, errors) =
        policy(&["test", word(&cases), "--context", word(&context), "--no-library"]);
    assert_eq!(status, 0, "{shown}{errors}");
}
