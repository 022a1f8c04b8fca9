//! Counted work.

/// What may still be done.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
}

impl Budget {
    pub(super) const fn new(steps: u64) -> Self {
        Budget { left: steps }
    }

    /// Takes steps; false once there are none left, from then on always.
    pub(super) const fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    pub(super) const fn spent_out(&self) -> bool {
        self.left == 0
    }
}
