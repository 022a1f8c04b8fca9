//! Descriptors of the protocol's messages, as far as reading needs them.

/// A message type.
pub(super) struct Shape {
    /// Its name without the package; the test against the descriptor set uses it.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the test over the descriptor set looks up"))]
    pub name: &'static str,
    /// Its fields in the order in which they are printed; at most 64.
    pub fields: &'static [Field],
}

/// A field.
pub(super) struct Field {
    pub number: u32,
    /// Its name in JSON.
    pub json: &'static str,
    pub kind: Kind,
    pub count: Count,
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Bytes,
    Bool,
    Int32,
    /// The names by their numbers, from 0 and without gaps.
    Enum(&'static [&'static str]),
    Message(&'static Shape),
    Timestamp,
    Struct,
    Value,
    /// A map from text to values of this kind.
    Map(&'static Kind),
}

/// The number of occurrences of a field, and the meaning of its absence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// Once; absent and default are one and the same.
    Plain,
    /// Once; being there means something even with the default.
    Present,
    /// Once, and without the other fields so marked: each message here has at most one `oneof`.
    OneOf,
    /// Any number of times.
    Many,
}

const fn field(number: u32, json: &'static str, kind: Kind, count: Count) -> Field {
    Field { number, json, kind, count }
}

/// `string`
pub(super) const fn text(number: u32, json: &'static str) -> Field {
    field(number, json, Kind::Text, Count::Plain)
}

/// `repeated string`
pub(super) const fn texts(number: u32, json: &'static str) -> Field {
    field(number, json, Kind::Text, Count::Many)
}

/// A single field of another kind without presence.
pub(super) const fn plain(number: u32, json: &'static str, kind: Kind) -> Field {
    field(number, json, kind, Count::Plain)
}

/// A single field with presence: `optional`, or a message.
pub(super) const fn present(number: u32, json: &'static str, kind: Kind) -> Field {
    field(number, json, kind, Count::Present)
}

/// A single message.
pub(super) const fn one(number: u32, json: &'static str, shape: &'static Shape) -> Field {
    present(number, json, Kind::Message(shape))
}

/// `repeated` of a message.
pub(super) const fn many(number: u32, json: &'static str, shape: &'static Shape) -> Field {
    field(number, json, Kind::Message(shape), Count::Many)
}

/// A member of the message's `oneof`.
pub(super) const fn either(number: u32, json: &'static str, kind: Kind) -> Field {
    field(number, json, kind, Count::OneOf)
}

/// `map<string, …>`
pub(super) const fn map(number: u32, json: &'static str, values: &'static Kind) -> Field {
    field(number, json, Kind::Map(values), Count::Many)
}
