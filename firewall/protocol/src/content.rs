//! `content`: one concept object, or a map of them.

use crate::{
    Base, Instance, MessageFault, Pointer, Reading,
    fault::FaultKind,
    member::{Read, at},
    model::{Message, Vocabulary},
};
use semgate_contexts::{
    NAMING_MEMBERS, Performative,
    json::{Json, Object},
};

/// The longest name of an entry in a map of concepts: as long as the name of a concept may be.
const MAX_ENTRY_NAME: usize = 64;

/// Reads content into the message's instances. Content that names no concept becomes the message's gap; with
/// [`Reading::untyped`], a whole object without any name becomes an instance without one.
///
/// # Errors
/// Content that is not an object, or more concepts than the limit. In one object, two naming members, or a naming member in
/// another case of letters or without a string. An entry of a map whose name is not an identifier.
pub(crate) fn read<'j>(
    json: &'j Json<'j>,
    base: &Base,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let Json::Object(object) = json else {
        return Err(MessageFault::malformed(base.as_str(), "is not an object"));
    };
    let push = |instance: Instance<'j>, out: &mut Message<'j>| {
        if out.instances.len() >= reading.max_concepts {
            return Err(MessageFault {
                kind: FaultKind::TooComplex,
                path: base.as_str().to_owned(),
                what: "holds more concepts than the limit",
            });
        }
        out.instances.push(instance);
        Ok(())
    };
    let of = Vocabulary::Context;
    if reading.untyped && !object.is_empty() && !names_a_concept(json) {
        let pointer = Pointer { base: base.clone(), key: None };
        return push(Instance { of, name: "", naming: "", pointer, object, performative }, out);
    }
    let take = |key: Option<&'j str>, object: &'j Object<'j>, out: &mut Message<'j>| -> Read<Named> {
        let pointer = Pointer { base: base.clone(), key };
        let Some((naming, name)) = naming(object, &pointer)? else { return Ok(Named::No) };
        push(Instance { of, name, naming, pointer, object, performative }, out)?;
        Ok(Named::Yes)
    };
    if let Named::Yes = take(None, object, out)? {
        return Ok(());
    }
    if object.is_empty() {
        out.note_gap(Pointer { base: base.clone(), key: None }, "is empty");
    }
    for (key, value) in object.iter() {
        entry_name(key, base)?;
        match value {
            Json::Object(inner) => {
                if let Named::No = take(Some(key), inner, out)? {
                    out.note_gap(Pointer { base: base.clone(), key: Some(key) }, "names no concept");
                }
            }
            _ => out.note_gap(Pointer { base: base.clone(), key: Some(key) }, "is not a concept"),
        }
    }
    Ok(())
}

/// Returns true if the object or an entry of it has a naming member, in any case of letters. Without one, [`read`] finds no
/// concept in the content.
pub(crate) fn names_a_concept(json: &Json<'_>) -> bool {
    let names = |object: &Object<'_>| {
        NAMING_MEMBERS.iter().any(|member| object.get(member).is_some())
            || object.case_variant_of(&NAMING_MEMBERS).is_some()
    };
    json.as_object().is_some_and(|object| {
        names(object) || object.iter().any(|(_, value)| value.as_object().is_some_and(names))
    })
}

/// Reads the name of an entry. The sender chooses it and no schema judges it, so it cannot hold a sentence (F0-34).
fn entry_name(name: &str, base: &Base) -> Read<()> {
    let fits = (1..=MAX_ENTRY_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if fits {
        return Ok(());
    }
    Err(MessageFault::malformed(
        base.as_str(),
        "has an entry whose name is not 1 to 64 letters, digits, `_`, `-` or `.`",
    ))
}

enum Named {
    Yes,
    No,
}

/// The one naming member and the name. Refuses a naming member that is not a string, since it has two readings.
fn naming<'j>(object: &'j Object<'j>, pointer: &Pointer<'_>) -> Read<Option<(&'static str, &'j str)>> {
    if let Some((key, _)) = object.case_variant_of(&NAMING_MEMBERS) {
        let path = at(&pointer.to_string(), key);
        return Err(MessageFault::malformed(path, "is a known member in different case"));
    }
    let mut naming = None;
    for member in NAMING_MEMBERS {
        let Some(value) = object.get(member) else { continue };
        if naming.replace((member, value)).is_some() {
            return Err(MessageFault::malformed(pointer.to_string(), "names its type with two members"));
        }
    }
    match naming {
        None => Ok(None),
        Some((member, Json::String(name))) => Ok(Some((member, name))),
        Some((member, _)) => Err(MessageFault::malformed(
            at(&pointer.to_string(), member),
            "does not name its type with a string",
        )),
    }
}
