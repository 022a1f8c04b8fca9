//! The inputs of conditions, packed for quick tests.

use crate::TextWants;
use crate::catalogue::{CONTEXT_MEMBERS, SCORES};
use crate::reads::Reads;

/// The inputs of conditions, as far as each question needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    /// Any member of the instance.
    pub instance: bool,
    /// An agent that a condition names.
    pub agents: bool,
    /// Credentials of the sender, or of an agent that may be the sender.
    pub credentials: bool,
    /// The trust domain of the sender.
    pub trust_domain: bool,
    /// A bit for each of [`CONTEXT_MEMBERS`].
    members: u32,
    /// A bit for each of [`SCORES`].
    scores: u32,
}

impl Wants {
    pub(crate) fn of(reads: &Reads) -> Self {
        let wanted = (0_u32..).zip(CONTEXT_MEMBERS).filter(|(_, member)| reads.context.wants(member));
        let scores = (0_u32..).zip(SCORES).filter(|(_, score)| reads.scores.wants(score));
        let agents = !reads.agents.is_empty();
        let others = agents || reads.context.wants("receiver");
        Self {
            instance: !reads.resource.none(),
            agents,
            credentials: others || reads.principal.wants("credentials"),
            trust_domain: reads.principal.wants("trust_domain"),
            members: wanted.fold(0, |set, (bit, _)| set | 1 << bit),
            scores: scores.fold(0, |set, (bit, _)| set | 1 << bit),
        }
    }

    /// The inputs of either.
    pub const fn and(self, other: Self) -> Self {
        Self {
            instance: self.instance || other.instance,
            agents: self.agents || other.agents,
            credentials: self.credentials || other.credentials,
            trust_domain: self.trust_domain || other.trust_domain,
            members: self.members | other.members,
            scores: self.scores | other.scores,
        }
    }

    /// Returns true if one of these members of the context record is looked at; `members` as [`bit`] makes them.
    pub const fn any(self, members: u32) -> bool {
        self.members & members != 0
    }

    /// Returns true if the receiver is looked at, or an agent that may be the receiver.
    pub const fn receiver(self) -> bool {
        self.agents || self.any(const { bit("receiver") })
    }

    /// Returns true if something is looked at that no verdict is remembered under: the time, the end of the session, the scores.
    pub const fn passing(self) -> bool {
        self.any(const { bit("now") | bit("session") | bit("scores") })
    }

    /// The scores that are looked at.
    pub fn scores(self) -> impl Iterator<Item = &'static str> {
        let wanted = move |(bit, _): &(u32, &str)| self.scores & 1 << bit != 0;
        (0_u32..).zip(SCORES).filter(wanted).map(|(_, score)| score)
    }

    /// The scores of text that are looked at.
    pub const fn text(self) -> TextWants {
        TextWants {
            hidden: self.scores & const { bit_of("hidden", &SCORES) } != 0,
            markers: self.scores & const { bit_of("markers", &SCORES) } != 0,
            injection: self.scores & const { bit_of("injection", &SCORES) } != 0,
            unusual: self.scores & const { bit_of("unusual", &SCORES) } != 0,
        }
    }

    /// The members of the context record that are looked at.
    pub fn members(self) -> impl Iterator<Item = &'static str> {
        let wanted = move |(bit, _): &(u32, &str)| self.members & 1 << bit != 0;
        (0_u32..).zip(CONTEXT_MEMBERS).filter(wanted).map(|(_, member)| member)
    }
}

#[allow(
    clippy::indexing_slicing,
    reason = "for constants alone, where a bound that is passed does not compile"
)]
/// The bit of a member of the context record. For constants: a name that is none of them does not compile.
pub(crate) const fn bit(name: &str) -> u32 {
    bit_of(name, &CONTEXT_MEMBERS)
}

#[allow(clippy::indexing_slicing, reason = "as above")]
const fn bit_of(name: &str, all: &[&str]) -> u32 {
    let mut at = 0;
    while !same(all[at].as_bytes(), name.as_bytes()) {
        at += 1;
    }
    1 << at
}

#[allow(clippy::indexing_slicing, reason = "as above")]
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
