//! Delivery targets of push configurations.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Target and credentials for an agent's notifications about one task.
///
/// The agent gets a token in place of the target. The delivery is stored with the owners, in the gateway's
/// state directory, which nobody else reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Target URL, as its owner wrote it.
    pub url: String,
    /// Value of `token` in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Value of `authentication` in the configuration, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<String>,
    /// True for a configuration set in A2A 0.3, whose notifications are tasks. If its route takes 1.0 too,
    /// notifications in 1.0 form also pass.
    pub old: bool,
    /// Task of the configuration, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Id of the configuration, once the agent has told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Second at which the lock of the configuration ends, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Route that it was set on. Only this route's lane delivers to it.
    #[serde(default)]
    pub route: String,
}

/// The unique name of a push configuration, whatever characters its ids hold.
pub(crate) fn named(task: &str, config: &str) -> String {
    format!("{}/{config}", escaped(task))
}

/// Escapes a task id like a JSON Pointer segment (RFC 6901 §3), so that the first `/` of a name ends it.
fn escaped(task: &str) -> Cow<'_, str> {
    if task.contains(['~', '/']) {
        Cow::Owned(task.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(task)
    }
}

/// Shows no content, so that none reaches a log.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("where notifications of a push configuration go")
    }
}

impl Delivery {
    /// Returns true if the agent has told that this is the configuration `config` of the task.
    pub(crate) fn is_known_as(&self, task: &str, config: &str) -> bool {
        self.task.as_deref() == Some(task) && self.config.as_deref() == Some(config)
    }

    /// Returns true if `push`, as made by [`named`], is or may be this configuration.
    pub(crate) fn is(&self, push: &str) -> bool {
        let Some((task, rest)) = push.split_once('/') else { return false };
        // an id that the agent has not told yet could be any
        self.task.as_deref().is_some_and(|ours| escaped(ours) == task)
            && self.config.as_deref().is_none_or(|config| config == rest)
    }
}

#[cfg(test)]
mod tests;
