//! The messages of `lf.a2a.v1` (`proto/a2a.proto`) but for the card. A test compares each line with `proto/a2a.binpb`.

use super::{
    super::Operation,
    card::AGENT_CARD,
    shape::{Kind, Shape, either, many, one, plain, present, text, texts},
};

/// A method of `lf.a2a.v1.A2AService`.
pub(super) struct Method {
    pub operation: Operation,
    pub asks: &'static Shape,
    /// Each message of the answer, if there are several.
    pub answers: &'static Shape,
}

/// The method of an operation; the public card has none.
pub(super) fn method(operation: Operation) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.operation == operation)
}

/// Every method of the service.
pub(super) static METHODS: &[Method] = &[
    Method {
        operation: Operation::SendMessage,
        asks: &SEND_MESSAGE_REQUEST,
        answers: &SEND_MESSAGE_RESPONSE,
    },
    Method {
        operation: Operation::SendStreamingMessage,
        asks: &SEND_MESSAGE_REQUEST,
        answers: &STREAM_RESPONSE,
    },
    Method { operation: Operation::GetTask, asks: &GET_TASK_REQUEST, answers: &TASK },
    Method { operation: Operation::ListTasks, asks: &LIST_TASKS_REQUEST, answers: &LIST_TASKS_RESPONSE },
    Method { operation: Operation::CancelTask, asks: &CANCEL_TASK_REQUEST, answers: &TASK },
    Method {
        operation: Operation::SubscribeToTask,
        asks: &SUBSCRIBE_TO_TASK_REQUEST,
        answers: &STREAM_RESPONSE,
    },
    Method {
        operation: Operation::CreateTaskPushNotificationConfig,
        asks: &TASK_PUSH_NOTIFICATION_CONFIG,
        answers: &TASK_PUSH_NOTIFICATION_CONFIG,
    },
    Method {
        operation: Operation::GetTaskPushNotificationConfig,
        asks: &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        answers: &TASK_PUSH_NOTIFICATION_CONFIG,
    },
    Method {
        operation: Operation::ListTaskPushNotificationConfigs,
        asks: &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
        answers: &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
    },
    Method {
        operation: Operation::GetExtendedAgentCard,
        asks: &GET_EXTENDED_AGENT_CARD_REQUEST,
        answers: &AGENT_CARD,
    },
    Method {
        operation: Operation::DeleteTaskPushNotificationConfig,
        asks: &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        answers: &EMPTY,
    },
];

static SEND_MESSAGE_CONFIGURATION: Shape = Shape {
    name: "SendMessageConfiguration",
    fields: &[
        texts(1, "acceptedOutputModes"),
        one(2, "taskPushNotificationConfig", &TASK_PUSH_NOTIFICATION_CONFIG),
        present(3, "historyLength", Kind::Int32),
        plain(4, "returnImmediately", Kind::Bool),
    ],
};

static TASK: Shape = Shape {
    name: "Task",
    fields: &[
        text(1, "id"),
        text(2, "contextId"),
        one(3, "status", &TASK_STATUS),
        many(4, "artifacts", &ARTIFACT),
        many(5, "history", &MESSAGE),
        present(6, "metadata", Kind::Struct),
    ],
};

static TASK_STATUS: Shape = Shape {
    name: "TaskStatus",
    fields: &[
        plain(1, "state", Kind::Enum(TASK_STATE)),
        one(2, "message", &MESSAGE),
        present(3, "timestamp", Kind::Timestamp),
    ],
};

static PART: Shape = Shape {
    name: "Part",
    fields: &[
        either(1, "text", Kind::Text),
        either(2, "raw", Kind::Bytes),
        either(3, "url", Kind::Text),
        either(4, "data", Kind::Value),
        present(5, "metadata", Kind::Struct),
        text(6, "filename"),
        text(7, "mediaType"),
    ],
};

static MESSAGE: Shape = Shape {
    name: "Message",
    fields: &[
        text(1, "messageId"),
        text(2, "contextId"),
        text(3, "taskId"),
        plain(4, "role", Kind::Enum(ROLE)),
        many(5, "parts", &PART),
        present(6, "metadata", Kind::Struct),
        texts(7, "extensions"),
        texts(8, "referenceTaskIds"),
    ],
};

static ARTIFACT: Shape = Shape {
    name: "Artifact",
    fields: &[
        text(1, "artifactId"),
        text(2, "name"),
        text(3, "description"),
        many(4, "parts", &PART),
        present(5, "metadata", Kind::Struct),
        texts(6, "extensions"),
    ],
};

static TASK_STATUS_UPDATE_EVENT: Shape = Shape {
    name: "TaskStatusUpdateEvent",
    fields: &[
        text(1, "taskId"),
        text(2, "contextId"),
        one(3, "status", &TASK_STATUS),
        present(4, "metadata", Kind::Struct),
    ],
};

