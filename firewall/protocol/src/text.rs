//! JSON as text again: a value that was read strictly, written so that it reads the same.

use semgate_contexts::json::Json;

/// Writes a value. Members keep their order, numbers their digits.
pub(crate) fn write(json: &Json<'_>, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => out.push_str(number.text()),
        Json::String(text) => string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(object) => {
            out.push('{');
            for (n, (key, value)) in object.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Writes a string. Control characters are escaped, and nothing else that need not be.
pub(crate) fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            other => out.push(other),
        }
    }
    out.push('"');
}
