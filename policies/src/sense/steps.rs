//! Counted work: a condition of a thousand bytes can be looked through for days, and while a set is judged no other one is loaded.

use std::cell::Cell;

use crate::{PolicyLimits, pace};

/// What may still be looked at.
#[derive(Debug)]
pub(crate) struct Steps {
    each: u64,
    /// For the policy at hand.
    here: Cell<u64>,
    /// For all of them.
    all: Cell<u64>,
    /// For looking once more.
    more: Purse,
    /// For looking at the pieces of conditions as at whole ones.
    pieces: Purse,
    /// For looking case by case at what forbids leave.
    cases: Purse,
    /// Whether what is looked at is paid from a purse.
    is_lent: Cell<bool>,
}

/// Steps on top of the others: what they do not come to is taken as possible.
#[derive(Debug)]
struct Purse {
    /// The part of all steps that it holds.
    part: u64,
    /// For the policy at hand, and for all of them.
    here: Cell<u64>,
    all: Cell<u64>,
}

impl Purse {
    const fn new(limits: &PolicyLimits, part: u64) -> Self {
        let here = Cell::new(limits.max_policy_steps / part);
        Self { part, here, all: Cell::new(limits.max_steps / part) }
    }
}

/// The part of the steps that looking once more may take, on top of them. An eighth is five seconds of all, and many times what conditions that
/// people write take.
const MORE: u64 = 8;

/// The same of looking case by case: a hundredth is half a second of all, so that a load takes hardly longer, and of one policy some hundred
/// pairs with a forbid.
const CASES: u64 = 100;

/// Steps between two looks at whether it is time to rest: a tenth of a millisecond.
const RESTS: u64 = 512;

impl Steps {
    pub const fn new(limits: &PolicyLimits) -> Self {
        let (each, all) = (limits.max_policy_steps, limits.max_steps);
        Self {
            each,
            here: Cell::new(each),
            all: Cell::new(all),
            more: Purse::new(limits, MORE),
            pieces: Purse::new(limits, MORE),
            cases: Purse::new(limits, CASES),
            is_lent: Cell::new(false),
        }
    }

    /// Another policy is at hand.
    pub fn begin(&self) {
        pace::rest();
        self.here.set(self.each.min(self.all.get()));
        for purse in [&self.more, &self.pieces, &self.cases] {
            purse.here.set((self.each / purse.part).min(purse.all.get()));
        }
    }

    /// Takes some; false once there are none left, from then on always, until another policy is at hand.
    pub fn spend(&self, steps: u64) -> bool {
        self.here.set(self.here.get().saturating_sub(steps));
        self.all.set(self.all.get().saturating_sub(steps));
        // one policy may take seconds
        if self.all.get() % RESTS < steps {
            pace::rest();
        }
        !self.are_spent()
    }

    /// Looks at something with so many steps of its own: what is left for the policy at hand stays what it was.
    pub fn apart<T>(&self, steps: u64, look: impl FnOnce() -> T) -> T {
        let left = (self.here.get(), self.all.get());
        self.here.set(steps);
        self.all.set(u64::MAX);
        let found = look();
        self.here.set(left.0);
        self.all.set(left.1);
        found
    }

    /// Looks at something once more, with the steps that are left for that; whatever they come to, what is left for the policy at hand stays
    /// what it was.
    pub fn once_more<T>(&self, look: impl FnOnce() -> T) -> T {
        self.lent(&self.more, look)
    }

    /// The same of looking at a piece of a condition as at a whole one.
    pub fn piece_by_piece<T>(&self, look: impl FnOnce() -> T) -> T {
        self.lent(&self.pieces, look)
    }

    /// The same of looking at something case by case.
    pub fn case_by_case<T>(&self, look: impl FnOnce() -> T) -> T {
        self.lent(&self.cases, look)
    }

    fn lent<T>(&self, purse: &Purse, look: impl FnOnce() -> T) -> T {
        if self.is_lent.replace(true) {
            return look();
        }
        let lent = purse.here.get();
        let found = self.apart(lent, || {
            let found = look();
            let left = self.here.get();
            purse.here.set(left);
            purse.all.set(purse.all.get().saturating_sub(lent - left));
            found
        });
        self.is_lent.set(false);
        found
    }

    /// Whether something was not looked at.
    pub const fn are_spent(&self) -> bool {
        self.here.get() == 0
    }
}