static TASK_ARTIFACT_UPDATE_EVENT: Shape = Shape {
    name: "TaskArtifactUpdateEvent",
    fields: &[
        text(1, "taskId"),
        text(2, "contextId"),
        one(3, "artifact", &ARTIFACT),
        plain(4, "append", Kind::Bool),
        plain(5, "lastChunk", Kind::Bool),
        present(6, "metadata", Kind::Struct),
    ],
};

static AUTHENTICATION_INFO: Shape =
    Shape { name: "AuthenticationInfo", fields: &[text(1, "scheme"), text(2, "credentials")] };

static TASK_PUSH_NOTIFICATION_CONFIG: Shape = Shape {
    name: "TaskPushNotificationConfig",
    fields: &[
        text(1, "tenant"),
        text(2, "id"),
        text(3, "taskId"),
        text(4, "url"),
        text(5, "token"),
        one(6, "authentication", &AUTHENTICATION_INFO),
    ],
};

static SEND_MESSAGE_REQUEST: Shape = Shape {
    name: "SendMessageRequest",
    fields: &[
        text(1, "tenant"),
        one(2, "message", &MESSAGE),
        one(3, "configuration", &SEND_MESSAGE_CONFIGURATION),
        present(4, "metadata", Kind::Struct),
    ],
};

static GET_TASK_REQUEST: Shape = Shape {
    name: "GetTaskRequest",
    fields: &[text(1, "tenant"), text(2, "id"), present(3, "historyLength", Kind::Int32)],
};

static LIST_TASKS_REQUEST: Shape = Shape {
    name: "ListTasksRequest",
    fields: &[
        text(1, "tenant"),
        text(2, "contextId"),
        plain(3, "status", Kind::Enum(TASK_STATE)),
        present(4, "pageSize", Kind::Int32),
        text(5, "pageToken"),
        present(6, "historyLength", Kind::Int32),
        present(7, "statusTimestampAfter", Kind::Timestamp),
        present(8, "includeArtifacts", Kind::Bool),
    ],
};

static LIST_TASKS_RESPONSE: Shape = Shape {
    name: "ListTasksResponse",
    fields: &[
        many(1, "tasks", &TASK),
        text(2, "nextPageToken"),
        plain(3, "pageSize", Kind::Int32),
        plain(4, "totalSize", Kind::Int32),
    ],
};

static CANCEL_TASK_REQUEST: Shape = Shape {
    name: "CancelTaskRequest",
    fields: &[text(1, "tenant"), text(2, "id"), present(3, "metadata", Kind::Struct)],
};

static GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Shape = Shape {
    name: "GetTaskPushNotificationConfigRequest",
    fields: &[text(1, "tenant"), text(2, "taskId"), text(3, "id")],
};

static DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Shape = Shape {
    name: "DeleteTaskPushNotificationConfigRequest",
    fields: &[text(1, "tenant"), text(2, "taskId"), text(3, "id")],
};

static SUBSCRIBE_TO_TASK_REQUEST: Shape =
    Shape { name: "SubscribeToTaskRequest", fields: &[text(1, "tenant"), text(2, "id")] };

static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: Shape = Shape {
    name: "ListTaskPushNotificationConfigsRequest",
    fields: &[text(4, "tenant"), text(1, "taskId"), plain(2, "pageSize", Kind::Int32), text(3, "pageToken")],
};

static GET_EXTENDED_AGENT_CARD_REQUEST: Shape =
    Shape { name: "GetExtendedAgentCardRequest", fields: &[text(1, "tenant")] };

static SEND_MESSAGE_RESPONSE: Shape = Shape {
    name: "SendMessageResponse",
    fields: &[either(1, "task", Kind::Message(&TASK)), either(2, "message", Kind::Message(&MESSAGE))],
};

pub(super) static STREAM_RESPONSE: Shape = Shape {
    name: "StreamResponse",
    fields: &[
        either(1, "task", Kind::Message(&TASK)),
        either(2, "message", Kind::Message(&MESSAGE)),
        either(3, "statusUpdate", Kind::Message(&TASK_STATUS_UPDATE_EVENT)),
        either(4, "artifactUpdate", Kind::Message(&TASK_ARTIFACT_UPDATE_EVENT)),
    ],
};

static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: Shape = Shape {
    name: "ListTaskPushNotificationConfigsResponse",
    fields: &[many(1, "configs", &TASK_PUSH_NOTIFICATION_CONFIG), text(2, "nextPageToken")],
};

static TASK_STATE: &[&str] = &[
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

static ROLE: &[&str] = &["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

static EMPTY: Shape = Shape { name: "google.protobuf.Empty", fields: &[] };
