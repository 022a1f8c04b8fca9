//! Delivery targets of the owners.

use super::{About, Delivery, Kind, NotOwned, Owners, Scope, store::Store};
use std::sync::Arc;

/// Target of the notifications under a token, with its owner and the context of the task.
pub(crate) struct DeliveryTarget {
    pub(crate) owner: Arc<str>,
    pub(crate) about: Arc<About>,
    pub(crate) delivery: Arc<Delivery>,
}

impl Owners {
    /// Records the target of notifications under a token. An owner has a bounded number; its oldest is forgotten
    /// first.
    pub(crate) fn deliver(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        token: &str,
        about: &Arc<About>,
        delivery: Delivery,
    ) {
        let most = self.deliveries_by_one;
        let mut store = self.locked();
        let held = store.deliveries(owner);
        for (at, token, _) in held.iter().take((held.len() + 1).saturating_sub(most.max(1))) {
            let gone = store.remove(&Scope::of_key(at), Kind::Delivery, token);
            self.forgotten(gone);
        }
        let gone = store.put(scope, Kind::Delivery, token, owner, Arc::clone(about));
        self.forgotten(gone);
        store.set_delivery(scope, token, Arc::new(delivery));
        self.report(&store, scope, token);
    }

    /// Owner, context and target of the notifications under a token.
    pub(crate) fn delivery(&self, scope: &Scope<'_>, token: &str) -> Option<DeliveryTarget> {
        let mut store = self.locked();
        store.touch(scope, Kind::Delivery, token);
        let (owner, about) = store.find(scope, Kind::Delivery, token)?;
        Some(DeliveryTarget { owner, about, delivery: store.delivery(scope, token)? })
    }

    /// Records task and configuration id of a token, once the agent has named them. Does nothing for an
    /// unknown token. An older token of the same owner and id becomes invalid.
    ///
    /// # Errors
    /// [`NotOwned`] if the token belongs to another task.
    pub(crate) fn bind(
        &self,
        scope: &Scope<'_>,
        token: &str,
        task: &str,
        config: Option<&str>,
    ) -> Result<(), NotOwned> {
        let mut store = self.locked();
        let Some(known) = store.delivery(scope, token) else { return Ok(()) };
        if known.task.as_deref().is_some_and(|known| known != task) {
            return Err(NotOwned);
        }
        let bound_config = config.map(str::to_owned).or_else(|| known.config.clone());
        let bound = Delivery { task: Some(task.to_owned()), config: bound_config, ..Delivery::clone(&known) };
        if bound != *known {
            store.set_delivery(scope, token, Arc::new(bound));
            self.report(&store, scope, token);
        }
        let owner = store.find(scope, Kind::Delivery, token).map(|(owner, _)| owner);
        if let (Some(config), Some(owner)) = (config, owner) {
            let before =
                |other: &str, delivery: &Delivery| other != token && delivery.is_known_as(task, config);
            self.over(&mut store, scope, &owner, before);
        }
        Ok(())
    }

    /// Ends every delivery that may belong to this owner's configuration `push` (`task/configuration`).
    pub(crate) fn undeliver(&self, scope: &Scope<'_>, owner: &str, push: &str) {
        self.over(&mut self.locked(), scope, owner, |_, delivery| delivery.is(push));
    }

    fn over(
        &self,
        store: &mut Store,
        scope: &Scope<'_>,
        owner: &str,
        which: impl Fn(&str, &Delivery) -> bool,
    ) {
        for (at, token, delivery) in store.deliveries(owner) {
            if *at == *scope.key() && which(&token, &delivery) {
                let gone = store.remove(scope, Kind::Delivery, &token);
                self.forgotten(gone);
            }
        }
    }

    fn report(&self, store: &Store, scope: &Scope<'_>, token: &str) {
        if let (Some(owned), Some(journal)) = (store.owned(scope, Kind::Delivery, token), self.journal.get())
        {
            journal.learnt(&owned);
        }
    }
}
