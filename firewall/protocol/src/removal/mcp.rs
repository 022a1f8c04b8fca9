//! Shapes of MCP: the members that the readers of the binding and the protocol context know.

use super::{
    Author, Path, Walk,
    keys::traces,
    shape::{
        Carried,
        Is::{self, Blocks, Capabilities, Items, Named, Plain, Tools, Value},
        Shape, Unknown,
    },
};
use crate::{
    mcp::{Operation, Revision},
    trace,
};
use semgate_contexts::json::{Json, Object};

pub(super) const META: &str = "_meta";

/// Keys of `_meta` that a place knows, apart from those in reserved prefixes. A trace key counts only with a value that passes.
const OF_REQUEST: &[&str] = &["progressToken", "traceparent", "tracestate", "baggage"];
const OF_RESULT: &[&str] = trace::NAMES;
pub(super) const INSIDE: &[&str] = &[];

/// Capabilities of clients that are carried.
pub(crate) const CLIENT: Carried =
    &[("elicitation", &["form", "url"]), ("roots", &["listChanged"]), ("sampling", &["context"])];

/// Capabilities of servers that are carried.
pub(crate) const SERVER: Carried = &[
    ("completions", &[]),
    ("logging", &[]),
    ("prompts", &["listChanged"]),
    ("resources", &["subscribe", "listChanged"]),
    ("tools", &["listChanged"]),
];

/// The longest word, and the most members, of a setting.
const MAX_WORD: usize = 256;
const MAX_MEMBERS: usize = 32;

const fn open(known: &'static [(&'static str, Is)]) -> Shape {
    Shape { known, unknown: Unknown::Goes, meta: None }
}

const fn listed(known: &'static [(&'static str, Is)]) -> Shape {
    Shape { known, unknown: Unknown::Goes, meta: Some(INSIDE) }
}

const fn block(known: &'static [(&'static str, Is)]) -> Shape {
    Shape { known, unknown: Unknown::GoesUnless(OF_BLOCKS), meta: Some(INSIDE) }
}

/// Members with the content of a block.
const OF_BLOCKS: &[&str] = &["type", "text", "data", "blob", "uri", "mimeType", "resource"];

static ICON: Shape = open(&[("src", Plain), ("mimeType", Plain), ("sizes", Plain), ("theme", Plain)]);
static ANNOTATIONS: Shape = open(&[("audience", Plain), ("priority", Plain), ("lastModified", Plain)]);
static IMPLEMENTATION: Shape = open(&[
    ("name", Plain),
    ("version", Plain),
    ("title", Plain),
    ("description", Plain),
    ("websiteUrl", Plain),
    ("icons", Items(&ICON)),
]);

pub(super) static TOOL: Shape = listed(&[
    ("name", Plain),
    ("title", Plain),
    ("description", Plain),
    ("inputSchema", Plain),
    ("outputSchema", Plain),
    ("annotations", Plain),
    ("icons", Items(&ICON)),
    ("execution", Plain),
]);
static RESOURCE: Shape = listed(&[
    ("uri", Plain),
    ("name", Plain),
    ("title", Plain),
    ("description", Plain),
    ("mimeType", Plain),
    ("size", Plain),
    ("icons", Items(&ICON)),
    ("annotations", Is::Object(&ANNOTATIONS)),
]);
static TEMPLATE: Shape = listed(&[
    ("uriTemplate", Plain),
    ("name", Plain),
    ("title", Plain),
    ("description", Plain),
    ("mimeType", Plain),
    ("icons", Items(&ICON)),
    ("annotations", Is::Object(&ANNOTATIONS)),
]);
static ARGUMENT: Shape =
    open(&[("name", Plain), ("title", Plain), ("description", Plain), ("required", Plain)]);
static PROMPT: Shape = listed(&[
    ("name", Plain),
    ("title", Plain),
    ("description", Plain),
    ("icons", Items(&ICON)),
    ("arguments", Items(&ARGUMENT)),
]);
static COMPLETION: Shape = open(&[("values", Plain), ("total", Plain), ("hasMore", Plain)]);
static MESSAGE: Shape = listed(&[("role", Plain), ("content", Blocks)]);
static ROOT: Shape = listed(&[("uri", Plain), ("name", Plain)]);

static TEXT: Shape = block(&[("type", Plain), ("text", Plain), ("annotations", Is::Object(&ANNOTATIONS))]);
static BYTES: Shape = block(&[
    ("type", Plain),
    ("data", Plain),
    ("mimeType", Plain),
    ("annotations", Is::Object(&ANNOTATIONS)),
]);
static LINK: Shape = block(&[
    ("type", Plain),
    ("uri", Plain),
    ("name", Plain),
    ("title", Plain),
    ("description", Plain),
    ("mimeType", Plain),
    ("size", Plain),
    ("icons", Items(&ICON)),
    ("annotations", Is::Object(&ANNOTATIONS)),
]);
static EMBEDDED: Shape = block(&[("type", Plain), ("resource", Is::Object(&CONTENTS))]);
static CONTENTS: Shape = block(&[("uri", Plain), ("mimeType", Plain), ("text", Plain), ("blob", Plain)]);

