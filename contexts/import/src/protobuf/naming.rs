//! Names of terms and definitions for messages, enumerations and methods.

use std::collections::{BTreeMap, BTreeSet};

use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use semgate_contexts::RESERVED_NAMES;

use super::well_known;
use crate::names::{MAX_NAME, marked, word};

/// Names by the full names of their sources, all distinct.
#[derive(Debug, Default)]
pub(super) struct Names {
    own: BTreeMap<String, String>,
    /// Messages that are concepts.
    concepts: BTreeSet<String>,
}

impl Names {
    /// The name for a source with this full name.
    pub fn of(&self, full: &str) -> &str {
        self.own.get(full).map_or("", String::as_str)
    }

    /// The reference to the schema of a message.
    pub fn reference(&self, full: &str) -> String {
        let section = if self.concepts.contains(full) { "concepts" } else { "$defs" };
        format!("#/{section}/{}", self.of(full))
    }
}

/// Names for everything that these messages and methods reach. A short name counts where it is the only one.
pub(super) fn names(wanted: &[MessageDescriptor], methods: &[MethodDescriptor]) -> Names {
    let concepts: BTreeSet<String> = wanted.iter().map(|message| message.full_name().to_owned()).collect();
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    let sides = methods.iter().flat_map(|method| [method.input(), method.output()]);
    let mut waiting: Vec<MessageDescriptor> = wanted.iter().cloned().chain(sides).collect();
    while let Some(message) = waiting.pop() {
        if well_known::is_known(message.full_name())
            || sources
                .insert(message.full_name().to_owned(), short(message.full_name(), message.package_name()))
                .is_some()
        {
            continue;
        }
        for field in message.fields() {
            see(field.kind(), &mut sources, &mut waiting);
        }
    }
    for method in methods {
        sources.insert(method.full_name().to_owned(), word(method.name()));
    }
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for short in sources.values() {
        *counts.entry(short).or_default() += 1;
    }
    let (mut own, mut used) = (BTreeMap::new(), BTreeSet::new());
    for (full, short) in &sources {
        let single = counts.get(short) == Some(&1);
        let name = if single { short.clone() } else { word(full) };
        let is_free = |name: &str| {
            let task = name.strip_suffix("_results").unwrap_or(name);
            name.len() <= MAX_NAME
                && !RESERVED_NAMES.contains(&name)
                && !used.contains(name)
                && (task == name || !used.contains(task))
        };
        let name = if is_free(&name) { name } else { marked(&name, full, is_free) };
        used.insert(name.clone());
        own.insert(full.clone(), name);
    }
    Names { own, concepts }
}

/// Adds the message or enumeration of a field; of a map, that of its values.
fn see(kind: Kind, sources: &mut BTreeMap<String, String>, waiting: &mut Vec<MessageDescriptor>) {
    match kind {
        Kind::Message(message) if message.is_map_entry() => {
            see(message.map_entry_value_field().kind(), sources, waiting);
        }
        Kind::Message(message) => waiting.push(message),
        Kind::Enum(kind) => {
            sources.insert(kind.full_name().to_owned(), short_enum(&kind));
        }
        _ => {}
    }
}

fn short_enum(kind: &EnumDescriptor) -> String {
    short(kind.full_name(), kind.package_name())
}

/// The name within its package: `Outer_Inner`.
fn short(full: &str, package: &str) -> String {
    let within = full.strip_prefix(package).map_or(full, |rest| rest.trim_start_matches('.'));
    word(within)
}
