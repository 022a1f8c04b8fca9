use super::Agents;
use crate::{PolicyFault, PolicyLimits};

fn read(text: &str) -> Result<Agents, Vec<String>> {
    Agents::read(text.as_bytes(), &PolicyLimits::default())
        .map_err(|faults| faults.iter().map(PolicyFault::to_string).collect())
}

fn one(members: &str) -> Result<Agents, Vec<String>> {
    read(&format!("{{\"agents\":[{{{members}}}]}}"))
}

#[test]
fn agents_are_found_by_id_and_alias() {
    let agents = one(r#""id":"spiffe://d/a","alias":"a","groups":["y","x"],"credentials":["c"]"#).unwrap();
    let entry = agents.by_alias("a").unwrap();
    assert_eq!(agents.position("spiffe://d/a"), Some(0));
    assert_eq!((entry.groups.as_slice(), entry.disabled), (&["x".to_owned(), "y".to_owned()][..], false));
    assert!(agents.position("a").is_none() && agents.by_alias("spiffe://d/a").is_none());
    assert!(agents.groups().contains("x"));
}

#[test]
fn the_digest_tells_states_of_one_agent_apart() {
    let digest = |members: &str| one(members).unwrap().entries()[0].digest;
    let base = digest(r#""id":"spiffe://d/a","groups":[],"credentials":["c"]"#);
    assert_eq!(base, digest(r#""credentials":["c"],"groups":[],"id":"spiffe://d/a","disabled":false"#));
    assert_ne!(base, digest(r#""id":"spiffe://d/a","groups":["c"],"credentials":[]"#));
    assert_ne!(base, digest(r#""id":"spiffe://d/a","groups":[],"credentials":["c"],"disabled":true"#));
}

#[test]
fn an_alias_never_looks_like_a_spiffe_id() {
    for alias in ["spiffe://d/b", "a/b", "a:b", "", "a b", "é"] {
        let faults = one(&format!(r#""id":"spiffe://d/a","alias":"{alias}","groups":[],"credentials":[]"#))
            .unwrap_err();
        assert!(
            faults[0].starts_with("entities.json:1:33: at `/agents/0/alias`: an alias is"),
            "{alias}: {faults:?}"
        );
    }
}

#[test]
fn ids_are_spiffe_ids() {
    for id in [
        "retailer-7",
        "spiffe://",
        "spiffe://d",
        "spiffe://d/",
        "spiffe:///a",
        "spiffe://D/a",
        "spiffe://d/a/../b",
        "spiffe://d/a//b",
        "spiffe://d/a?x",
        "SPIFFE://d/a",
        "spiffe://d/%61",
    ] {
        let faults = one(&format!(r#""id":"{id}","groups":[],"credentials":[]"#)).unwrap_err();
        assert!(faults[0].contains("not a SPIFFE id"), "{id}: {faults:?}");
    }
}

#[test]
fn the_form_is_closed_and_nothing_is_assumed() {
    let id = r#""id":"spiffe://d/a""#;
    for (members, expected) in [
        (format!("{id},\"groups\":[]"), "at `/agents/0/credentials`: missing: write `[]` for none"),
        (format!("{id},\"credentials\":[]"), "at `/agents/0/groups`: missing: write `[]` for none"),
        (format!("{id},\"groups\":\"x\",\"credentials\":[]"), "at `/agents/0/groups`: not a list"),
        (
            format!("{id},\"groups\":[],\"credentials\":[],\"Disabled\":true"),
            "at `/agents/0/Disabled`: a member that is not one of `id`, `alias`, `names`, `keys`, `groups`, `credentials`, `disabled` (did you mean `disabled`?)",
        ),
        (
            format!("{id},\"groups\":[],\"credentials\":[],\"disabled\":\"yes\""),
            "at `/agents/0/disabled`: not `true` or",
        ),
        (
            format!("{id},\"groups\":[\"x\",\"x\"],\"credentials\":[]"),
            "at `/agents/0/groups/1`: the same name a second",
        ),
        (format!("{id},\"groups\":[],\"groups\":[],\"credentials\":[]"), "duplicate member name"),
        (format!("{id},\"groups\":[\"a\\\"b\"],\"credentials\":[]"), "at `/agents/0/groups/0`: a name is"),
    ] {
        let faults = one(&members).unwrap_err();
        assert!(faults[0].contains(expected), "{members}: {faults:?}");
    }
    assert!(read("[]").unwrap_err()[0].contains("not an object"));
    assert!(read("{}").unwrap_err()[0].contains("at `/agents`: missing"));
    assert!(read("").unwrap_err()[0].contains("malformed json"));
    assert!(read(r#"{"agents":[]}"#).is_ok());
}

#[test]
fn two_agents_share_neither_id_nor_alias() {
    let agent = |id: &str, alias: &str| {
        format!(r#"{{"id":"spiffe://d/{id}","alias":"{alias}","groups":[],"credentials":[]}}"#)
    };
    let two = |a: String, b: String| read(&format!("{{\"agents\":[{a},{b}]}}"));
    assert!(two(agent("a", "x"), agent("b", "y")).is_ok());
    assert_eq!(
        two(agent("a", "x"), agent("a", "y")).unwrap_err(),
        ["entities.json:1:76: at `/agents/1/id`: a second agent with this id"]
    );
    assert_eq!(
        two(agent("a", "x"), agent("b", "x")).unwrap_err(),
        ["entities.json:1:96: at `/agents/1/alias`: a second agent with this alias"]
    );
}

#[test]
fn with_a_list_of_groups_a_group_outside_it_is_a_fault() {
    let text = |groups: &str| {
        format!(
            "{{\"groups\":[{groups}],\n \"agents\":[{{\"id\":\"spiffe://d/a\",\"groups\":[\"z\",\"partners\"],\"credentials\":[]}}]}}"
        )
    };
    assert!(read(&text("\"partners\",\"z\"")).unwrap().groups().contains("z"));
    assert_eq!(
        read(&text("\"y\",\"partner\"")).unwrap_err(),
        [
            "entities.json:2:47: at `/agents/0/groups/1`: group `partners` is not in the list `groups` (did you mean `partner`?)",
            "entities.json:2:43: at `/agents/0/groups/0`: group `z` is not in the list `groups`",
        ]
    );
}

#[test]
fn a_text_that_is_no_json_is_refused_with_its_line_and_column() {
    assert_eq!(
        read("{\n  \"agents\": [],\n  \"groups\": [,]\n}").unwrap_err(),
        ["entities.json:3:14: malformed json at byte 31: not the beginning of a value"]
    );
    assert_eq!(
        read("{\n  \"agents\": [],\n  \"agents\": []}").unwrap_err(),
        ["entities.json:3:3: duplicate member name at byte 20"]
    );
}

#[test]
fn limits_hold() {
    let limits = PolicyLimits { max_agents: 1, max_memberships: 1, ..PolicyLimits::default() };
    let text = r#"{"agents":[{"id":"spiffe://d/a","groups":["x","y"],"credentials":[]}]}"#;
    assert!(Agents::read(text.as_bytes(), &limits).unwrap_err()[0].to_string().contains("more than 1 items"));
    let text = r#"{"agents":[{},{}]}"#;
    assert!(
        Agents::read(text.as_bytes(), &limits).unwrap_err()[0].to_string().contains("agents: more than 1")
    );
    let limits = PolicyLimits { max_entities_bytes: 3, ..limits };
    assert!(Agents::read(b"{   }", &limits).unwrap_err()[0].to_string().contains("bytes of `entities.json`"));
}

#[test]
fn bug_another_agent_was_suggested_for_what_agents_names_have_in_common() {
    let id = |name: &str| format!("spiffe://semgate.test/agent/{name}");
    let entries = ["courier-5", "operator", "retailer-7"]
        .map(|name| format!(r#"{{"id":"{}","groups":[],"credentials":[]}}"#, id(name)));
    let document = format!(r#"{{"agents":[{}]}}"#, entries.join(","));
    let agents = Agents::read(document.as_bytes(), &crate::PolicyLimits::default()).unwrap();
    for (asked, near) in [
        ("retialer-7", Some("retailer-7")),
        ("Operator", Some("operator")),
        ("bank-9", None),
        ("abc", None),
        ("shop-3", None),
    ] {
        assert_eq!(agents.closest(&id(asked)), near.map(id).as_deref(), "{asked}");
    }
    let elsewhere = agents.closest("spiffe://semgate.tset/agent/courier-5");
    assert_eq!(elsewhere, Some(id("courier-5").as_str()));
}

const KEY: &str = "03d6a356c2be199303acf89298fb2486808039940d53fdc775240be9130791d4";
const NEXT_KEY: &str = "cdcdcd85a5ed3e7c654ebc685ff80296bb5a6af5b7492e80da321f902717b07e";

fn named(members: &str) -> Result<Agents, Vec<String>> {
    one(&format!(r#""id":"spiffe://d/a","groups":[],"credentials":[],{members}"#))
}

#[test]
fn an_agent_has_a_name_and_keys_in_a_binding() {
    let text = format!(
        r#""names":{{"ldp":"ldp:client:router"}},"keys":{{"iac":["{KEY}",{{"key":"{NEXT_KEY}","not_after":"2026-12-31T00:00:00Z"}}]}}"#
    );
    let agents = named(&text).unwrap();
    let entry = agents.by_name("ldp", "ldp:client:router").unwrap();
    assert!(entry.is_named("ldp", "ldp:client:router") && !entry.is_named("iac", "ldp:client:router"));
    assert!(agents.by_name("iac", "ldp:client:router").is_none());
    assert_eq!(agents.by_key("iac", entry.keys[1].key).unwrap().id, "spiffe://d/a");
    assert_eq!((entry.keys[0].hex().as_str(), entry.keys[0].not_after), (KEY, None));
    assert_eq!(entry.keys[1].not_after, Some(1_798_675_200));
    assert_ne!(entry.digest, named(r#""names":{"ldp":"x"}"#).unwrap().entries()[0].digest);
}

#[test]
fn names_and_keys_of_another_form_are_faults() {
    for (members, why) in [
        (r#""names":{"a2a":"x"}"#, "a member that is not one of `ldp`"),
        (r#""names":["x"]"#, "not an object with a member for each binding"),
        (r#""names":{"ldp":""}"#, "a name of a binding is"),
        (r#""names":{"ldp":"two words"}"#, "a name of a binding is"),
        (&format!(r#""names":{{"iac":"{KEY}"}}"#), "no key in hexadecimal digits"),
        (&format!(r#""keys":{{"iac":["{}"]}}"#, KEY.to_uppercase()), "a key is 64 lower-case"),
        (&format!(r#""keys":{{"iac":[{{"key":"{KEY}"}}]}}"#), "a key is 64 lower-case"),
        (
            &format!(r#""keys":{{"iac":[{{"key":"{KEY}","not_after":"tomorrow"}}]}}"#),
            "a key is 64 lower-case",
        ),
        (&format!(r#""keys":{{"ldp":["{KEY}"]}}"#), "a member that is not one of `iac`"),
    ] {
        let faults = named(members).unwrap_err();
        assert!(faults[0].contains(why), "{members}: {faults:?}");
    }
}

#[test]
fn two_agents_share_neither_name_nor_key_in_a_binding() {
    let agent =
        |id: &str, more: &str| format!(r#"{{"id":"spiffe://d/{id}","groups":[],"credentials":[],{more}}}"#);
    let two = |a: String, b: String| read(&format!("{{\"agents\":[{a},{b}]}}"));
    let name = |binding: &str| format!(r#""names":{{"{binding}":"x"}}"#);
    assert!(two(agent("a", &name("ldp")), agent("b", &name("iac"))).is_ok());
    let faults = two(agent("a", &name("ldp")), agent("b", &name("ldp"))).unwrap_err();
    assert!(faults[0].ends_with("at `/agents/1/names/ldp`: a second agent with this name"), "{faults:?}");
    let key = format!(r#""keys":{{"iac":["{KEY}"]}}"#);
    let faults = two(agent("a", &key), agent("b", &key)).unwrap_err();
    assert!(faults[0].ends_with("at `/agents/1/keys/iac/0`: this key a second time"), "{faults:?}");
    for (first, second) in [
        (r#""alias":"x","names":{}"#, name("ldp")),
        (r#""names":{}"#, name("iac").replace("\"x\"", "\"spiffe://d/a\"")),
    ] {
        let faults = two(agent("a", first), agent("b", &second)).unwrap_err();
        assert!(faults[0].ends_with(": the id or alias of another agent"), "{faults:?}");
    }
    assert!(two(agent("a", &format!(r#""alias":"x",{}"#, name("ldp"))), agent("b", r#""names":{}"#)).is_ok());
}

#[test]
fn attack_a_key_of_small_order_lets_anybody_sign() {
    // the neutral element, the point of order 2, one of order 8, and the neutral element written with y + p
    for key in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        let faults = named(&format!(r#""keys":{{"iac":["{key}"]}}"#)).unwrap_err();
        assert!(faults[0].contains("anybody can sign"), "{key}: {faults:?}");
    }
}
