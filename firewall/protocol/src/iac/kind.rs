//! Types of messages: the row of each in the mapping to concepts and performatives.

use crate::{a2a::REPLY_PERFORMATIVES, claim::Row};
use semgate_contexts::{Performative, PerformativeSet};

/// The type of a message. `UNKNOWN` (0) is refused, so it has no name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageType {
    /// Asks for a sign of life.
    Ping,
    /// Informs everybody who listens.
    Broadcast,
    /// Carries one chunk of a file.
    FileTransfer,
    /// Asks for an act.
    Command,
    /// Asks for a task.
    DelegateTask,
    /// Offers another key of the sender.
    RegisterKey,
    /// Asks for a new agent.
    Create,
    /// Asks for the end of an agent.
    Terminate,
    /// Asks an agent to run.
    Run,
    /// Answers a message.
    Reply,
}

/// The types by their numbers, from 1.
const TYPES: [MessageType; 10] = [
    MessageType::Ping,
    MessageType::Broadcast,
    MessageType::FileTransfer,
    MessageType::Command,
    MessageType::DelegateTask,
    MessageType::RegisterKey,
    MessageType::Create,
    MessageType::Terminate,
    MessageType::Run,
    MessageType::Reply,
];

/// The concept of bytes that belong to no file.
pub(super) const BINARY: &str = "binary";

impl MessageType {
    /// The type with this number in protobuf, 1 to 10.
    pub fn of(number: u64) -> Option<Self> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        TYPES.get(index).copied()
    }

    /// The number in protobuf.
    pub fn number(self) -> u64 {
        TYPES.iter().position(|known| *known == self).map_or(0, |index| index as u64 + 1)
    }

    /// The name in records and in the judged JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Broadcast => "broadcast",
            Self::FileTransfer => "file_transfer",
            Self::Command => "command",
            Self::DelegateTask => "delegate_task",
            Self::RegisterKey => "register_key",
            Self::Create => "create",
            Self::Terminate => "terminate",
            Self::Run => "run",
            Self::Reply => "reply",
        }
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<Self> {
        TYPES.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The concept of `urn:contexts:iac:v1.0` that the type means by itself; none where only the content counts.
    pub(super) const fn concept(self) -> Option<&'static str> {
        match self {
            Self::Command | Self::DelegateTask | Self::Reply => None,
            Self::FileTransfer => Some("file_chunk"),
            _ => Some(self.as_str()),
        }
    }

    /// The performatives of a caller's message of this type; none if a caller sends no such message.
    pub(super) const fn asks(self) -> Option<Row> {
        Some(match self {
            Self::Ping => Row::only(Performative::Query),
            Self::Broadcast => PUBLIC,
            Self::FileTransfer => Row::only(Performative::Inform),
            Self::Command | Self::DelegateTask => {
                Row { default: Performative::Request, allowed: PerformativeSet::ALL }
            }
            Self::RegisterKey => Row::only(Performative::Propose),
            Self::Create | Self::Terminate | Self::Run => Row::only(Performative::Request),
            Self::Reply => return None,
        })
    }

    /// The performatives of an agent's message of this type; none if an agent sends no such message.
    pub(super) const fn answers(self) -> Option<Row> {
        match self {
            Self::Reply => Some(Row { default: Performative::Inform, allowed: REPLY_PERFORMATIVES }),
            Self::Ping | Self::FileTransfer => Some(Row::only(Performative::Inform)),
            Self::Broadcast => Some(PUBLIC),
            _ => None,
        }
    }
}

/// The row of a broadcast.
const PUBLIC: Row = Row {
    default: Performative::Inform,
    allowed: PerformativeSet::EMPTY.with(Performative::Inform).with(Performative::Publish),
};
