//! An interaction that is being written as the judged JSON.

use super::form;
use crate::{
    MessageFault,
    member::{Read, array, at, required, string},
    text,
};
use semgate_contexts::json::Json;

/// Members that a dialect carries and nobody here follows: an agent does not choose channels, recipients or the gateway's
/// buttons. They are written beside the interaction, removed before it is judged, and recorded.
pub(crate) const IGNORED: [&str; 21] = [
    "actions",
    "agentId",
    "assignTo",
    "assignToGroups",
    "callback_secret",
    "channel",
    "config",
    "created_at",
    "interaction_id",
    "links",
    "meta",
    "millis",
    "origin",
    "originV",
    "reject_options",
    "required_factors",
    "sessionId",
    "signature",
    "state",
    "updateForReviewId",
    "workflow",
];

/// The four types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Permission,
    Clarification,
    Solicitation,
    Notification,
}

impl Kind {
    /// Reads a type in either family of the paper.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "PERMISSION" | "CONFIRMATION" => Some(Self::Permission),
            "CLARIFICATION" | "QUESTION" => Some(Self::Clarification),
            "SOLICITATION" => Some(Self::Solicitation),
            "NOTIFICATION" | "ALERT" => Some(Self::Notification),
            _ => None,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "PERMISSION",
            Self::Clarification => "CLARIFICATION",
            Self::Solicitation => "SOLICITATION",
            Self::Notification => "NOTIFICATION",
        }
    }
}

/// An object that is being written. Each name is written once.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    names: Vec<&'static str>,
}

impl Draft {
    pub(super) fn put(&mut self, name: &'static str, value: impl FnOnce(&mut String)) {
        self.names.push(name);
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        text::string(name, &mut self.text);
        self.text.push(':');
        value(&mut self.text);
    }

    /// Writes a value as it is.
    pub(super) fn json(&mut self, name: &'static str, value: &Json<'_>) {
        self.put(name, |out| text::write(value, out));
    }

    pub(super) fn string(&mut self, name: &'static str, value: &str) {
        self.put(name, |out| text::string(value, out));
    }

    /// Writes a member that is removed and recorded. `null` is absent.
    pub(super) fn ignored(&mut self, name: &str, value: &Json<'_>) {
        let known = IGNORED.iter().find(|one| **one == name).filter(|one| !self.has(one));
        if let Some(name) = known.filter(|_| !value.is_null()) {
            self.json(name, value);
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Writes the type, and the target of a request that names none.
    ///
    /// # Errors
    /// `malformed` without a target, or if the members do not fit the type: a clarification offers options, a solicitation
    /// asks for data, and no other type has either.
    pub(super) fn finish(mut self, kind: Kind, default_human: Option<&str>) -> Read<Vec<u8>> {
        if !self.has("target") {
            let human = required(default_human, "", "target")?;
            self.string("target", human);
        }
        self.string("type", kind.as_str());
        let needs = [
            ("options", Kind::Clarification, "is missing: a clarification offers options"),
            ("required_input", Kind::Solicitation, "is missing: a solicitation states a form"),
        ];
        for (name, of, what) in needs {
            if kind == of && !self.has(name) {
                return Err(MessageFault::malformed(at("", name), what));
            }
            if kind != of && self.has(name) {
                return Err(MessageFault::malformed(at("", name), "does not belong to this type"));
            }
        }
        if self.has("secret") && kind != Kind::Solicitation {
            return Err(MessageFault::malformed("/secret", "does not belong to this type"));
        }
        Ok(self.done())
    }

    pub(super) fn done(mut self) -> Vec<u8> {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.text.push('}');
        self.text.into_bytes()
    }

    /// Writes the names of a list of options, and offers each once.
    ///
    /// # Errors
    /// `malformed` for anything but a list of objects with a name.
    pub(super) fn options(&mut self, value: &Json<'_>, path: &str, member: &str) -> Read<()> {
        let mut names = Vec::new();
        for option in array(value, path, member)? {
            let name = option.as_object().and_then(|option| option.get("name"));
            names.push(string(required(name, &at(path, member), "name")?, path, member)?);
        }
        if !names.is_empty() {
            self.put("options", |out| form::strings(&names, out));
        }
        Ok(())
    }
}

/// The first line of a text, for a request that has no summary: at most 150 bytes.
pub(super) fn first_line(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let end = line.char_indices().map(|(at, _)| at).take_while(|at| *at <= 150).last().unwrap_or(0);
    if line.len() <= 150 { line } else { line.get(..end).unwrap_or_default() }
}
