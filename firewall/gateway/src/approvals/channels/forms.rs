//! Tokens of the forms on confirmation pages.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use semgate_approvals::token_hash;

use super::fault::random_text;

/// Forms of one link that are open at once: the person's, and those of scanners that open the link too.
const MAX_FORMS: usize = 8;
/// Forms of all links. One form takes about 200 bytes.
const MAX_ALL: usize = 65_536;

/// Tokens of rendered forms, by the hash of their link's token. They end with the process: a person then opens the link again.
#[derive(Default)]
pub(super) struct Forms {
    open: Mutex<HashMap<String, Vec<String>>>,
}

impl Forms {
    /// A token for one more form of this link. The oldest form of too many stops working.
    pub(super) fn draw(&self, link: &str) -> Option<String> {
        let token = random_text().ok()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_ALL && !open.contains_key(link) {
            open.clear();
        }
        let forms = open.entry(link.to_owned()).or_default();
        if forms.len() >= MAX_FORMS {
            forms.remove(0);
        }
        forms.push(token_hash(&token));
        Some(token)
    }

    /// Takes a token; it serves once.
    pub(super) fn take(&self, link: &str, token: &str) -> bool {
        let hash = token_hash(token);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(forms) = open.get_mut(link) else { return false };
        let before = forms.len();
        forms.retain(|form| *form != hash);
        forms.len() < before
    }

    /// Forgets the forms of a link that is used up.
    pub(super) fn forget(&self, link: &str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(link);
    }
}
