//! CPU time for each request through the gateway with every check on, beside nginx and Envoy as plain reverse proxies, in one run over
//! plain HTTP/1.1 keep-alive on loopback (README, "Speed"). Each has one worker.
//!
//!     cargo bench -p semgate --bench gateway
//!
//! Processor time is read from `/proc/<pid>/stat` of the proxy alone; client and upstream agent are other processes and threads. The rounds
//! of all are interleaved, the median of the rounds is printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "proxies.rs"]
mod proxies;
#[path = "../support/mod.rs"]
mod support;

use proxies::{Load, NOT_LIMITED, Proxy, compare_under};
use support::Up;
use support::gateway::{Gateway, Scripted};

fn main() {
    let agent = Scripted::saying(body("AGREE", "wholesaler-1", "retailer-7"));
    let behind = agent.address;
    let up = Up::start();
    let here = tempfile::tempdir().unwrap();
    let product = Gateway::on_one_core(&up, behind, NOT_LIMITED);
    let checked = Proxy::product("semgate, every check on", product.l8, &product);
    let nginx = Proxy::nginx(here.path(), behind, "/l8");
    let envoy = Proxy::envoy(here.path(), behind, "/l8");
    let request = Load::Request(supply_chain_request().into());
    compare_under(&request, &[&nginx, &envoy, &checked], &["nginx", "Envoy"]);
}

/// The paper's message with its three concepts, about 640 bytes of body.
fn supply_chain_request() -> Vec<u8> {
    let body = body("INFORM", "retailer-7", "wholesaler-1");
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

fn body(performative: &str, sender: &str, receiver: &str) -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"0190e7d2-6e0b-7d1c-9b7e-6f1f4a2b3c4d","performative":"{performative}","sender_id":"{sender}","receiver_id":"{receiver}","context":"urn:contexts:supplyChain:v1.0","content":{{"my_decision":{{"concept_type":"current_decision","item_id":"beer","quantity":120}},"my_flexibility":{{"concept_type":"decision_contingency","if_condition_text":"demand increases by 10%","then_change_text":"increase order by 15 units"}},"my_reasoning":{{"concept_type":"local_observation","observed_fact_text":"Current spike seems temporary","confidence_score":0.8}}}}}}"#
    )
}
