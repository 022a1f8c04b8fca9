//! Lists of tools that the strict reader refuses: the tool and the member at fault.

use std::collections::BTreeMap;
use std::fmt;

use semgate_contexts::json;
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest number that an error quotes, in characters.
const MAX_SHOWN: usize = 48;

/// A list of tools that arrived and cannot be read.
#[derive(Debug)]
pub(super) struct UnreadList {
    what: String,
    is_number: bool,
}

impl UnreadList {
    /// The list in this answer, refused with `fault` under these limits; none if the answer has no list of tools.
    pub fn new(answer: &[u8], limits: &json::Limits, fault: json::Fault) -> Option<Self> {
        let answer: BTreeMap<String, &RawValue> = serde_json::from_slice(answer).ok()?;
        let result: BTreeMap<String, &RawValue> = serde_json::from_str(answer.get("result")?.get()).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(result.get("tools")?.get()).ok()?;
        let of_tool = |(number, tool): (usize, &&RawValue)| {
            let at_fault = AtFault::within(tool, limits, limits.max_depth)?;
            let AtFault { pointer, text, fault } = at_fault;
            let tool = name(tool).unwrap_or_else(|| format!("number {}", number.saturating_add(1)));
            let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            let shown: String = text.chars().take(MAX_SHOWN).collect();
            let shown = if is_number { format!(" ({shown})") } else { String::new() };
            let member = Value::from(pointer.as_str());
            Some(Self {
                what: format!("the tool {tool}, member {member}{shown}: {}", reason(fault)),
                is_number,
            })
        };
        let first = tools.iter().enumerate().find_map(of_tool);
        Some(first.unwrap_or_else(|| Self { what: reason(fault), is_number: false }))
    }

    /// The change that makes the server's list readable.
    pub fn remedy(&self) -> &'static str {
        if self.is_number {
            "let the server write numbers from -(2^53 - 1) to 2^53 - 1 with at most 17 digits, or leave the member out: the firewall also refuses this list"
        } else {
            "let the server write it differently: the firewall also refuses this list"
        }
    }
}

impl fmt::Display for UnreadList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its list of tools cannot be read: {}", self.what)
    }
}

/// The innermost value that the reader refuses.
struct AtFault<'b> {
    pointer: String,
    text: &'b str,
    fault: json::Fault,
}

impl<'b> AtFault<'b> {
    /// The refused value within this one, at most so many levels below it; none if the reader accepts the value.
    fn within(value: &'b RawValue, limits: &json::Limits, levels: usize) -> Option<Self> {
        let text = value.get();
        let fault = json::read(text.as_bytes(), limits).err()?;
        let inner = levels.checked_sub(1).and_then(|levels| {
            members(text).into_iter().find_map(|(name, member)| {
                let inner = Self::within(member, limits, levels)?;
                let name = name.replace('~', "~0").replace('/', "~1");
                Some(Self { pointer: format!("/{name}{}", inner.pointer), ..inner })
            })
        });
        Some(inner.unwrap_or(Self { pointer: String::new(), text, fault }))
    }
}

/// The members of an object, or the items of an array.
fn members(text: &str) -> Vec<(String, &RawValue)> {
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        return members.into_iter().collect();
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    items.into_iter().enumerate().map(|(n, item)| (n.to_string(), item)).collect()
}

/// The name of a tool in quotes.
fn name(tool: &RawValue) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(tool.get()).ok()?;
    let name: String = serde_json::from_str(members.get("name")?.get()).ok()?;
    Some(Value::from(name).to_string())
}

/// The fault without its position, because the pointer shows that.
fn reason(fault: json::Fault) -> String {
    match fault {
        json::Fault::Malformed { what, .. } => what.to_owned(),
        json::Fault::DuplicateKey { .. } => "two members have one name".to_owned(),
        other => other.to_string(),
    }
}
