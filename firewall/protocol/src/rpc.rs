//! JSON-RPC 2.0 ids.

use semgate_contexts::json::Json;

/// A request's id: a string of at most 256 visible ASCII characters, or an integer that I-JSON can hold.
///
/// `null` and fractions, which JSON-RPC discourages, are refused: an answer could not be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcId {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
}

impl RpcId {
    /// Reads an id.
    pub fn read(json: &Json<'_>) -> Option<Self> {
        match json {
            Json::String(text) => crate::member::identifier(text).map(|id| Self::Text(id.to_owned())),
            Json::Number(number) => number.as_i64_exact().map(Self::Integer),
            _ => None,
        }
    }

    /// The id as JSON text, fit to be put into an answer as it is: its characters need no escape.
    pub fn to_json(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Integer(number) => number.to_string(),
        }
    }
}
