//! The contexts of the verified view that count now.

use std::collections::BTreeMap;
use std::sync::Arc;

use semgate_contexts::prompt::PromptStatus;
use semgate_contexts::{Context, ContextUrn, Prefix};
use semgate_statement::{LoadedContext, Standing, View};
use tokio::sync::watch;

use super::outcome::Refused;
use crate::names::full_urn;
use crate::system::now;

/// A context that counts now.
#[derive(Clone)]
pub struct Current {
    /// The verified document.
    pub context: Arc<Context>,
    /// Valid or deprecated.
    pub status: PromptStatus,
}

/// The newest verified view.
pub struct Catalogue {
    views: watch::Receiver<Arc<View>>,
}

impl Catalogue {
    pub fn new(views: watch::Receiver<Arc<View>>) -> Self {
        Self { views }
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.views.borrow())
    }

    /// All contexts that count now, by URN.
    pub fn all(&self) -> Vec<Current> {
        let (view, now) = (self.view(), now());
        let all = view.contexts().filter_map(|loaded| current(&view, loaded, now).ok());
        let all: BTreeMap<ContextUrn, Current> =
            all.map(|current| (current.context.urn().clone(), current)).collect();
        all.into_values().collect()
    }

    /// The context of this URN, also in short, if it counts now.
    ///
    /// # Errors
    /// The reason that it does not, named as in a refusal.
    pub fn find(&self, name: &str) -> Result<Current, Refused> {
        let urn = ContextUrn::parse(&full_urn(name), &Prefix::default());
        let urn = urn.map_err(|_| Refused::new("malformed", "that is no URN of a context"))?;
        let (view, now) = (self.view(), now());
        match view.loaded(&urn) {
            Some(loaded) => current(&view, loaded, now),
            None => Err(standing_fault(view.standing(&urn, now))),
        }
    }

    /// The other versions of its major that count now, newest first: their labels may serve.
    pub fn siblings(&self, of: &ContextUrn) -> Vec<Arc<Context>> {
        let is_sibling = |urn: &ContextUrn| {
            urn != of && urn.line() == of.line() && urn.version().major == of.version().major
        };
        let mut all: Vec<Arc<Context>> = self
            .all()
            .into_iter()
            .map(|one| one.context)
            .filter(|context| is_sibling(context.urn()))
            .collect();
        all.sort_by_key(|context| std::cmp::Reverse(context.urn().version()));
        all
    }
}

/// The document, if it and all that it refers to counts now; deprecated if one of them is.
fn current(view: &View, loaded: &LoadedContext, now: u64) -> Result<Current, Refused> {
    let mut status = counts(view, loaded, now)?;
    let context = loaded.context.as_ref();
    let context = context.ok_or_else(|| Refused::new("context_untrusted", "its document does not verify"))?;
    for other in context.references() {
        let urn = other.urn();
        let known = view.loaded(urn).or_else(|| view.reference(urn));
        let known =
            known.ok_or_else(|| Refused::new("context_untrusted", "it refers to an unknown context"))?;
        if counts(view, known, now)? == PromptStatus::Deprecated {
            status = PromptStatus::Deprecated;
        }
    }
    Ok(Current { context: Arc::clone(context), status })
}

fn counts(view: &View, loaded: &LoadedContext, now: u64) -> Result<PromptStatus, Refused> {
    let status = match view.standing_of(loaded, now) {
        Standing::Valid => PromptStatus::Valid,
        Standing::Deprecated => PromptStatus::Deprecated,
        other => return Err(standing_fault(other)),
    };
    if view.floor(loaded.urn.line()).is_some_and(|floor| loaded.urn.version() < floor) {
        return Err(Refused::new("context_below_floor", "it is below the floor of its line"));
    }
    Ok(status)
}

fn standing_fault(standing: Standing) -> Refused {
    match standing {
        Standing::Revoked => Refused::new("context_revoked", "it is revoked for good"),
        Standing::Suspended => Refused::new("context_suspended", "it is suspended"),
        Standing::Stale => {
            Refused::new("status_stale", "its status is too old: the authority cannot be followed")
        }
        Standing::Unrecognised(_) => {
            Refused::new("context_untrusted", "its authority is not recognised for it")
        }
        Standing::NotCovered | Standing::UnknownAuthority | Standing::Valid | Standing::Deprecated => {
            Refused::new("context_unknown", "no such context is published here")
        }
    }
}
