//! The types of `google/protobuf/` with a JSON form of their own.

use serde_json::{Value, json};

use crate::schema::MAX_FREE_TEXT;

/// A number of 64 bits with a sign, without leading zeroes: 2^63 is excluded beside this.
const INT64: &str = r"^-?(0|[1-8]\d{0,18}|9(\d{0,17}|[01]\d{17}|2([01]\d{16}|2([0-2]\d{15}|3([0-2]\d{14}|3([0-6]\d{13}|7([01]\d{12}|20([0-2]\d{10}|3([0-5]\d{9}|6([0-7]\d{8}|8([0-4]\d{7}|5([0-3]\d{6}|4([0-6]\d{5}|7([0-6]\d{4}|7([0-4]\d{3}|5([0-7]\d{2}|80[0-8]))))))))))))))))$";
/// A number of 64 bits without a sign.
const UINT64: &str = r"^(0|[1-9]\d{0,18}|1([0-7]\d{18}|8([0-3]\d{17}|4([0-3]\d{16}|4([0-5]\d{15}|6([0-6]\d{14}|7([0-3]\d{13}|4([0-3]\d{12}|40([0-6]\d{10}|7([0-2]\d{9}|3([0-6]\d{8}|70([0-8]\d{6}|9([0-4]\d{5}|5([0-4]\d{4}|5(0\d{3}|1([0-5]\d{2}|6(0\d|1[0-5])))))))))))))))))$";
/// Base64 with padding and without loose bits (RFC 4648 §4, §3.5).
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";
/// RFC 3339 with `Z`, in the years 1 to 9999, with 0, 3, 6 or 9 digits of a second. A pattern and not `date-time`, which takes instants
/// in whole milliseconds alone: real clocks are finer.
const TIMESTAMP: &str = r"^([1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{3}(\d{3}(\d{3})?)?)?Z$";
/// Days that no month has.
const NO_DAY: &str = r"^\d{4}-(02-3|(0[469]|11)-31)|^(\d\d(\d[13579]|[02468][26]|[13579][048])|([02468][1235679]|[13579][01345789])00)-02-29";
/// Seconds of at most 10,000 years, with 0, 3, 6 or 9 digits of a second.
const DURATION: &str = r"^-?(0|[1-9]\d{0,10}|[12]\d{11}|3(0\d{10}|1([0-4]\d{9}|5([0-4]\d{8}|5([0-6]\d{7}|7([0-5]\d{6}|6000000))))))(\.\d{3}(\d{3}(\d{3})?)?)?s$";
/// Paths of fields in lower camel case.
const FIELD_MASK: &str = r"^([A-Za-z0-9]+(\.[A-Za-z0-9]+)*(,[A-Za-z0-9]+(\.[A-Za-z0-9]+)*)*)?$";

/// No message holds a longer text.
const LONGEST: usize = 262_144;

/// The definition of a type that many fields share.
pub(super) fn definition(name: &str) -> Option<Value> {
    let text = |pattern: &str, most: usize| json!({"type": "string", "pattern": pattern, "maxLength": most});
    Some(match name {
        "proto_int64" => {
            json!({"type": "string", "pattern": INT64, "maxLength": 20, "not": {"const": "9223372036854775808"}})
        }
        "proto_uint64" => text(UINT64, 20),
        "proto_bytes" => text(BASE64, LONGEST),
        "proto_timestamp" => {
            json!({"type": "string", "pattern": TIMESTAMP, "maxLength": 30, "not": {"pattern": NO_DAY, "maxLength": 30}})
        }
        "proto_duration" => text(DURATION, 25),
        "proto_field_mask" => text(FIELD_MASK, LONGEST),
        _ => return None,
    })
}

/// A scalar type by its name in a `.proto` file.
pub(super) fn scalar(name: &str) -> Option<Value> {
    let integer = |least: i64, most: i64| json!({"type": "integer", "minimum": least, "maximum": most});
    let shared = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    Some(match name {
        "int32" => integer(i64::from(i32::MIN), i64::from(i32::MAX)),
        "uint32" => integer(0, i64::from(u32::MAX)),
        "int64" => shared("proto_int64"),
        "uint64" => shared("proto_uint64"),
        "bytes" => shared("proto_bytes"),
        "double" | "float" => json!({"type": "number"}),
        "bool" => json!({"type": "boolean"}),
        "string" => json!({"type": "string", "x-free-text": true, "maxLength": MAX_FREE_TEXT}),
        _ => return None,
    })
}

/// The JSON form of a well-known type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonForm {
    /// A form that a schema describes.
    Described(Value),
    /// A form of that name in a `.proto` file, as of a wrapper.
    Scalar(&'static str),
    /// Any JSON of this type: it passes unseen.
    Open(Value),
    /// A form that no schema can describe.
    Undescribed,
}

/// True for a type with a JSON form of its own.
pub(super) fn is_known(full: &str) -> bool {
    form(full).is_some()
}

/// The JSON form of a type of `google/protobuf/`, where it is not that of a message.
pub(super) fn form(full: &str) -> Option<JsonForm> {
    let shared = |name: &str| JsonForm::Described(json!({ "$ref": format!("#/$defs/{name}") }));
    Some(match full.strip_prefix("google.protobuf.")? {
        "Timestamp" => shared("proto_timestamp"),
        "Duration" => shared("proto_duration"),
        "FieldMask" => shared("proto_field_mask"),
        "Empty" => JsonForm::Described(json!({"type": "object"})),
        "DoubleValue" => JsonForm::Scalar("double"),
        "FloatValue" => JsonForm::Scalar("float"),
        "Int64Value" => JsonForm::Scalar("int64"),
        "UInt64Value" => JsonForm::Scalar("uint64"),
        "Int32Value" => JsonForm::Scalar("int32"),
        "UInt32Value" => JsonForm::Scalar("uint32"),
        "BoolValue" => JsonForm::Scalar("bool"),
        "StringValue" => JsonForm::Scalar("string"),
        "BytesValue" => JsonForm::Scalar("bytes"),
        "Struct" => JsonForm::Open(json!({"type": "object", "additionalProperties": true})),
        "ListValue" => JsonForm::Open(json!({"type": "array", "items": true})),
        "Value" => JsonForm::Open(json!(true)),
        "Any" => JsonForm::Undescribed,
        _ => return None,
    })
}
