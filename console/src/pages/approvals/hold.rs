//! A request to a person, as a gateway tells it (`docs/spec/approvals.md`). Unknown members are left out.

use semgate_contexts::Digest;
use serde::Deserialize;
use serde_json::Value;

/// One request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Hold {
    pub(super) id: String,
    pub(super) state: String,
    pub(super) kind: String,
    pub(super) digest: String,
    pub(super) canonical: String,
    pub(super) action: Option<HeldAction>,
    pub(super) context_urn: Option<String>,
    pub(super) interaction: Option<Asked>,
    #[serde(default)]
    pub(super) demands: Vec<Demand>,
    pub(super) opened_at: u64,
    pub(super) expires_at: u64,
    pub(super) use_by: Option<u64>,
    #[serde(default)]
    pub(super) decisions: Vec<Given>,
    #[serde(default)]
    pub(super) may_decide: bool,
    pub(super) why_not: Option<String>,
    pub(super) last_approved: Option<Earlier>,
    #[serde(default)]
    pub(super) delegated_to: Vec<String>,
    #[serde(default)]
    pub(super) decision_id: String,
}

/// One request in a listing: enough to choose one, and nothing to decide on.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Summary {
    pub(super) id: String,
    pub(super) state: String,
    pub(super) kind: String,
    action: Option<HeldAction>,
    context_urn: Option<String>,
    interaction: Option<Asked>,
    pub(super) opened_at: u64,
    pub(super) expires_at: u64,
    #[serde(default)]
    pub(super) may_decide: bool,
}

/// The parties of a held message.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct HeldAction {
    pub(super) sender: String,
    pub(super) receiver: String,
    pub(super) binding: String,
    pub(super) performative: String,
    #[serde(default)]
    pub(super) instances: Vec<HeldInstance>,
}

/// One concept of a held message.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct HeldInstance {
    pub(super) concept: String,
}

/// A question of an agent.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    pub(super) sender: String,
    #[serde(default)]
    pub(super) summary: String,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) options: Vec<String>,
    pub(super) required_input: Option<Value>,
    pub(super) reason: Option<String>,
    pub(super) context: Option<String>,
    #[serde(default)]
    pub(super) secret: bool,
}

/// A demand of a policy. Some members have several forms, so all are shown as words.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Demand {
    #[serde(default)]
    policy: Value,
    #[serde(default)]
    pub(super) question: Value,
    #[serde(default)]
    approvers: Value,
    #[serde(default)]
    quorum: Value,
    #[serde(default)]
    reuse: Value,
    #[serde(default)]
    reason: Value,
    #[serde(default)]
    assurance: Value,
}

/// A decision that was made.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Given {
    pub(super) human_id: String,
    pub(super) decision: String,
    pub(super) selected_option: Option<String>,
    pub(super) feedback: Option<String>,
    #[serde(default)]
    pub(super) factor: String,
    pub(super) decided_at: u64,
}

/// The last action of the same kind that people approved.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Earlier {
    pub(super) canonical: String,
    pub(super) decided_at: u64,
}

/// Text as it is, other JSON as compact JSON, nothing as nothing.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Demand {
    /// Names and words of the demands, without empty ones.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("Policy", &self.policy),
            ("Question of the policy", &self.question),
            ("Who decides", &self.approvers),
            ("People who must agree", &self.quorum),
            ("One approval serves again", &self.reuse),
            ("A written reason is needed", &self.reason),
            ("Weakest proof of identity", &self.assurance),
        ];
        all.into_iter()
            .map(|(name, value)| (name, words(value)))
            .filter(|(_, text)| !text.is_empty())
            .collect()
    }
}

impl Hold {
    /// True while a person can answer.
    pub(super) fn is_open(&self) -> bool {
        is_open(&self.state)
    }

    /// True if the digest is that of the text on the page: nobody approves what they did not see.
    pub(super) fn is_whole(&self) -> bool {
        Digest::of(self.canonical.as_bytes()).to_string() == self.digest
    }

    /// The agent that asks.
    pub(super) fn sender(&self) -> &str {
        sender(self.action.as_ref(), self.interaction.as_ref())
    }
}

impl Summary {
    /// True while a person can answer.
    pub(super) fn is_open(&self) -> bool {
        is_open(&self.state)
    }

    /// The agent that asks.
    pub(super) fn sender(&self) -> &str {
        sender(self.action.as_ref(), self.interaction.as_ref())
    }

    /// The subject in a line, in the gateway's own words for a message.
    pub(super) fn subject(&self) -> String {
        match (&self.action, &self.interaction) {
            (Some(action), _) => {
                let concepts: Vec<&str> =
                    action.instances.iter().map(|instance| instance.concept.as_str()).collect();
                let context = self.context_urn.as_deref().unwrap_or_default();
                format!(
                    "{} {} to {} under {context}",
                    action.performative,
                    concepts.join(", "),
                    action.receiver
                )
            }
            (None, Some(asked)) => asked.summary.clone(),
            (None, None) => String::new(),
        }
    }
}

fn is_open(state: &str) -> bool {
    matches!(state, "PENDING" | "SENT" | "SEEN")
}

fn sender<'h>(action: Option<&'h HeldAction>, interaction: Option<&'h Asked>) -> &'h str {
    match (action, interaction) {
        (Some(action), _) => &action.sender,
        (None, Some(asked)) => &asked.sender,
        (None, None) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_needs_no_action_text() {
        let message = r#"{"id": "a", "state": "SENT", "kind": "PERMISSION", "opened_at": 1, "expires_at": 2, "may_decide": true,
            "action": {"sender": "spiffe://a", "receiver": "b", "binding": "l8", "performative": "INFORM", "instances": [{"concept": "pay"}]}}"#;
        let one: Summary = serde_json::from_str(message).unwrap();
        assert!(
            one.is_open() && one.sender() == "spiffe://a" && one.subject().starts_with("INFORM pay to b")
        );
        let question = r#"{"id": "a", "state": "EXPIRED", "kind": "CLARIFICATION", "opened_at": 1, "expires_at": 2, "action": null,
            "interaction": {"sender": "spiffe://c", "target": "human://bob.sre", "type": "CLARIFICATION", "summary": "which?"}}"#;
        let one: Summary = serde_json::from_str(question).unwrap();
        let shown = (one.is_open(), one.sender(), one.subject());
        assert_eq!(shown, (false, "spiffe://c", "which?".to_owned()));
    }
}
