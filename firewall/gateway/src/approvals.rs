//! Approvals: requests to people, their answers, and the channels that carry both.
//!
//! A thread of its own owns the [`Journal`]. Every change of the book is on disk before anybody learns of it, so a crash at any
//! point neither loses an answer nor allows a second use.

pub(crate) mod channels;
pub(crate) mod desk;
pub(crate) mod enrol;
pub(crate) mod humans;
mod journal;
mod keys;
pub(crate) mod listener;
mod records;
mod scribe;
pub(crate) mod seal;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use desk::{Desk, DeskFault};
pub(crate) use records::recorder;
pub(crate) use scribe::Scribe;

use crate::config::{ApprovalsConfig, Config};
use crate::fault::RunFault;

/// Everything about approvals that is read before a port is bound.
pub(crate) struct Approvals {
    /// The handle for messages and people.
    pub(crate) desk: Desk,
    /// The owner of the journal, for its own thread.
    pub(crate) scribe: Scribe,
    /// The settings.
    pub(crate) config: Arc<ApprovalsConfig>,
}

impl Approvals {
    /// Reads cards, keys and the journal; none without `[approvals]`.
    ///
    /// # Errors
    /// An unreadable card, or a journal with an event that is damaged or that this gateway did not sign.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, RunFault> {
        let Some(settings) = &config.approvals else { return Ok(None) };
        let settings = Arc::new(settings.clone());
        let cards = settings.card_key.as_deref().map(seal::CardKey::open).transpose()?;
        let keys = keys::ApprovalKeys::open(&config.state)?.with_cards(cards);
        let registry = humans::load(&settings)?;
        let (book, journal) = journal::Journal::open(&config.state, settings.book(), &keys)?;
        let (desk, scribe) = desk::pair(book, journal, registry, keys);
        Ok(Some(Self { desk, scribe, config: settings }))
    }
}
