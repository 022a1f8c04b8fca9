//! HTTP+JSON of A2A 1.0: the path names the operation, and path, query and body together are its parameters.
//!
//! The gateway judges the parameters that [`params`] assembles, but forwards path, query and body as they came. So each must
//! have one reading: a path is not percent-encoded, a query parameter is there once, and repeated values agree.

mod query;

pub use query::Query;

use super::{
    AgentError, Operation, Version,
    binding::Transport,
    params::{Member, rows},
};
use crate::{
    FaultKind, MessageFault, RequestBytes,
    member::{Read, at, identifier, object},
    text,
};
use semgate_contexts::json::Json;

/// The transport.
#[derive(Debug)]
pub(crate) struct Rest;

impl Transport for Rest {
    const BYTES: RequestBytes = RequestBytes::Part;
    const SUCCESSES: &'static [u16] = &[201, 202];
    const TENANT_HINT: Option<&'static str> = Some(
        "paths of 1.0 have no `v1` prefix: the first segment is the tenant, and must be the tenant of the route",
    );

    fn status_error(status: u16, body: &Json<'_>) -> Option<AgentError> {
        Some(AgentError::of_http(status, Some(body)))
    }
}

/// The parts of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed<'p> {
    /// The operation.
    pub operation: Operation,
    /// The tenant before it, if there is one.
    pub tenant: Option<&'p str>,
    /// The task.
    pub task: Option<&'p str>,
    /// The push configuration.
    pub config: Option<&'p str>,
}

/// The operation of a method and path (A2A 1.0 §11.3). `path` follows the agent's address: it starts with `/` and has no
/// query. It may begin with a tenant, but a path that is valid without one has none.
///
/// # Errors
/// [`FaultKind::MethodUnsupported`] for every other path, and for a method that the path does not have. `malformed` for an id
/// or tenant that is not an identifier, holds `%`, `;`, `?` or `#`, or is `.` or `..`.
pub fn route<'p>(method: &str, path: &'p str) -> Read<Routed<'p>> {
    let unsupported = || MessageFault {
        kind: FaultKind::MethodUnsupported,
        path: String::new(),
        what: "the path, or the method on it, is not part of the HTTP+JSON binding",
    };
    let parts: Vec<&str> = path.strip_prefix('/').ok_or_else(unsupported)?.split('/').collect();
    let routed = plain(method, &parts)
        .or_else(|| {
            let (tenant, rest) = parts.split_first()?;
            let routed = plain(method, rest)?;
            // the public card is no tenant's
            (routed.operation != Operation::GetAgentCard).then_some(Routed { tenant: Some(tenant), ..routed })
        })
        .ok_or_else(unsupported)?;
    for segment in [routed.tenant, routed.task, routed.config].into_iter().flatten() {
        let one_reading = !matches!(segment, "." | "..") && !segment.contains(['%', ';', '?', '#']);
        if identifier(segment).is_none() || !one_reading {
            return Err(MessageFault::malformed("", "the path holds an invalid identifier"));
        }
    }
    Ok(routed)
}

/// The table, for paths without a tenant.
fn plain<'p>(method: &str, parts: &[&'p str]) -> Option<Routed<'p>> {
    use Operation::{
        CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig, GetAgentCard,
        GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs,
        ListTasks, SendMessage, SendStreamingMessage, SubscribeToTask,
    };
    let routed = |operation, task, config| Some(Routed { operation, tenant: None, task, config });
    match (method, parts) {
        ("POST", ["message:send"]) => routed(SendMessage, None, None),
        ("POST", ["message:stream"]) => routed(SendStreamingMessage, None, None),
        ("GET", ["tasks"]) => routed(ListTasks, None, None),
        ("GET", ["extendedAgentCard"]) => routed(GetExtendedAgentCard, None, None),
        ("GET", [".well-known", "agent-card.json"]) => routed(GetAgentCard, None, None),
        (_, ["tasks", last]) => match (method, last.rsplit_once(':')) {
            ("POST", Some((task, "cancel"))) => routed(CancelTask, Some(task), None),
            // the definition has GET, clients send POST, servers take both
            ("GET" | "POST", Some((task, "subscribe"))) => routed(SubscribeToTask, Some(task), None),
            ("GET", Some((_, "cancel"))) => None,
            ("GET", _) => routed(GetTask, Some(last), None),
            _ => None,
        },
        ("POST", ["tasks", task, "pushNotificationConfigs"]) => {
            routed(CreateTaskPushNotificationConfig, Some(task), None)
        }
        ("GET", ["tasks", task, "pushNotificationConfigs"]) => {
            routed(ListTaskPushNotificationConfigs, Some(task), None)
        }
        ("GET", ["tasks", task, "pushNotificationConfigs", config]) => {
            routed(GetTaskPushNotificationConfig, Some(task), Some(config))
        }
        ("DELETE", ["tasks", task, "pushNotificationConfigs", config]) => {
            routed(DeleteTaskPushNotificationConfig, Some(task), Some(config))
        }
        _ => None,
    }
}

