//! Sessions and one-time links, in memory: they end with the process.
//!
//! A cookie and a link are 256 random bits. The store keeps only their SHA-256, so neither can be read out of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Semaphore;

use crate::config::PersonConfig;
use crate::fault::RunFault;

/// Seconds that a session lasts at most: a working day.
pub(crate) const LONGEST: u64 = 8 * 3_600;
/// Seconds after which an unused session ends.
pub(crate) const IDLE: u64 = 30 * 60;
/// Seconds in which a link counts.
pub(crate) const LINK: u64 = 5 * 60;
/// Live pages of one session.
pub(crate) const STREAMS: usize = 4;
/// Sessions of one person. The oldest ends when another begins.
const OF_A_PERSON: usize = 8;

/// The proof by which a person logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// A client certificate; it must be on every connection of the session.
    Certificate,
    /// A one-time link.
    Link,
}

impl Factor {
    /// The value of `Semgate-Factor`.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Link => "link",
        }
    }
}

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The person.
    pub(crate) person: Arc<PersonConfig>,
    /// The proof.
    pub(crate) factor: Factor,
    /// The token that every form of the session carries.
    pub(crate) csrf: String,
    /// The last second of the session.
    pub(crate) ends: u64,
    /// Slots of its live pages.
    pub(crate) streams: Arc<Semaphore>,
    used: u64,
}

type Key = [u8; 32];

/// All sessions and links.
pub(crate) struct Sessions {
    random: SystemRandom,
    tokens: hmac::Key,
    open: HashMap<Key, Session>,
    links: BTreeMap<Key, Link>,
}

struct Link {
    person: Arc<PersonConfig>,
    until: u64,
}

impl Sessions {
    /// No session.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn new() -> Result<Self, RunFault> {
        let random = SystemRandom::new();
        let tokens = hmac::Key::generate(hmac::HMAC_SHA256, &random).map_err(|_| no_randomness())?;
        Ok(Self { random, tokens, open: HashMap::new(), links: BTreeMap::new() })
    }

    /// Begins a session. Returns the value of its cookie.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn begin(
        &mut self,
        person: Arc<PersonConfig>,
        factor: Factor,
        now: u64,
    ) -> Result<String, RunFault> {
        self.open.retain(|_, session| session.counts(now));
        let own: Vec<(u64, Key)> = self
            .open
            .iter()
            .filter(|(_, session)| session.person.id == person.id)
            .map(|(key, session)| (session.ends, *key))
            .collect();
        if own.len() >= OF_A_PERSON
            && let Some((_, oldest)) = own.iter().min()
        {
            self.open.remove(oldest);
        }
        let (cookie, key) = self.secret()?;
        let csrf = URL_SAFE_NO_PAD.encode(hmac::sign(&self.tokens, &key).as_ref());
        let (ends, streams) = (now.saturating_add(LONGEST), Arc::new(Semaphore::new(STREAMS)));
        let session = Session { person, factor, csrf, ends, streams, used: now };
        self.open.insert(key, session);
        Ok(cookie)
    }

    /// The session of a cookie; `None` once it has ended. `active` means that the person did something.
    pub(crate) fn of(&mut self, cookie: &str, now: u64, active: bool) -> Option<Session> {
        let key = key_of(cookie);
        let session = self.open.get_mut(&key)?;
        if !session.counts(now) {
            self.open.remove(&key);
            return None;
        }
        if active {
            session.used = now;
        }
        Some(session.clone())
    }

    /// True if `shown` is the token of the session of this cookie; in constant time.
    pub(crate) fn is_token(&self, cookie: &str, shown: &str) -> bool {
        let Ok(tag) = URL_SAFE_NO_PAD.decode(shown) else { return false };
        hmac::verify(&self.tokens, &key_of(cookie), &tag).is_ok()
    }

    /// Ends the session of a cookie.
    pub(crate) fn end(&mut self, cookie: &str) {
        self.open.remove(&key_of(cookie));
    }

    /// Makes a link that logs this person in once. Returns its secret.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn link(&mut self, person: Arc<PersonConfig>, now: u64) -> Result<String, RunFault> {
        let (secret, key) = self.secret()?;
        self.links.insert(key, Link { person, until: now.saturating_add(LINK) });
        Ok(secret)
    }

    /// True if a link still counts; does not use it.
    pub(crate) fn is_link(&self, secret: &str, now: u64) -> bool {
        self.links.get(&key_of(secret)).is_some_and(|link| now <= link.until)
    }

    /// The person of a link, which is used up.
    pub(crate) fn take_link(&mut self, secret: &str, now: u64) -> Option<Arc<PersonConfig>> {
        let link = self.links.remove(&key_of(secret))?;
        (now <= link.until).then_some(link.person)
    }

    fn secret(&self) -> Result<(String, Key), RunFault> {
        let mut bytes = [0; 32];
        self.random.fill(&mut bytes).map_err(|_| no_randomness())?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let key = key_of(&text);
        Ok((text, key))
    }
}

impl Session {
    fn counts(&self, now: u64) -> bool {
        now <= self.ends && now <= self.used.saturating_add(IDLE)
    }
}

fn key_of(secret: &str) -> Key {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    key
}

fn no_randomness() -> RunFault {
    RunFault::System("the system gives no randomness".to_owned())
}

#[cfg(test)]
mod tests;
