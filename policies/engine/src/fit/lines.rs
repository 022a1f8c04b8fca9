//! Lines that a policy about every type cannot be typed beside, however many they are.
//!
//! Each line is held against the policy by itself, beside those alone that the policy names. So what one line (and whoever publishes on
//! it) says never makes another lose a document, and the looks that one takes are taken from no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use semgate_contexts::{Context, ContextUrn, DocumentLimits, Line, Performative, Prefix};
use serde_json::json;

use super::{Fitting, Mistyped, Step, candidates, invalid, is_open, named_lines, of_lines};
use crate::PolicyFault;
use crate::catalogue::{Catalogue, TypeInfo};
use crate::check::is_impossible;
use crate::parse::Written;

/// Documents of one line among which the least that has to go is sought; of a line with more, only its highest so many versions are tried
/// one by one, and then all of the line goes. A line has a handful of live versions.
const MAX_SOUGHT: usize = 32;

/// Documents of one step of each of which is told what is wrong beside it; of more, what is wrong beside the first, since a look at each takes time.
const MAX_EACH: usize = 64;

/// What has to go so that a policy is typed.
#[derive(Default)]
struct Gone {
    urns: BTreeSet<ContextUrn>,
    /// A document among them that is live, so that none of them goes.
    held_by: Option<ContextUrn>,
}

impl Fitting<'_> {
    /// Leaves out what mistypes one policy about every type, in as many lines as there are; nothing where the policy is itself the mistake:
    /// where what has no members mistypes it, or nothing would be left that has what it asks for.
    pub(super) fn line_by_line(
        &self,
        kept: &[Arc<Context>],
        before: &BTreeSet<String>,
    ) -> Result<Option<Step>, Vec<PolicyFault>> {
        for written in self.texts.written.iter().filter(|written| before.contains(&*written.id)) {
            let Gone { urns, held_by } =
                if is_open(written) { self.gone(kept, written)? } else { Gone::default() };
            if urns.is_empty() {
                continue;
            }
            let goes = |context: &Arc<Context>| urns.contains(context.urn());
            let (gone, without): (Vec<_>, Vec<_>) = kept.iter().cloned().partition(goes);
            let left = self.validate(&without, held_by.as_ref().map(|_| before))?;
            let now = invalid(&left.1);
            if now.contains(&*written.id)
                || !now.is_subset(before)
                || !self.finds_its_members(written, &left.0)
            {
                continue;
            }
            match held_by {
                Some(urn) => self.held_by.borrow_mut().insert(Arc::clone(&written.id), urn),
                None => {
                    let own = self.each(written, kept, &gone)?;
                    return Ok(Some(Step { without, gone, own, left }));
                }
            };
        }
        Ok(None)
    }

    /// What is wrong with the policy beside each of several documents by itself: they may lack different things.
    fn each(
        &self,
        written: &Written,
        kept: &[Arc<Context>],
        gone: &[Arc<Context>],
    ) -> Result<BTreeMap<ContextUrn, PolicyFault>, Vec<PolicyFault>> {
        let mut own = BTreeMap::new();
        if gone.len() < 2 {
            return Ok(own);
        }
        let base = of_lines(kept, &named_lines(kept, written));
        for context in gone.iter().take(MAX_EACH) {
            let beside: Vec<_> = base.iter().chain([context]).cloned().collect();
            let faults = self.texts.validate_all(&[written], &self.typed(&beside));
            // that it matches nothing here is no matter: what it matches may be in another line
            let wrong = |fault: &PolicyFault| matches!(fault, PolicyFault::Invalid { why, .. } if !is_impossible(why));
            let first = faults.map_err(|fault| vec![fault])?.into_iter().find(wrong);
            own.extend(first.map(|fault| (context.urn().clone(), fault)));
        }
        Ok(own)
    }

    /// What would have to go of the lines beside which a policy is mistyped.
    fn gone(&self, kept: &[Arc<Context>], written: &Written) -> Result<Gone, Vec<PolicyFault>> {
        let named = named_lines(kept, written);
        let base = of_lines(kept, &named);
        let with = |more: &[Arc<Context>]| base.iter().chain(more).cloned().collect::<Vec<_>>();
        let Some(plain) = plain(kept) else { return Ok(Gone::default()) };
        if self.is_mistyped(written, &with(&[plain]))? == Mistyped::Yes {
            return Ok(Gone::default());
        }
        let mut gone = Gone::default();
        for of_line in kept.chunk_by(|a, b| a.urn().line() == b.urn().line()) {
            let is_named = of_line.first().is_some_and(|context| named.contains(context.urn().line()));
            if is_named {
                continue;
            }
            if self.looks.get() == 0 {
                return Ok(Gone::default());
            }
            if self.looked(written, &with(of_line))? == Mistyped::No {
                continue;
            }
            match self.least(written, of_line, &with)? {
                Some(urns) => gone.urns.extend(urns),
                None => {
                    gone.urns.extend(of_line.iter().map(|context| context.urn().clone()));
                    let live = of_line.iter().find(|context| self.after.live.contains(context.digest()));
                    let Some(live) = live else { return Ok(Gone::default()) };
                    gone.held_by.get_or_insert_with(|| live.urn().clone());
                }
            }
        }
        Ok(gone)
    }

    /// The least of a line without which the policy is typed; none if only what is live would have to go.
    fn least(
        &self,
        written: &Written,
        of_line: &[Arc<Context>],
        with: &impl Fn(&[Arc<Context>]) -> Vec<Arc<Context>>,
    ) -> Result<Option<BTreeSet<ContextUrn>>, Vec<PolicyFault>> {
        for gone in ways(of_line) {
            let goes = |context: &&Arc<Context>| gone.contains(context.urn());
            if of_line.iter().filter(goes).any(|context| self.after.live.contains(context.digest())) {
                continue;
            }
            let rest: Vec<Arc<Context>> = of_line.iter().filter(|context| !goes(context)).cloned().collect();
            if self.looks.get() == 0 {
                break;
            }
            if self.looked(written, &with(&rest))? == Mistyped::No {
                return Ok(Some(gone));
            }
        }
        Ok(None)
    }

    /// [`Fitting::is_mistyped`], counted.
    fn looked(&self, written: &Written, contexts: &[Arc<Context>]) -> Result<Mistyped, Vec<PolicyFault>> {
        self.looks.set(self.looks.get().saturating_sub(1));
        self.is_mistyped(written, contexts)
    }

    /// Whether every member that the policy asks for is still somewhere.
    fn finds_its_members(&self, written: &Written, catalogue: &Catalogue) -> bool {
        let has = |name: &String, info: &TypeInfo| {
            info.attributes.members.get(name).is_some_and(|member| member.kind.is_some())
        };
        let is_somewhere = |name: &String| catalogue.types.iter().any(|info| has(name, info));
        written.reads.resource.names.iter().all(is_somewhere)
    }
}

