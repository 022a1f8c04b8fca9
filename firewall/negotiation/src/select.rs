//! The choice of a version between two peers: the SELECT that answers a HELLO.

use crate::HandshakeFault;
use crate::floor::Floors;
use crate::payloads::{Hello, Select};
use crate::terms::{Offer, minimum_of};
use semgate_contexts::{Digest, Line, Version};
use std::fmt;

/// Two peers share no version that every floor allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCommonVersion {
    /// No version is on both lists.
    Disjoint,
    /// The newest version on both lists is below a floor: a possible downgrade (F0-37).
    BelowFloor {
        /// The newest version that both have.
        newest: Version,
        /// The lowest that is allowed.
        floor: Version,
    },
}

impl fmt::Display for NoCommonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disjoint => f.write_str("the peers have no version in common"),
            Self::BelowFloor { newest, floor } => {
                write!(f, "the newest common version is {newest}, the lowest allowed is {floor}")
            }
        }
    }
}

impl std::error::Error for NoCommonVersion {}

/// The newest version that both sides offer and no floor forbids. The order of the lists does not matter, so neither side can
/// steer the other to an older version.
///
/// # Errors
/// [`NoCommonVersion`].
pub fn newest_common(
    ours: &[Version],
    theirs: &[Version],
    floors: &Floors,
) -> Result<Version, NoCommonVersion> {
    let newest = ours.iter().filter(|version| theirs.contains(version)).max().copied();
    let newest = newest.ok_or(NoCommonVersion::Disjoint)?;
    match floors.admit(newest) {
        Ok(_) => Ok(newest),
        Err(below) => Err(NoCommonVersion::BelowFloor { newest, floor: below.floor }),
    }
}

/// Verifies that a SELECT answers this HELLO, whose digest is `hello_digest`: between the same two, and about it byte for
/// byte (F0-37). Its choice must be offered, and at or above `floors` and the minimums of both.
///
/// # Errors
/// [`HandshakeFault::SenderMismatch`], [`HandshakeFault::ReceiverMismatch`], [`HandshakeFault::OtherHello`], [`HandshakeFault::NotOffered`],
/// [`HandshakeFault::BelowMinimum`]; [`HandshakeFault::Features`] for a choice of several embedding models.
pub(crate) fn answers_offer(
    select: &Select,
    hello: &Hello,
    hello_digest: &Digest,
    floors: Floors,
) -> Result<(), HandshakeFault> {
    if select.from != hello.to {
        return Err(HandshakeFault::SenderMismatch);
    }
    if select.to != hello.from {
        return Err(HandshakeFault::ReceiverMismatch);
    }
    if select.hello != *hello_digest {
        return Err(HandshakeFault::OtherHello);
    }
    let choice = &select.choice;
    let offered = hello.contexts.iter().find(|offer| offer.urn == choice.urn);
    let offered = offered.ok_or(HandshakeFault::NotOffered)?;
    if offered.digest != choice.digest || choice.features.missing_from(&offered.features).is_some() {
        return Err(HandshakeFault::NotOffered);
    }
    choice.features.model()?;
    let line = choice.urn.line();
    let peers = [minimum_of(&hello.minimums, line), minimum_of(&select.minimums, line)];
    let admitted = Floors { peers, ..floors }.admit(choice.urn.version());
    admitted.map(drop).map_err(|below| HandshakeFault::BelowMinimum { floor: below.floor })
}

/// The one context that both will speak. Lines are tried in the order of the HELLO. Within a line it is [`newest_common`],
/// under the floors that `floors` gives for the line. Only features that both have remain,
/// and of several embedding models the first by name.
///
/// `ours` holds contexts that count now and are not deprecated: nothing newly selects a deprecated one.
///
/// # Errors
/// The fault of the first line if no line has a choice; [`HandshakeFault::DigestDiffers`] if the newest common version has
/// two documents. An older version instead would be a downgrade (F0-37).
pub(crate) fn choose(
    ours: &[&Offer],
    theirs: &[Offer],
    floors: &dyn Fn(&Line) -> Floors,
) -> Result<Offer, HandshakeFault> {
    let theirs: Vec<&Offer> = theirs.iter().collect();
    let mut first = None;
    let mut tried: Vec<&Line> = Vec::new();
    for line in theirs.iter().map(|offer| offer.urn.line()) {
        if tried.contains(&line) {
            continue;
        }
        tried.push(line);
        match choose_in(line, ours, &theirs, &floors(line)) {
            Ok(choice) => return Ok(choice),
            Err(fault @ HandshakeFault::DigestDiffers) => return Err(fault),
            Err(fault) => {
                // a floor explains more than a line that is not spoken here
                let less_specific =
                    matches!(first, None | Some(HandshakeFault::NoCommon(NoCommonVersion::Disjoint)));
                first = if less_specific { Some(fault) } else { first };
            }
        }
    }
    Err(first.unwrap_or(HandshakeFault::NoCommon(NoCommonVersion::Disjoint)))
}

fn choose_in(
    line: &Line,
    ours: &[&Offer],
    theirs: &[&Offer],
    floors: &Floors,
) -> Result<Offer, HandshakeFault> {
    let of_line = |offers: &[&Offer]| -> Vec<Version> {
        offers.iter().filter(|offer| offer.urn.line() == line).map(|offer| offer.urn.version()).collect()
    };
    let version = newest_common(&of_line(ours), &of_line(theirs), floors)?;
    let of = |offers: &[&Offer]| {
        let offer = offers.iter().find(|o| o.urn.line() == line && o.urn.version() == version);
        offer.map(|offer| (*offer).clone())
    };
    let (Some(our), Some(their)) = (of(ours), of(theirs)) else {
        return Err(NoCommonVersion::Disjoint.into());
    };
    if our.digest != their.digest {
        return Err(HandshakeFault::DigestDiffers);
    }
    Ok(Offer { features: our.features.common(&their.features).with_one_model(), ..our })
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
