//! Answers of the gateway in the form of each dialect.

use super::{Dialect, PeopleOperation};
use serde_json::{Map, Value, json};

/// An answer of the gateway.
#[derive(Clone, Debug)]
pub struct PeopleAnswer {
    /// The operation of the request.
    pub operation: PeopleOperation,
    /// The instance of the operation's answering concept, which is judged.
    pub content: Value,
    /// The agent's own request, of an operation on one interaction: an object with the members of the concept.
    pub request: Option<Value>,
    /// Unix second of the request.
    pub opened_at: u64,
    /// Unix second of the answer.
    pub now: u64,
}

impl PeopleAnswer {
    /// The JSON that is judged.
    pub fn judged(&self) -> Vec<u8> {
        json!({ self.operation.answer(): self.content }).to_string().into_bytes()
    }

    /// The body for the client.
    pub fn body(&self, dialect: Dialect) -> Vec<u8> {
        let written = match (self.operation, dialect) {
            (PeopleOperation::Find, _) => self.member("humans"),
            (_, Dialect::Own) | (PeopleOperation::Discover, _) => self.content.clone(),
            (_, Dialect::FunctionCall) => self.function_call(),
            (_, Dialect::Contact) => self.contact(),
            (_, Dialect::Review) => json!({ "reviewId": self.member("interaction_id") }),
            (PeopleOperation::Interact, Dialect::Intent) => self.intent(),
            (PeopleOperation::Cancel, Dialect::Intent) => self.cancelled(),
            (_, Dialect::Intent) => self.status(),
        };
        written.to_string().into_bytes()
    }

    fn member(&self, name: &str) -> Value {
        self.content.get(name).cloned().unwrap_or_default()
    }

    fn state(&self) -> &str {
        self.content.get("state").and_then(Value::as_str).unwrap_or_default()
    }

    /// A member of the agent's own request.
    fn asked(&self, pointer: &str) -> Value {
        self.request.as_ref().and_then(|request| request.pointer(pointer)).cloned().unwrap_or_default()
    }

    /// The time of the decision as the dialects write times; null without one.
    fn decided_at(&self) -> Value {
        self.content.get("decided_at").and_then(Value::as_u64).map(rfc3339).into()
    }

    /// The person's words, or the state in words: a denial always has some.
    fn words(&self) -> Value {
        match self.member("feedback") {
            Value::String(text) if !text.is_empty() => text.into(),
            _ => match self.state() {
                "DENIED" => "denied without a reason",
                "EXPIRED" => "nobody answered in time",
                "CANCELLED" => "the request was withdrawn",
                "FAILED" => "nobody could be asked",
                _ => return Value::Null,
            }
            .into(),
        }
    }

    fn function_call(&self) -> Value {
        let approved = match self.state() {
            "APPROVED" | "USED" | "LAPSED" => Value::Bool(true),
            "DENIED" | "EXPIRED" | "CANCELLED" | "FAILED" => Value::Bool(false),
            _ => Value::Null,
        };
        json!({
            "run_id": text_or_empty(self.asked("/call/run")),
            "call_id": self.member("interaction_id"),
            "spec": {"fn": self.asked("/call/name"), "kwargs": object_or_empty(self.asked("/call/arguments"))},
            "status": {
                "requested_at": rfc3339(self.opened_at),
                "responded_at": self.decided_at(),
                "approved": approved,
                "comment": self.words(),
            },
        })
    }

    fn contact(&self) -> Value {
        let option = self.member("selected_option");
        let response = match (&option, self.content.pointer("/data/response")) {
            (Value::String(_), _) => option.clone(),
            (_, Some(text)) => text.clone(),
            _ => self.words(),
        };
        json!({
            "run_id": text_or_empty(self.asked("/call/run")),
            "call_id": self.member("interaction_id"),
            "spec": {"msg": self.asked("/body"), "subject": self.asked("/summary")},
            "status": {
                "requested_at": rfc3339(self.opened_at),
                "responded_at": self.decided_at(),
                "response": response,
                "response_option_name": option,
            },
        })
    }

    fn intent(&self) -> Value {
        let expires = self.content.get("expires").and_then(Value::as_u64).unwrap_or(self.opened_at);
        json!({
            "interaction_id": self.member("interaction_id"),
            "state": self.intent_state(),
            "created_at": rfc3339(self.opened_at),
            "ttl_sec": expires.saturating_sub(self.opened_at),
        })
    }

    fn intent_state(&self) -> &'static str {
        match self.state() {
            "SENT" => "SENT",
            "SEEN" => "WAITING_INPUT",
            "APPROVED" | "DENIED" | "USED" | "LAPSED" => "ANSWERED",
            "EXPIRED" => "EXPIRED",
            "CANCELLED" => "CANCELLED",
            "FAILED" => "FAILED",
            _ => "PENDING",
        }
    }

    fn cancelled(&self) -> Value {
        let success = self.state() == "CANCELLED";
        json!({"success": success, "message": if success { "withdrawn" } else { "the interaction is closed already" }})
    }

    fn status(&self) -> Value {
        let updated = self.content.get("decided_at").and_then(Value::as_u64).unwrap_or(self.now);
        let mut status = Map::new();
        let mut put = |name: &str, value: Value| drop(status.insert(name.to_owned(), value));
        put("interaction_id", self.member("interaction_id"));
        put("state", self.intent_state().into());
        put("created_at", rfc3339(self.opened_at).into());
        put("updated_at", rfc3339(updated).into());
        let decision = match self.content.get("decision").and_then(Value::as_str) {
            Some("APPROVED") => "APPROVE",
            Some("DENIED") => "DECLINE",
            _ => return Value::Object(status),
        };
        let mut response = json!({
            "type": "RESPONSE",
            "responds_to": self.asked("/message_id"),
            "interaction_id": self.member("interaction_id"),
            "status": "ANSWERED",
            "decision": decision,
            "decided_at": self.decided_at(),
            // the statement names the factor; its signature covers both
            "evidence": {"factor": "semgate.v1", "proof": {"jws": self.member("evidence")}},
        });
        if let (Some(data), Some(response)) = (self.content.get("data"), response.as_object_mut()) {
            response.insert("data".to_owned(), data.clone());
        }
        put("response", response);
        Value::Object(status)
    }
}

fn text_or_empty(value: Value) -> Value {
    if value.is_string() { value } else { "".into() }
}

fn object_or_empty(value: Value) -> Value {
    if value.is_object() { value } else { json!({}) }
}

/// A Unix second in RFC 3339, UTC.
fn rfc3339(unix: u64) -> String {
    let (days, second) = (unix / 86_400, unix % 86_400);
    // civil date of a day number, with eras of 400 years that begin on 1 March
    let shifted = days.saturating_add(719_468);
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_996_800), "2026-11-30T00:00:00Z");
    }
}
