//! Settings of earlier versions that have no meaning any more.

use super::ConfigFault;

/// The table of each setting (empty for the top of the file), its key, and the advice to the operator who has it.
const RETIRED: &[(&str, &str, &str)] = &[
    ("limits", "text_artifacts", APPENDED),
    ("limits", "told_text", APPENDED),
    ("limits", "told_versions", APPENDED),
    ("limits", "told_mixed", APPENDED),
    ("limits", "told_order", APPENDED),
    ("limits", "push_texts", APPENDED),
    ("", "peer", COMPARED),
    ("limits", "peer_interval", COMPARED),
];

const APPENDED: &str =
    "left out: appended text is judged on its own stream alone, within `limits.appended_text`";

const COMPARED: &str =
    "left out: gateways compare no checkpoints; demand cosignatures with `witnesses` of `[[authority]]`";

/// The fault of a file that has a retired setting; none where it has no such setting, or is no TOML.
pub(super) fn fault(text: &str) -> Option<ConfigFault> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let has = |table: &str, key: &str| match (table, file.get(table)) {
        ("", _) => file.contains_key(key),
        (_, Some(toml::Value::Table(table))) => table.contains_key(key),
        _ => false,
    };
    let (table, key, must) = RETIRED.iter().find(|(table, key, _)| has(table, key))?;
    let key = if table.is_empty() { (*key).to_owned() } else { format!("{table}.{key}") };
    Some(ConfigFault::value(key, *must))
}
