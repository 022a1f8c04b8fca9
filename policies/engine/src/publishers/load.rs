//! From the files of a directory to policies about publishers, as a whole or not at all.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use cedar_policy::{
    ActionConstraint, Effect, EntityUid, PolicyId, PolicySet, Schema, ValidationMode, Validator,
};
use semgate_contexts::Line;

use super::{Names, PublisherAct, PublisherPolicies, SCHEMA, TYPES};
use crate::agents::Agents;
use crate::agents::Declared;
use crate::annotations::policy_id;
use crate::check::{Former, Undeclared, entity_offset, in_order, narrows_without};
use crate::parse::{Alone, each_of, help, location, offset, words};
use crate::suggest::{closest, did_you_mean, is_near};
use crate::{Location, PolicyFault, PolicyLimits, PolicySource};

/// A policy with what it is called and where it stands.
struct Kept<'a> {
    id: Arc<str>,
    file: (&'a str, &'a str),
    alone: Alone,
}

impl Kept<'_> {
    fn location_of_name(&self, uid: &EntityUid) -> Location {
        location(self.file.0, self.file.1, self.alone.start + entity_offset(&self.alone.text, uid))
    }

    fn invalid(&self, at: Location, why: String, hint: Option<String>) -> PolicyFault {
        PolicyFault::Invalid { location: at, policy: self.id.to_string(), why, hint }
    }
}

pub(super) fn load(
    source: &PolicySource,
    former: Option<Former<'_>>,
    limits: &PolicyLimits,
) -> Result<PublisherPolicies, Vec<PolicyFault>> {
    let mut faults = Vec::new();
    if source.limits.is_some() {
        let why = "budgets limit messages: a directory about publishers has no such file".to_owned();
        let location = crate::json_locations::of_file("limits.json");
        faults.push(PolicyFault::Json { location, pointer: String::new(), why });
    }
    let mut agents = Agents::read(&source.entities, limits).unwrap_or_else(|resolved| {
        faults.extend(resolved);
        Agents::default()
    });
    let (kept, four_eyes) = policies(source, limits, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut set = PolicySet::new();
    for one in &kept {
        let added = set.add(one.alone.policy.new_id(PolicyId::new(&*one.id)));
        faults.extend(added.err().map(|e| PolicyFault::Schema { why: e.to_string() }));
    }
    let mut undeclared = Undeclared::default();
    kept.iter().for_each(|one| unknown(one, &agents, former, &mut undeclared));
    agents.keep_former(undeclared.former);
    faults.extend(undeclared.faults);
    faults.extend(validate(&set, &kept));
    in_order(&mut faults);
    let names = Names::parse().map_err(|fault| vec![fault])?;
    if faults.is_empty() {
        let (named, lines) = (named(&kept, "Agent"), named(&kept, "Line"));
        Ok(PublisherPolicies {
            digest: source.digest(),
            set,
            agents,
            named,
            lines,
            four_eyes,
            names,
            warnings: undeclared.warnings,
        })
    } else {
        Err(faults)
    }
}

/// Every policy of every file, and which of them have `@four_eyes`.
fn policies<'a>(
    source: &'a PolicySource,
    limits: &PolicyLimits,
    faults: &mut Vec<PolicyFault>,
) -> (Vec<Kept<'a>>, HashSet<Arc<str>>) {
    let (mut kept, mut four_eyes) = (Vec::new(), HashSet::new());
    let mut ids = HashSet::new();
    for (name, text) in &source.files {
        let file = (name.as_str(), text.as_str());
        let resolved = each_of(name, text, limits.max_nesting).unwrap_or_else(|resolved| {
            faults.extend(resolved);
            Vec::new()
        });
        for alone in resolved {
            let wrong = annotations(&alone);
            let id = alone.id(name, alone.policy.annotation("id"));
            if !ids.insert(Arc::clone(&id)) {
                let location = location(name, text, alone.start);
                faults.push(PolicyFault::Syntax {
                    location,
                    why: format!("a second policy with the id `{id}`"),
                });
            }
            faults.extend(wrong.into_iter().map(|(name, why)| alone.annotation(file.0, file.1, name, &why)));
            if alone.policy.annotation("four_eyes").is_some() {
                four_eyes.insert(Arc::clone(&id));
            }
            kept.push(Kept { id, file, alone });
        }
    }
    if kept.len() > limits.max_policies {
        faults.push(PolicyFault::TooLarge { what: "policies".to_owned(), limit: limits.max_policies });
    }
    if kept.is_empty() && faults.is_empty() {
        faults.push(PolicyFault::Empty);
    }
    (kept, four_eyes)
}

/// Faults of the annotations of a policy.
fn annotations(alone: &Alone) -> Vec<(&str, String)> {
    let mut wrong = Vec::new();
    for (name, value) in alone.policy.annotations() {
        let read = match name {
            "id" => policy_id(value).map(drop),
            "four_eyes" => four_eyes(alone, value),
            _ => Err("no annotation of this name: there are `@id` and `@four_eyes`".to_owned()),
        };
        wrong.extend(read.err().map(|why| (name, why)));
    }
    wrong
}

fn four_eyes(alone: &Alone, value: &str) -> Result<(), String> {
    if !value.is_empty() {
        return Err("it holds no text: write `@four_eyes`".to_owned());
    }
    if alone.policy.effect() == Effect::Forbid {
        return Err("is allowed on a `permit` only: nobody can approve a forbidden act".to_owned());
    }
    let publishes = |uid: &EntityUid| uid.id().unescaped() == PublisherAct::Publish.as_str();
    let may_publish = match alone.policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::In(actions) => actions.iter().any(publishes),
        ActionConstraint::Eq(action) => publishes(&action),
    };
    if may_publish {
        return Err("publishing does not support four eyes: name the other actions, `action in [Action::\"revoke\", …]`".to_owned());
    }
    Ok(())
}

