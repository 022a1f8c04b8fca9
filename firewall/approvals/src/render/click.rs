//! The value of a button.

use std::fmt;

use crate::{ActionDigest, HoldId};

/// Marks the format of the value.
const FORMAT: &str = "semgate1";

/// The meaning of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// The option at this index of the interaction's list.
    Option(usize),
}

/// The hold, the digest that the card showed, and the choice. It proves nothing by itself: the channel proves who clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    /// The hold.
    pub id: HoldId,
    /// Digest of the action on the card.
    pub digest: ActionDigest,
    /// The choice.
    pub choice: Choice,
}

impl Click {
    /// Reads the value of a button; one spelling each.
    pub fn parse(value: &str) -> Option<Self> {
        let mut parts = value.split(' ');
        let (format, id, digest, choice) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let choice = match choice {
            "approve" => Choice::Approve,
            "deny" => Choice::Deny,
            index => Choice::Option(index.parse().ok()?),
        };
        let click = Self { id: HoldId::parse(id)?, digest: ActionDigest::parse(digest)?, choice };
        (format == FORMAT && parts.next().is_none() && click.to_string() == value).then_some(click)
    }
}

impl fmt::Display for Click {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FORMAT} {} {} ", self.id, self.digest)?;
        match self.choice {
            Choice::Approve => f.write_str("approve"),
            Choice::Deny => f.write_str("deny"),
            Choice::Option(index) => write!(f, "{index}"),
        }
    }
}
