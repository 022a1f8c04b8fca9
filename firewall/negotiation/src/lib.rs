//! What stands before the first message: floors, the choice of a version, locks.
//!
//! Today contexts are named by each message; the handshake (HELLO, SELECT, LOCK) will write into [`LockTable`], and until it
//! does the table is empty, so that every lock that a message names is refused.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod floor;
pub mod lock;
pub mod select;

pub use floor::{BelowFloor, Floors, Source};
pub use lock::{Held, LockFault, LockQuestion, LockTable};
pub use select::{NoCommonVersion, newest_common};