/// Members of `params` of either side, for all methods: each method closes its own.
const PARAMS: &[(&str, Is)] = &[
    ("protocolVersion", Plain),
    ("clientInfo", Is::Object(&IMPLEMENTATION)),
    ("capabilities", Capabilities(CLIENT)),
    ("cursor", Plain),
    ("name", Plain),
    ("arguments", Plain),
    ("inputResponses", Is::Given),
    ("requestState", Plain),
    ("uri", Plain),
    ("ref", Plain),
    ("argument", Plain),
    ("context", Plain),
    ("level", Plain),
    ("notifications", Plain),
    ("requestId", Plain),
    ("reason", Plain),
    ("progressToken", Plain),
    ("progress", Plain),
    ("total", Plain),
    ("message", Plain),
    ("logger", Plain),
    ("data", Value),
    ("mode", Plain),
    ("url", Plain),
    ("elicitationId", Plain),
    ("requestedSchema", Plain),
    ("messages", Items(&MESSAGE)),
    ("maxTokens", Plain),
    ("systemPrompt", Plain),
    ("temperature", Plain),
    ("includeContext", Plain),
    ("stopSequences", Plain),
    ("modelPreferences", Plain),
];

static REQUEST: Shape = Shape { known: PARAMS, unknown: Unknown::Stays, meta: Some(OF_REQUEST) };
static NOTIFICATION: Shape = Shape { known: PARAMS, unknown: Unknown::Stays, meta: Some(OF_RESULT) };
/// A request inside of a result.
static NEEDED: Shape = Shape {
    known: &[("method", Plain), ("params", Is::Object(&NEEDED_PARAMS))],
    unknown: Unknown::Stays,
    meta: None,
};
static NEEDED_PARAMS: Shape = Shape { known: PARAMS, unknown: Unknown::Stays, meta: Some(INSIDE) };

/// Results of clients.
const BY_CLIENT: &[(&str, Is)] =
    &[("content", Blocks), ("role", Plain), ("model", Plain), ("stopReason", Plain), ("roots", Items(&ROOT))];
/// The fields of an elicited form have names of their own, so that none of them is a block.
const ELICITED: &[(&str, Is)] = &[("action", Plain), ("content", Plain)];

/// Members that name the kind of a result. In another result, a reader could take it for that kind.
const OF_RESULTS: &[&str] = &["resultType", "inputRequests", "inputResponses", "requestState"];

const fn result(known: &'static [(&'static str, Is)]) -> Shape {
    Shape { known, unknown: Unknown::GoesUnless(OF_RESULTS), meta: Some(OF_RESULT) }
}

static INITIALIZED: Shape = result(&[
    ("protocolVersion", Plain),
    ("capabilities", Capabilities(SERVER)),
    ("serverInfo", Is::Object(&IMPLEMENTATION)),
    ("instructions", Plain),
]);
static DISCOVERED: Shape = result(&[
    ("supportedVersions", Plain),
    ("capabilities", Capabilities(SERVER)),
    ("serverInfo", Is::Object(&IMPLEMENTATION)),
    ("instructions", Plain),
    ("ttlMs", Plain),
    ("cacheScope", Plain),
]);
static TOOLS: Shape =
    result(&[("tools", Tools), ("nextCursor", Plain), ("ttlMs", Plain), ("cacheScope", Plain)]);
static RESOURCES: Shape = result(&[
    ("resources", Items(&RESOURCE)),
    ("nextCursor", Plain),
    ("ttlMs", Plain),
    ("cacheScope", Plain),
]);
static TEMPLATES: Shape = result(&[
    ("resourceTemplates", Items(&TEMPLATE)),
    ("nextCursor", Plain),
    ("ttlMs", Plain),
    ("cacheScope", Plain),
]);
static PROMPTS: Shape =
    result(&[("prompts", Items(&PROMPT)), ("nextCursor", Plain), ("ttlMs", Plain), ("cacheScope", Plain)]);
static READ: Shape = result(&[("contents", Items(&CONTENTS)), ("ttlMs", Plain), ("cacheScope", Plain)]);
static PROMPTED: Shape = result(&[("description", Plain), ("messages", Items(&MESSAGE))]);
static CALLED: Shape = result(&[("content", Blocks), ("structuredContent", Plain), ("isError", Plain)]);
static COMPLETED: Shape = result(&[("completion", Is::Object(&COMPLETION))]);
static BARE: Shape = result(&[]);
static INPUT: Shape = result(&[("inputRequests", Named(&NEEDED)), ("requestState", Plain)]);

pub(super) fn answered(operation: Operation) -> &'static Shape {
    match operation {
        Operation::Initialize => &INITIALIZED,
        Operation::Discover => &DISCOVERED,
        Operation::ListTools => &TOOLS,
        Operation::ListResources => &RESOURCES,
        Operation::ListResourceTemplates => &TEMPLATES,
        Operation::ListPrompts => &PROMPTS,
        Operation::ReadResource => &READ,
        Operation::GetPrompt => &PROMPTED,
        Operation::CallTool => &CALLED,
        Operation::Complete => &COMPLETED,
        _ => &BARE,
    }
}

