//! The tasks of the sample agent, and their form in each version of A2A.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// The extension that carries the context of a message.
pub const EXTENSION: &str = "urn:contexts:snl:v1.0";

/// Tasks remembered; the oldest are forgotten first.
const REMEMBERED: usize = 1000;

/// A version of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V10,
    V03,
}

/// One task. Its one artifact restates its content once it is done.
#[derive(Clone, Debug)]
pub struct Task {
    pub id: String,
    pub context_id: String,
    pub urn: String,
    pub content: Value,
    pub state: &'static str,
}

/// All of them, oldest first.
#[derive(Debug, Default)]
pub struct Tasks(VecDeque<Task>);

impl Tasks {
    pub fn put(&mut self, task: Task) {
        self.0.retain(|other| other.id != task.id);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(task);
    }

    pub fn get(&self, id: &str) -> Option<Task> {
        self.0.iter().find(|task| task.id == id).cloned()
    }

    pub fn change(&mut self, id: &str, state: &'static str) -> Option<Task> {
        let task = self.0.iter_mut().find(|task| task.id == id)?;
        task.state = state;
        Some(task.clone())
    }

    pub fn of(&self, context_id: Option<&str>) -> Vec<Task> {
        let all = self.0.iter().rev();
        all.filter(|task| context_id.is_none_or(|id| id == task.context_id)).cloned().collect()
    }
}

impl Task {
    pub fn done(&self) -> bool {
        matches!(self.state, "COMPLETED" | "CANCELED")
    }

    fn status(&self, version: Version) -> Value {
        match version {
            Version::V10 => json!({"state": format!("TASK_STATE_{}", self.state)}),
            Version::V03 => json!({"state": self.state.to_ascii_lowercase()}),
        }
    }

    fn artifact(&self, version: Version) -> Value {
        json!({
            "artifactId": format!("{}-said", self.id),
            "parts": [data(&self.content, version)],
            "metadata": {EXTENSION: {"context": self.urn}},
        })
    }

    /// The task itself.
    pub fn write(&self, version: Version) -> Value {
        let task = json!({"id": self.id, "contextId": self.context_id, "status": self.status(version)});
        let has_answer = self.state == "COMPLETED" && !self.urn.is_empty();
        let task = if has_answer { with(task, "artifacts", json!([self.artifact(version)])) } else { task };
        if version == Version::V03 { with(task, "kind", "task") } else { task }
    }

    /// Its state as an event.
    pub fn status_event(&self, version: Version) -> Value {
        let event = json!({"taskId": self.id, "contextId": self.context_id, "status": self.status(version)});
        match version {
            Version::V10 => json!({"statusUpdate": event}),
            Version::V03 => tagged(event, "status-update", Some(self.done())),
        }
    }

    /// Its artifact as an event.
    pub fn artifact_event(&self, version: Version) -> Value {
        let event = json!({
            "taskId": self.id, "contextId": self.context_id, "artifact": self.artifact(version), "lastChunk": true});
        match version {
            Version::V10 => json!({"artifactUpdate": event}),
            Version::V03 => tagged(event, "artifact-update", None),
        }
    }
}

fn tagged(event: Value, kind: &str, last: Option<bool>) -> Value {
    let event = with(event, "kind", kind);
    match last {
        Some(last) => with(event, "final", last),
        None => event,
    }
}

/// The object with one more member.
pub fn with(mut object: Value, name: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(members) = &mut object {
        members.insert(name.to_owned(), value.into());
    }
    object
}

/// A part with data.
pub fn data(content: &Value, version: Version) -> Value {
    match version {
        Version::V10 => json!({"data": content, "mediaType": "application/json"}),
        Version::V03 => json!({"kind": "data", "data": content}),
    }
}

/// A task as one of two possible results.
pub fn wrapped(task: Value, version: Version) -> Value {
    match version {
        Version::V10 => json!({"task": task}),
        Version::V03 => task,
    }
}