/// What of a line could go, the least first, and all of it last.
fn ways(of_line: &[Arc<Context>]) -> Vec<BTreeSet<ContextUrn>> {
    let Some(line) = of_line.first().map(|context| context.urn().line().clone()) else { return Vec::new() };
    let mut ways = if of_line.len() <= MAX_SOUGHT {
        candidates(of_line, &BTreeMap::from([(line, Vec::new())]))
    } else {
        let highest = of_line.iter().rev().take(MAX_SOUGHT);
        highest.map(|context| BTreeSet::from([context.urn().clone()])).collect()
    };
    ways.push(of_line.iter().map(|context| context.urn().clone()).collect());
    ways
}

/// A context of a line that is not held, with one concept without members under every performative: whatever asks it for a member asks
/// too much of every type.
fn plain(kept: &[Arc<Context>]) -> Option<Arc<Context>> {
    let is_held = |name: &String| {
        Line::parse(name).is_ok_and(|line| kept.iter().any(|context| *context.urn().line() == line))
    };
    let name = (0..=kept.len()).map(|number| format!("plain{number}")).find(|name| !is_held(name))?;
    let taken: Vec<&str> = Performative::ALL.iter().map(|one| one.as_str()).collect();
    let concept =
        json!({"type": "object", "properties": {}, "additionalProperties": false, "x-performatives": taken});
    let document = json!({"context": format!("urn:contexts:{name}:v1.0"), "concepts": {"plain": concept}});
    let bytes = document.to_string().into_bytes();
    Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).ok().map(Arc::new)
}
