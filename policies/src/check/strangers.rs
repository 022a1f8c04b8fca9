//! Entities of types that others have and Semgate has not: users, roles, services, lines. Each is told once, with who or what was meant.

use cedar_policy::{EntityUid, PrincipalConstraint, ResourceConstraint};

use super::{AGENT, Texts, agent_hint, closest, place_in, policy_in};
use crate::agents::Agents;
use crate::parse::Written;
use crate::sense::tokens::Token;
use crate::{Place, PolicyFault};

/// What a type of this name is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stranger {
    Sender,
    Group,
    Action,
    Message,
    /// Of no name that is known: what it stands beside says who is meant.
    Any,
}

impl Stranger {
    fn of(kind: &str) -> Self {
        let last = kind.rsplit("::").next().unwrap_or(kind);
        match last.to_ascii_lowercase().replace('_', "").as_str() {
            "user" | "sender" | "client" | "service" | "serviceaccount" | "account" | "principal"
            | "subject" | "caller" | "person" | "employee" | "customer" | "partner" | "machine"
            | "workload" | "bot" | "app" | "application" | "identity" | "receiver" | "spiffe" => Self::Sender,
            "role" | "roles" | "team" | "usergroup" | "department" | "organization" | "organisation"
            | "org" | "tenant" => Self::Group,
            "performative" | "operation" | "verb" => Self::Action,
            "line" | "concept" | "message" | "resource" | "topic" | "type" | "object" => Self::Message,
            _ => Self::Any,
        }
    }
}

/// Whether a type is one of these: types of ours have a name space, and so may theirs have.
pub(super) fn is_one(kind: &str) -> bool {
    !kind.contains("::") || matches!(Stranger::of(kind), Stranger::Sender | Stranger::Group)
}

/// What is meant by such a type behind `is`.
pub(super) fn of_type(kind: &str) -> &'static str {
    match Stranger::of(kind) {
        Stranger::Sender => {
            "every sender is an agent, so that `principal` alone is enough; a group is asked as in `principal in Group::\"partners\"`"
        }
        Stranger::Group => "a group is asked as in `principal in Group::\"partners\"`",
        _ if matches!(
            kind,
            "String"
                | "Long"
                | "Bool"
                | "Boolean"
                | "Set"
                | "Record"
                | "decimal"
                | "datetime"
                | "duration"
                | "ipaddr"
        ) =>
        {
            "`is` asks what an entity is; of which type a member is, `semgate policy check --schema` prints"
        }
        _ => "a message is asked for by line and concept, as in `resource is payment::transfer`",
    }
}

/// What is said of a sender that would be a group.
const NO_GROUP: &str =
    "every sender is an `Agent`: who is in a group is asked as in `principal in Group::\"partners\"`";

