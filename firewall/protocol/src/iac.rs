//! IAC: agents that exchange signed messages over QUIC (`docs/spec/iac-binding.md`).
//!
//! A message is one protobuf, compressed with zstd, on a stream of its own. [`inflate`] opens the compression within bounds,
//! and [`Frame`] reads the protobuf, so that no other reader can see another message. [`Frame::verify`] checks the signature,
//! and [`Frame::judged`] writes the JSON that is judged. The checked protobuf is forwarded, compressed anew by [`deflate`].

mod binding;
mod draft;
mod frame;
mod judged;
mod kind;
mod zstd;

pub use binding::FrameIds;
pub(crate) use binding::Iac;
pub use draft::Draft;
pub use frame::{Frame, KEY_LEN, SIGNATURE_LEN, SignedForm};
pub use kind::MessageType;
pub use zstd::{Dictionaries, FrameLimits, deflate, inflate, inflate_with};

#[cfg(test)]
mod tests;
