//! Places of A2A that hold metadata, in both versions. On a route that admits data it is judged, and nothing is removed.

use super::{
    Path, Walk, keys,
    shape::{
        Is::{self, Items, Metadata},
        Shape, Unknown,
    },
};
use semgate_contexts::json::{Json, folded};

const fn closed(known: &'static [(&'static str, Is)]) -> Shape {
    Shape { known, unknown: Unknown::Stays, meta: None }
}

static PART: Shape = closed(&[("metadata", Metadata)]);
static MESSAGE: Shape = closed(&[("parts", Items(&PART)), ("metadata", Metadata)]);
static STATUS: Shape = closed(&[("message", Is::Object(&MESSAGE))]);
static ARTIFACT: Shape = closed(&[("parts", Items(&PART)), ("metadata", Metadata)]);
/// Members of tasks and of updates, which 0.3 writes without a name of theirs.
const TASK: &[(&str, Is)] = &[
    ("status", Is::Object(&STATUS)),
    ("artifact", Is::Object(&ARTIFACT)),
    ("artifacts", Items(&ARTIFACT)),
    ("history", Items(&MESSAGE)),
    ("metadata", Metadata),
];
static THING: Shape = closed(TASK);
static PARAMS: Shape = closed(&[("message", Is::Object(&MESSAGE)), ("metadata", Metadata)]);
static RESULT: Shape = closed(&[
    ("message", Is::Object(&MESSAGE)),
    ("task", Is::Object(&THING)),
    ("tasks", Items(&THING)),
    ("statusUpdate", Is::Object(&THING)),
    ("artifactUpdate", Is::Object(&THING)),
    ("status", Is::Object(&STATUS)),
    ("artifact", Is::Object(&ARTIFACT)),
    ("artifacts", Items(&ARTIFACT)),
    ("history", Items(&MESSAGE)),
    ("metadata", Metadata),
]);

/// One message: of JSON-RPC, or its parameters or result alone.
pub(crate) fn message<'j>(walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
    if walk.reading.admit.data {
        return;
    }
    let Json::Object(envelope) = json else { return };
    if envelope.get("jsonrpc").is_none() {
        return walk.part(&Path::ROOT, json, &RESULT);
    }
    for (key, value) in envelope.iter() {
        let path = Path::ROOT.member(key);
        match key {
            "params" => walk.part(&path, value, &PARAMS),
            "result" => walk.part(&path, value, &RESULT),
            _ => {}
        }
    }
}

impl<'j> Walk<'_, 'j> {
    fn part(&mut self, path: &Path<'_>, json: &'j Json<'j>, shape: &Shape) {
        let Json::Object(object) = json else { return };
        // a message of 0.3 is the result itself
        let is_message = object.get("kind").and_then(Json::as_str) == Some("message");
        self.object(path, object, if is_message { &MESSAGE } else { shape });
    }

    /// `metadata`: keys that begin as URNs of contexts do, the claim among them, and those of traces stay.
    pub(super) fn metadata(&mut self, path: &Path<'_>, member: &str, json: &'j Json<'j>) {
        let extension = self.reading.extension;
        self.keys(path, member, json, |key, value| {
            key == extension || is_context_key(extension, key) || keys::traces(key, value)
        });
    }
}

/// True of a key that begins as the URNs of contexts do, in any case of letters: the claim, or a key of another context.
pub(crate) fn is_context_key(extension: &str, key: &str) -> bool {
    let line = extension.rsplitn(3, ':').nth(2).unwrap_or_default();
    let key: String = folded(key).collect();
    key.strip_prefix(line).is_some_and(|rest| rest.starts_with(':'))
}
