//! Canonical JSON as TUF signs it (OLPC): members ordered by code points, only `"` and `\` escaped in strings, integers, no space. It
//! differs from RFC 8785, which escapes control characters.

use super::TufFault;
use serde_json::Value;

/// The bytes that are signed.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>, TufFault> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out.into_bytes())
}

fn write(value: &Value, out: &mut String) -> Result<(), TufFault> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) if number.is_u64() || number.is_i64() => out.push_str(&number.to_string()),
        Value::Number(_) => return Err(TufFault::Number),
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (n, (name, member)) in sorted.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                string(name, out);
                out.push(':');
                write(member, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}
