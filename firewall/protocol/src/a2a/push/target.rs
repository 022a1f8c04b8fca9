//! Where push configurations send, read out of a request or an answer, and written anew (a named transformation, `docs/design/firewall.md` §1): all the
//! rest keeps its meaning, member for member and digit for digit.

use super::super::{Operation, Version};
use crate::{Form, text};
use semgate_contexts::json::{Json, Object};
use std::fmt;

/// The member that nests the configuration in 0.3.
const NESTED: &str = "pushNotificationConfig";

/// The URL of one push configuration, and the credentials for it.
#[derive(Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// The URL, as its sender wrote it.
    pub url: String,
    /// `token`, which goes along with each notification.
    pub token: Option<String>,
    /// `authentication`, as JSON text.
    pub authentication: Option<String>,
}

/// A token is a secret, and so may be a URL.
impl fmt::Debug for PushTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("target of a push configuration")
    }
}

impl PushTarget {
    fn of(config: &Object<'_>) -> Option<Self> {
        let filled = |name: &str| config.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let authentication = config.get("authentication").map(|json| {
            let mut out = String::new();
            text::write(json, &mut out);
            out
        });
        let (url, token) = (filled("url")?.to_owned(), filled("token").map(str::to_owned));
        Some(Self { url, token, authentication })
    }
}

/// The push configurations of one request or answer that was read without fault.
#[derive(Debug)]
pub struct PushTargets<'j> {
    root: &'j Json<'j>,
    configs: Vec<&'j Object<'j>>,
}

impl<'j> PushTargets<'j> {
    /// The configurations that a request sets: the configuration itself, or the one beside a message. One at most.
    pub fn in_request(json: &'j Json<'j>, form: Form, operation: Operation, version: Version) -> Self {
        let params = if rpc(form) { member(json, "params") } else { Some(json) };
        let config = match operation {
            Operation::CreateTaskPushNotificationConfig => params.and_then(|params| one(params, version)),
            _ if operation.sends() => {
                let settings = params.and_then(|params| member(params, "configuration"));
                let name = if version == Version::V03 { NESTED } else { "taskPushNotificationConfig" };
                settings.and_then(|settings| member(settings, name)).and_then(Json::as_object)
            }
            _ => None,
        };
        Self { root: json, configs: config.into_iter().collect() }
    }

    /// The configurations in an answer.
    pub fn in_answer(json: &'j Json<'j>, form: Form, operation: Operation, version: Version) -> Self {
        let result = if rpc(form) { member(json, "result") } else { Some(json) };
        let configs = match operation {
            Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
                result.and_then(|result| one(result, version)).into_iter().collect()
            }
            Operation::ListTaskPushNotificationConfigs => {
                let page = |page: &'j Json<'j>| {
                    if version == Version::V03 { Some(page) } else { member(page, "configs") }
                };
                let items = result.and_then(page).and_then(Json::as_array).unwrap_or_default();
                items.iter().filter_map(|item| one(item, version)).collect()
            }
            _ => Vec::new(),
        };
        Self { root: json, configs }
    }

    /// The target of each configuration, in order. A configuration without a URL has none.
    pub fn targets(&self) -> Vec<Option<PushTarget>> {
        self.configs.iter().map(|config| PushTarget::of(config)).collect()
    }

    /// Rewrites the bytes with other targets, in the same order. A configuration without one is left out of its list.
    pub fn rewritten(&self, targets: &[Option<PushTarget>]) -> Vec<u8> {
        let mut out = String::new();
        self.write(self.root, targets, &mut out);
        out.into_bytes()
    }

    /// The new target of a configuration. `None` for an object that is no configuration.
    fn target_of<'t>(
        &self,
        object: &Object<'j>,
        targets: &'t [Option<PushTarget>],
    ) -> Option<Option<&'t PushTarget>> {
        let position = self.configs.iter().position(|config| std::ptr::eq(*config, object))?;
        Some(targets.get(position).and_then(Option::as_ref))
    }

    fn withheld(&self, item: &Json<'j>, targets: &[Option<PushTarget>]) -> bool {
        let Some(object) = item.as_object() else { return false };
        let inner = object.get(NESTED).and_then(Json::as_object);
        [Some(object), inner]
            .into_iter()
            .flatten()
            .any(|object| self.target_of(object, targets) == Some(None))
    }

    fn write(&self, json: &Json<'j>, targets: &[Option<PushTarget>], out: &mut String) {
        match json {
            Json::Array(items) => {
                out.push('[');
                let kept = items.iter().filter(|item| !self.withheld(item, targets));
                for (n, item) in kept.enumerate() {
                    separate(n, out);
                    self.write(item, targets, out);
                }
                out.push(']');
            }
            Json::Object(object) => {
                out.push('{');
                match self.target_of(object, targets) {
                    Some(Some(target)) => config(object, target, out),
                    _ => {
                        for (n, (key, value)) in object.iter().enumerate() {
                            separate(n, out);
                            text::string(key, out);
                            out.push(':');
                            self.write(value, targets, out);
                        }
                    }
                }
                out.push('}');
            }
            plain => text::write(plain, out),
        }
    }
}

fn rpc(form: Form) -> bool {
    matches!(form, Form::JsonRpc | Form::Native)
}

fn member<'j>(json: &'j Json<'j>, name: &str) -> Option<&'j Json<'j>> {
    json.as_object()?.get(name)
}

/// The configuration of a task: flat in 1.0, beside the id of the task in 0.3.
fn one<'j>(json: &'j Json<'j>, version: Version) -> Option<&'j Object<'j>> {
    if version == Version::V03 { member(json, NESTED)?.as_object() } else { json.as_object() }
}

fn separate(n: usize, out: &mut String) {
    if n > 0 {
        out.push(',');
    }
}

/// The members of one configuration, with another target.
fn config(object: &Object<'_>, target: &PushTarget, out: &mut String) {
    out.push_str("\"url\":");
    text::string(&target.url, out);
    for (key, value) in object.iter().filter(|(key, _)| !matches!(*key, "url" | "token" | "authentication")) {
        out.push(',');
        text::string(key, out);
        out.push(':');
        text::write(value, out);
    }
    if let Some(token) = &target.token {
        out.push_str(",\"token\":");
        text::string(token, out);
    }
    if let Some(authentication) = &target.authentication {
        out.push_str(",\"authentication\":");
        out.push_str(authentication);
    }
}

#[cfg(test)]
mod tests;
