//! Forms that people fill in: flat objects of primitives.

use crate::{
    MessageFault,
    member::{Read, array, at, object, required, string, unknown},
    text,
};
use semgate_contexts::json::{Json, Object};

/// Writes a list of strings.
pub(super) fn strings(all: &[&str], out: &mut String) {
    out.push('[');
    for (n, one) in all.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        text::string(one, out);
    }
    out.push(']');
}

/// A form for one text.
pub(super) fn one_text(out: &mut String) {
    out.push_str(r#"{"type":"object","properties":{"response":{"type":"string"}},"required":["response"]}"#);
}

/// Writes the components of A2H 1.0 as a form.
///
/// # Errors
/// `malformed` for a component that is no primitive, or that has a pattern: the gateway would not enforce it.
pub(super) fn components(value: &Json<'_>, out: &mut String) -> Read<()> {
    let mut needed = Vec::new();
    out.push_str(r#"{"type":"object","properties":{"#);
    for (n, item) in array(value, "", "components")?.iter().enumerate() {
        let component = object(item, "/components")?;
        let name = string(required(component.get("name"), "/components", "name")?, "/components", "name")?;
        if n > 0 {
            out.push(',');
        }
        text::string(name, out);
        out.push(':');
        one(component, out)?;
        if component.get("required").is_some_and(|flag| matches!(flag, Json::Bool(true))) {
            needed.push(name);
        }
    }
    out.push_str("},\"required\":");
    strings(&needed, out);
    out.push('}');
    Ok(())
}

fn one(component: &Object<'_>, out: &mut String) -> Read<()> {
    let path = "/components";
    let kind = string(required(component.get("type"), path, "type")?, path, "type")?;
    out.push_str(match kind {
        "TEXT" | "TEXTAREA" | "TIME" | "SELECT" | "RADIO" => r#"{"type":"string""#,
        "NUMBER" => r#"{"type":"number""#,
        "CHECKBOX" => r#"{"type":"boolean""#,
        "DATE" => r#"{"type":"string","format":"date""#,
        "DATETIME" => r#"{"type":"string","format":"date-time""#,
        _ => return Err(MessageFault::malformed(at(path, "type"), "is no component of a flat form")),
    });
    for (key, value) in component.iter() {
        match key {
            "type" | "name" | "required" => {}
            "label" => member("title", value, out),
            "options" => choices(value, out)?,
            "validation" => bounds(value, out)?,
            _ => return unknown(path, key),
        }
    }
    out.push('}');
    Ok(())
}

fn member(name: &str, value: &Json<'_>, out: &mut String) {
    out.push(',');
    text::string(name, out);
    out.push(':');
    text::write(value, out);
}

fn choices(value: &Json<'_>, out: &mut String) -> Read<()> {
    let path = "/components/options";
    let mut all = Vec::new();
    for option in array(value, "/components", "options")? {
        all.push(string(required(object(option, path)?.get("value"), path, "value")?, path, "value")?);
    }
    out.push_str(",\"enum\":");
    strings(&all, out);
    Ok(())
}

fn bounds(value: &Json<'_>, out: &mut String) -> Read<()> {
    let path = "/components/validation";
    for (key, value) in object(value, path)?.iter() {
        let name = match key {
            "min" => "minimum",
            "max" => "maximum",
            "minLength" | "maxLength" => key,
            _ => return unknown(path, key),
        };
        member(name, value, out);
    }
    Ok(())
}
