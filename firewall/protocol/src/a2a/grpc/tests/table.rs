//! The tables against the protocol's own descriptors.

use super::super::{
    SERVICE,
    schema::METHODS,
    shape::{Count, Field, Kind, Shape},
};
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind as Proto, MessageDescriptor};
use std::sync::LazyLock;

pub static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!("../../../../proto/a2a.binpb").as_slice()).unwrap()
});

#[test]
fn every_method_is_there_with_what_it_asks_and_answers() {
    let service = POOL.get_service_by_name(SERVICE).unwrap();
    assert_eq!(service.methods().len(), METHODS.len());
    for (ours, theirs) in METHODS.iter().zip(service.methods()) {
        assert_eq!(
            (ours.operation.as_str(), ours.operation.streams(), false),
            (theirs.name(), theirs.is_server_streaming(), theirs.is_client_streaming())
        );
        for (shape, message) in [(ours.asks, theirs.input()), (ours.answers, theirs.output())] {
            assert_eq!(full(shape), message.full_name());
            same(shape, &message);
        }
    }
}

fn full(shape: &Shape) -> String {
    if shape.name.contains('.') { shape.name.to_owned() } else { format!("lf.a2a.v1.{}", shape.name) }
}

fn same(shape: &Shape, message: &MessageDescriptor) {
    assert_eq!(full(shape), message.full_name());
    assert_eq!(shape.fields.len(), message.fields().len(), "{}", shape.name);
    assert!(shape.fields.len() <= 64, "one bit for each field");
    let real = message.oneofs().filter(|oneof| {
        oneof.fields().len() > 1 || !oneof.fields().all(|f| f.field_descriptor_proto().proto3_optional())
    });
    assert!(real.count() <= 1, "{} has one `oneof` at most", shape.name);
    for field in shape.fields {
        let theirs =
            message.get_field(field.number).unwrap_or_else(|| panic!("{} {}", shape.name, field.json));
        assert_eq!(field.json, theirs.json_name(), "{}", shape.name);
        let packable =
            theirs.is_list() && !matches!(theirs.kind(), Proto::String | Proto::Bytes | Proto::Message(_));
        assert!(!theirs.is_group() && !packable, "{}: nothing here can be packed", theirs.full_name());
        count(field, &theirs);
        if let Kind::Map(values) = field.kind {
            let Proto::Message(entry) = theirs.kind() else { panic!("{}", theirs.full_name()) };
            assert!(theirs.is_map() && entry.map_entry_key_field().kind() == Proto::String);
            kind(values, &entry.map_entry_value_field());
        } else {
            assert!(!theirs.is_map());
            kind(&field.kind, &theirs);
        }
    }
}

fn count(field: &Field, theirs: &FieldDescriptor) {
    let optional = theirs.field_descriptor_proto().proto3_optional();
    let expected = match (theirs.cardinality(), theirs.containing_oneof()) {
        (Cardinality::Repeated, _) => Count::Many,
        (_, Some(_)) if !optional => Count::OneOf,
        _ if theirs.supports_presence() => Count::Present,
        _ => Count::Plain,
    };
    assert!(field.count == expected, "{}", theirs.full_name());
}

fn kind(ours: &Kind, theirs: &FieldDescriptor) {
    let name = theirs.full_name();
    match (ours, theirs.kind()) {
        (Kind::Text, Proto::String)
        | (Kind::Bytes, Proto::Bytes)
        | (Kind::Bool, Proto::Bool)
        | (Kind::Int32, Proto::Int32) => {}
        (Kind::Enum(names), Proto::Enum(theirs)) => {
            let theirs: Vec<_> = theirs.values().map(|v| (v.number(), v.name().to_owned())).collect();
            let ours: Vec<_> = (0..).zip(names.iter().map(|name| (*name).to_owned())).collect();
            assert_eq!(ours, theirs, "{name}");
        }
        (Kind::Message(shape), Proto::Message(message)) => same(shape, &message),
        (Kind::Timestamp, Proto::Message(m)) if m.full_name() == "google.protobuf.Timestamp" => {}
        (Kind::Struct, Proto::Message(m)) if m.full_name() == "google.protobuf.Struct" => {}
        (Kind::Value, Proto::Message(m)) if m.full_name() == "google.protobuf.Value" => {}
        _ => panic!("{name} is of another kind"),
    }
}
