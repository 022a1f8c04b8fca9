//! A message of the protocol, field by field.

use super::{
    print::Printer,
    shape::{Count, Field, Kind, Shape},
};
use crate::{
    FaultKind, MessageFault,
    member::Read,
    pointer::plain,
    wire::{Raw, Wire, int32},
};

/// The fault of a singular field that is present twice: readers keep the last, merge, or refuse.
const TWICE: &str = "is present twice";

const WIRE_TYPE: &str = "is not of the wire type of its field";

/// Prints one message. `depth` counts the messages around it.
pub(super) fn message(shape: &Shape, bytes: &[u8], depth: usize, out: &mut Printer<'_>) -> Read<()> {
    let depth = out.deeper(depth)?;
    let values = fields(shape, bytes, out)?;
    out.put("{")?;
    let mut first = true;
    for (index, field) in shape.fields.iter().enumerate() {
        let mut here = values.iter().filter(|(at, _)| *at == index).map(|(_, raw)| *raw).peekable();
        let Some(raw) = here.peek().copied() else { continue };
        let printed = match (field.count, field.kind) {
            (Count::Plain, kind) if is_default(kind, raw) => continue,
            (_, Kind::Map(values)) => {
                name(field, &mut first, out)?;
                super::value::map(here, values, depth, out)
            }
            (Count::Many, kind) => {
                name(field, &mut first, out)?;
                list(here, kind, depth, out)
            }
            (_, kind) => {
                name(field, &mut first, out)?;
                one(kind, raw, depth, out)
            }
        };
        printed.map_err(|fault| inside(fault, field.json))?;
    }
    out.put("}")
}

fn name(field: &Field, first: &mut bool, out: &mut Printer<'_>) -> Read<()> {
    out.comma(first)?;
    out.string(field.json)?;
    out.put(":")
}

/// Every field of the message with its index in the shape, in the order of the wire. Refuses an unknown field and one that is
/// there too often.
fn fields<'b>(shape: &Shape, bytes: &'b [u8], out: &mut Printer<'_>) -> Read<Vec<(usize, Raw<'b>)>> {
    let (mut values, mut seen, mut either) = (Vec::new(), 0_u64, false);
    let mut wire = Wire(bytes);
    while let Some((number, raw)) = wire.field().map_err(|what| MessageFault::malformed("", what))? {
        out.count()?;
        let known = shape.fields.iter().enumerate().find(|(_, field)| field.number == number);
        let Some((index, field)) = known else { return Err(unknown()) };
        let again = seen & (1 << index) != 0;
        seen |= 1 << index;
        match field.count {
            Count::Many => {}
            _ if again => return Err(inside(twice(), field.json)),
            Count::OneOf if std::mem::replace(&mut either, true) => {
                return Err(MessageFault::malformed("", "holds two members of which only one is allowed"));
            }
            Count::OneOf | Count::Plain | Count::Present => {}
        }
        values.push((index, raw));
    }
    Ok(values)
}

fn list<'b>(
    items: impl Iterator<Item = Raw<'b>>,
    kind: Kind,
    depth: usize,
    out: &mut Printer<'_>,
) -> Read<()> {
    out.put("[")?;
    let mut first = true;
    for (n, raw) in items.enumerate() {
        out.comma(&mut first)?;
        one(kind, raw, depth, out).map_err(|fault| inside(fault, &n.to_string()))?;
    }
    out.put("]")
}

/// Prints one value of a field.
pub(super) fn one(kind: Kind, raw: Raw<'_>, depth: usize, out: &mut Printer<'_>) -> Read<()> {
    match (kind, raw) {
        (Kind::Text, Raw::Bytes(bytes)) => out.string(utf8(bytes)?),
        (Kind::Bytes, Raw::Bytes(bytes)) => out.bytes(bytes),
        (Kind::Bool, Raw::Varint(0)) => out.put("false"),
        (Kind::Bool, Raw::Varint(1)) => out.put("true"),
        (Kind::Bool, Raw::Varint(_)) => Err(MessageFault::malformed("", "is neither true nor false")),
        (Kind::Int32, Raw::Varint(number)) => {
            let number =
                int32(number).ok_or_else(|| MessageFault::malformed("", "is not a 32-bit number"))?;
            out.put(&number.to_string())
        }
        (Kind::Enum(names), Raw::Varint(number)) => {
            let name = usize::try_from(number).ok().and_then(|n| names.get(n));
            out.string(name.ok_or_else(|| MessageFault::malformed("", "is a number without a name"))?)
        }
        (Kind::Message(shape), Raw::Bytes(bytes)) => message(shape, bytes, depth, out),
        (Kind::Timestamp, Raw::Bytes(bytes)) => super::value::timestamp(bytes, depth, out),
        (Kind::Struct, Raw::Bytes(bytes)) => super::value::structure(bytes, depth, out),
        (Kind::Value, Raw::Bytes(bytes)) => super::value::value(bytes, depth, out),
        _ => Err(MessageFault::malformed("", WIRE_TYPE)),
    }
}

/// Returns true for an explicitly written default, which some writers send. The mapping does not print such a field.
fn is_default(kind: Kind, raw: Raw<'_>) -> bool {
    match (kind, raw) {
        (Kind::Text | Kind::Bytes, Raw::Bytes(bytes)) => bytes.is_empty(),
        (Kind::Bool | Kind::Int32 | Kind::Enum(_), Raw::Varint(number)) => number == 0,
        _ => false,
    }
}

/// The value of each of the fields 1 to `N`. Refuses a field that is present twice.
pub(super) fn singles<'b, const N: usize>(
    bytes: &'b [u8],
    out: &mut Printer<'_>,
) -> Read<[Option<Raw<'b>>; N]> {
    let mut values = [None; N];
    let mut wire = Wire(bytes);
    while let Some((number, raw)) = wire.field().map_err(|what| MessageFault::malformed("", what))? {
        out.count()?;
        let slot = usize::try_from(number).ok().and_then(|n| values.get_mut(n.wrapping_sub(1)));
        if slot.ok_or_else(unknown)?.replace(raw).is_some() {
            return Err(twice());
        }
    }
    Ok(values)
}

/// The values of field 1 of a message that has no other.
pub(super) fn repeated<'b>(bytes: &'b [u8], out: &mut Printer<'_>) -> Read<Vec<Raw<'b>>> {
    let mut values = Vec::new();
    let mut wire = Wire(bytes);
    while let Some((number, raw)) = wire.field().map_err(|what| MessageFault::malformed("", what))? {
        out.count()?;
        if number != 1 {
            return Err(unknown());
        }
        values.push(raw);
    }
    Ok(values)
}

pub(super) fn utf8(bytes: &[u8]) -> Read<&str> {
    std::str::from_utf8(bytes).map_err(|_| MessageFault::malformed("", "is not utf-8"))
}

pub(super) fn wire_type() -> MessageFault {
    MessageFault::malformed("", WIRE_TYPE)
}

pub(super) fn twice() -> MessageFault {
    MessageFault { kind: FaultKind::DuplicateKey, path: String::new(), what: TWICE }
}

fn unknown() -> MessageFault {
    MessageFault::malformed("", "has a field that the protocol does not have")
}

/// The fault as seen from one level further out.
pub(super) fn inside(mut fault: MessageFault, member: &str) -> MessageFault {
    fault.path.insert_str(0, plain(member));
    fault.path.insert(0, '/');
    fault
}
