//! The work of one message: a count of steps, charged while its content is validated.
//!
//! The count reads no clock, so one message gets one verdict on every machine. The validating library passes no state of ours
//! to the keywords, so the budget of the running validation is thread-local.

use std::cell::Cell;

use crate::vectors::ModelName;

thread_local! {
    /// Steps that the validation running on this thread may still take.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// The cost of members in the validation that runs on this thread.
    static MEMBERS: Cell<MemberSteps> = const { Cell::new(MemberSteps { name_byte: 0, member: 0 }) };
    /// The model that the session of the message chose.
    static MODEL: Cell<Option<ModelName>> = const { Cell::new(None) };
}

/// Steps of one look at a value: a keyword asks for its type, its text, its members. See [`WorkBudget::MESSAGE`].
pub(super) const LOOK: u64 = 12;

/// Steps of a look at a text as a whole, besides two for each byte.
const TEXT: u64 = 24;

/// Steps of a look at a text that may be a mail address, whose parts are examined one by one.
const ADDRESS: u64 = 80;

/// The cost of the members of objects under one document.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemberSteps {
    /// For each byte of a name: the patterns in `patternProperties` of one schema that read it.
    pub(crate) name_byte: u64,
    /// For each member that is handed over: its name is looked up among those that a schema has.
    pub(crate) member: u64,
}

impl MemberSteps {
    /// Steps of looking a name up among this many: they are compared one by one up to some fifteen, and hashed beyond.
    pub(super) fn of_members(names: usize) -> u64 {
        if names > HASHED { 64 } else { 16 }
    }
}

/// Names of one schema beyond which the validator hashes them.
const HASHED: usize = 15;

/// Steps that validation may still take for one message.
///
/// One step is one byte that an automaton reads, about a nanosecond. Every look at a value, every byte of text that a
/// keyword reads and every member that is passed over is charged.
#[derive(Debug)]
pub struct WorkBudget {
    left: Cell<u64>,
    model: Option<ModelName>,
}

/// The budget is spent: the content was not judged to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExhausted;

impl WorkBudget {
    /// Steps of one message, all its concepts together. One takes 0.2 to 1.6 ns, so that 3,000,000 take less than five
    /// milliseconds on a serving thread (`docs/spec/context-document.md`, "Bounded work").
    pub const MESSAGE: u64 = 3_000_000;

    /// The budget of one message.
    #[must_use]
    pub const fn of_message() -> Self {
        Self { left: Cell::new(Self::MESSAGE), model: None }
    }

    /// No bound: for content that is no message, such as an example that a tool makes up.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self { left: Cell::new(u64::MAX), model: None }
    }

    /// The same for a message of a session that chose this model: a vector of another one is refused, by the rule `x-embedding-session`.
    #[must_use]
    pub fn of_session(self, model: Option<ModelName>) -> Self {
        Self { model, ..self }
    }

    /// Steps that were taken.
    #[must_use]
    pub fn spent(&self) -> u64 {
        Self::MESSAGE.saturating_sub(self.left.get())
    }

    /// Runs work that charges this budget, with the members' cost under the document.
    ///
    /// # Errors
    /// [`BudgetExhausted`] if the budget was spent, for any result of the work.
    pub(crate) fn run<T>(
        &self,
        members: MemberSteps,
        work: impl FnOnce() -> T,
    ) -> Result<T, BudgetExhausted> {
        let outer = (LEFT.replace(self.left.get()), MEMBERS.replace(members));
        let model = MODEL.replace(self.model);
        let answer = work();
        MODEL.set(model);
        self.left.set(LEFT.replace(outer.0));
        MEMBERS.set(outer.1);
        if self.left.get() == 0 { Err(BudgetExhausted) } else { Ok(answer) }
    }
}

/// The model that the session of the message chose; `None` where any will do.
pub(super) fn session_model() -> Option<ModelName> {
    MODEL.get()
}

/// Charges steps to the validation that runs; false once the budget is spent.
pub(super) fn charge(steps: u64) -> bool {
    LEFT.with(|left| {
        let rest = left.get().saturating_sub(steps);
        left.set(rest);
        rest > 0
    })
}

/// Charges a pass over entries, or over the bytes of a text, that does little with each.
pub(super) fn charge_pass(entries: usize) -> bool {
    charge((entries as u64) / 2)
}

/// Charges a search for one member among this many, one name after the other.
pub(super) fn charge_search(members: usize) -> bool {
    charge((members as u64).saturating_mul(3) / 2)
}

/// Charges a pass over members, whose names have this many bytes together.
pub(super) fn charge_members(members: usize, name_bytes: impl FnOnce() -> usize) -> bool {
    let steps = MEMBERS.get();
    let names = match steps.name_byte {
        0 => 0,
        each => each.saturating_mul(name_bytes() as u64),
    };
    charge(steps.member.saturating_mul(members as u64).saturating_add(names))
}

/// Charges a text that a format, `enum` or `const` looks at.
pub(super) fn charge_look_at_text(text: &str) -> bool {
    let address = if text.contains('@') { ADDRESS } else { 0 };
    charge((TEXT + address).saturating_add((text.len() as u64).saturating_mul(2)))
}

/// Charges a text that is read to its end.
pub(super) fn charge_text(text: &str) -> bool {
    charge(LOOK.saturating_add(text.len() as u64))
}

#[cfg(test)]
mod tests;
