//! The work of one message: a count of steps, charged while its content is validated.
//!
//! The count reads no clock, so one message gets one verdict on every machine. The library that validates carries no
//! state of ours to the keywords, so the budget of the running validation stands in a thread-local.

use std::cell::Cell;

thread_local! {
    /// Steps that the validation running on this thread may still take.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Steps for each byte of a member's name: those of the patterns that `patternProperties` of one schema hold it against.
    static NAME_STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Steps of one look at a value: a keyword asks for its type, its text, its members. See [`WorkBudget::MESSAGE`].
pub(super) const LOOK: u64 = 12;

/// Members of an object, or entries of a list, that are passed over within one step.
const PASSED_A_STEP: usize = 2;

/// Steps that validation may still take for one message.
///
/// One step is one byte that an automaton reads, about a nanosecond. Every look at a value, every byte of text that a
/// keyword reads and every member that is passed over is charged.
#[derive(Debug)]
pub struct WorkBudget {
    left: Cell<u64>,
}

/// The budget is spent: the content was not judged to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent;

impl WorkBudget {
    /// Steps of one message, all its concepts together: 4,000,000 take less than five milliseconds on a serving thread
    /// (`docs/spec/context-document.md`, "Bounded work").
    pub const MESSAGE: u64 = 4_000_000;

    /// The budget of one message.
    #[must_use]
    pub const fn of_message() -> Self {
        Self { left: Cell::new(Self::MESSAGE) }
    }

    /// No bound: for content that is no message, such as an example that a tool makes up.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self { left: Cell::new(u64::MAX) }
    }

    /// Steps that were taken.
    #[must_use]
    pub fn spent(&self) -> u64 {
        Self::MESSAGE.saturating_sub(self.left.get())
    }

    /// Runs work that charges this budget, each pass over members `name_steps` for each byte of their names.
    ///
    /// # Errors
    /// [`Spent`] if the budget was spent, whatever the work answered.
    pub(crate) fn run<T>(&self, name_steps: u64, work: impl FnOnce() -> T) -> Result<T, Spent> {
        let outer = (LEFT.replace(self.left.get()), NAME_STEPS.replace(name_steps));
        let answer = work();
        self.left.set(LEFT.replace(outer.0));
        NAME_STEPS.set(outer.1);
        if self.left.get() == 0 { Err(Spent) } else { Ok(answer) }
    }
}

/// Charges steps to the validation that runs; false once the budget is spent.
pub(super) fn charge(steps: u64) -> bool {
    LEFT.with(|left| {
        let rest = left.get().saturating_sub(steps);
        left.set(rest);
        rest > 0
    })
}

/// Charges a pass over members or entries.
pub(super) fn charge_pass(entries: usize) -> bool {
    charge((entries / PASSED_A_STEP) as u64)
}

/// Charges the patterns of names in a pass over members, whose names have so many bytes together.
pub(super) fn charge_names(bytes: impl FnOnce() -> usize) -> bool {
    match NAME_STEPS.get() {
        0 => true,
        steps => charge(steps.saturating_mul(bytes() as u64)),
    }
}

/// Charges a text that is read to its end.
pub(super) fn charge_text(text: &str) -> bool {
    charge(LOOK.saturating_add(text.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_where_its_steps_end_and_gives_the_thread_back() {
        let budget = WorkBudget::of_message();
        assert_eq!(budget.run(0, || charge(WorkBudget::MESSAGE - 1)), Ok(true));
        assert_eq!(budget.run(0, || charge(1)), Err(Spent));
        assert_eq!(budget.run(0, || true), Err(Spent));
        assert_eq!(WorkBudget::of_message().run(0, || charge(1)), Ok(true));
        assert!(charge(WorkBudget::MESSAGE), "outside of a run nothing is bounded");
    }

    #[test]
    fn a_run_inside_another_charges_its_own_budget() {
        let (outer, inner) = (WorkBudget::of_message(), WorkBudget::of_message());
        let ran = outer.run(0, || inner.run(0, || charge(5)));
        assert_eq!(ran, Ok(Ok(true)));
        assert_eq!((outer.spent(), inner.spent()), (0, 5));
    }
}
