//! What the official Python SDKs wrote on the wire: `python.json` is a recording of their clients and servers (a2a-sdk 1.3.0 over
//! JSON-RPC and HTTP+JSON, 0.3.26), ids shortened, one line for each exchange.

use super::*;
use crate::a2a::rest::{self, Query};

/// The texts and the names of artifacts are admitted; what the agent says is a concept, `x`.
const READING: Reading<'static> =
    Reading { admit: TextParts { text: true, raw: false, url: true, data: false }, ..STRICT };

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("python.json")).unwrap()
}

/// Reads the request as the gateway does; hands on what its answers are read against.
fn asked_by(row: &Value) -> Asked {
    let headers: Vec<&str> = row["version"].as_str().into_iter().collect();
    let version = Version::of(&headers, &[]).unwrap();
    if row["form"] == "rpc" {
        return asks(&row["body"], &call(version), &READING, |read| {
            let message = read.unwrap_or_else(|fault| panic!("{fault}: {row}"));
            let (operation, rpc_id) = (message.operation.unwrap(), message.rpc_id);
            Asked { operation, version, form: Form::JsonRpc, rpc_id }
        });
    }
    let target = row["target"].as_str().unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let routed = rest::route(row["method"].as_str().unwrap(), path).unwrap();
    let query = Query::parse(query).unwrap();
    let params = match &row["body"] {
        Value::Null => rest::params(&routed, &query, None),
        body => strict(body, |json| rest::params(&routed, &query, Some(json))),
    };
    let params: Value = serde_json::from_slice(&params.unwrap()).unwrap();
    let form = Form::Rest(routed.operation);
    asks(&params, &Call::a2a(version, form), &READING, |read| {
        let message = read.unwrap_or_else(|fault| panic!("{fault}: {row}"));
        assert_eq!(message.operation, Some(routed.operation));
    });
    Asked { operation: routed.operation, version, form, rpc_id: None }
}

#[test]
fn everything_that_the_python_sdks_ask_and_answer_is_read() {
    let mut operations = Vec::new();
    for row in recorded() {
        let asked = asked_by(&row);
        operations.push((asked.version, asked.operation));
        for answer in row["answers"].as_array().unwrap() {
            let stream = row["stream"].as_bool().unwrap();
            says(answer, &asked, &READING, stream, |read| {
                match read.unwrap_or_else(|fault| panic!("{fault}: {row}")) {
                    Reply::Message(message) => {
                        assert!(message.uninspectable.is_none() && message.gap.is_none(), "{row}");
                        assert!(message.acknowledges || !message.instances.is_empty(), "{row}");
                    }
                    Reply::Tasks(list) => assert_eq!(list.tasks.len(), 1),
                    Reply::Error(error) => {
                        let known = error.known.unwrap();
                        if row["status"] != 200 {
                            let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
                            strict(answer, |json| {
                                assert_eq!(AgentError::of_http(status, Some(json)).known, Some(known))
                            });
                        }
                    }
                    other => panic!("{other:?}: {row}"),
                }
            });
        }
    }
    for operation in Operation::ALL {
        for version in [Version::V03, Version::V10] {
            let exists = operation.method(version).is_some();
            assert_eq!(operations.contains(&(version, operation)), exists, "{version} {operation}");
        }
    }
}
