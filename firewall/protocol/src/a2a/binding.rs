//! A2A as an implementation of [`Protocol`], in three transports.

use super::{
    AgentError, Operation, Version,
    grpc::Grpc,
    reply::{event, reply},
    request::{request, rpc_id},
    rest::Rest,
};
use crate::{
    Asked, Call, FaultKind, GatewayAnswer, HttpTraits, Message, MessageFault, Protocol, Reading, Reply,
    ReplyKind, ReplyTo, RequestBytes, RpcId, StreamRules, Traits, Turns, mcp,
    member::Read,
    removal::{Walk, a2a_message},
    sstp::SCHEMA_ID,
};
use semgate_contexts::json::Json;
use std::{fmt, marker::PhantomData};

/// Properties of a transport.
pub(crate) trait Transport: fmt::Debug + Sync {
    /// True if JSON-RPC surrounds the parameters.
    const RPC: bool = false;
    /// The relation of a request's bytes to the judged JSON.
    const BYTES: RequestBytes;
    /// Statuses of a success, besides 200.
    const SUCCESSES: &'static [u16] = &[];
    /// The hint for a tenant that is not the route's, if the transport has a better one.
    const TENANT_HINT: Option<&'static str> = None;

    /// As [`Protocol::status_error`].
    fn status_error(_status: u16, _body: &Json<'_>) -> Option<AgentError> {
        None
    }
}

/// JSON-RPC 2.0.
#[derive(Debug)]
pub(crate) struct JsonRpc;

impl Transport for JsonRpc {
    const RPC: bool = true;
    const BYTES: RequestBytes = RequestBytes::Judged;
}

/// A2A in one transport.
#[derive(Debug)]
pub(crate) struct A2a<T>(PhantomData<T>);

pub(crate) const JSON_RPC: A2a<JsonRpc> = A2a(PhantomData);
pub(crate) const REST: A2a<Rest> = A2a(PhantomData);
pub(crate) const GRPC: A2a<Grpc> = A2a(PhantomData);

/// The hint for a request in a version that is not carried.
pub(crate) const VERSION_HINT: &str = "name a version that this address supports, such as `A2A-Version: 1.0`";

impl<T: Transport> A2a<T> {
    const TRAITS: Traits = Traits {
        params_path: if T::RPC { "/params" } else { "" },
        request_bytes: T::BYTES,
        turns: Turns::Threads,
        stream: StreamRules::Task,
        calls_tools: false,
        answered_here: false,
        signs_messages: false,
        answers_freely: false,
        names_context_in_replies: false,
        claim_hint: "",
        version_hint: VERSION_HINT,
        form_hint: "send exactly the members that docs/spec/a2a-binding.md lists, and nothing else",
        http: HttpTraits {
            media_types: &["application/json", "application/a2a+json"],
            names_extensions: true,
            has_transports: true,
            joins_paths: true,
            ..HttpTraits::PLAIN
        },
    };
}

impl<T: Transport> Protocol for A2a<T> {
    fn traits(&self) -> &'static Traits {
        &Self::TRAITS
    }

    fn vocabulary(&self) -> Option<(&'static str, semgate_contexts::Version)> {
        Some(("a2a", semgate_contexts::Version::new(1, 0)))
    }

    fn version(&self, call: &Call) -> &'static str {
        call.version.as_str()
    }

    fn versions(&self) -> &'static [&'static str] {
        const { &[Version::V10.as_str(), Version::V03.as_str()] }
    }

    fn takes_version(&self, call: &Call, versions: &[Version]) -> bool {
        versions.contains(&call.version)
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        call: &Call,
        _question: Option<mcp::Operation>,
        reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        request(json, call, reading)
    }

    fn reply<'j>(&self, json: &'j Json<'j>, to: &ReplyTo<'j>, reading: &Reading<'_>) -> Read<Reply<'j>> {
        match to.a2a {
            None => Err(MessageFault::unasked()),
            Some(asked) if to.in_stream => event(json, asked, reading),
            Some(asked) => reply(json, asked, reading),
        }
    }

    fn rpc_id(&self, json: &Json<'_>) -> Option<RpcId> {
        if T::RPC { rpc_id(json) } else { None }
    }

    fn remove<'j>(&self, walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
        a2a_message(walk, json);
    }

    fn reply_kind(&self, status: u16, is_empty: bool, operation: Option<Operation>) -> Option<ReplyKind> {
        let deletes = operation == Some(Operation::DeleteTaskPushNotificationConfig);
        match (status, is_empty) {
            (200 | 204, true) if deletes => Some(ReplyKind::Acknowledgement),
            (200, true) => Some(ReplyKind::Missing),
            (200, false) => Some(ReplyKind::Message),
            (_, false) if T::SUCCESSES.contains(&status) => Some(ReplyKind::Message),
            (400..600, false) => Some(ReplyKind::Error),
            _ => None,
        }
    }

    fn status_error(&self, status: u16, body: &Json<'_>) -> Option<AgentError> {
        T::status_error(status, body)
    }

    fn write(&self, own: &GatewayAnswer<'_>, asked: Option<&Asked>, extension: &str) -> Option<Vec<u8>> {
        asked.map(|asked| own.a2a(asked, extension))
    }

    fn converses(&self, operation: Option<Operation>) -> bool {
        operation.is_some_and(Operation::sends)
    }

    fn waives_lock(&self, message: &Message<'_>) -> bool {
        message.operation.is_some_and(|operation| !operation.sends())
    }

    fn claim_pointer(&self, location: &str, extension: &str) -> String {
        match location {
            SCHEMA_ID => location.to_owned(),
            _ => format!("{location}/{extension}/context"),
        }
    }

    fn fault_hint(&self, fault: &MessageFault, call: &Call, versions: &[Version]) -> Option<&'static str> {
        match (fault.kind, fault.path.as_str(), call.version) {
            (FaultKind::MethodUnsupported, "/method", Version::V03) if versions.contains(&Version::V10) => {
                Some(
                    "a request without the header `A2A-Version` uses 0.3: send `A2A-Version: 1.0` with a method of 1.0",
                )
            }
            (FaultKind::MethodUnsupported, "/method", Version::V10) => {
                Some("`A2A-Version: 1.0` requires the methods of 1.0, such as `SendMessage`")
            }
            (FaultKind::Malformed, "/tenant", _) => T::TENANT_HINT,
            _ => None,
        }
    }
}
