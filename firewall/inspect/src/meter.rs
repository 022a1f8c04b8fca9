//! Last stage: how often. And the cheap limit that stands before the first.
//!
//! The rate of messages is governor's; the paper's "10 ambiguous questions a minute" (F0-36, F0-43) is exact, because
//! governor's token bucket would let 19 pass in the first minute.

mod ambiguity;
mod rate;
mod shards;

pub use ambiguity::{AmbiguityMeter, TooAmbiguous};
pub use rate::{RateMeter, TooOften};

use crate::{Code, Facts, Refusal, decide::Decided};

/// The concept that costs its receiver inference budget, in the control vocabulary.
pub const AMBIGUOUS: &str = "ambiguous_parameter";

/// A message that passed every stage. Only this module builds one.
#[derive(Debug)]
pub struct Metered<'c, 'j>(Decided<'c, 'j>);

/// Counts the ambiguous questions of a decided message against its sender.
///
/// # Errors
/// `ambiguity_limited`, with the time after which it would pass.
pub(crate) fn meter<'c, 'j>(
    decided: Decided<'c, 'j>,
    meter: &AmbiguityMeter,
) -> Result<Metered<'c, 'j>, Refusal> {
    let asked = decided.ambiguous();
    if asked == 0 {
        return Ok(Metered(decided));
    }
    let case = decided.case();
    match meter.admit(case.sender_key(), asked, case.now.monotonic_ms) {
        Ok(()) => Ok(Metered(decided)),
        Err(TooAmbiguous { wait }) => {
            let most = meter.most();
            Err(Refusal::new(
                Code::AmbiguityLimited,
                format!("more than {most} ambiguous questions of this agent within 60 seconds"),
            )
            .with_hint(
                "ask less often, or ask for all parameters that are open at once; retry after the time given",
            )
            .with_retry_after(wait)
            .with_facts(decided.facts()))
        }
    }
}

/// For a permit that is renewed under a newer generation: its questions were counted when it was first given.
pub(crate) fn carry<'c, 'j>(decided: Decided<'c, 'j>, _counted: crate::permit::Counted) -> Metered<'c, 'j> {
    Metered(decided)
}

impl<'c, 'j> Metered<'c, 'j> {
    pub(crate) fn decided(&self) -> &Decided<'c, 'j> {
        &self.0
    }

    /// What is known of the message.
    pub fn facts(&self) -> Facts {
        self.0.facts()
    }
}
