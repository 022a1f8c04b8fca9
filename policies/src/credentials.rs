//! Credentials that an agent shows, besides those that `entities.json` gives it: each has a name in a space of its own and an end.

use std::fmt;
use std::sync::Arc;

use semgate_contexts::Digest;

/// The beginning of names that were read from a verified certificate.
pub const CERTIFICATE_SPACE: &str = "cert:";

/// The beginning of names that a token vouches for.
pub const TOKEN_SPACE: &str = "token:";

/// Whether a name belongs to what agents show, so that `entities.json` must not give it: nothing that an operator wrote down can pass
/// for something that was verified, nor the other way round.
#[must_use]
pub fn is_shown(name: &str) -> bool {
    name.starts_with(CERTIFICATE_SPACE) || name.starts_with(TOKEN_SPACE)
}

/// What certificates say and never show: the usages of RFC 5280 §4.2.1.12, ours, and anyPolicy. A test in the room that reads peers holds
/// them against what is left out where certificates are read.
const LEFT_OUT: [&str; 13] = [
    "cert:policy:2.5.29.32.0",
    "cert:eku:2.5.29.37.0",
    "cert:eku:1.3.6.1.5.5.7.3.1",
    "cert:eku:1.3.6.1.5.5.7.3.2",
    "cert:eku:1.3.6.1.5.5.7.3.3",
    "cert:eku:1.3.6.1.5.5.7.3.4",
    "cert:eku:1.3.6.1.5.5.7.3.8",
    "cert:eku:1.3.6.1.5.5.7.3.9",
    "cert:eku:1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.1",
    "cert:eku:1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.2",
    "cert:eku:1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.3",
    "cert:eku:1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.4",
    "cert:eku:1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.6",
];

/// Whether certificates say it and never show it.
pub fn is_left_out(name: &str) -> bool {
    LEFT_OUT.contains(&name)
}

/// Whether an agent can ever show this name: `cert:eku:OID`, `cert:policy:OID` or `token:ISSUER:NAME` (`docs/reference/policy.md`).
#[must_use]
pub fn can_be_shown(name: &str) -> bool {
    if is_left_out(name) {
        return false;
    }
    if let Some(of) = name.strip_prefix(CERTIFICATE_SPACE) {
        let oid = of.strip_prefix("eku:").or_else(|| of.strip_prefix("policy:"));
        return oid.is_some_and(is_oid);
    }
    // what `[[credential_issuer]]` takes for a name, and what a token may list (docs/spec/credentials.md)
    let issuer_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let name_byte = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let token = name.strip_prefix(TOKEN_SPACE).and_then(|of| of.split_once(':'));
    token.is_some_and(|(issuer, name)| {
        !issuer.is_empty()
            && issuer.bytes().all(issuer_byte)
            && !name.is_empty()
            && name.bytes().all(name_byte)
    })
}

/// Dotted decimals, two at least, without leading zeros: the first up to 2, and the second up to 39 below 0 and 1 (X.660 §7.2), each of
/// 128 bits at most, as certificates are read.
fn is_oid(text: &str) -> bool {
    let arc = |arc: &str| {
        let digits = arc.bytes().all(|byte| byte.is_ascii_digit()) && (arc == "0" || !arc.starts_with('0'));
        arc.parse::<u128>().ok().filter(|_| digits)
    };
    match text.split('.').map(arc).collect::<Option<Vec<u128>>>().as_deref() {
        Some([0 | 1, second, ..]) => *second < 40,
        Some([2, _, ..]) => true,
        _ => false,
    }
}

/// What an agent shows beyond its identity: credentials of its certificate and of a token. Cheap to clone.
///
/// A credential is held up to the second at which it expires, and not at that second.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Credentials(Option<Arc<Held>>);

#[derive(PartialEq, Eq, Hash)]
struct Held {
    /// Sorted by name; each name once.
    names: Box<[(Box<str>, u64)]>,
    digest: u128,
}

/// The seconds within which the same of some credentials are held: from the first on, before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub from: u64,
    pub until: u64,
}

