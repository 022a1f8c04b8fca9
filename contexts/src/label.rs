//! Labels: the words by which people call codes.

use std::collections::BTreeMap;

/// The labels of one code list, each with the codes that it may mean, in the order of the document.
pub type Labels = BTreeMap<String, Vec<String>>;

/// The form in which labels are compared: lower case, one blank between words.
#[must_use]
pub fn folded_label(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
