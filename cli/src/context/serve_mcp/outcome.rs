//! Answers of tools.

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

/// The reason that a tool has no answer. Like a refusal it has a code, and holds no value of the caller.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    code: &'static str,
    reason: String,
}

impl Refused {
    pub fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    /// The error of MCP for a resource that cannot be read.
    pub fn as_missing_resource(&self) -> ErrorData {
        let data = json!({"code": self.code});
        ErrorData::resource_not_found(format!("{}: {}", self.code, self.reason), Some(data))
    }
}

/// The result of a call, as the model sees it.
pub fn shown(outcome: Result<Value, Refused>) -> CallToolResult {
    match outcome {
        Ok(value) => CallToolResult::structured(value),
        Err(Refused { code, reason }) => {
            CallToolResult::structured_error(json!({"code": code, "reason": reason}))
        }
    }
}