/// Persons and groups that `entities.json` does not have, lines that cannot be, versions named as if they had ids.
fn unknown(one: &Kept<'_>, agents: &Agents, former: Option<Former<'_>>, names: &mut Undeclared) {
    let mut seen = HashSet::new();
    let policy = &one.alone.policy;
    let clauses = crate::parse::clauses(policy).unwrap_or_default();
    let tolerated = |kind: Declared, name: &str, uid: &EntityUid| {
        former.is_some_and(|former| {
            former.tolerates(kind, name, agents, narrows_without(policy, &clauses, uid))
        })
    };
    for uid in one.alone.policy.entity_literals() {
        if !seen.insert(uid.clone()) {
            continue;
        }
        let (id, entity) = (uid.id().unescaped(), uid.to_string());
        let at = || one.location_of_name(&uid);
        let missing = |hint: Option<String>| PolicyFault::UnknownEntity {
            location: at(),
            policy: one.id.to_string(),
            entity: entity.clone(),
            hint,
        };
        match uid.type_name().to_string().as_str() {
            "Agent" if agents.position(id).is_none() => {
                let near = agents.closest(id);
                let fault = missing(near.map(|near| format!("did you mean `Agent::\"{near}\"`?")));
                names.add(Declared::Agent, id, tolerated(Declared::Agent, id, &uid), fault);
            }
            "Group" if !agents.groups().contains(id) => {
                let near = closest(id, agents.groups().iter().map(String::as_str));
                let fault = missing(near.map(|near| format!("did you mean `Group::\"{near}\"`?")));
                names.add(Declared::Group, id, tolerated(Declared::Group, id, &uid), fault);
            }
            "Line" => {
                let fault = Line::parse(id).err().map(|e| e.to_string());
                names.faults.extend(fault.map(|why| one.invalid(at(), format!("`{entity}`: {why}"), None)));
            }
            "Version" => {
                let hint = "write `resource in Line::\"…\"`, or ask for `resource.major`".to_owned();
                let why = format!("`{entity}` names a version, and versions have no names");
                names.faults.push(one.invalid(at(), why, Some(hint)));
            }
            _ => {}
        }
    }
}

/// Cedar's strict validation; what it only warns of is a fault as well.
fn validate(set: &PolicySet, kept: &[Kept<'_>]) -> Vec<PolicyFault> {
    let schema = match Schema::from_cedarschema_str(SCHEMA) {
        Ok((schema, _)) => schema,
        Err(e) => return vec![PolicyFault::Schema { why: e.to_string() }],
    };
    let result = Validator::new(schema).validate(set, ValidationMode::Strict);
    let find = |id: &PolicyId| kept.iter().find(|one| *one.id == *AsRef::<str>::as_ref(id));
    let fault = |id: &PolicyId, stated: &dyn miette::Diagnostic| {
        let one = find(id)?;
        let why = words(stated);
        let prefix = format!("for policy `{}`, ", one.id);
        let why = why.strip_prefix(&prefix).unwrap_or(&why).to_owned();
        let at = offset(stated).map_or(one.alone.start, |at| one.alone.start + at);
        let at = location(one.file.0, one.file.1, at);
        let hint = meant(&why, help(stated));
        Some(one.invalid(at, why, hint))
    };
    let mut faults: Vec<PolicyFault> = Vec::new();
    let mut wrong = HashSet::new();
    for error in result.validation_errors() {
        wrong.insert(error.policy_id().clone());
        faults.extend(fault(error.policy_id(), error).filter(|fault| !faults.contains(fault)));
    }
    // That a policy can never match mostly follows from an error in it.
    for warning in result.validation_warnings().filter(|warning| !wrong.contains(warning.policy_id())) {
        faults.extend(fault(warning.policy_id(), warning).filter(|fault| !faults.contains(fault)));
    }
    if faults.is_empty() && !result.validation_passed_without_warnings() {
        faults.push(PolicyFault::Schema { why: result.to_string() });
    }
    faults
}

/// The probable intention, from what Cedar suggests; among names at the same distance Cedar suggests another one each time.
fn meant(why: &str, help: Option<String>) -> Option<String> {
    let near = |written: &str, names: &[&'static str]| closest(written, names.iter().copied());
    let asked = |near: String| format!("did you mean `{near}`?");
    if let Some(written) = between(why, "unrecognized action `Action::\"", "\"`") {
        let acts = PublisherAct::ALL.map(PublisherAct::as_str);
        let all = || format!("the actions are {}", acts.map(|act| format!("`{act}`")).join(", "));
        return Some(near(written, &acts).map_or_else(all, |act| asked(format!("Action::\"{act}\""))));
    }
    if let Some(written) = between(why, "unrecognized entity type `", "`") {
        return did_you_mean(written, TYPES.into_iter());
    }
    help.filter(|help| is_near(why, help))
}

fn between<'t>(text: &'t str, before: &str, behind: &str) -> Option<&'t str> {
    Some(text.strip_prefix(before)?.split_once(behind)?.0)
}

/// Persons, or lines, that policies name.
fn named(kept: &[Kept<'_>], kind: &str) -> Vec<String> {
    let literals = kept.iter().flat_map(|one| one.alone.policy.entity_literals());
    let of_kind = literals.filter(|uid| uid.type_name().to_string() == kind);
    let named: BTreeSet<String> = of_kind.map(|uid| uid.id().unescaped().to_owned()).collect();
    named.into_iter().collect()
}
