//! Marks of free text, which policies ask about and which schemas do not show.

use crate::term::FieldType;

/// Where a string that was marked as free text is one no longer, though it may still hold prose: a JSON Pointer into the instance.
pub(super) fn lost(old: &FieldType, new: &FieldType) -> Option<String> {
    match (old.present(), new.present()) {
        (FieldType::Text { free_text: true, .. }, FieldType::Text { free_text: false, values: None, .. }) => {
            Some(String::new())
        }
        (FieldType::Text { free_text: true, .. }, FieldType::Opaque) => Some(String::new()),
        (FieldType::Array(old), FieldType::Array(new)) => lost(old, new).map(|path| format!("/items{path}")),
        (FieldType::Record(old), FieldType::Record(new)) => old.iter().find_map(|(name, field)| {
            let path = lost(&field.kind, &new.get(name)?.kind)?;
            Some(format!("/properties/{}{path}", name.replace('~', "~0").replace('/', "~1")))
        }),
        _ => None,
    }
}
