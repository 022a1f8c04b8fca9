//! Members of LDP that are absent, and confidence that nobody verified.
//!
//! Some clients write every member of every type, `null` where it is not the type's. Such a member is absent. Its removal
//! says nothing, so no record names it.

use super::{Path, Walk};
use crate::ldp::is_verified;
use semgate_contexts::json::{Json, Object};

/// Members of a body whose content belongs to the agents: `null` may be a value there.
const CONTENT: [&str; 4] = ["input", "output", "claim", "evidence"];

/// Members of a capability that no gateway and no stock client reads.
const SCHEMAS: [&str; 2] = ["input_schema", "output_schema"];

/// One message, a card or a manifest.
pub(crate) fn message<'j>(walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
    let Json::Object(object) = json else { return };
    let Some(body) = object.get("body").and_then(Json::as_object) else {
        return walk.absent(&Path::ROOT, object);
    };
    walk.nulls(object);
    walk.confidence(&Path::ROOT, object);
    let path = Path::ROOT.member("body");
    for (key, value) in body.iter() {
        if value.is_null() {
            walk.removal.values.push(value);
        } else if !CONTENT.contains(&key) && key != "provenance" {
            walk.absent_in(&path.member(key), value);
        }
    }
    walk.confidence(&path, body);
}

impl<'j> Walk<'_, 'j> {
    fn nulls(&mut self, object: &'j Object<'j>) {
        self.removal.values.extend(object.iter().map(|(_, value)| value).filter(|value| value.is_null()));
    }

    /// Removes absent members at every depth, and the schemas of capabilities.
    fn absent(&mut self, path: &Path<'_>, object: &'j Object<'j>) {
        for (key, value) in object.iter() {
            if value.is_null() {
                self.removal.values.push(value);
            } else if SCHEMAS.contains(&key) {
                self.removal.add(path, key, value);
            } else {
                self.absent_in(&path.member(key), value);
            }
        }
    }

    fn absent_in(&mut self, path: &Path<'_>, json: &'j Json<'j>) {
        match json {
            Json::Object(object) => self.absent(path, object),
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.absent_in(&path.item(at), item);
                }
            }
            _ => {}
        }
    }

    /// Removes a confidence that nobody but the producer vouches for.
    fn confidence(&mut self, path: &Path<'_>, holder: &'j Object<'j>) {
        let Some(Json::Object(provenance)) = holder.get("provenance") else { return };
        let path = path.member("provenance");
        self.nulls(provenance);
        if let Some(confidence) = provenance.get("confidence").filter(|value| !value.is_null())
            && !is_verified(provenance)
        {
            self.removal.add(&path, "confidence", confidence);
        }
    }
}
