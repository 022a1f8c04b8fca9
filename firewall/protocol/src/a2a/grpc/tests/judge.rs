//! `prost-reflect`, an implementation of protobuf and its mapping to JSON that knows nothing of ours, as the judge.

use super::{
    super::{Limits, read, schema::METHODS, shape::Shape},
    table::POOL,
};
use proptest::prelude::*;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value, prost::Message,
};
use semgate_contexts::json;
use std::collections::HashMap;

/// Every message type that is asked with or answers.
fn roots() -> Vec<(&'static Shape, MessageDescriptor)> {
    let service = POOL.get_service_by_name(super::super::SERVICE).unwrap();
    let pairs = METHODS.iter().zip(service.methods());
    pairs.flat_map(|(ours, theirs)| [(ours.asks, theirs.input()), (ours.answers, theirs.output())]).collect()
}

/// Choices, drawn beforehand; after the last one always the first alternative.
struct Draw<'d>(std::slice::Iter<'d, u16>);

impl Draw<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % n
    }
}

const TEXTS: [&str; 8] =
    ["", "m-1", "é😀", "a\"b\\c", "\u{0}\u{1f}\n\u{7f}\u{2028}", "urn:contexts:snl:v1.0", "1.5", "x y"];
const DOUBLES: [f64; 9] = [0.0, 1.0, -1.0, 120.0, 0.5, 12000.0001, 1e-7, -2.5e9, 9_007_199_254_740_991.0];

/// A message with fields as drawn.
fn build(message: &MessageDescriptor, draw: &mut Draw<'_>, depth: usize) -> DynamicMessage {
    let mut out = DynamicMessage::new(message.clone());
    if message.full_name() == "google.protobuf.Timestamp" {
        out.set_field_by_number(1, Value::I64([0, -1, 1_796_000_000, 253_402_300_799][draw.below(4)]));
        out.set_field_by_number(2, Value::I32([0, 5_000_000, 7_000, 999_999_999][draw.below(4)]));
        return out;
    }
    for field in message.fields() {
        let optional = field.field_descriptor_proto().proto3_optional();
        if field.containing_oneof().is_some() && !optional || draw.below(2) == 0 {
            continue;
        }
        set(&mut out, &field, draw, depth);
    }
    for oneof in
        message.oneofs().filter(|oneof| !oneof.fields().all(|f| f.field_descriptor_proto().proto3_optional()))
    {
        // `Value` has to hold something; past the depth, the first kinds, which end
        let ends = if depth == 0 { oneof.fields().len().min(3) } else { oneof.fields().len() };
        let at = draw.below(ends);
        let field = oneof.fields().nth(at).unwrap();
        set(&mut out, &field, draw, depth);
    }
    out
}

fn set(out: &mut DynamicMessage, field: &FieldDescriptor, draw: &mut Draw<'_>, depth: usize) {
    if depth == 0
        && matches!(field.kind(), Kind::Message(_))
        && !field.parent_message().full_name().starts_with("google")
        && field.containing_oneof().is_none()
    {
        return;
    }
    let depth = depth.saturating_sub(1);
    let value = if field.is_map() {
        let Kind::Message(entry) = field.kind() else { unreachable!() };
        let of = entry.map_entry_value_field();
        let n = if depth == 0 { 0 } else { draw.below(3) };
        let entries =
            (0..n).map(|_| (MapKey::String(TEXTS[draw.below(8)].to_owned()), single(&of, draw, depth)));
        Value::Map(entries.collect::<HashMap<_, _>>())
    } else if field.is_list() {
        let n = if depth == 0 { 0 } else { draw.below(3) };
        Value::List((0..n).map(|_| single(field, draw, depth)).collect())
    } else {
        single(field, draw, depth)
    };
    out.set_field(field, value);
}

