//! A context that refers to another, through the running binary: published in order, judged and typed through the reference, and
//! gone with what it refers to (`docs/design/firewall.md` §5).

use crate::support;

use serde_json::{Value, json};
use support::{SEMGATE, Up, wait_for};

const MONEY: &str = r#"{"context":"urn:contexts:money:v1.0","concepts":{"price":{"type":"object","required":["amount","currency"],"properties":{"amount":{"type":"number","multipleOf":0.01},"currency":{"type":"string","x-code-list":"currencies"}}}},"codes":{"currencies":["EUR","USD"]}}"#;

fn semgate(words: &[&str]) -> std::process::Output {
    std::process::Command::new(SEMGATE).args(words).output().unwrap()
}

fn write(up: &Up, name: &str, text: &str) -> String {
    let file = up.dir.join(name);
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn shop(digest: &str) -> String {
    json!({
        "context": "urn:contexts:shop:v1.0",
        "concepts": { "offer": { "type": "object", "required": ["item", "price"], "properties": {
            "item": { "type": "string", "maxLength": 20, "pattern": "^[a-z]+$" },
            "price": { "$ref": "urn:contexts:money:v1.0#/concepts/price", "x-digest": digest },
        } } },
    })
    .to_string()
}

#[test]
fn a_context_is_judged_typed_and_revoked_with_what_it_refers_to() {
    let up = Up::start();
    let money = write(&up, "money.json", MONEY);
    let checked = semgate(&["context", "check", &money, "--json"]);
    let digest =
        serde_json::from_slice::<Value>(&checked.stdout).unwrap()["digest"].as_str().unwrap().to_owned();
    let file = write(&up, "shop.json", &shop(&digest));

    let alone = semgate(&["context", "check", &file]);
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(!alone.status.success() && said.contains("--reference") && said.contains("money:v1.0"), "{said}");
    assert!(semgate(&["context", "check", &file, &money]).status.success());
    assert!(semgate(&["context", "check", &file, "--reference", &money]).status.success());

    let early = up.semgate(&["context", "publish", &file]);
    let said = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(
        !early.status.success() && said.contains("document_invalid") && said.contains("not published here"),
        "{said}"
    );
    let published = |file: &str| {
        let done = up.semgate(&["context", "publish", file]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    published(&money);
    let wrong = write(&up, "wrong.json", &shop(&format!("sha-256:{}", "0".repeat(64))));
    let said = String::from_utf8_lossy(&up.semgate(&["context", "publish", &wrong]).stderr).into_owned();
    assert!(said.contains("document_invalid") && said.contains("another digest"), "{said}");
    published(&file);
    let fetched = up.semgate(&["context", "fetch", "shop:v1.0"]);
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));

    // typed through the reference: `price.amount` is a decimal
    let policy = r#"permit(principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is shop::offer)
        when { resource.price.amount.lessThan(decimal("100.0")) };
        permit(principal in Group::"repliers", action, resource is shop::offer);"#;
    std::fs::write(up.path("/policies").join("shop.cedar"), policy).unwrap();
    let say = |content: &str| up.say(&["shop:v1.0", "offer", content]);
    let good = r#"{"item":"beer","price":{"amount":9.5,"currency":"EUR"}}"#;
    wait_for("the policy to be live", || (say(good).0 == 0).then_some(()));
    assert_eq!(say(r#"{"item":"car","price":{"amount":100.5,"currency":"EUR"}}"#).1["code"], "policy_denied");
    assert_eq!(say(r#"{"item":"beer","price":{"amount":1,"currency":"eur"}}"#).1["code"], "content_invalid");
    assert_eq!(
        say(r#"{"item":"beer","price":{"amount":1,"currency":"EUR","x":1}}"#).1["code"],
        "content_invalid"
    );

    let revoked = up.semgate(&["context", "revoke", "money:v1.0", "--reason", "wrong currencies"]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    wait_for("the revocation to arrive", || (say(good).1["code"] == "context_revoked").then_some(()));
    assert_eq!(say(good).1["code"], "context_revoked");
    let late = write(&up, "late.json", &shop(&digest).replace("shop:v1.0", "shop:v1.1"));
    let said = String::from_utf8_lossy(&up.semgate(&["context", "publish", &late]).stderr).into_owned();
    assert!(said.contains("money:v1.0`, which is revoked"), "{said}");
}

#[test]
fn two_versions_are_compared_by_files_and_by_shipped_names() {
    let compatible = semgate(&["context", "diff", "payment:v1.0", "payment:v1.1", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&compatible.stdout).unwrap();
    assert_eq!(compatible.status.code(), Some(0));
    assert_eq!((said["verdict"].as_str(), said["next_version"].as_str()), (Some("compatible"), Some("v1.1")));

    let breaking = semgate(&["context", "diff", "payment:v1.1", "payment:v2.0", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&breaking.stdout).unwrap();
    assert_eq!(breaking.status.code(), Some(3));
    let part = &said["parts"][0];
    assert_eq!(
        (part["witness"]["currency"].as_str(), part["refused"]["rule"].as_str()),
        (Some("SGD"), Some("x-code-list"))
    );
    assert_eq!(said["next_version"], "v2.0");

    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: serde_json::Value| {
        let path = dir.path().join(name);
        let document = serde_json::json!({ "context": format!("urn:contexts:note:v1.{}", u8::from(name == "new")),
            "concepts": { "note": { "type": "object", "properties": { "text": text } } } });
        std::fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = write("old", serde_json::json!({ "type": "string", "maxLength": 20, "x-free-text": true }));
    let new = write("new", serde_json::json!({ "type": "string", "maxLength": 20 }));
    let unknown = semgate(&["context", "diff", &old, &new]);
    let said = String::from_utf8_lossy(&unknown.stdout).into_owned();
    assert_eq!(unknown.status.code(), Some(4), "{said}");
    assert!(said.contains("/concepts/note/properties/text` is no longer marked as free text"), "{said}");

    let loose = write("new", serde_json::json!({ "type": "string" }));
    let checked = semgate(&["context", "check", &loose]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success() && said.contains("`/concepts/note/properties/text` (unbounded-string)"),
        "{said}"
    );
    assert_eq!(semgate(&["context", "check", &loose, "--deny-warnings"]).status.code(), Some(1));
    assert!(semgate(&["context", "check", &old, "--deny-warnings"]).status.success());
}

#[test]
fn a_string_that_becomes_a_string_or_a_number_is_told_before_gateways_refuse_its_messages() {
    let dir = tempfile::tempdir().unwrap();
    let write = |version: &str, kind: serde_json::Value| {
        let path = dir.path().join(format!("{version}.json"));
        let text = serde_json::json!({ "type": kind, "maxLength": 20 });
        let document = serde_json::json!({ "context": format!("urn:contexts:note:{version}"),
            "concepts": { "note": { "type": "object", "properties": { "text": text } } } });
        std::fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = write("v1.0", "string".into());
    let new = write("v1.1", serde_json::json!(["string", "integer"]));
    let major = write("v2.0", serde_json::json!(["string", "integer"]));
    let what = "`text` is a string in other versions and not visible here";

    let alone = semgate(&["context", "check", &new, "--deny-warnings"]);
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stdout));
    for words in [&["--against", &old, &new][..], &[&new, &old]] {
        let checked = semgate(&[&["context", "check", "--deny-warnings", "--json"], words].concat());
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(1), "{said}");
        let said: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        let warning = &said["warnings"][0];
        assert_eq!((&warning["rule"], &warning["pointer"]), (&"untyped".into(), &"/concepts/note".into()));
        let told = warning["what"].as_str().unwrap();
        assert!(told.contains(what) && told.contains("leaves the version out"), "{told}");
    }
    let apart = semgate(&["context", "check", "--deny-warnings", &old, &major]);
    assert!(apart.status.success(), "another major has types of its own");

    let compared = semgate(&["context", "diff", &old, &new, "--json"]);
    assert_eq!(compared.status.code(), Some(0), "as a language it is compatible");
    let said: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!(
        (said["verdict"].as_str(), said["next_version"].as_str()),
        (Some("compatible"), Some("v1.1")),
        "{said}"
    );
    assert_eq!(said["untyped"], serde_json::json!([{ "pointer": "/concepts/note", "what": what }]));
    let shown = String::from_utf8_lossy(&semgate(&["context", "diff", &old, &new]).stdout).into_owned();
    assert!(shown.contains("  untyped     /concepts/note: `text` is a string"), "{shown}");
}

/// Only parts that cannot be typed were told: a version that breaks the one beside it passed `--deny-warnings`.
#[test]
fn a_version_that_breaks_the_one_beside_it_passed_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let write = |version: &str, most: u64| {
        let path = dir.path().join(format!("{version}.json"));
        let number = json!({ "type": "integer", "minimum": 0, "maximum": most });
        let document = json!({ "context": format!("urn:contexts:note:{version}"),
            "concepts": { "note": { "type": "object", "properties": { "n": number } } } });
        std::fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (old, new, major) = (write("v1.0", 10), write("v1.1", 9), write("v2.0", 9));
    // whichever is named first, the lower number is the older one
    for words in [&["--against", &old, &new][..], &[&new, &old], &[&old, &new], &["--against", &new, &old]] {
        let checked = semgate(&[&["context", "check", "--deny-warnings", "--json"], words].concat());
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(1), "{said}");
        let warned: Vec<Value> = said
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["warnings"].as_array().cloned())
            .flatten()
            .collect();
        let [warning] = warned.as_slice() else { panic!("{said}") };
        assert_eq!((&warning["rule"], &warning["pointer"]), (&"breaks".into(), &"/concepts/note".into()));
        assert!(warning["what"].as_str().unwrap().contains("`/n` by `maximum`"), "{warning}");
    }
    assert!(semgate(&["context", "check", "--deny-warnings", &old, &major]).status.success());
}
