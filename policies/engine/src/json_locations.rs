//! Locations in `entities.json` and `limits.json`. The strict reader keeps none, so a text with faults is read again.

use std::collections::HashMap;

use semgate_contexts::json;
use serde_json::value::RawValue;

use crate::parse::location;
use crate::{Location, PolicyFault};

/// Faults of one file that are located; each takes a look at the whole file.
const MAX_LOCATED: usize = 64;

/// Characters of a member name that a pointer repeats.
const MAX_NAME: usize = 64;

/// The location of what the strict reader refused; the file alone for a text that is too large.
pub(crate) fn of_fault(file: &str, text: &[u8], fault: json::Fault) -> Location {
    match fault {
        json::Fault::DuplicateKey { offset } | json::Fault::Malformed { offset, .. } => {
            // up to the fault it is UTF-8
            let before = text.get(..offset).unwrap_or_default();
            location(file, &String::from_utf8_lossy(before), before.len())
        }
        _ => of_file(file),
    }
}

/// The file alone.
pub(crate) fn of_file(file: &str) -> Location {
    Location { file: file.to_owned(), line: 0, column: 0 }
}

/// The pointer of a member that an object must not have, or of the object if the name is not fit to repeat.
pub(crate) fn member(object: &str, name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if plain && (1..=MAX_NAME).contains(&name.len()) { format!("{object}/{name}") } else { object.to_owned() }
}

/// Gives faults of a JSON file the location of their pointers. The strict reader accepted the text.
pub(crate) fn locate(file: &str, text: &[u8], faults: &mut [PolicyFault]) {
    for fault in faults.iter_mut().take(MAX_LOCATED) {
        if let PolicyFault::Json { location, pointer, .. } = fault {
            *location = at(file, text, pointer);
        }
    }
}

/// The location of a JSON Pointer: the name of a member, the beginning of an item. A pointer to what is missing has the location of the
/// nearest value above it.
pub(crate) fn at(file: &str, text: &[u8], pointer: &str) -> Location {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let offset_of = |raw: &RawValue| raw.get().as_ptr().addr().saturating_sub(text.as_ptr().addr());
    let Ok(mut here) = serde_json::from_str::<&RawValue>(text) else { return of_file(file) };
    let mut offset = offset_of(here);
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let members = serde_json::from_str::<HashMap<String, &RawValue>>(here.get());
        let (next, quoted) = match members {
            Ok(members) => (members.get(&name).copied(), serde_json::to_string(&name).ok()),
            Err(_) => {
                let items: Vec<&RawValue> = serde_json::from_str(here.get()).unwrap_or_default();
                (name.parse().ok().and_then(|at: usize| items.get(at).copied()), None)
            }
        };
        let Some(next) = next else { break };
        let value = offset_of(next);
        let named = quoted.and_then(|quoted| text.get(..value)?.rfind(&quoted));
        (here, offset) = (next, named.unwrap_or(value));
    }
    location(file, text, offset)
}

#[cfg(test)]
mod tests;
