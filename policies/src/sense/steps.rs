//! Counted work: a condition of a thousand bytes can be looked through for days, and while a set is judged no other one is loaded.

use std::cell::Cell;

use crate::PolicyLimits;

/// What may still be looked at.
#[derive(Debug)]
pub(crate) struct Steps {
    each: u64,
    /// For the policy at hand.
    here: Cell<u64>,
    /// For all of them.
    all: Cell<u64>,
    /// For looking once more: at the policy at hand, and at all of them.
    more: Cell<u64>,
    all_more: Cell<u64>,
    /// Whether that is being done.
    is_more: Cell<bool>,
}

/// The part of the steps that looking once more may take, on top of them: what it does not come to is taken as possible. An eighth is five
/// seconds of all, and many times what conditions that people write take.
const MORE: u64 = 8;

impl Steps {
    pub const fn new(limits: &PolicyLimits) -> Self {
        let (each, all) = (limits.max_policy_steps, limits.max_steps);
        Self {
            each,
            here: Cell::new(each),
            all: Cell::new(all),
            more: Cell::new(each / MORE),
            all_more: Cell::new(all / MORE),
            is_more: Cell::new(false),
        }
    }

    /// Another policy is at hand.
    pub fn begin(&self) {
        self.here.set(self.each.min(self.all.get()));
        self.more.set((self.each / MORE).min(self.all_more.get()));
    }

    /// Takes some; false once there are none left, from then on always, until another policy is at hand.
    pub fn spend(&self, steps: u64) -> bool {
        self.here.set(self.here.get().saturating_sub(steps));
        self.all.set(self.all.get().saturating_sub(steps));
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
        if self.is_more.replace(true) {
            return look();
        }
        let lent = self.more.get();
        let found = self.apart(lent, || {
            let found = look();
            let taken = lent - self.here.get();
            self.more.set(lent - taken);
            self.all_more.set(self.all_more.get().saturating_sub(taken));
            found
        });
        self.is_more.set(false);
        found
    }

    /// Whether something was not looked at.
    pub const fn are_spent(&self) -> bool {
        self.here.get() == 0
    }
}
