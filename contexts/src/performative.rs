//! The performatives of the agent communication layer (F0-07 to F0-09): the act of an utterance.

use std::fmt;
use std::str::FromStr;

macro_rules! performatives {
    ($($(#[$doc:meta])* $name:ident = $wire:literal),* $(,)?) => {
        /// The act of a message, apart from its content (F0-10). Names are exact: no other case, no alias.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[repr(u8)]
        pub enum Performative {
            $($(#[$doc])* #[serde(rename = $wire)] $name,)*
        }

        impl Performative {
            /// All of them, in the order of the enum.
            pub const ALL: [Self; 11] = [$(Self::$name),*];

            /// The name on the wire, which is also the id of the Cedar action.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $wire,)*
                }
            }
        }
    };
}

performatives! {
    /// Asks the receiver to act.
    Request = "REQUEST",
    /// Takes a request on.
    Agree = "AGREE",
    /// Declines a request.
    Refuse = "REFUSE",
    /// States a fact.
    Inform = "INFORM",
    /// Offers terms.
    Propose = "PROPOSE",
    /// Takes terms.
    Accept = "ACCEPT",
    /// Declines terms.
    Reject = "REJECT",
    /// Answers terms with other terms.
    CounterPropose = "COUNTER_PROPOSE",
    /// Asks for information; the metered class (F0-09).
    Query = "QUERY",
    /// Subscribes to information.
    Subscribe = "SUBSCRIBE",
    /// Informs all subscribers.
    Publish = "PUBLISH",
}

/// A text is not the name of a performative. It carries no copy of the text, which may come from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a performative")]
pub struct UnknownPerformative;

impl Performative {
    /// True for those that ask the receiver for something: with a task they speak of its *parameters*; all others answer and
    /// speak of its *results*.
    #[must_use]
    pub const fn is_asking(self) -> bool {
        PerformativeSet::ASKING.contains(self)
    }
}

impl FromStr for Performative {
    type Err = UnknownPerformative;

    fn from_str(text: &str) -> Result<Self, UnknownPerformative> {
        Self::ALL.into_iter().find(|p| p.as_str() == text).ok_or(UnknownPerformative)
    }
}

impl fmt::Display for Performative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of performatives; small enough to copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PerformativeSet(u16);

impl PerformativeSet {
    /// The set without members.
    pub const EMPTY: Self = Self(0);
    /// Every performative: the set of a concept that declares none.
    pub const ALL: Self = Self((1 << 11) - 1);
    /// Those that ask: REQUEST, PROPOSE, COUNTER_PROPOSE, QUERY, SUBSCRIBE.
    pub const ASKING: Self = Self::EMPTY
        .with(Performative::Request)
        .with(Performative::Propose)
        .with(Performative::CounterPropose)
        .with(Performative::Query)
        .with(Performative::Subscribe);

    /// This set and one more member.
    #[must_use]
    pub const fn with(self, performative: Performative) -> Self {
        Self(self.0 | 1 << performative as u8)
    }

    /// The intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Membership.
    #[must_use]
    pub const fn contains(self, performative: Performative) -> bool {
        self.0 & 1 << performative as u8 != 0
    }

    /// True without members.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of members.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The members in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = Performative> {
        Performative::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}

impl FromIterator<Performative> for PerformativeSet {
    fn from_iter<I: IntoIterator<Item = Performative>>(items: I) -> Self {
        items.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for PerformativeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
