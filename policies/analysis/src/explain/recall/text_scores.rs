//! The scores of text in a record.

use semgate_contexts::json::{Json, Object};
use semgate_policies::{TEXT_SCORES, TextScores, TextWants};

use super::number;

/// The scores of the text as they were made for the decision; a record holds those alone that a policy read.
pub(super) fn of(kept: &Object<'_>) -> Result<TextScores, String> {
    let Some(own) = kept.get("text").and_then(Json::as_object) else { return Ok(TextScores::NONE) };
    let has = |name: &str| own.get(name).is_some();
    let [hidden, markers, injection, unusual] = TEXT_SCORES.map(has);
    let score = |name: &str| match own.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(_) => number(own, name).map(Some),
    };
    let [some_hidden, some_markers, some_injection, some_unusual] = TEXT_SCORES.map(score);
    Ok(TextScores {
        made: TextWants { hidden, markers, injection, unusual },
        hidden: some_hidden?.unwrap_or_default(),
        markers: some_markers?.unwrap_or_default(),
        injection: some_injection?.unwrap_or_default(),
        unusual: some_unusual?,
    })
}