/// Assembles the parameters as JSON: members of the body unchanged, with those of path and query added. `body` is `None`
/// without a byte. Read the result strictly, then by [`super::request`], which finds the other faults.
///
/// # Errors
/// `malformed` for a body where the operation has none. Also for a query parameter that is unknown, of the wrong type or
/// beside a body. Also for a body member that differs from the path.
pub fn params(routed: &Routed<'_>, query: &Query<'_>, body: Option<&Json<'_>>) -> Read<Vec<u8>> {
    let mut out = Members::default();
    let (task, config) = match routed.operation {
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => ("id", ""),
        _ => ("taskId", "id"),
    };
    let path = [("tenant", routed.tenant), (task, routed.task), (config, routed.config)];
    let path: Vec<(&str, &str)> =
        path.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
    for (name, value) in &path {
        out.put(name, |out| text::string(value, out));
    }
    if let Some(json) = body {
        from_body(routed.operation, json, &path, &mut out)?;
    }
    from_query(routed.operation, query, &path, &mut out)?;
    Ok(out.done())
}

/// Returns true if the definition has `body: "*"`.
const fn has_body(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::CancelTask
            | Operation::CreateTaskPushNotificationConfig
    )
}

fn from_body(operation: Operation, json: &Json<'_>, path: &[(&str, &str)], out: &mut Members) -> Read<()> {
    let members = object(json, "")?;
    if !has_body(operation) && !members.is_empty() {
        return Err(MessageFault::malformed("", "there is a body, but the operation takes none"));
    }
    for (key, value) in members.iter() {
        match path.iter().find(|(name, _)| *name == key) {
            // proto3 may write an absent string as an empty one
            Some((_, in_path)) if value.as_str().is_some_and(|text| text == *in_path || text.is_empty()) => {}
            Some(_) => return Err(MessageFault::malformed(at("", key), "differs from the path")),
            None => out.put(key, |out| text::write(value, out)),
        }
    }
    Ok(())
}

fn from_query(operation: Operation, query: &Query<'_>, path: &[(&str, &str)], out: &mut Members) -> Read<()> {
    let unknown =
        || MessageFault::malformed("", "the query has a parameter that the operation does not have");
    for (name, value) in query.parameters() {
        let row = rows(operation, Version::V10).iter().find(|(known, ..)| *known == name);
        let Some((name, member, _)) = row.filter(|_| !has_body(operation)) else { return Err(unknown()) };
        match member {
            Member::Task | Member::Config => return Err(unknown()),
            Member::Tenant if path.iter().any(|(known, _)| known == name) => {
                return Err(MessageFault::malformed("", "both the path and the query name the tenant"));
            }
            Member::Count => {
                let number = value.parse::<i32>().ok().filter(|number| number.to_string() == value);
                let number = number.ok_or_else(|| {
                    MessageFault::malformed("", "the query has a parameter that is not a 32-bit integer")
                })?;
                out.put(name, |out| *out += &number.to_string());
            }
            Member::Flag if matches!(value, "true" | "false") => out.put(name, |out| *out += value),
            Member::Flag => {
                let what = "the query has a parameter that is neither `true` nor `false`";
                return Err(MessageFault::malformed("", what));
            }
            _ => out.put(name, |out| text::string(value, out)),
        }
    }
    Ok(())
}

/// An object that is being written.
#[derive(Default)]
struct Members(String);

impl Members {
    fn put(&mut self, name: &str, value: impl FnOnce(&mut String)) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        text::string(name, &mut self.0);
        self.0.push(':');
        value(&mut self.0);
    }

    fn done(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0.into_bytes()
    }
}

#[cfg(test)]
mod tests;