impl Window {
    /// Any time.
    pub const ALWAYS: Self = Self { from: 0, until: u64::MAX };

    /// Whether a time is within it.
    pub const fn holds(self, now: u64) -> bool {
        self.from <= now && now < self.until
    }

    /// What is within both.
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

impl Credentials {
    /// None.
    pub const NONE: Self = Self(None);

    /// These, each with the second (since the Unix epoch) from which on it is no longer held. Of a name that comes twice the earlier
    /// end counts.
    pub fn new(names: impl IntoIterator<Item = (String, u64)>) -> Self {
        let names = names.into_iter().map(|(name, until)| (name.into_boxed_str(), until));
        let mut names: Vec<(Box<str>, u64)> = names.collect();
        names.sort();
        names.dedup_by(|later, first| later.0 == first.0);
        if names.is_empty() {
            return Self::NONE;
        }
        let mut bytes = Vec::new();
        for (name, until) in &names {
            bytes.extend_from_slice(&(name.len() as u64).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&until.to_be_bytes());
        }
        let digest = Digest::of(&bytes).as_bytes().first_chunk().copied().map_or(0, u128::from_be_bytes);
        Self(Some(Arc::new(Held { names: names.into(), digest })))
    }

    /// These and others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        match (&self.0, &others.0) {
            (_, None) => self.clone(),
            (None, _) => others.clone(),
            (Some(own), Some(more)) => {
                Self::new(own.names.iter().chain(&more.names).map(|(name, until)| (name.to_string(), *until)))
            }
        }
    }

    /// Every name with its end, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().flat_map(|held| &held.names).map(|(name, until)| (&**name, *until))
    }

    /// The names that are held at a time.
    pub fn held(&self, now: u64) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(_, until)| now < *until).map(|(name, _)| name)
    }

    /// Whether there is none, held or not.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Tells any two apart that differ in a name or an end; 0 for none.
    pub(crate) fn digest(&self) -> u128 {
        self.0.as_ref().map_or(0, |held| held.digest)
    }

    /// The time around `now` in which none of them ends.
    pub(crate) fn window(&self, now: u64) -> Window {
        let mut window = Window::ALWAYS;
        for (_, until) in self.iter() {
            if until <= now {
                window.from = window.from.max(until);
            } else {
                window.until = window.until.min(until);
            }
        }
        window
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Window};

    fn made(names: &[(&str, u64)]) -> Credentials {
        Credentials::new(names.iter().map(|(name, until)| ((*name).to_owned(), *until)))
    }

    #[test]
    fn a_credential_is_held_up_to_its_end_and_not_at_it() {
        let both = made(&[("token:hr:b", 20), ("cert:a", 10)]);
        let held = |now| both.held(now).collect::<Vec<_>>();
        assert_eq!(held(9), ["cert:a", "token:hr:b"]);
        assert_eq!(held(10), ["token:hr:b"]);
        assert_eq!(held(20), [""; 0]);
    }

    #[test]
    fn the_window_has_no_end_within() {
        let both = made(&[("a", 10), ("b", 20)]);
        assert_eq!(both.window(5), Window { from: 0, until: 10 });
        assert_eq!(both.window(10), Window { from: 10, until: 20 });
        assert_eq!(both.window(25), Window { from: 20, until: u64::MAX });
        assert_eq!(Credentials::NONE.window(5), Window::ALWAYS);
    }

    #[test]
    fn the_digest_tells_names_and_ends_apart_and_order_does_not_matter() {
        let base = made(&[("a", 10), ("b", 20)]);
        assert_eq!(base.digest(), made(&[("b", 20), ("a", 10)]).digest());
        assert_eq!(base, made(&[("a", 10)]).and(&made(&[("b", 20), ("a", 30)])), "the earlier end counts");
        for other in
            [made(&[("a", 10), ("b", 21)]), made(&[("a", 10)]), made(&[("ab", 10)]), Credentials::NONE]
        {
            assert_ne!(base.digest(), other.digest(), "{other:?}");
        }
    }
}
