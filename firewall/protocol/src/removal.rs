//! Removal: a named transformation that takes members out of a message before it is judged.
//!
//! Protocols leave places open to everybody: `_meta` and capabilities of MCP, metadata of A2A. Members that this gateway does
//! not read are removed there, so that nothing passes unjudged. The rest is judged and forwarded. A removal never touches a
//! member that some reader could take for a known one. Names of the protocol and of this product stay, and so do names that
//! differ from a known one in case alone. The readers of the binding refuse them.
//!
//! The decision uses the tree that was read already. A message without such members costs one walk over its known members.

mod a2a;
mod a2h;
mod keys;
mod ldp;
mod mcp;
mod shape;

pub(crate) use a2a::{is_context_key, message as a2a_message};
pub(crate) use a2h::message as a2h_message;
pub use keys::{BadMetaKey, MetaKeys};
pub(crate) use keys::{listed_fit, traces};
pub(crate) use ldp::message as ldp_message;
pub(crate) use mcp::{CLIENT, message as mcp_message};

use crate::{Protocol, Reading, mcp::Asked};
use semgate_contexts::json::Json;

/// Pointers that one removal records; the members beyond are removed too.
pub const MAX_POINTERS: usize = 32;

/// The longest pointer that is recorded, in bytes. A longer one is recorded as `/*`.
const MAX_POINTER: usize = 256;

/// The longest member name that is recorded, in bytes. A longer one, and one that is no word, is recorded as `*`.
const MAX_NAME: usize = 96;

/// The author of a message, and known facts about it.
#[derive(Clone, Copy)]
pub enum Author<'f> {
    /// The caller.
    Client,
    /// The upstream agent. In MCP, `asked` is the request that it answers. `pinned` is true of tools that a signed
    /// context holds to their whole description; nothing of them is removed.
    Server {
        /// The request, in MCP.
        asked: Option<&'f Asked>,
        /// The tools that stay as they are.
        pinned: &'f dyn Fn(&str) -> bool,
    },
}

/// The values removed from one message, and their locations.
#[derive(Default)]
pub struct Removal<'j> {
    values: Vec<&'j Json<'j>>,
    pointers: Vec<String>,
}

impl<'j> Removal<'j> {
    /// Decides which members of a message are removed.
    pub fn of(
        json: &'j Json<'j>,
        protocol: &dyn Protocol,
        author: Author<'_>,
        reading: &Reading<'_>,
    ) -> Self {
        let mut walk = Walk { author, reading, removal: Self::default() };
        protocol.remove(&mut walk, json);
        walk.removal
    }

    /// True if nothing is removed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values that are removed: members of objects, or items of arrays.
    pub fn values(&self) -> &[&'j Json<'j>] {
        &self.values
    }

    /// Their locations: at most [`MAX_POINTERS`] JSON pointers (RFC 6901).
    pub fn into_pointers(self) -> Vec<String> {
        self.pointers
    }

    /// Removes one member of the object at `path`.
    pub fn add(&mut self, path: &Path<'_>, member: &str, value: &'j Json<'j>) {
        self.values.push(value);
        self.record(&path.member(member));
    }

    fn record(&mut self, path: &Path<'_>) {
        if self.pointers.len() >= MAX_POINTERS {
            return;
        }
        let mut pointer = String::new();
        path.write(&mut pointer);
        if pointer.len() > MAX_POINTER {
            "/*".clone_into(&mut pointer);
        }
        if !self.pointers.contains(&pointer) {
            self.pointers.push(pointer);
        }
    }
}

/// The path to a value, which costs nothing until it is written.
#[derive(Clone, Copy)]
pub struct Path<'p> {
    before: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Member(&'p str),
    Item(usize),
}

impl<'p> Path<'p> {
    /// The whole message.
    pub const ROOT: Path<'static> = Path { before: None, step: Step::Root };

    /// A member of the object that stands here.
    pub const fn member(&'p self, name: &'p str) -> Path<'p> {
        Path { before: Some(self), step: Step::Member(name) }
    }

    const fn item(&'p self, at: usize) -> Path<'p> {
        Path { before: Some(self), step: Step::Item(at) }
    }

    fn write(&self, out: &mut String) {
        if let Some(before) = self.before {
            before.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Item(at) => *out += &format!("/{at}"),
            Step::Member(name) => {
                let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-.:/@".contains(&b);
                out.push('/');
                match name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
                    true => out.push('*'),
                    false => *out += &name.replace('/', "~1"),
                }
            }
        }
    }
}

/// One walk over a message.
pub struct Walk<'w, 'j> {
    author: Author<'w>,
    reading: &'w Reading<'w>,
    removal: Removal<'j>,
}

#[cfg(test)]
mod tests;
