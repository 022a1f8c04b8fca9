//! What stands before the first message: floors, the choice of a version, the handshake (HELLO, SELECT, LOCK), locks.
//!
//! The same library serves a gateway that answers handshakes for the agents behind it and an agent that opens them. It opens no
//! socket, reads no clock and draws no randomness by itself: all are arguments. `docs/spec/snl.md` and `docs/spec/locks.md` have every byte.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod encoding;
mod member;
mod pending;

pub mod agreed;
pub mod carry;
pub mod endpoint;
pub mod envelope;
pub mod fault;
pub mod floor;
pub mod initiator;
pub mod limits;
pub mod lock;
pub mod minimums;
pub mod offered;
pub mod relay;
pub mod replay;
pub mod responder;
pub mod said;
pub mod seal;
pub mod select;
pub mod sessions;
pub mod signed;
pub mod terms;

#[cfg(test)]
mod handshake_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod vector_tests;

pub use agreed::Agreement;
pub use carry::{Carried, Kind};
pub use endpoint::{Answered, Asked, Endpoint};
pub use envelope::{Envelope, read_message, write_message};
pub use fault::HandshakeFault;
pub use floor::{BelowFloor, Floors, Source};
pub use initiator::{Opening, Session};
pub use lock::{FleetSecret, Granted, Held, LockFault, LockKeys, LockQuestion, SecretFault, session_of};
pub use minimums::{PairMinimums, Stated, StatedFault};
pub use offered::Shrunk;
pub use relay::{Appointed, Greeting, Locking, Passing, Relay, Taken};
pub use replay::ReplayMemory;
pub use responder::{Answering, Between, Spoken};
pub use said::{Hello, KeyStatement, Lock, Select};
pub use seal::{PeerKey, Sealed, SealingKey};
pub use select::{NoCommonVersion, newest_common};
pub use sessions::Sessions;
pub use signed::{Identity, Signed, Trust};
pub use terms::{Features, FeaturesFault, Minimum, Offer};
