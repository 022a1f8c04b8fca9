//! The explanation, as text and as JSON.

use semgate_policy_analysis::{Condition, Explanation, Holds, Part, Recalled, Weighed};
use serde_json::{Value, json};

use super::{Explained, RecordRef, Sets};

impl Explained {
    /// Prints it below a heading, as one of several records.
    pub(super) fn show_headed(&self, first: bool) {
        if !first {
            out!("");
        }
        if let Some(of) = &self.of {
            out!("{}:", of.heading());
        }
        self.show();
    }

    /// Prints it.
    pub(super) fn show(&self) {
        // without the request to the policies, no set explains anything
        if let (Some(sets), None) = (&self.sets, &self.untold) {
            out!("{}", sets.sentence());
        }
        out!("{}", self.headline);
        self.untold.iter().for_each(|why| out!("  {why}"));
        self.limits.iter().for_each(|limit| out!("  {limit}"));
        folded(&self.recalled, alike).iter().for_each(|same| show(same));
    }

    /// Its JSON form.
    pub(super) fn as_json(&self) -> Value {
        let questions: Vec<Value> = self.recalled.iter().map(as_json).collect();
        let mut explanation =
            json!({"verdict": self.headline, "limits": self.limits, "questions": questions});
        let Some(members) = explanation.as_object_mut() else { return explanation };
        let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        if let Some(sets) = &self.sets {
            let (Sets { decided, explains, .. }, same) = (sets, sets.same());
            add("sets", json!({"decided": decided, "explains": explains, "same": same}));
        }
        if let Some(RecordRef { n, direction, verdict, code, more }) = &self.of {
            let of =
                json!({"n": n, "direction": direction, "verdict": verdict, "code": code, "more_alike": more});
            add("record", of);
        }
        if let Some(why) = &self.untold {
            add("untold", json!(why));
        }
        explanation
    }

    /// Returns true if the record was refused.
    pub(super) fn was_refused(&self) -> bool {
        self.of.as_ref().is_some_and(|of| of.code.is_some())
    }

    /// Returns true if another record has the same explanation, and neither shows a policy.
    pub(super) fn says_what(&self, other: &Self) -> bool {
        let direction = |told: &Self| told.of.as_ref().map(|of| of.direction.clone());
        (&self.headline, &self.untold, direction(self)) == (&other.headline, &other.untold, direction(other))
    }
}

impl RecordRef {
    /// The heading of the record.
    fn heading(&self) -> String {
        let more = match self.more {
            0 => String::new(),
            more => format!(" and {more} more with the same explanation"),
        };
        format!("the {}, record {}{more}", self.direction, self.n)
    }
}

impl Sets {
    /// Returns true if the explaining set is the deciding one.
    pub(super) fn same(&self) -> bool {
        self.decided.as_ref() == Some(&self.explains)
    }

    /// The premise of the explanation.
    fn sentence(&self) -> String {
        let Self { decided, explains, stood_in } = self;
        match decided {
            Some(decided) if decided == explains => {
                format!("explained by the policies that decided it, {explains}")
            }
            Some(decided) => format!(
                "these are not the policies that decided it: it was decided by {decided}, and is explained by {explains}, so the \
                 following is the verdict of the latter"
            ),
            None if *stood_in => format!(
                "no policy set was live when it was decided, so nothing passed; {explains} would decide as follows"
            ),
            None => format!(
                "the record names no policy set (none was asked, or the gateway is an older one); {explains} would decide as follows"
            ),
        }
    }
}

