//! Cedar expressions in their JSON form: the members and names that they mention, and their text.

use std::collections::BTreeSet;

use cedar_policy::{Policy, PolicyId};
use serde_json::{Value, json};

/// The names in an expression. A fact is put to the solver only if it shares a key with the question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Members with those above them, such as `context.scores` and `context.scores.concepts`; entities as `Group::"g"`; texts in quotes.
    pub keys: BTreeSet<String>,
    /// Texts, as they are.
    pub texts: BTreeSet<String>,
    /// Integers.
    pub integers: BTreeSet<i64>,
    /// Arguments of `decimal` and `ip`.
    pub literals: BTreeSet<(String, String)>,
    /// Groups by name.
    pub groups: BTreeSet<String>,
    /// Agents by id.
    pub agents: BTreeSet<String>,
    /// Moments whose time of day or day is asked for, each as text, with the method.
    pub moments: BTreeSet<(String, &'static str)>,
}

impl Mentions {
    /// Mentions of a whole policy, its scope included.
    pub fn of(policy: &Policy) -> Self {
        let mut all = Self::default();
        if let Ok(json) = policy.to_json() {
            for part in ["principal", "action", "resource"] {
                all.entities(json.get(part).unwrap_or(&Value::Null));
            }
            for clause in clauses(&json) {
                all.walk(clause.get("body").unwrap_or(&Value::Null));
            }
        }
        all
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        self.keys.extend(other.keys.iter().cloned());
        self.texts.extend(other.texts.iter().cloned());
        self.integers.extend(other.integers.iter().copied());
        self.literals.extend(other.literals.iter().cloned());
        self.groups.extend(other.groups.iter().cloned());
        self.agents.extend(other.agents.iter().cloned());
        self.moments.extend(other.moments.iter().cloned());
    }

    fn entities(&mut self, value: &Value) {
        if let (Some(kind), Some(id)) =
            (value.get("type").and_then(Value::as_str), value.get("id").and_then(Value::as_str))
        {
            self.keys.insert(format!("{kind}::{}", quoted(id)));
            match kind {
                "Group" => drop(self.groups.insert(id.to_owned())),
                "Agent" => drop(self.agents.insert(id.to_owned())),
                _ => {}
            }
        }
        match value {
            Value::Object(members) => members.values().for_each(|member| self.entities(member)),
            Value::Array(items) => items.iter().for_each(|item| self.entities(item)),
            _ => {}
        }
    }

    fn walk(&mut self, expression: &Value) {
        if let Some(path) = path(expression) {
            self.keys.insert(path);
        }
        for (method, sign) in [("toTime", "toTime"), ("toDate", "toDate")] {
            let argument = expression.get(method).and_then(|arguments| arguments.get(0));
            if let Some(text) = argument.and_then(text_of) {
                self.moments.insert((text, sign));
            }
        }
        if let Some(has) = expression.get("has") {
            self.has(has);
        }
        for function in ["decimal", "ip"] {
            let argument = expression.get(function).and_then(|all| all.get(0)?.get("Value")?.as_str());
            if let Some(text) = argument {
                self.literals.insert((function.to_owned(), text.to_owned()));
            }
        }
        if let Some(value) = expression.get("Value") {
            self.value(value);
            return;
        }
        match expression {
            Value::Object(members) => members.values().for_each(|member| self.walk(member)),
            Value::Array(items) => items.iter().for_each(|item| self.walk(item)),
            _ => {}
        }
    }

    fn has(&mut self, has: &Value) {
        let Some(mut path) = has.get("left").and_then(path_or_variable) else { return };
        let one = has.get("attr").and_then(Value::as_str).into_iter();
        let more = has.get("attr").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in one.chain(more) {
            path = format!("{path}.{name}");
            self.keys.insert(path.clone());
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.keys.insert(quoted(text));
                self.texts.insert(text.clone());
            }
            Value::Number(number) => self.integers.extend(number.as_i64()),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(members) => match members.get("__entity") {
                Some(entity) => self.entities(entity),
                None => members.values().for_each(|member| self.value(member)),
            },
            _ => {}
        }
    }
}

