//! Members of A2H's dialects that nobody here follows, such as the channel that an agent names.

use super::{Path, Walk};
use crate::a2h::IGNORED;
use semgate_contexts::json::Json;

/// One request, as it is judged.
pub(crate) fn message<'j>(walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
    let Json::Object(object) = json else { return };
    for (key, value) in object.iter().filter(|(key, _)| IGNORED.contains(key)) {
        walk.removal.add(&Path::ROOT, key, value);
    }
}