impl Texts<'_> {
    /// What is told of an entity of such a type.
    pub(super) fn stranger(&self, written: &Written, uid: &EntityUid, agents: &Agents) -> PolicyFault {
        let kind = uid.type_name().to_string();
        let id = uid.id().unescaped();
        let group = || {
            let near = closest(id, agents.groups().iter().map(String::as_str));
            let form = "groups are named as in `Group::\"partners\"`";
            near.map_or_else(
                || form.to_owned(),
                |near| format!("groups are `Group::\"…\"`: did you mean `Group::\"{near}\"`?"),
            )
        };
        let sender = || {
            let form = "agents are `Agent::\"spiffe://…\"`";
            match agents.position(id) {
                Some(_) => format!("{form}: did you mean `Agent::\"{id}\"`?"),
                None => match agent_hint(id, agents) {
                    Some(near) if near.starts_with(AGENT) => near,
                    Some(near) => format!("{form}: {near}"),
                    None => form.to_owned(),
                },
            }
        };
        let asked = |kind: Stranger| match kind {
            Stranger::Any if self.is_beside(written, uid, "resource") => Stranger::Message,
            Stranger::Any if self.is_beside(written, uid, "action") => Stranger::Action,
            Stranger::Any if self.is_behind_in(written, uid) => Stranger::Group,
            Stranger::Any => Stranger::Sender,
            known => known,
        };
        let hint = match asked(Stranger::of(&kind)) {
            Stranger::Group => group(),
            Stranger::Sender | Stranger::Any => sender(),
            Stranger::Action => format!("performatives are actions: write `Action::\"{id}\"`"),
            Stranger::Message => {
                "a message is asked for as in `resource is payment::transfer`, and a line as in `context.line == \"payment\"`"
                    .to_owned()
            }
        };
        PolicyFault::Invalid {
            place: self.place_of_name(written, uid),
            policy: written.id.to_string(),
            why: format!("there is no entity type `{kind}` here"),
            hint: Some(hint),
        }
    }

    /// The words before the name of an entity, the nearest first.
    fn words_before(&self, written: &Written, uid: &EntityUid) -> Vec<&str> {
        let kind = uid.type_name().to_string();
        let mut own: Vec<&str> = kind.split("::").flat_map(|name| [name, "::"]).collect();
        own.pop();
        let words = self.words(written);
        let is_here = |at: &usize| words.iter().skip(*at).zip(&own).all(|(word, own)| word.text == *own);
        let at = (0..words.len()).find(is_here).unwrap_or_default();
        words.iter().take(at).rev().take(8).map(|word| word.text).collect()
    }

    fn is_behind_in(&self, written: &Written, uid: &EntityUid) -> bool {
        let before = self.words_before(written, uid);
        before.iter().find(|word| matches!(**word, "in" | "=" | "(" | ",")) == Some(&"in")
    }

    /// Whether it is held against this variable.
    fn is_beside(&self, written: &Written, uid: &EntityUid, variable: &str) -> bool {
        let before = self.words_before(written, uid);
        let is_variable = |word: &&&str| matches!(**word, "principal" | "action" | "resource" | "context");
        before.iter().find(is_variable) == Some(&variable)
    }

    /// Where the type stands that a scope asks a variable for.
    fn place_of_type(&self, written: &Written, variable: &str, kind: &str) -> Place {
        let words = self.words(written);
        let first = kind.split("::").next().unwrap_or(kind);
        let is_here = |three: &&[Token<'_>]| three.iter().map(|word| word.text).eq([variable, "is", first]);
        let at = words.windows(3).find(is_here).and_then(|three| three.last()).map_or(0, |word| word.at);
        self.place_at(written, at)
    }

    /// Where a scope asks for a type that its variable never is, with what was meant.
    pub(crate) fn no_message(&self, written: &Written) -> Option<(Place, String)> {
        let policy = &written.policy;
        if let ResourceConstraint::Is(name) = policy.resource_constraint() {
            let name = name.to_string();
            let hint = "`resource` is the message: who sends it is `principal`, and who receives it `context.receiver`";
            if matches!(name.as_str(), "Agent" | "Group" | "Action") {
                return Some((self.place_of_type(written, "resource", &name), hint.to_owned()));
            }
        }
        if let PrincipalConstraint::Is(name) | PrincipalConstraint::IsIn(name, _) =
            policy.principal_constraint()
        {
            let name = name.to_string();
            return (name != "Agent")
                .then(|| (self.place_of_type(written, "principal", &name), NO_GROUP.to_owned()));
        }
        None
    }

    /// Where a condition asks whether a sender or a receiver is a group, with what was meant: in words that nothing turns round.
    pub(crate) fn is_group(&self, written: &Written) -> Option<(Place, String)> {
        let words = self.words(written);
        if words.iter().any(|word| matches!(word.text, "unless" | "!" | "|" | "if")) {
            return None;
        }
        let asks = |three: &&[Token<'_>]| {
            matches!(three, [who, is, kind]
                if matches!(who.text, "principal" | "receiver") && is.text == "is" && kind.text == "Group")
        };
        let conditions = words.iter().position(|word| word.text == "when")?;
        let kind = words.get(conditions..)?.windows(3).find(asks)?.last()?;
        Some((self.place_at(written, kind.at), NO_GROUP.to_owned()))
    }
}

/// Adds what does not fit, without what is told of the same name already.
pub(crate) fn told_once(faults: &mut Vec<PolicyFault>, unfit: Vec<PolicyFault>) {
    let kind = |fault: &PolicyFault, says: &str| match fault {
        PolicyFault::Invalid { why, .. } => {
            why.strip_prefix(says).and_then(|rest| rest.split('`').next()).map(str::to_owned)
        }
        _ => None,
    };
    let told: Vec<(String, String)> = faults
        .iter()
        .filter_map(|fault| Some((policy_in(fault)?.to_owned(), kind(fault, "there is no entity type `")?)))
        .collect();
    let places: Vec<Place> = faults.iter().filter_map(|fault| place_in(fault).cloned()).collect();
    let again = |fault: &PolicyFault| match (policy_in(fault), kind(fault, "unrecognized entity type `")) {
        (Some(policy), Some(kind)) => told.iter().any(|(of, other)| of == policy && *other == kind),
        _ => matches!(fault, PolicyFault::UnknownLine { place, policies: 1, .. } if places.contains(place)),
    };
    let unfit: Vec<PolicyFault> = unfit.into_iter().filter(|fault| !again(fault)).collect();
    faults.extend(unfit);
}
