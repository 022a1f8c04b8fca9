//! Vectors through the running binary: a context that names models, similarity in a policy, the faults of a vector, and a session that
//! chose one model (F0-52).

use crate::support;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::{Answer, Up, python, wait_for};

const AGENT: &str = "spiffe://semgate.test/agent/wholesaler-1";
const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
const URN: &str = "urn:contexts:search:v1.0";

const POLICY: &str = r#"
@id("close") permit(principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is search::ask)
    when { resource.intent.similarity has refund_request && resource.intent.similarity.refund_request >= 800 };
"#;

fn document() -> Value {
    let space =
        |model: &str, dimensions| json!({ "model": model, "dimensions": dimensions, "metric": "cosine" });
    json!({
        "context": URN,
        "concepts": { "ask": { "type": "object", "required": ["intent"], "properties": {
            "intent": { "x-embedding": [space("acme/mini", 3), space("acme/large", 2)] } } } },
        "codes": { "intents": ["refund_request"] },
        "references": { "refund_request": { "acme/mini": [1, 0, 0], "acme/large": [0, 1] } },
    })
}

/// A gateway whose upstream agent speaks two models.
struct Stage {
    up: Up,
    _gateway: Gateway,
    url: String,
    digest: String,
}

fn stage() -> Stage {
    let up = Up::start();
    let file = up.dir.join("search.json");
    std::fs::write(&file, document().to_string()).unwrap();
    let published = up.semgate(&["context", "publish", file.to_str().unwrap()]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    std::fs::write(up.path("/policies").join("search.cedar"), POLICY).unwrap();
    let behind = Scripted::answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec()).address;
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"orders\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nreceiver = \"{AGENT}\"\nupstream = \"http://{behind}/\"\ncontexts = [\"*\"]\nhandshake = {{ certificate = \"agents/wholesaler-1.pem\", key = \"agents/wholesaler-1.key\", embeddings = [\"acme/mini\", \"acme/large\"] }}\n"
    );
    let gateway = Gateway::before(&up, behind, &route);
    let listed = up.authority("/v1/contexts").json();
    let listed = listed["contexts"].as_array().unwrap().iter().find(|context| context["urn"] == URN).unwrap();
    let digest = listed["digest"].as_str().unwrap().to_owned();
    Stage { up, _gateway: gateway, url: format!("https://{listen}/"), digest }
}

impl Stage {
    /// HELLO to LOCK by the Python client, which offers these models.
    fn shake(&self, models: &[&str]) -> Value {
        let output = Command::new(python::interpreter())
            .arg(python::script("snl_client.py"))
            .arg(format!("{}snl", self.url))
            .args(["cert", "key"].map(|what| self.up.path(&format!("/agents/retailer-7/{what}"))))
            .arg(self.up.path("/roots"))
            .args(["semgate.test", AGENT, URN, &self.digest])
            .args(models.iter().map(|model| format!("embedding:{model}")))
            .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A message with this vector, as text: what is no JSON must come as it is.
    fn say(&self, intent: &str, lock: Option<&str>) -> Answer {
        let lock = lock.map(|lock| format!(r#""lock":"{lock}","#)).unwrap_or_default();
        let body = format!(
            r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"{RETAILER}","receiver_id":"{AGENT}","context":"{URN}",{lock}"content":{{"concept_type":"ask","intent":{intent}}}}}"#
        );
        self.up.post("retailer-7", &self.url, &[], body.as_bytes())
    }

    fn refused(&self, intent: &str, lock: Option<&str>) -> (u16, String, String) {
        let answer = self.say(intent, lock);
        let problem = answer.json();
        let word = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        (answer.status, word("code"), word("detail"))
    }
}

#[test]
fn f0_52_vectors_are_judged_compared_and_bound_to_the_model_of_the_session() {
    let stage = stage();
    let mini = r#"{"model":"acme/mini","vector":[4,3,0]}"#;
    let large = r#"{"model":"acme/large","vector":[0,1]}"#;
    wait_for("the policy to be live", || (stage.say(mini, None).status == 202).then_some(()));
    assert_eq!(stage.say(large, None).status, 202);
    // 600 of 1000, below the threshold of the policy
    assert_eq!(stage.refused(r#"{"model":"acme/mini","vector":[3,4,0]}"#, None).1, "policy_denied");
    for (intent, rule) in [
        (r#"{"model":"acme/other","vector":[4,3,0]}"#, "x-embedding-model"),
        (r#"{"model":"acme/mini","vector":[4,3]}"#, "x-embedding-dimensions"),
        (r#"{"model":"acme/mini","vector":[4,3,"NaN"]}"#, "x-embedding-finite"),
        (r#"{"model":"acme/mini","vector":[4,3,null]}"#, "x-embedding-null"),
        (r#"{"model":"acme/mini","vector":[0,0,0]}"#, "x-embedding-norm"),
        ("[4,3,0]", "x-embedding-form"),
    ] {
        let reason = format!("`/content/intent` does not fit the rule `{rule}`");
        assert_eq!(stage.refused(intent, None), (422, "content_invalid".to_owned(), reason));
    }
    let (status, code, reason) = stage.refused(r#"{"model":"acme/mini","vector":[4,3,NaN]}"#, None);
    assert_eq!((status, code.as_str()), (400, "malformed"));
    assert!(reason.contains("NaN and Infinity are no numbers of JSON"), "{reason}");

    let session = stage.shake(&["acme/mini", "elsewhere/other"]);
    assert_eq!(session["model"], "acme/mini", "{session}");
    let lock = session["lock"].as_str().unwrap();
    assert_eq!(stage.say(mini, Some(lock)).status, 202);
    let reason = "`/content/intent` does not fit the rule `x-embedding-session`".to_owned();
    assert_eq!(stage.refused(large, Some(lock)), (422, "content_invalid".to_owned(), reason));
    // attack: the lock of the session with another model written into it
    let parts: Vec<&str> = lock.split('.').collect();
    let [form, key, end, about, _, tag] = parts[..] else { panic!("{lock}") };
    let other = semgate_certs::encoding::to_base64url("acme/large");
    let bent = format!("{form}.{key}.{end}.{about}.{other}.{tag}");
    assert_eq!(stage.refused(large, Some(&bent)).1, "lock_mismatch");
    // of two in common the first by name, and none without an offer
    assert_eq!(stage.shake(&["acme/mini", "acme/large"])["model"], "acme/large");
    let none = stage.shake(&[]);
    assert_eq!(none["model"], Value::Null, "{none}");
    assert_eq!(stage.say(large, none["lock"].as_str()).status, 202);
}
