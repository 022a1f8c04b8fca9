//! The official MCP SDK for Rust as a client, unmodified: `interop-rmcp URL MODE`, MODE `legacy`, `auto` or `2026-07-28`.
//!
//! Prints one JSON object: the tools that its user is shown, and what each call of standard input (one JSON object a line) comes to.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, mode] = words.as_slice() else { return Err("two words: URL MODE".into()) };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode.as_str() {
        "legacy" => ClientLifecycleMode::Initialize,
        "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        _ => ClientLifecycleMode::Discover { preferred_versions },
    };
    let calls = std::io::read_to_string(std::io::stdin())?;
    let client = ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), lifecycle).await?;
    let tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    let mut came = Vec::new();
    for line in calls.lines() {
        let call: CallToolRequestParams = serde_json::from_str(line)?;
        came.push(match client.call_tool(call).await {
            Ok(result) if result.is_error == Some(true) => json!(result.content)[0]["text"].clone(),
            Ok(result) => result.structured_content.unwrap_or(Value::Null),
            // what the SDK's user would catch
            Err(error) => error.to_string().into(),
        });
    }
    println!("{}", json!({"tools": tools, "calls": came}));
    client.cancel().await?;
    Ok(())
}
