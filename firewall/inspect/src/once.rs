//! Messages that count once: a signed message passes within its window, and only the first time.

use crate::{Code, Direction, Refusal, decide::Decided, inspection::Inspection, inspection::Turn};
use semgate_contexts::Digest;
use semgate_negotiation::{NotTaken, RememberedBounds};
use semgate_protocol::{Message, Once};
use std::sync::Arc;

/// Seconds that the stamp of a message may differ from our clock: the patience of common clients, and far more than clocks
/// of machines with NTP differ.
pub const STAMP_SECONDS: u64 = 300;

/// Messages that are remembered. One agent: 436 a second for a whole window, 16 MB. All: eight such agents.
pub(crate) const REMEMBERED: RememberedBounds = RememberedBounds { of_one: 131_072, of_all: 1_048_576 };

/// Checks the stamp of a message on its arrival. A message that people approved meanwhile was checked before they were asked.
///
/// # Errors
/// `replayed`.
pub(crate) fn fresh(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let first = matches!(case.turn, Turn::First | Turn::Event) && case.approved.is_none();
    let Some(at) = message.once.as_ref().and_then(|once| once.at).filter(|_| first) else { return Ok(()) };
    let apart = at.abs_diff(case.now.unix);
    if at < case.state.signed_since {
        return Err(Refusal::new(Code::Replayed, "the message was signed before this gateway started")
            .with_hint("sign a new message")
            .with_detail("a gateway does not know what an earlier one took"));
    }
    if apart <= STAMP_SECONDS {
        return Ok(());
    }
    Err(Refusal::new(Code::Replayed, "the time of the message is too far from the gateway's clock")
        .with_hint("set your clock, and sign a new message")
        .with_detail(format!("the stamp is {apart} seconds off; {STAMP_SECONDS} are allowed")))
}

/// Takes a message that passed every other stage. It is remembered for as long as its stamp would let it pass again.
///
/// # Errors
/// `replayed`; `rate_limited` if no more can be remembered.
pub(crate) fn take(decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    let Some(once) = &decided.resolved().message().once else { return Ok(()) };
    taken(decided.case(), once).map_err(|refusal| refusal.with_facts(decided.facts()))
}

/// Takes these ids, with their stamp.
///
/// # Errors
/// As [`take`].
pub(crate) fn taken(case: &Inspection<'_>, once: &Once<'_>) -> Result<(), Refusal> {
    let now = case.now.unix;
    let until = once.at.unwrap_or(now).max(now).saturating_add(STAMP_SECONDS);
    case.state.once.take(digest(case, once), &signer(case), now, until).map_err(|why| match why {
        NotTaken::Replayed => repeated(),
        NotTaken::Full => {
            Refusal::new(Code::RateLimited, "this agent sent more messages than the gateway remembers")
                .with_hint("send fewer messages in five minutes")
        }
    })
}

/// Checks that these ids were not taken before. Takes nothing.
///
/// # Errors
/// `replayed`.
pub(crate) fn untaken(case: &Inspection<'_>, once: &Once<'_>) -> Result<(), Refusal> {
    if case.state.once.is_taken(&digest(case, once), case.now.unix) {
        return Err(repeated());
    }
    Ok(())
}

fn repeated() -> Refusal {
    Refusal::new(Code::Replayed, "a message with these ids was sent before")
        .with_hint("give each message an id of its own")
}

/// The account that remembers a message. What one caller makes an agent say uses no room of other callers.
fn signer(case: &Inspection<'_>) -> Arc<str> {
    match case.direction {
        Direction::Request => Arc::clone(case.sender_key()),
        Direction::Reply => format!("{} to {}", case.sender.id(), case.receiver).into(),
    }
}

/// Identifies a message among all of its sender. The length before each part keeps two ids from being cut elsewhere.
fn digest(case: &Inspection<'_>, once: &Once<'_>) -> Digest {
    let mut text = String::new();
    for part in [case.sender.id(), case.receiver, case.call.binding.as_str()]
        .into_iter()
        .chain(once.ids.iter().copied())
    {
        text.push_str(&format!("{}:{part}", part.len()));
    }
    Digest::of(text.as_bytes())
}
