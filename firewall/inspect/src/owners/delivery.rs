//! Where notifications of one push configuration go.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Where what the agent sends by itself about one task goes, and what is shown there. Known by the token that the agent was given in the
/// place of the target, and kept with the owners: over a restart in the gateway's state directory, which nobody else reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// The target, as its owner wrote it.
    pub url: String,
    /// `token` of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// `authentication` of the configuration, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<String>,
    /// Whether it was set in A2A 0.3, whose notifications are tasks; where its route takes 1.0 too, what has the form of 1.0 is one too.
    pub old: bool,
    /// The task that it is about, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The configuration's id, once the agent has told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The second at which the lock ends that it was set under, if it was set under one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The route that it was set on, whose lane alone leads to it.
    #[serde(default)]
    pub route: String,
}

/// The one name of a push configuration among everything that is owned: whatever the ids hold, no two have the same.
pub(crate) fn named(task: &str, config: &str) -> String {
    format!("{}/{config}", escaped(task))
}

/// As in a JSON Pointer (RFC 6901 §3), so that the first `/` of a name ends its task.
fn escaped(task: &str) -> Cow<'_, str> {
    if task.contains(['~', '/']) {
        Cow::Owned(task.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(task)
    }
}

/// Nothing of it is for a log.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("where notifications of a push configuration go")
    }
}

impl Delivery {
    /// Whether it is the configuration `config` of this task, by what the agent has told.
    pub(crate) fn is_known_as(&self, task: &str, config: &str) -> bool {
        self.task.as_deref() == Some(task) && self.config.as_deref() == Some(config)
    }

    /// Whether `push`, as [`named`], is, or may be, this one.
    pub(crate) fn is(&self, push: &str) -> bool {
        let Some((task, rest)) = push.split_once('/') else { return false };
        // an id that was never told could be any
        self.task.as_deref().is_some_and(|ours| escaped(ours) == task)
            && self.config.as_deref().is_none_or(|config| config == rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_push_configurations_have_one_name() {
        assert_eq!(named("t-1", "c-1"), "t-1/c-1");
        assert_eq!(named("a/b", "c"), "a~1b/c");
        assert_ne!(named("a/b", "c"), named("a", "b/c"));
        assert_ne!(named("a~1b", "c"), named("a/b", "c"));
    }
}