/// One JSON-RPC message.
pub(crate) fn message<'j>(walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
    let Json::Object(envelope) = json else { return };
    let is_request = envelope.get("id").is_some();
    for (key, value) in envelope.iter() {
        let path = Path::ROOT.member(key);
        match (key, value) {
            ("params" | "result" | "error", Json::Null) => walk.removal.add(&Path::ROOT, key, value),
            ("params", Json::Object(params)) => {
                walk.object(&path, params, if is_request { &REQUEST } else { &NOTIFICATION });
            }
            ("result", Json::Object(result)) => walk.result(&path, result),
            _ => {}
        }
    }
}

impl<'j> Walk<'_, 'j> {
    fn result(&mut self, path: &Path<'_>, result: &'j Object<'j>) {
        let Author::Server { asked, .. } = self.author else {
            return self.given(path, result, OF_RESULT);
        };
        let Some(asked) = asked else { return };
        let kind = result.get("resultType");
        if let Some(value) = kind.filter(|kind| asked.version != Revision::V2026_07_28 || kind.is_null()) {
            // earlier versions do not have it
            self.removal.add(path, "resultType", value);
        }
        let needs = kind.and_then(Json::as_str) == Some("input_required");
        let input = needs && asked.version == Revision::V2026_07_28;
        self.object(path, result, if input { &INPUT } else { answered(asked.operation) });
    }

    /// The result of a client, which answers an elicitation or something else.
    pub(super) fn given(&mut self, path: &Path<'_>, result: &'j Object<'j>, meta: &'static [&'static str]) {
        let known = if result.get("action").is_some() { ELICITED } else { BY_CLIENT };
        self.object(path, result, &Shape { known, unknown: Unknown::Stays, meta: Some(meta) });
    }

    /// A `_meta`, and the values under the protocol's keys in it.
    pub(super) fn meta(&mut self, path: &Path<'_>, value: &'j Json<'j>, known: &[&str]) {
        if value.is_null() {
            return self.removal.add(path, META, value);
        }
        let Json::Object(members) = value else { return };
        let passes = |key: &str, value: &Json<'_>| !trace::NAMES.contains(&key) || traces(key, value);
        self.keys(path, META, value, |key, value| known.contains(&key) && passes(key, value));
        let path = path.member(META);
        for (key, value) in members.iter() {
            let here = path.member(key);
            match (key, value) {
                ("io.modelcontextprotocol/clientCapabilities", Json::Object(object)) => {
                    self.capabilities(&here, object, CLIENT);
                }
                (
                    "io.modelcontextprotocol/clientInfo" | "io.modelcontextprotocol/serverInfo",
                    Json::Object(object),
                ) => self.object(&here, object, &IMPLEMENTATION),
                _ => {}
            }
        }
    }

    /// A content block, by its type. One of another type stays, and is refused.
    pub(super) fn block(&mut self, path: &Path<'_>, object: &'j Object<'j>) {
        let shape = match object.get("type").and_then(Json::as_str) {
            Some("text") => &TEXT,
            Some("image" | "audio") => &BYTES,
            Some("resource_link") => &LINK,
            Some("resource") => &EMBEDDED,
            _ => return,
        };
        self.object(path, object, shape);
    }

    /// Keeps the capabilities and settings that are carried, where they hold flags, numbers and words.
    pub(super) fn capabilities(&mut self, path: &Path<'_>, object: &'j Object<'j>, carried: Carried) {
        for (name, value) in object.iter() {
            let Some((_, settings)) = carried.iter().find(|(known, _)| *known == name) else {
                self.removal.add(path, name, value);
                continue;
            };
            if value.is_null() {
                self.removal.add(path, name, value);
            }
            let here = path.member(name);
            for (setting, value) in value.as_object().into_iter().flat_map(Object::iter) {
                if !settings.contains(&setting) {
                    self.removal.add(&here, setting, value);
                    continue;
                }
                match value {
                    Json::Object(members) => self.setting(&here.member(setting), members),
                    value if is_word(value) => {}
                    value => self.removal.add(&here, setting, value),
                }
            }
        }
    }

    fn setting(&mut self, path: &Path<'_>, members: &'j Object<'j>) {
        for (at, (name, value)) in members.iter().enumerate() {
            let named = !name.is_empty() && name.len() <= 128 && name.bytes().all(|b| b.is_ascii_graphic());
            if at >= MAX_MEMBERS || !named || !is_word(value) {
                self.removal.add(path, name, value);
            }
        }
    }
}

/// A flag, a number or a word.
fn is_word(json: &Json<'_>) -> bool {
    match json {
        Json::Bool(_) | Json::Number(_) => true,
        Json::String(text) => text.len() <= MAX_WORD && text.bytes().all(|b| b.is_ascii_graphic()),
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}
