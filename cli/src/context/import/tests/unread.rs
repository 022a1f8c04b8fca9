//! Lists of tools that the strict reader refuses, from a server that answers.

use std::io::{Read, Write};
use std::net::TcpListener;

use clap::Parser;
use serde_json::json;

use super::mcp;

#[derive(Debug, Parser)]
struct ImportCommand {
    #[command(flatten)]
    of: mcp::FromServer,
}

/// The error of an import from a server whose list has these tools.
fn refused(tools: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}"#);
    let settled = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), Vec::new());
            // every body is an object, and no header has a brace
            while !serde_json::from_slice::<serde_json::Value>(body(&request))
                .is_ok_and(|body| body.is_object())
            {
                let mut some = [0; 4096];
                let read = stream.read(&mut some).unwrap();
                assert!(read > 0);
                request.extend_from_slice(&some[..read]);
            }
            let answer =
                if String::from_utf8_lossy(&request).contains("\"initialize\"") { &settled } else { &list };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            stream.write_all((head + answer).as_bytes()).unwrap();
        }
    });
    let args = ImportCommand::parse_from(["import", &url]).of;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fault = runtime.block_on(mcp::draft(&args)).err().unwrap();
    format!("{fault}")
}

fn body(request: &[u8]) -> &[u8] {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n");
    end.map_or(&[], |end| &request[end + 4..])
}

#[test]
fn bug_one_bound_past_a_double_was_told_as_a_server_without_tools() {
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    let with = |schema: &str| {
        format!(r#"{good},{{"name":"f","inputSchema":{{"type":"object","properties":{{"n":{schema}}}}}}}"#)
    };
    for (schema, member, why) in [
        (
            r#"{"maximum":18446744073709551615}"#,
            "n/maximum",
            "(18446744073709551615): number has more than 17",
        ),
        (
            r#"{"minimum":-9223372036854775808}"#,
            "n/minimum",
            "(-9223372036854775808): number has more than 17",
        ),
        (r#"{"enum":[1,9007199254740993]}"#, "n/enum/1", "(9007199254740993): number is beyond 2^53 - 1"),
        (r#"{"a/b":{"default":0.1234567890123456789}}"#, "n/a~1b/default", "more than 17 significant digits"),
        (r#"{"description":"\ud800"}"#, "n/description", "lone surrogate"),
        (r#"{"type":"integer","type":"string"}"#, "n", "two members have one name"),
    ] {
        let fault = refused(&with(schema));
        let location = format!("the tool \"f\", member \"/inputSchema/properties/{member}\"");
        assert!(fault.contains(&location) && fault.contains(why), "{fault}");
        assert!(fault.contains("let the server write"), "{fault}");
        assert!(!fault.contains("lists no tools"), "{fault}");
    }
}

#[test]
fn a_list_that_is_too_large_as_a_whole_is_no_empty_list() {
    let zeroes = vec!["0"; 300_000].join(",");
    let tool = |name: &str| format!(r#"{{"name":"{name}","x":[{zeroes}]}}"#);
    let fault = refused(&format!("{},{}", tool("a"), tool("b")));
    assert!(fault.contains("list of tools cannot be read: json has more values"), "{fault}");
    let deep = format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let fault = refused(&deep);
    assert!(fault.contains("the tool \"a\"") && fault.contains("json is nested deeper"), "{fault}");
}

#[test]
fn an_unreadable_list_in_an_event_names_its_tool() {
    let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"f","x":[1e400]}]}}"#;
    let answer = super::reply("text/event-stream", format!("data: {list}\n\n"));
    let why = mcp::message(&answer).unwrap_err().to_string();
    assert!(why.contains("the tool \"f\", member \"/x/0\" (1e400): number is beyond 2^53 - 1"), "{why}");
}
