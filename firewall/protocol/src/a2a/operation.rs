//! Operations of A2A: one closed list for all versions and transports.

use super::Version;
use semgate_contexts::Performative;
use std::fmt;

/// An operation of A2A. The names are those of `a2a.proto`; the protocol context has a concept of each name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A message, answered by a message or a task.
    SendMessage,
    /// A message, answered by a stream of events.
    SendStreamingMessage,
    /// Reads one task.
    GetTask,
    /// Reads tasks, page by page. 1.0 only.
    ListTasks,
    /// Asks for a task to be cancelled.
    CancelTask,
    /// Follows a task by a stream of events.
    SubscribeToTask,
    /// Has events of a task sent to a URL.
    CreateTaskPushNotificationConfig,
    /// Reads one push configuration.
    GetTaskPushNotificationConfig,
    /// Reads the push configurations of a task.
    ListTaskPushNotificationConfigs,
    /// Ends a push configuration.
    DeleteTaskPushNotificationConfig,
    /// Reads the card for authenticated callers.
    GetExtendedAgentCard,
    /// Reads the public card: a path of its own, and no method of JSON-RPC.
    GetAgentCard,
}

use Operation::{
    CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig, GetAgentCard,
    GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, ListTasks,
    SendMessage, SendStreamingMessage, SubscribeToTask,
};

impl Operation {
    /// All of them.
    pub const ALL: [Self; 12] = [
        SendMessage,
        SendStreamingMessage,
        GetTask,
        ListTasks,
        CancelTask,
        SubscribeToTask,
        CreateTaskPushNotificationConfig,
        GetTaskPushNotificationConfig,
        ListTaskPushNotificationConfigs,
        DeleteTaskPushNotificationConfig,
        GetExtendedAgentCard,
        GetAgentCard,
    ];

    /// The name in `a2a.proto`, which policies and audit records use, and under which the protocol context has its concept.
    pub const fn as_str(self) -> &'static str {
        match self {
            SendMessage => "SendMessage",
            SendStreamingMessage => "SendStreamingMessage",
            GetTask => "GetTask",
            ListTasks => "ListTasks",
            CancelTask => "CancelTask",
            SubscribeToTask => "SubscribeToTask",
            CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            GetExtendedAgentCard => "GetExtendedAgentCard",
            GetAgentCard => "GetAgentCard",
        }
    }

    /// The operation of a name of `a2a.proto`, byte for byte. The gRPC binding uses this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == name)
    }

    /// The JSON-RPC method in a version; `None` where the version has none.
    pub const fn method(self, version: Version) -> Option<&'static str> {
        match (version, self) {
            (_, GetAgentCard) | (Version::V03, ListTasks) => None,
            (Version::V10, _) => Some(self.as_str()),
            (Version::V03, SendMessage) => Some("message/send"),
            (Version::V03, SendStreamingMessage) => Some("message/stream"),
            (Version::V03, GetTask) => Some("tasks/get"),
            (Version::V03, CancelTask) => Some("tasks/cancel"),
            (Version::V03, SubscribeToTask) => Some("tasks/resubscribe"),
            (Version::V03, CreateTaskPushNotificationConfig) => Some("tasks/pushNotificationConfig/set"),
            (Version::V03, GetTaskPushNotificationConfig) => Some("tasks/pushNotificationConfig/get"),
            (Version::V03, ListTaskPushNotificationConfigs) => Some("tasks/pushNotificationConfig/list"),
            (Version::V03, DeleteTaskPushNotificationConfig) => Some("tasks/pushNotificationConfig/delete"),
            (Version::V03, GetExtendedAgentCard) => Some("agent/getAuthenticatedExtendedCard"),
        }
    }

    /// The operation of a JSON-RPC method, byte for byte.
    pub fn of_method(method: &str, version: Version) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.method(version) == Some(method))
    }

    /// Returns true if the answer is a stream of events. An error before the first event may still come as one piece.
    pub const fn streams(self) -> bool {
        matches!(self, SendStreamingMessage | SubscribeToTask)
    }

    /// Returns true if the operation carries a message.
    pub const fn sends(self) -> bool {
        matches!(self, SendMessage | SendStreamingMessage)
    }

    /// The speech act (`docs/spec/a2a-binding.md`). That of a message may be chosen by its metadata.
    pub const fn performative(self) -> Performative {
        match self {
            SendMessage | SendStreamingMessage | CancelTask | DeleteTaskPushNotificationConfig => {
                Performative::Request
            }
            SubscribeToTask | CreateTaskPushNotificationConfig => Performative::Subscribe,
            GetTask
            | ListTasks
            | GetTaskPushNotificationConfig
            | ListTaskPushNotificationConfigs
            | GetExtendedAgentCard
            | GetAgentCard => Performative::Query,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
