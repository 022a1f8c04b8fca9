//! Push configurations: the URLs that receive a task's events.

mod target;

pub use target::{PushTarget, PushTargets};

use super::{
    frame::{Frame, Judged},
    params::twice,
};
use crate::{
    Message, MessageFault,
    member::{Read, array, at, id, object, required, string, unknown},
};
use semgate_contexts::json::Json;

/// The longest URL: the common limit of proxies and servers.
const MAX_URL: usize = 2_048;

/// The longest token or credential: room for a JWT.
const MAX_SECRET: usize = 4_096;

/// The most schemes of 0.3 that one configuration may list.
const MAX_SCHEMES: usize = 8;

/// The ids that a configuration states.
#[derive(Clone, Copy, Default)]
pub(super) struct Config<'j> {
    pub task: Option<&'j str>,
    pub id: Option<&'j str>,
}

impl<'j> Config<'j> {
    /// Notes task and configuration among the ids that the message refers to.
    pub fn note(self, out: &mut Message<'j>) {
        if let Some(task) = self.task {
            super::frame::note(&mut out.threads.tasks, task);
        }
        if let Some(id) = self.id {
            out.threads.pushes.push((self.task.unwrap_or_default(), id));
        }
    }
}

/// `TaskPushNotificationConfig`: flat in 1.0; in 0.3 a configuration beside the id of its task.
pub(super) fn of_task<'j>(
    json: &'j Json<'j>,
    path: &str,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<Config<'j>> {
    if !frame.old() {
        return flat(json, path, frame);
    }
    let (mut task, mut inner) = (None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "taskId" => task = Some(id(value, path, key)?),
            "pushNotificationConfig" => inner = Some(value),
            "metadata" => frame.metadata(value, path, Judged::WithItsObject, out)?,
            _ => return unknown(path, key),
        }
    }
    let inner =
        nested(required(inner, path, "pushNotificationConfig")?, &at(path, "pushNotificationConfig"))?;
    Ok(Config { task: Some(required(task, path, "taskId")?), id: inner.id })
}

/// The form of 1.0. The task may be left out within a message that begins one.
pub(super) fn flat<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>) -> Read<Config<'j>> {
    let mut config = Config::default();
    let mut target = None;
    let members = object(json, path)?;
    if members.get("taskId").is_some() && members.get("task_id").is_some() {
        return Err(twice(path, "taskId"));
    }
    for (key, value) in members.iter() {
        match key {
            "tenant" => tenant(string(value, path, key)?, path, frame)?,
            "id" | "taskId" | "task_id" | "token" if value.as_str() == Some("") => {}
            "id" => config.id = Some(id(value, path, key)?),
            "taskId" | "task_id" => config.task = Some(id(value, path, key)?),
            "url" => target = Some(url(value, path, key)?),
            "token" => secret(value, path, key)?,
            "authentication" => authentication(value, &at(path, key), Schemes::One)?,
            _ => return unknown(path, key),
        }
    }
    required(target, path, "url")?;
    Ok(config)
}

/// `PushNotificationConfig` of 0.3.
pub(super) fn nested<'j>(json: &'j Json<'j>, path: &str) -> Read<Config<'j>> {
    let (mut config, mut target) = (Config::default(), None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "id" => config.id = Some(id(value, path, key)?),
            "url" => target = Some(url(value, path, key)?),
            "token" => secret(value, path, key)?,
            "authentication" => authentication(value, &at(path, key), Schemes::Many)?,
            _ => return unknown(path, key),
        }
    }
    required(target, path, "url")?;
    Ok(config)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Schemes {
    One,
    Many,
}

fn authentication(json: &Json<'_>, path: &str, schemes: Schemes) -> Read<()> {
    for (key, value) in object(json, path)?.iter() {
        match key {
            "scheme" if schemes == Schemes::One && value.as_str() == Some("") => {}
            "scheme" if schemes == Schemes::One => drop(id(value, path, key)?),
            "schemes" if schemes == Schemes::Many => {
                let items = array(value, path, key)?;
                if items.len() > MAX_SCHEMES {
                    return Err(MessageFault::malformed(at(path, key), "lists more than 8 schemes"));
                }
                for item in items {
                    id(item, path, key)?;
                }
            }
            "credentials" => secret(value, path, key)?,
            _ => return unknown(path, key),
        }
    }
    Ok(())
}

/// An absolute `http` or `https` URL of visible ASCII. The egress listener decides whether it may be called.
fn url<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    let text = string(json, path, member)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic()));
    if fits && text.len() <= MAX_URL {
        return Ok(text);
    }
    Err(MessageFault::malformed(at(path, member), "is no http url of at most 2048 visible ASCII characters"))
}

/// A token or credential: visible ASCII without blanks, so it can hold no prose.
fn secret(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    let text = string(json, path, member)?;
    if text.len() <= MAX_SECRET && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(MessageFault::malformed(at(path, member), "is not a token of at most 4096 visible ASCII characters"))
}

/// Refuses a named tenant other than the route's. proto3 writes an absent string as an empty one.
pub(super) fn tenant(named: &str, path: &str, frame: &Frame<'_>) -> Read<()> {
    if Some(named).filter(|tenant| !tenant.is_empty()) == frame.reading.tenant {
        return Ok(());
    }
    Err(MessageFault::malformed(at(path, "tenant"), "is not the tenant of the route"))
}
