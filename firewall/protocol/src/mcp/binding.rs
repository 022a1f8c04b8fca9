//! MCP as an implementation of [`Protocol`].

use super::{Operation, Revision, Speaker, Verb, answer, event, request, response, response_id, session};
use crate::{
    Asked, Call, GatewayAnswer, HttpTraits, Message, MessageFault, Protocol, Reading, Reply, ReplyKind,
    ReplyTo, RequestBytes, RpcId, StreamRules, Traits, Turns, Vocabulary, a2a,
    member::Read,
    removal::{Walk, mcp_message},
};
use semgate_contexts::json::Json;

/// MCP over streamable HTTP.
#[derive(Debug)]
pub(crate) struct Mcp;

/// Operations of a client without a lock: those before any context is known, and those that only end or watch others. The
/// SDKs send no lock there.
const WITHOUT_LOCK: [&str; 7] =
    ["Initialize", "Initialized", "Discover", "Ping", "ListTools", "Listen", "Cancelled"];

impl Protocol for Mcp {
    fn traits(&self) -> &'static Traits {
        &Traits {
            params_path: "/params",
            request_bytes: RequestBytes::Judged,
            turns: Turns::Threads,
            stream: StreamRules::Server,
            calls_tools: true,
            answered_here: false,
            signs_messages: false,
            answers_freely: false,
            names_context_in_replies: false,
            claim_hint: " in `_meta`, `{\"dev.semgate/l9\": {\"context\": …}}`,",
            version_hint: "name a version of MCP that this address supports: `2026-07-28`, or in a session `2025-11-25` or `2025-06-18`",
            form_hint: "send exactly the members that docs/spec/mcp-binding.md lists, and nothing else",
            http: HttpTraits { checks_origin: true, has_authorization: true, ..HttpTraits::PLAIN },
        }
    }

    fn vocabulary(&self) -> Option<(&'static str, semgate_contexts::Version)> {
        Some(("mcp", semgate_contexts::Version::new(1, 0)))
    }

    /// The version of the header. Without one it is the newest version with sessions, since only `initialize` is read then.
    fn version(&self, call: &Call) -> &'static str {
        let named = call.mcp.as_ref().and_then(|head| Revision::parse(head.version.as_deref()?));
        named.unwrap_or(Revision::NEWEST_WITH_SESSIONS).as_str()
    }

    fn versions(&self) -> &'static [&'static str] {
        const { &[Revision::V2026_07_28.as_str(), Revision::V2025_11_25.as_str(), Revision::V2025_06_18.as_str()] }
    }

    fn answered(&self, json: &Json<'_>, call: &Call) -> Option<RpcId> {
        let posted = call.mcp.as_ref().is_some_and(|head| head.verb == Verb::Post);
        response_id(json).filter(|_| posted)
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        call: &Call,
        question: Option<Operation>,
        reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        let head = call.mcp.as_deref();
        let head = head.ok_or_else(|| MessageFault::malformed("", "the request has no MCP headers"))?;
        match question {
            Some(operation) => response(json, operation, head, reading),
            None if head.verb == Verb::Post => request(json, head, reading),
            None => session(json, head, reading),
        }
    }

    fn reply<'j>(&self, json: &'j Json<'j>, to: &ReplyTo<'j>, reading: &Reading<'_>) -> Read<Reply<'j>> {
        let asked = to.mcp.ok_or_else(MessageFault::unasked)?;
        match to.in_stream {
            true => event(json, asked.version, Some(asked), reading),
            false => answer(json, asked, Speaker::Server, reading),
        }
    }

    /// The id of a request. The id of a client's answer belongs to the server's request.
    fn rpc_id(&self, json: &Json<'_>) -> Option<RpcId> {
        super::rpc_id(json)
    }

    fn remove<'j>(&self, walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
        mcp_message(walk, json);
    }

    fn reply_kind(
        &self,
        status: u16,
        is_empty: bool,
        _operation: Option<a2a::Operation>,
    ) -> Option<ReplyKind> {
        match (status, is_empty) {
            (200, true) => Some(ReplyKind::Missing),
            (200, false) => Some(ReplyKind::Message),
            (400..600, false) => Some(ReplyKind::Error),
            _ => None,
        }
    }

    fn write(&self, _own: &GatewayAnswer<'_>, _asked: Option<&Asked>, _extension: &str) -> Option<Vec<u8>> {
        None
    }

    fn converses(&self, _operation: Option<a2a::Operation>) -> bool {
        false
    }

    fn waives_lock(&self, message: &Message<'_>) -> bool {
        let mut instances = message.instances.iter();
        instances.all(|one| one.of == Vocabulary::Protocol && WITHOUT_LOCK.contains(&one.name))
    }
}
