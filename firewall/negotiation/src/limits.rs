//! The bounds of a handshake, each with the reason for its number.

/// Seconds for which a HELLO, SELECT or LOCK is taken after it was issued: one round trip with a human's patience. It is also
/// the span of the memory against replays.
pub const WINDOW_SECONDS: u64 = 60;

/// Seconds that another party's clock may be ahead of ours: ten times the error of NTP on a bad day.
pub const CLOCK_SKEW_SECONDS: u64 = 10;

/// Bytes of one compact JWS: an offer of 64 contexts with a few features each has under 30 kB.
pub const MAX_JWS_BYTES: usize = 48 * 1024;

/// Characters of a sealed box: a JWS and a chain of four certificates in base64url, with room for padding.
pub const MAX_BOX_CHARS: usize = 192 * 1024;

/// Bytes of one handshake message in transit: the largest box with its envelope.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Contexts in one HELLO. A peer that speaks more names those that it needs now.
pub const MAX_OFFERS: usize = 64;

/// Minimums in one HELLO or SELECT: one for each line that can be offered.
pub const MAX_MINIMUMS: usize = 64;

/// Features of one offer.
pub const MAX_FEATURES: usize = 32;

/// Bytes of the name of one feature.
pub const MAX_FEATURE_BYTES: usize = 64;

/// Bytes of the hint in a SELECT: longer than any address that a person would type.
pub const MAX_HINT_BYTES: usize = 512;

/// Seconds of one epoch of the lock keys: a day, so that a key serves for two.
pub const EPOCH_SECONDS: u64 = 86_400;

/// Longest life of a lock in seconds: half a day. Below an epoch less twice the skew, so that the key of the epoch before
/// is there as long as any of its locks.
pub const MAX_LOCK_SECONDS: u64 = 43_200;

/// Characters of a lock: the bound of every identifier in a message. Ours have about 120.
pub const MAX_LOCK_CHARS: usize = 256;

/// Longest life of a signed key-agreement key in seconds: two epochs, since the gateway derives one for each.
pub const MAX_SEALING_KEY_SECONDS: u64 = 2 * EPOCH_SECONDS;

/// Seconds for which a gateway uses the keys that the upstream agent stated. An agent that restarts with another key is asked
/// after five minutes at the latest, and at once when it refuses a HELLO.
pub const APPOINTED_SECONDS: u64 = 300;

/// Seconds for which it uses them in any case. Otherwise a caller whose HELLO the agent refuses could make the gateway ask,
/// and the agent sign, each time.
pub const APPOINTED_AT_LEAST_SECONDS: u64 = 5;

/// Handshake messages of one signer that are remembered against replays at once: four handshakes a second for a whole window,
/// with two messages each.
pub const MAX_REMEMBERED_OF_ONE: usize = 512;

/// Handshake messages that are remembered in all: 65,536 of about 100 bytes, 6 MiB.
pub const MAX_REMEMBERED: usize = 65_536;

/// Handshakes of one peer that wait for their LOCK: one for each of a few connections.
pub const MAX_WAITING_OF_ONE: usize = 16;

/// Handshakes that wait for their LOCK in all: 4,096 of at most 50 kB, 200 MiB at the very worst and 8 MiB as a rule.
pub const MAX_WAITING: usize = 4_096;

/// Pairs of agents whose minimums are remembered: 16,384 pairs of about 500 bytes, 8 MiB.
pub const MAX_PAIRS: usize = 16_384;

const _: () = assert!(MAX_LOCK_SECONDS + 2 * CLOCK_SKEW_SECONDS < EPOCH_SECONDS);
