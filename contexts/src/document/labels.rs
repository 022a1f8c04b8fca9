//! The member `labels` of a document: the words by which people call codes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::envelope::{member, path, section, within};
use super::{DocumentFault, DocumentLimits};
use crate::label::{Labels, folded_label};
use crate::schema::is_unseen;

const CODES: &str = "must be a list of codes of that code list, each once, not empty";
const LABEL: &str = "a label is one line of visible characters, without blanks at its ends";
const SAME: &str = "differs from another label only in case or blanks";

/// The labels of each code list.
pub(super) fn read(
    document: &Map<String, Value>,
    codes: &BTreeMap<String, Vec<String>>,
    limits: &DocumentLimits,
) -> Result<BTreeMap<String, Labels>, DocumentFault> {
    let lists = section(document, "labels")?;
    let list = |(name, labels): (&String, &Value)| {
        let at = path(&["labels", name]);
        let known = codes.get(name).ok_or_else(|| member(&at, "names no code list of this document"))?;
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        let labels = labels.as_object().filter(|labels| !labels.is_empty());
        let labels = labels.ok_or_else(|| member(&at, "must be an object, not empty"))?;
        Ok((name.clone(), labels_of(name, labels, &known, limits)?))
    };
    lists.iter().map(list).collect()
}

fn labels_of(
    list: &str,
    labels: &Map<String, Value>,
    known: &BTreeSet<&str>,
    limits: &DocumentLimits,
) -> Result<Labels, DocumentFault> {
    within(&path(&["labels", list]), "labels", labels.len(), limits.max_labels)?;
    let mut folded = BTreeSet::new();
    let mut read = Labels::new();
    for (label, codes) in labels {
        let at = path(&["labels", list, label]);
        within(&at, "bytes", label.len(), limits.max_code_bytes)?;
        if label.is_empty() || label.trim() != label || label.chars().any(is_unseen) {
            return Err(member(&at, LABEL));
        }
        if !folded.insert(folded_label(label)) {
            return Err(member(&at, SAME));
        }
        read.insert(label.clone(), codes_of(codes, &at, known)?);
    }
    Ok(read)
}

fn codes_of(codes: &Value, at: &str, known: &BTreeSet<&str>) -> Result<Vec<String>, DocumentFault> {
    let codes = codes.as_array().filter(|codes| !codes.is_empty() && codes.len() <= known.len());
    let codes = codes.ok_or_else(|| member(at, CODES))?;
    let mut seen = BTreeSet::new();
    let code = |code: &Value| {
        let code = code.as_str().filter(|code| known.contains(code) && seen.insert((*code).to_owned()));
        code.map(str::to_owned).ok_or_else(|| member(at, CODES))
    };
    codes.iter().map(code).collect()
}
