//! Agents, groups and credentials that a policy names and `entities.json` does not declare.

use std::collections::BTreeSet;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal};
use cedar_policy::{Effect, EntityUid, Policy};

use super::former::{Former, is_in_scope, narrows};
use super::{Texts, entity_offset};
use crate::PolicyFault;
use crate::agents::{Agents, Declared};
use crate::credentials::is_shown;
use crate::parse::Written;
use crate::partial;
use crate::suggest::{closest, did_you_mean};

/// The names that `entities.json` does not declare.
#[derive(Debug, Default)]
pub(crate) struct Undeclared {
    /// Undeclared names: the set is not loaded.
    pub faults: Vec<PolicyFault>,
    /// Names that the running generation knew and that permit nobody more where they mean nobody: the set is loaded, and whoever had
    /// the name loses at once what it gave.
    pub warnings: Vec<PolicyFault>,
    /// The names of `warnings`.
    pub former: BTreeSet<(Declared, String)>,
}

impl Undeclared {
    /// Adds a name that is not declared.
    pub fn add(&mut self, kind: Declared, name: &str, tolerated: bool, fault: PolicyFault) {
        if tolerated {
            self.former.insert((kind, name.to_owned()));
            self.warnings.push(fault);
        } else {
            self.faults.push(fault);
        }
    }
}

impl Texts<'_> {
    /// Every undeclared name.
    pub fn undeclared(&self, agents: &Agents, former: Option<Former<'_>>) -> Undeclared {
        let mut all = Undeclared::default();
        for written in self.written {
            let mut seen = Vec::new();
            for uid in written.policy.entity_literals() {
                if !seen.contains(&uid) {
                    self.entity(written, &uid, agents, former, &mut all);
                    seen.push(uid);
                }
            }
            for name in credentials(written) {
                if is_shown(&name) || agents.declares(Declared::Credential, &name) {
                    continue;
                }
                let fault = PolicyFault::UnknownEntity {
                    location: self.location_of(written, &[&format!("\"{name}\"")]),
                    policy: written.id.to_string(),
                    entity: format!("credential \"{name}\""),
                    hint: did_you_mean(&name, agents.credentials().iter().map(String::as_str)),
                };
                let is_it =
                    |expr: &Expr| matches!(expr, Expr::Literal(Literal::String(text)) if *text == name);
                let narrows = || narrows(&written.policy, &written.clauses, &is_it);
                let tolerated = former
                    .is_some_and(|former| former.tolerates(Declared::Credential, &name, agents, narrows()));
                all.add(Declared::Credential, &name, tolerated, fault);
            }
        }
        all
    }

    fn entity(
        &self,
        written: &Written,
        uid: &EntityUid,
        agents: &Agents,
        former: Option<Former<'_>>,
        all: &mut Undeclared,
    ) {
        let id = uid.id().unescaped();
        let at = || self.location_at(written, entity_offset(self.text(written), uid));
        let (kind, hint): (_, fn(&str, &Agents) -> Option<String>) =
            match uid.type_name().to_string().as_str() {
                "Agent" => (Declared::Agent, agent_hint),
                "Group" => (Declared::Group, group_hint),
                // Cedar's validator knows every action, and no type without a name space
                name if name == "Action" || name.ends_with("::Action") || !name.contains("::") => return,
                name => {
                    let why = format!("`{uid}` names an instance, and instances have no names");
                    let hint = format!("write `resource is {name}`");
                    return all.faults.push(self.invalid(written, at(), why, Some(hint)));
                }
            };
        if !agents.declares(kind, id) {
            let fault = PolicyFault::UnknownEntity {
                location: at(),
                policy: written.id.to_string(),
                entity: uid.to_string(),
                hint: hint(id, agents),
            };
            let narrows = || narrows_without(&written.policy, &written.clauses, uid);
            let tolerated = former.is_some_and(|former| former.tolerates(kind, id, agents, narrows()));
            all.add(kind, id, tolerated, fault);
        }
    }
}

/// Returns true if a policy permits no more once an entity is nobody.
pub(crate) fn narrows_without(policy: &Policy, clauses: &[Clause], uid: &EntityUid) -> bool {
    let name = uid.to_string();
    let is_it =
        |expr: &Expr| matches!(expr, Expr::Literal(Literal::EntityUID(one)) if one.to_string() == name);
    narrows(policy, clauses, &is_it) && (policy.effect() == Effect::Permit || !is_in_scope(policy, uid))
}

/// The names in `X.credentials.contains("…")`, `containsAny` and `containsAll`.
fn credentials(written: &Written) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let text = |expr: &Expr| match expr {
        Expr::Literal(Literal::String(name)) => Some(name.to_string()),
        _ => None,
    };
    partial::each(&written.clauses, &mut |expr| {
        let Expr::BinaryOp { op, left, right } = &**expr else { return };
        let asks = matches!(op, BinaryOp::Contains | BinaryOp::ContainsAny | BinaryOp::ContainsAll);
        // a member of the message may have that name too
        let of_agent = matches!(&**left, Expr::GetAttr { expr, attr }
            if attr == "credentials" && partial::resource_path(expr).is_none());
        if asks && of_agent {
            match &**right {
                Expr::Set(items) => names.extend(items.iter().filter_map(|item| text(item))),
                one => names.extend(text(one)),
            }
        }
    });
    names
}

fn agent_hint(id: &str, agents: &Agents) -> Option<String> {
    let aliases = || agents.entries().iter().filter_map(|entry| Some((entry.alias.as_deref()?, entry)));
    if let Some(near) = closest(id, aliases().map(|(alias, _)| alias))
        && let Some((_, entry)) = aliases().find(|(alias, _)| *alias == near)
    {
        return Some(format!("`{near}` is an alias: write `Agent::\"{}\"`", entry.id));
    }
    let near = agents.closest(id).map(|near| format!("did you mean `Agent::\"{near}\"`?"));
    let form = "an agent is named by the SPIFFE id of its certificate, as in `Agent::\"spiffe://…\"`";
    near.or_else(|| (!id.starts_with("spiffe://")).then(|| form.to_owned()))
}

fn group_hint(id: &str, agents: &Agents) -> Option<String> {
    if agents.position(id).is_some() {
        return Some(format!("it is an agent: write `Agent::\"{id}\"`"));
    }
    let near = closest(id, agents.groups().iter().map(String::as_str));
    let declare = "a group exists once an agent is in it, or the list `groups` names it";
    Some(near.map_or_else(|| declare.to_owned(), |near| format!("did you mean `Group::\"{near}\"`?")))
}