/// Groups equal explanations, in the order of their first.
fn folded<T>(all: &[T], alike: impl Fn(&T, &T) -> bool) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| alike(first, one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Returns true if two concepts differ only in their names.
fn alike(one: &Recalled, other: &Recalled) -> bool {
    Recalled { concept: other.concept.clone(), ..one.clone() } == *other
}

/// Returns true if two policies have the same conditions and ask for the same.
fn asks_alike(one: &&Weighed, other: &&Weighed) -> bool {
    let (a, b) = (*one, *other);
    let same =
        |(a, b): (&Condition, &Condition)| (a.clause, &a.text, &a.holds) == (b.clause, &b.text, &b.holds);
    (a.permits, &a.asks, &a.asks_when, &a.limit, &a.redacts, &a.out_of_scope, a.conditions.len())
        == (b.permits, &b.asks, &b.asks_when, &b.limit, &b.redacts, &b.out_of_scope, b.conditions.len())
        && a.conditions.iter().zip(&b.conditions).all(same)
}

fn show(same: &[&Recalled]) {
    let Some(recalled) = same.first() else { return };
    let names: Vec<&str> = same.iter().map(|one| one.concept.as_str()).collect();
    out!("\n{}: {}", names.join(", "), recalled.now.unwrap_or("cannot be said"));
    if recalled.now.is_some_and(|now| now != recalled.then) {
        let by: Vec<&str> = recalled.then_by.iter().map(String::as_str).collect();
        let by = if by.is_empty() { "no policy".to_owned() } else { by.join(", ") };
        out!("  it was decided differently: {} by {by}", recalled.then);
    }
    for (redacted, words) in
        [(&recalled.then_redacted, "passed without"), (&recalled.now_redacted, "these policies take out")]
    {
        if !redacted.is_empty() {
            out!("  {words}: {}", redacted.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        }
    }
    if !recalled.missing.is_empty() {
        let missing: Vec<&str> = recalled.missing.iter().map(String::as_str).collect();
        out!("  it depends on values that were not kept: {}", missing.join(", "));
    }
    for (part, heading) in [
        (Part::Decided, "decided"),
        (Part::Applies, "applies too"),
        (Part::Open, "depends on values that were not kept"),
        (Part::Near, "came near"),
    ] {
        let of_part: Vec<&Weighed> =
            recalled.explanation.policies.iter().filter(|one| one.part == part).collect();
        if !of_part.is_empty() {
            out!("  {heading}:");
            folded(&of_part, asks_alike).iter().for_each(|same| show_policies(same));
        }
    }
    recalled.explanation.note.iter().for_each(|note| out!("  {note}"));
}

fn show_policies(same: &[&&Weighed]) {
    for policy in same {
        let effect = if policy.permits { "permit" } else { "forbid" };
        out!("    {effect} {} ({})", policy.id, policy.location);
    }
    let Some(policy) = same.first() else { return };
    if let Some(asks) = &policy.asks {
        let when = policy.asks_when.as_ref().map(|when| format!(" {when}")).unwrap_or_default();
        out!("      asks a human{when}: {asks}");
    }
    if let Some(limit) = &policy.limit {
        out!("      limits: {limit}");
    }
    if !policy.redacts.is_empty() {
        out!("      takes out of replies: {}", policy.redacts.join(", "));
    }
    for wish in &policy.out_of_scope {
        out!("      scope: {wish}");
    }
    for condition in &policy.conditions {
        // of several, each has a place of its own
        let location = if same.len() == 1 { format!("{} ", condition.location) } else { String::new() };
        out!("      {location}{} {}: {}", condition.clause, condition.text, holds(&condition.holds));
    }
}

fn holds(holds: &Holds) -> String {
    match holds {
        Holds::Yes => "true".to_owned(),
        Holds::No => "false".to_owned(),
        Holds::Fails => "cannot be evaluated".to_owned(),
        Holds::Unknown(members) => format!("not known without {}", members.join(", ")),
        Holds::Unasked => "was not evaluated".to_owned(),
    }
}

fn as_json(recalled: &Recalled) -> Value {
    let Explanation { policies, note, .. } = &recalled.explanation;
    let policies: Vec<Value> = policies.iter().map(policy_json).collect();
    json!({
        "concept": recalled.concept,
        "verdict": recalled.now,
        "then": recalled.then,
        "redacted": recalled.now_redacted,
        "then_redacted": recalled.then_redacted,
        "missing": recalled.missing,
        "policies": policies,
        "note": note,
    })
}

fn policy_json(policy: &Weighed) -> Value {
    let conditions: Vec<Value> = policy
        .conditions
        .iter()
        .map(|one| {
            json!({"place": one.location.to_string(), "clause": one.clause, "text": one.text, "holds": holds(&one.holds)})
        })
        .collect();
    let part = match policy.part {
        Part::Decided => "decided",
        Part::Applies => "applies",
        Part::Open => "open",
        Part::Near => "near",
    };
    json!({
        "id": policy.id,
        "effect": if policy.permits { "permit" } else { "forbid" },
        "place": policy.location.to_string(),
        "part": part,
        "asks": policy.asks,
        "asks_when": policy.asks_when,
        "limit": policy.limit,
        "redacts": policy.redacts,
        "out_of_scope": policy.out_of_scope,
        "conditions": conditions,
    })
}
