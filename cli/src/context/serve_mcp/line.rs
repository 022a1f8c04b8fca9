//! One line of the other side: a message, or the answer to a line that is none.

use std::fmt;

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::RxJsonRpcMessage;
use semgate_contexts::json::{self, Fault, Json, Limits};
use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Bytes of a line. Content has at most 1 MiB, and its text inside a line may take several times that.
pub const MOST_BYTES: usize = 8 << 20;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INVALID_PARAMS: i32 = -32_602;

/// The methods that this server answers.
const METHODS: [&str; 7] = [
    "initialize",
    "ping",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "tools/list",
    "tools/call",
];

/// The meaning of a line.
pub enum RequestLine {
    /// A message.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// No message; this is the answer, without a line end.
    Refused(Vec<u8>),
    /// Nothing that may be answered: an empty line, or a notification without meaning.
    Nothing,
}

impl RequestLine {
    /// Reads a line without its end, the way a gateway reads. The content of `check_message` is kept as its text, so that the tool judges
    /// what was sent and not what a lenient reader made of it.
    pub fn read(line: &[u8]) -> Self {
        if line.trim_ascii().is_empty() {
            return Self::Nothing;
        }
        let kept = with_content_as_text(line);
        let read = kept.as_deref().unwrap_or(line);
        let limits = Limits { max_bytes: read.len(), max_string_bytes: read.len(), ..Limits::default() };
        let value = match json::read(read, &limits) {
            Ok(value) => value,
            Err(fault) => return refused(line, code_of(&fault), &fault),
        };
        match value.as_object() {
            Some(_) => message(line, read, &value),
            // a batch as a whole has no id
            None => refused(b"", INVALID_REQUEST, &"a message is one JSON object; batches are not taken"),
        }
    }

    /// The answer to a line of more than [`MOST_BYTES`], of which this is the beginning.
    pub fn too_long(beginning: &[u8]) -> Self {
        refused(beginning, INVALID_REQUEST, &format_args!("a line has at most {MOST_BYTES} bytes"))
    }
}

const fn code_of(fault: &Fault) -> i32 {
    match fault {
        Fault::Malformed { .. } => PARSE_ERROR,
        _ => INVALID_REQUEST,
    }
}

fn message(line: &[u8], read: &[u8], value: &Json<'_>) -> RequestLine {
    let member = |name: &str| value.as_object().and_then(|object| object.get(name));
    let text = |name: &str| member(name).and_then(Json::as_str);
    let is_known = text("method").is_some_and(|method| METHODS.contains(&method));
    let wrong_parameters = || refused(line, INVALID_PARAMS, &"the parameters do not fit the method");
    match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(read) {
        Ok(JsonRpcMessage::Request(request))
            if is_known && matches!(request.request, ClientRequest::CustomRequest(_)) =>
        {
            wrong_parameters()
        }
        Ok(message) => RequestLine::Message(Box::new(message)),
        Err(_) if text("jsonrpc") != Some("2.0") || text("method").is_none() => {
            refused(line, INVALID_REQUEST, &"that is no message of JSON-RPC 2.0")
        }
        Err(_) if member("id").is_none() => RequestLine::Nothing,
        Err(_) if is_known && !id_of(line).is_null() => wrong_parameters(),
        Err(_) => refused(line, INVALID_REQUEST, &"that is no request of MCP"),
    }
}

fn refused(line: &[u8], code: i32, why: &dyn fmt::Display) -> RequestLine {
    let error = json!({"code": code, "message": why.to_string()});
    RequestLine::Refused(
        json!({"jsonrpc": "2.0", "id": id_of(line), "error": error}).to_string().into_bytes(),
    )
}

/// The id of a request as far as the line can be read; null without one, or with several.
fn id_of(line: &[u8]) -> Value {
    let mut ids = Vec::new();
    // a fault further on takes nothing from what stands before it
    let _ = serde_json::Deserializer::from_slice(line).deserialize_map(Ids(&mut ids));
    match ids.pop() {
        Some(id) if ids.is_empty() && (id.is_string() || id.is_i64() || id.is_u64()) => id,
        _ => Value::Null,
    }
}

/// Collects the members `id` of an object, before the object is known to be whole.
struct Ids<'i>(&'i mut Vec<Value>);

impl<'de> Visitor<'de> for Ids<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "id" {
                self.0.push(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Call<'l> {
    method: String,
    #[serde(borrow)]
    params: Parameters<'l>,
}

#[derive(Deserialize)]
struct Parameters<'l> {
    name: String,
    #[serde(borrow)]
    arguments: Checked<'l>,
}

#[derive(Deserialize)]
struct Checked<'l> {
    #[serde(borrow)]
    content: &'l RawValue,
}

/// The line with the content of `check_message` as a string that holds its exact text; `None` if it is no such call, or that already.
fn with_content_as_text(line: &[u8]) -> Option<Vec<u8>> {
    let line = std::str::from_utf8(line).ok()?;
    let call: Call<'_> = serde_json::from_str(line).ok()?;
    let content = call.params.arguments.content.get();
    if call.method != "tools/call" || call.params.name != "check_message" || content.starts_with('"') {
        return None;
    }
    let start = content.as_ptr().addr().checked_sub(line.as_ptr().addr())?;
    let (before, after) = (line.get(..start)?, line.get(start.checked_add(content.len())?..)?);
    Some([before, &Value::from(content).to_string(), after].concat().into_bytes())
}

#[cfg(test)]
mod tests;
