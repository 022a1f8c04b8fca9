//! Writes JSON without some members. The rest keeps its order and its text, including numbers.

use semgate_contexts::json::{Json, Object};
use semgate_policies::FieldPath;
use std::{collections::HashSet, fmt::Write};

/// Members to remove, with their object.
pub(crate) struct Cut<'c> {
    pub object: &'c Object<'c>,
    pub paths: Vec<&'c FieldPath>,
}

/// Remaining paths below an object.
type Paths<'p> = Vec<&'p [Box<str>]>;

#[derive(Default)]
struct Writer<'w> {
    out: String,
    cuts: &'w [Cut<'w>],
    /// Addresses of values to remove.
    gone: HashSet<*const ()>,
    matched: usize,
    /// Address of a tool result's blocks, and their replacement.
    instead: Option<(*const (), String)>,
}

/// The JSON without the cut members; `None` if an object with cuts was not found.
///
/// With `mirrored`, it is a tool result whose blocks only repeat the structured content. They repeat the
/// shortened content then.
pub(crate) fn without(json: &Json<'_>, cuts: &[Cut<'_>], mirrored: bool) -> Option<Vec<u8>> {
    let instead = if mirrored { Some(blocks(json, cuts)?) } else { None };
    let mut writer = Writer { cuts, instead, ..Writer::default() };
    writer.value(json, &Paths::new());
    (writer.matched == cuts.len()).then(|| writer.out.into_bytes())
}

/// The JSON without these member values.
pub(crate) fn leaving_out(json: &Json<'_>, values: &[&Json<'_>]) -> Vec<u8> {
    let gone = values.iter().map(|value| std::ptr::from_ref(*value).cast()).collect();
    let mut writer = Writer { gone, ..Writer::default() };
    writer.value(json, &Paths::new());
    writer.out.into_bytes()
}

/// The array of blocks, and its replacement: one block with the shortened structured content.
fn blocks(json: &Json<'_>, cuts: &[Cut<'_>]) -> Option<(*const (), String)> {
    let result = json.as_object()?.get("result")?.as_object()?;
    let mut structured = Writer { cuts, ..Writer::default() };
    structured.value(result.get("structuredContent")?, &Paths::new());
    if structured.matched != cuts.len() {
        return None;
    }
    let content = result.get("content")?;
    let block = serde_json::json!([{"type": "text", "text": structured.out}]).to_string();
    let none = content.as_array()?.is_empty();
    Some((std::ptr::from_ref(content).cast(), if none { "[]".to_owned() } else { block }))
}

impl Writer<'_> {
    fn value(&mut self, json: &Json<'_>, paths: &Paths<'_>) {
        if let Some((blocks, text)) = &self.instead
            && std::ptr::eq(*blocks, std::ptr::from_ref(json).cast())
        {
            self.out.push_str(text);
            return;
        }
        match json {
            Json::Null => self.out.push_str("null"),
            Json::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => self.out.push_str(number.text()),
            Json::String(text) => self.text(text),
            Json::Array(items) => {
                self.out.push('[');
                for (n, item) in items.iter().enumerate() {
                    self.comma(n > 0);
                    self.value(item, paths);
                }
                self.out.push(']');
            }
            Json::Object(object) => self.object(object, paths),
        }
    }

    fn object(&mut self, object: &Object<'_>, paths: &Paths<'_>) {
        let mut paths = paths.clone();
        let same = |cut: &&Cut<'_>| {
            std::ptr::eq(std::ptr::from_ref(cut.object).cast::<()>(), std::ptr::from_ref(object).cast::<()>())
        };
        for cut in self.cuts.iter().filter(same) {
            self.matched += 1;
            paths.extend(cut.paths.iter().map(|path| &***path));
        }
        self.out.push('{');
        let mut first = true;
        for (name, value) in object.iter() {
            let here = |path: &&[Box<str>]| path.first().is_some_and(|first| **first == *name);
            let below: Paths<'_> =
                paths.iter().filter(|path| here(path)).filter_map(|path| path.get(1..)).collect();
            let gone = self.gone.contains(&std::ptr::from_ref(value).cast::<()>());
            if gone || below.iter().any(|rest| rest.is_empty()) {
                continue;
            }
            self.comma(!first);
            first = false;
            self.text(name);
            self.out.push(':');
            self.value(value, &below);
        }
        self.out.push('}');
    }

    fn comma(&mut self, wanted: bool) {
        if wanted {
            self.out.push(',');
        }
    }

    fn text(&mut self, text: &str) {
        let _ = write!(self.out, "{}", serde_json::Value::from(text));
    }
}

#[cfg(test)]
mod tests;
