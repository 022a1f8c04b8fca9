//! JSON of the protobuf mapping as bytes of protobuf, the inverse of `decode`. For messages that the gateway writes itself.

use super::{
    decode::inside,
    shape::{Count, Field, Kind, Shape},
    value::seconds_of,
};
use crate::{
    MessageFault,
    member::Read,
    wire::{bytes, tag, varint_field},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use semgate_contexts::json::{Json, Object};

const FIXED64: u8 = 1;

/// The bytes of one message. Fields are in the order of their numbers' table, so the same JSON gives the same bytes.
pub(super) fn message(shape: &Shape, json: &Json<'_>) -> Read<Vec<u8>> {
    let object = object(json)?;
    let known = |key: &str| shape.fields.iter().any(|field| field.json == key);
    if let Some((key, _)) = object.iter().find(|(key, _)| !known(key)) {
        return Err(inside(fault("is not a member of the message"), key));
    }
    let mut out = Vec::new();
    for field in shape.fields {
        let Some(value) = object.get(field.json) else { continue };
        put(field, value, &mut out).map_err(|fault| inside(fault, field.json))?;
    }
    Ok(out)
}

fn put(field: &Field, json: &Json<'_>, out: &mut Vec<u8>) -> Read<()> {
    match (field.count, field.kind) {
        (_, Kind::Map(values)) => entries(field.number, *values, object(json)?, out),
        (Count::Many, kind) => {
            let items = json.as_array().ok_or_else(|| fault("is not an array"))?;
            for (n, item) in items.iter().enumerate() {
                one(field.number, kind, item, out).map_err(|fault| inside(fault, &n.to_string()))?;
            }
            Ok(())
        }
        (Count::Plain, kind) if is_default(kind, json) => Ok(()),
        (_, kind) => one(field.number, kind, json, out),
    }
}

fn entries(number: u32, values: Kind, object: &Object<'_>, out: &mut Vec<u8>) -> Read<()> {
    for (key, value) in object.iter() {
        let mut entry = Vec::new();
        bytes(1, key.as_bytes(), &mut entry);
        one(2, values, value, &mut entry).map_err(|fault| inside(fault, key))?;
        bytes(number, &entry, out);
    }
    Ok(())
}

fn one(number: u32, kind: Kind, json: &Json<'_>, out: &mut Vec<u8>) -> Read<()> {
    match kind {
        Kind::Text => bytes(number, text(json)?.as_bytes(), out),
        Kind::Bytes => {
            let decoded = BASE64_STANDARD.decode(text(json)?).map_err(|_| fault("is not base64"))?;
            bytes(number, &decoded, out);
        }
        Kind::Bool => {
            varint_field(number, u64::from(json.as_bool().ok_or_else(|| fault("is not a boolean"))?), out)
        }
        Kind::Int32 => {
            let value = json.as_number().and_then(|value| value.as_i64_exact());
            let value = value
                .and_then(|value| i32::try_from(value).ok())
                .ok_or_else(|| fault("is not a 32-bit number"))?;
            varint_field(number, i64::from(value).cast_unsigned(), out);
        }
        Kind::Enum(names) => {
            let name = text(json)?;
            let at = names
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| fault("is a name without a number"))?;
            varint_field(number, at as u64, out);
        }
        Kind::Message(shape) => bytes(number, &message(shape, json)?, out),
        Kind::Timestamp => bytes(number, &timestamp(text(json)?)?, out),
        Kind::Struct => bytes(number, &structure(object(json)?)?, out),
        Kind::Value => bytes(number, &value(json)?, out),
        Kind::Map(_) => return Err(fault("is not a single value")),
    }
    Ok(())
}

fn is_default(kind: Kind, json: &Json<'_>) -> bool {
    match (kind, json) {
        (Kind::Text | Kind::Bytes, Json::String(text)) => text.is_empty(),
        (Kind::Bool, Json::Bool(value)) => !value,
        (Kind::Int32, Json::Number(value)) => value.as_i64_exact() == Some(0),
        (Kind::Enum(names), Json::String(name)) => names.first().is_some_and(|first| *first == name.as_ref()),
        _ => false,
    }
}

fn structure(object: &Object<'_>) -> Read<Vec<u8>> {
    let mut out = Vec::new();
    entries(1, Kind::Value, object, &mut out)?;
    Ok(out)
}

fn value(json: &Json<'_>) -> Read<Vec<u8>> {
    let mut out = Vec::new();
    match json {
        Json::Null => varint_field(1, 0, &mut out),
        Json::Number(value) => {
            tag(2, FIXED64, &mut out);
            out.extend_from_slice(&value.as_f64().to_le_bytes());
        }
        Json::String(text) => bytes(3, text.as_bytes(), &mut out),
        Json::Bool(value) => varint_field(4, u64::from(*value), &mut out),
        Json::Object(object) => bytes(5, &structure(object)?, &mut out),
        Json::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                bytes(1, &value(item)?, &mut list);
            }
            bytes(6, &list, &mut out);
        }
    }
    Ok(out)
}

fn timestamp(text: &str) -> Read<Vec<u8>> {
    let (seconds, nanos) =
        seconds_of(text).ok_or_else(|| fault("is not a time between the years 1 and 9999"))?;
    let mut out = Vec::new();
    for (number, part) in [(1, seconds), (2, i64::from(nanos))] {
        if part != 0 {
            varint_field(number, part.cast_unsigned(), &mut out);
        }
    }
    Ok(out)
}

fn object<'j>(json: &'j Json<'j>) -> Read<&'j Object<'j>> {
    json.as_object().ok_or_else(|| fault("is not an object"))
}

fn text<'j>(json: &'j Json<'_>) -> Read<&'j str> {
    json.as_str().ok_or_else(|| fault("is not a string"))
}

fn fault(what: &'static str) -> MessageFault {
    MessageFault::malformed("", what)
}