/// The path of a chain of members, such as `resource.spot.unit`.
fn path(expression: &Value) -> Option<String> {
    let access = expression.get(".")?;
    let above = path_or_variable(access.get("left")?)?;
    Some(format!("{above}.{}", access.get("attr")?.as_str()?))
}

fn path_or_variable(expression: &Value) -> Option<String> {
    expression.get("Var").and_then(Value::as_str).map(str::to_owned).or_else(|| path(expression))
}

/// The `when` and `unless` clauses of a policy in its JSON form.
pub fn clauses(policy: &Value) -> impl Iterator<Item = &Value> {
    policy.get("conditions").and_then(Value::as_array).into_iter().flatten()
}

/// The negation of an expression; a double one is taken away.
pub fn not(expression: &Value) -> Value {
    match expression.get("!").and_then(|inner| inner.get("arg")) {
        Some(inner) => inner.clone(),
        None => json!({"!": {"arg": expression}}),
    }
}

/// The conditions for a policy to apply, in the order of evaluation: each clause, split at `&&`.
pub fn conjuncts(policy: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for clause in clauses(policy) {
        let body = clause.get("body").cloned().unwrap_or(Value::Null);
        if clause.get("kind").and_then(Value::as_str) == Some("unless") {
            all.push(not(&body));
        } else {
            split(&body, &mut all);
        }
    }
    all
}

fn split(expression: &Value, all: &mut Vec<Value>) {
    match expression.get("&&") {
        Some(both) => {
            ["left", "right"].iter().filter_map(|side| both.get(side)).for_each(|side| split(side, all))
        }
        None => all.push(expression.clone()),
    }
}

/// A permit with the scope of a policy and these conditions in place of its own.
pub fn permit_when(scope: &Value, conditions: &[Value]) -> Option<Policy> {
    let conditions: Vec<Value> =
        conditions.iter().map(|body| json!({"kind": "when", "body": body})).collect();
    let part = |name: &str| scope.get(name).cloned().unwrap_or_else(|| json!({"op": "All"}));
    let policy = json!({
        "effect": "permit", "principal": part("principal"), "action": part("action"),
        "resource": part("resource"), "conditions": conditions,
    });
    Policy::from_json(Some(PolicyId::new("question")), policy).ok()
}

/// An expression as Cedar text.
pub fn text_of(expression: &Value) -> Option<String> {
    let text = permit_when(&Value::Null, std::slice::from_ref(expression))?.to_cedar()?;
    let (from, to) = (text.find("when {")?, text.rfind('}')?);
    Some(text.get(from + 6..to)?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A Cedar text literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{Mentions, conjuncts, text_of};
    use cedar_policy::Policy;

    #[test]
    fn mentions_are_members_names_and_literals() {
        let text = r#"permit (principal in Group::"g", action, resource)
            when { resource.spot.unit == "V" && context has session.expires } unless { resource.n > decimal("1.5") };"#;
        let policy: Policy = text.parse().unwrap();
        let mentions = Mentions::of(&policy);
        for key in [
            "resource.spot",
            "resource.spot.unit",
            "context.session.expires",
            "resource.n",
            "Group::\"g\"",
            "\"V\"",
        ] {
            assert!(mentions.keys.contains(key), "{key}: {:?}", mentions.keys);
        }
        assert!(
            mentions.groups.contains("g")
                && mentions.literals.contains(&("decimal".to_owned(), "1.5".to_owned()))
        );
        let parts = conjuncts(&policy.to_json().unwrap());
        let parts: Vec<String> = parts.iter().filter_map(text_of).collect();
        assert_eq!(parts[0], r#"resource.spot.unit == "V""#);
        assert_eq!(parts.len(), 3);
    }
}
