//! Answers of tools.

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use crate::fault::Fault;

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

    /// The fault of a command, about a context of this name.
    pub fn as_fault(&self, name: &str) -> Fault {
        let Self { code, reason } = self;
        let fault = Fault::new(format_args!("`{name}` has no prompt: {reason} (`{code}`)"));
        fault.hint("`semgate context list` shows the versions that count")
    }

    /// The error of MCP for a resource that cannot be read.
    pub fn as_missing_resource(&self) -> ErrorData {
        let data = json!({"code": self.code});
        ErrorData::resource_not_found(format!("{}: {}", self.code, self.reason), Some(data))
    }
}

/// Adds a member to an answer.
pub fn put(answer: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = answer.as_object_mut() {
        members.insert(name.to_owned(), value.into());
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