fn single(field: &FieldDescriptor, draw: &mut Draw<'_>, depth: usize) -> Value {
    match field.kind() {
        Kind::String => Value::String(TEXTS[draw.below(8)].to_owned()),
        Kind::Bytes => Value::Bytes(vec![0xfb; draw.below(5)].into()),
        Kind::Bool => Value::Bool(draw.below(2) == 1),
        Kind::Int32 => Value::I32([0, 1, -1, i32::MAX, i32::MIN][draw.below(5)]),
        Kind::Double => Value::F64(DOUBLES[draw.below(9)]),
        Kind::Enum(names) => Value::EnumNumber(i32::try_from(draw.below(names.values().len())).unwrap()),
        Kind::Message(message) => Value::Message(build(&message, draw, depth)),
        other => unreachable!("{other:?}"),
    }
}

/// The JSON as its numbers are, not as they are written: `to_value` of both sides once the strict reader has read them.
fn strictly(text: &[u8]) -> Result<serde_json::Value, json::Fault> {
    json::read(text, &json::Limits::default()).map(|json| json.to_value())
}

/// What the judge makes of the message.
fn judged(message: &DynamicMessage) -> Vec<u8> {
    serde_json::to_vec(message).unwrap()
}

fn back(message: &MessageDescriptor, text: &[u8]) -> DynamicMessage {
    let mut reader = serde_json::Deserializer::from_slice(text);
    DynamicMessage::deserialize(message.clone(), &mut reader).unwrap()
}

/// What holds of all bytes that are accepted: the judge reads them too, drops nothing, and sees the same.
fn accepted_means_the_same(shape: &Shape, message: &MessageDescriptor, bytes: &[u8], text: &[u8]) {
    let theirs = DynamicMessage::decode(message.clone(), bytes).expect("what we accept, others read");
    assert!(theirs.unknown_fields().next().is_none());
    // numbers past what the strict reader takes end there
    let Ok(ours) = strictly(text) else { return };
    assert_eq!(ours, strictly(&judged(&theirs)).unwrap());
    let again = read(shape, &theirs.encode_to_vec(), &Limits::default()).expect("what is accepted is again");
    assert_eq!(strictly(&again).unwrap(), ours);
    // and written from its JSON it is the same message
    let json = json::read(text, &json::Limits::default()).unwrap();
    let written = super::super::encode::message(shape, &json).expect("what was read can be written");
    let written =
        DynamicMessage::decode(message.clone(), written.as_slice()).expect("what we write, others read");
    assert_eq!(strictly(&judged(&written)).unwrap(), ours);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases()))]

    #[test]
    fn fuzz_every_message_becomes_the_json_that_the_judge_makes(choices in prop::collection::vec(any::<u16>(), 0..400)) {
        for (shape, message) in roots() {
            let built = build(&message, &mut Draw(choices.iter()), 9);
            let bytes = built.encode_to_vec();
            let text = read(shape, &bytes, &Limits::default()).unwrap_or_else(|fault| panic!("{}: {fault}: {built}", shape.name));
            prop_assert_eq!(strictly(&text).unwrap(), strictly(&judged(&built)).unwrap());
            prop_assert_eq!(back(&message, &text).encode_to_vec().len(), bytes.len());
            accepted_means_the_same(shape, &message, &bytes, &text);
        }
    }

    #[test]
    fn fuzz_random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (shape, message) in roots() {
            if let Ok(text) = read(shape, &bytes, &Limits::default()) {
                accepted_means_the_same(shape, &message, &bytes, &text);
            }
        }
    }

    #[test]
    fn fuzz_mutated_messages_mean_the_same_or_are_refused(
        choices in prop::collection::vec(any::<u16>(), 0..200),
        root in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..4),
    ) {
        let roots = roots();
        let (shape, message) = root.get(&roots);
        let mut bytes = build(message, &mut Draw(choices.iter()), 7).encode_to_vec();
        for (at, byte, how) in edits {
            if bytes.is_empty() { break }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(text) = read(shape, &bytes, &Limits::default()) {
            accepted_means_the_same(shape, message, &bytes, &text);
        }
    }

    #[test]
    fn fuzz_doubles_are_read_back_as_the_same(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let printed = super::value_text(&super::double(value));
        prop_assert_eq!(printed.is_ok(), value.is_finite());
        if let Ok(text) = printed {
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
