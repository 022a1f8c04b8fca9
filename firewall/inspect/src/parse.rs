//! First stage: bytes to message. It reports every fault of form.

mod client;
mod session;
mod terms;

use crate::{
    Code, Direction, Facts, Refusal, Remedy, Sent, UnnamedTools,
    generation::Named,
    inspection::{HeaderClaims, Inspection, Turn},
    tools,
};
use bytes::Bytes;
pub(crate) use client::{answers_nothing, asked_at};
use client::{asked_by_server, cancels, goes_on, settled, versions};
use semgate_contexts::{
    ContextUrn, Digest,
    json::{self, Json},
};
use semgate_protocol::{
    Base, Binding, Call, Claim, FaultKind, Instance, Message, MessageFault, Pointer, Protocol, Reading,
    Reply, ReplyTo, RpcId, Vocabulary, header,
};
use session::{in_session, session_claim};
use terms::settle_terms;

/// Bytes accepted by the strict reader. Only this stage builds one.
#[derive(Debug)]
pub struct Strict<'b> {
    json: Json<'b>,
}

/// A message of the route's binding whose context claim, if any, is well-formed. Only this stage builds one.
#[derive(Debug)]
pub struct Parsed<'c, 'j> {
    case: &'c Inspection<'c>,
    message: Message<'j>,
    target: Target<'c>,
    digests: Vec<Digest>,
    /// The called or answering tool, if no context names it.
    unnamed: Option<&'j str>,
}

/// The context of a message, as far as its text tells.
#[derive(Debug)]
pub(crate) enum Target<'c> {
    /// No context is named.
    Missing,
    /// A published context.
    Known(&'c Named),
    /// A context without a document here.
    Unknown(ContextUrn),
    /// A context in a reply that differs from its request's.
    Foreign(ContextUrn),
}

/// Reads bytes with the strict reader.
///
/// # Errors
/// `too_large`, `too_deep`, `too_complex`, `duplicate_key` or `malformed`.
pub(crate) fn read<'b>(case: &Inspection<'_>, bytes: &'b Bytes) -> Result<Strict<'b>, Refusal> {
    json::read(bytes, &case.state.limits.json).map(|json| Strict { json }).map_err(|fault| {
        let code = match fault {
            json::Fault::TooLarge => Code::TooLarge,
            json::Fault::TooDeep => Code::TooDeep,
            json::Fault::TooComplex => Code::TooComplex,
            json::Fault::DuplicateKey { .. } => Code::DuplicateKey,
            json::Fault::Malformed { .. } => Code::Malformed,
        };
        Refusal::new(code, fault.to_string()).with_hint(hint(code, case.protocol())).with_facts(case.facts())
    })
}

impl<'b> Strict<'b> {
    /// The id that a JSON-RPC answer must repeat, if the message has a valid one.
    pub(crate) fn rpc_id(&self, call: &Call) -> Option<RpcId> {
        call.protocol().rpc_id(&self.json)
    }

    pub(crate) fn json(&self) -> &Json<'b> {
        &self.json
    }
}

/// Reads a request from its JSON and compares the headers with it.
///
/// # Errors
/// `version_unsupported`, `method_unsupported`, `too_complex`, `duplicate_key` or `malformed`.
pub(crate) fn parse<'c, 'j>(
    case: &'c Inspection<'c>,
    strict: &'j Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Parsed<'c, 'j>, Refusal> {
    parsed(case, request(case, strict)?, headers)
}

/// Prepares a message that was read already, such as one task of a list.
///
/// # Errors
/// `malformed`: a claim or digest that is not canonical, or a header that differs.
pub(crate) fn parsed<'c, 'j>(
    case: &'c Inspection<'c>,
    message: Message<'j>,
    headers: &HeaderClaims<'_>,
) -> Result<Parsed<'c, 'j>, Refusal> {
    context_header(case, headers, message.claims.first())?;
    let mut message = message;
    in_session(case, &message)?;
    let mut target = target(case, &message)?;
    if settle_terms(case, &target, &mut message) && matches!(target, Target::Missing) {
        target = self::target(case, &message)?;
    }
    let digests = digests(case, &message.claims)?;
    let unnamed = match &target {
        Target::Known(named) => unnamed_tool(case, named, &mut message)?,
        _ => None,
    };
    Ok(Parsed { case, message, target, digests, unnamed })
}

/// Treats a tool that no context names as a call of the protocol, if the route admits such tools.
///
/// Its whole params or result are judged as that call, in place of its arguments or structured content.
///
/// # Errors
/// `header_mismatch` for a header that repeats one of its arguments.
fn unnamed_tool<'j>(
    case: &Inspection<'_>,
    named: &Named,
    message: &mut Message<'j>,
) -> Result<Option<&'j str>, Refusal> {
    let Some((tool, whole)) = message.tool_call else { return Ok(None) };
    if tools::names(case, named.context(), tool) {
        return Ok(None);
    }
    tools::repeats_nothing(case, whole).map_err(|refusal| refusal.with_facts(case.facts()))?;
    let performative = message.performative;
    message.instances.retain(|instance| instance.of != Vocabulary::Context);
    message.instances.push(Instance {
        of: Vocabulary::Protocol,
        name: tools::UNNAMED,
        naming: "_meta",
        pointer: Pointer { base: Base::Built("".into()), key: None },
        object: whole,
        performative,
    });
    // a bare call becomes one that policy judges
    message.acknowledges = false;
    Ok(Some(tool))
}

/// Parameters of every binding's reader.
pub(crate) fn reading<'c>(case: &'c Inspection<'c>) -> Reading<'c> {
    Reading {
        extension: case.generation.extension(),
        max_concepts: match case.direction {
            Direction::Request => case.state.limits.concepts,
            Direction::Reply => case.state.limits.reply_concepts,
        },
        admit: case.route.text_parts,
        tenant: case.route.tenant.as_deref(),
        meta: &case.route.options.meta,
        untyped: case.route.options.untyped.is_some(),
        formats: &case.route.options.formats,
    }
}

fn request<'j>(case: &Inspection<'_>, strict: &'j Strict<'_>) -> Result<Message<'j>, Refusal> {
    if case.call.binding != case.route.binding {
        return Err(malformed(case, "the request uses another binding than the route"));
    }
    let (protocol, head) = (case.protocol(), case.call.mcp.as_deref());
    takes_version(case)?;
    let question = protocol.answered(&strict.json, case.call).map(|id| asked_by_server(case, &id));
    let message = protocol.request(&strict.json, case.call, question.transpose()?, &reading(case)).map_err(
        |fault| versions(case, head.and_then(|head| head.version.as_deref()), refused(case, &fault)),
    )?;
    if let Some(head) = head {
        let allowed = goes_on(case, &head.verb).and_then(|()| cancels(case, head, &message, &strict.json));
        allowed.map_err(|refusal| refusal.with_facts(case.facts()))?;
    }
    Ok(message)
}

/// Checks that the route takes the request's A2A version (A2A 1.0 §3.6). A head without a version means 0.3.
/// A stripped header is a downgrade, refused unless the route takes 0.3.
fn takes_version(case: &Inspection<'_>) -> Result<(), Refusal> {
    let versions = &case.route.options.versions;
    if case.protocol().takes_version(case.call, versions) {
        return Ok(());
    }
    let named: Vec<_> = versions.iter().map(|version| format!("`A2A-Version: {version}`")).collect();
    Err(Refusal::new(Code::VersionUnsupported, "this route does not support the A2A version of the request")
        .with_hint(format!("send the header {}; a request without it uses 0.3", named.join(" or ")))
        .with_facts(case.facts()))
}

/// Reads a reply, or one event of a stream, from its JSON. No error of the protocol is returned as a reply.
///
/// # Errors
/// As [`parse`]. `agent_error` for an error of the protocol, `upstream_invalid` for another.
pub(crate) fn reply<'j>(case: &Inspection<'j>, strict: &'j Strict<'_>) -> Result<Reply<'j>, Refusal> {
    let request = ReplyTo {
        a2a: case.answers.and_then(Sent::asked),
        mcp: case.answers.and_then(Sent::mcp),
        in_stream: matches!(case.turn, Turn::Event | Turn::EventAgain),
        echo: case.echo.map(|echo| &**echo),
    };
    let read = case.protocol().reply(&strict.json, &request, &reading(case));
    match read.map_err(|fault| versions(case, settled(strict.json()), refused(case, &fault)))? {
        Reply::Error(error) => Err(Refusal::of_agent(error.known).with_facts(case.facts())),
        Reply::ServerError(number, data) => {
            Err(Refusal::of_server(number).with_server_data(data).with_facts(case.facts()))
        }
        reply => Ok(reply),
    }
}

fn context_header(
    case: &Inspection<'_>,
    headers: &HeaderClaims<'_>,
    claim: Option<&Claim<'_>>,
) -> Result<(), Refusal> {
    match headers.l9_context {
        [] => Ok(()),
        [only] => header::agrees(only, claim).map_err(|fault| refused(case, &fault)),
        _ => Err(malformed(case, "there is more than one `L9-Context` header")),
    }
}

fn target<'c>(case: &'c Inspection<'c>, message: &Message<'_>) -> Result<Target<'c>, Refusal> {
    let grammar = |claim: &Claim<'_>| {
        ContextUrn::parse(claim.urn, case.generation.prefix()).map_err(|fault| {
            let pointer = case.protocol().claim_pointer(claim.location, case.generation.extension());
            malformed(case, &format!("`{pointer}` is not a context urn in canonical form: {fault}"))
        })
    };
    let lookup = |text: &str| case.generation.named(text).map(Target::Known);
    let Some(about) = case.about else {
        return match message.claims.first() {
            None => Ok(match unnamed(case, message) {
                None => Target::Missing,
                Some(urn) => lookup(urn.as_str()).unwrap_or_else(|| Target::Unknown(urn.clone())),
            }),
            Some(claim) => match lookup(claim.urn) {
                Some(known) => Ok(known),
                None => grammar(claim).map(Target::Unknown),
            },
        };
    };
    for claim in &message.claims {
        if claim.urn != about.urn.as_str() {
            return grammar(claim).map(Target::Foreign);
        }
    }
    if message.claims.is_empty() && case.protocol().traits().names_context_in_replies {
        return Ok(Target::Missing);
    }
    Ok(lookup(about.urn.as_str()).unwrap_or_else(|| Target::Unknown(about.urn.clone())))
}

/// The context of a request that names none.
///
/// An A2A operation without a message belongs to the protocol's context, everything else to the route's
/// default. Without a default, MCP content in protocol terms alone belongs to the protocol's context; an A2A
/// message has none.
fn unnamed<'c>(case: &'c Inspection<'c>, message: &Message<'_>) -> Option<&'c ContextUrn> {
    let protocol = || case.generation.protocol_urn(message.binding);
    if let Some(claim) = session_claim(case, message) {
        return Some(&claim.about.urn);
    }
    let default = tools::default_context(case, message.tool_call.map(|(tool, _)| tool));
    match message.operation {
        Some(operation) if operation.sends() => return default,
        Some(_) => return protocol(),
        None => {}
    }
    let only = |instance: &Instance<'_>| instance.of == Vocabulary::Protocol;
    let plain =
        || !message.instances.is_empty() && message.gap.is_none() && message.instances.iter().all(only);
    // a tool that no context names is content of the protocol, if the route admits it
    let unnamed = message.tool_call.is_some() && case.route.options.unnamed_tools == UnnamedTools::Pass;
    default.or_else(|| if unnamed || plain() { protocol() } else { None })
}

fn digests(case: &Inspection<'_>, claims: &[Claim<'_>]) -> Result<Vec<Digest>, Refusal> {
    let mut all = Vec::new();
    for claim in claims {
        let Some(text) = claim.digest else { continue };
        let digest = Digest::parse(text).map_err(|_| {
            malformed(
                case,
                &format!(
                    "the digest next to `{}` is not `sha-256:` and 64 lowercase hex digits",
                    claim.location
                ),
            )
        })?;
        all.push(digest);
    }
    Ok(all)
}

impl<'c, 'j> Parsed<'c, 'j> {
    pub(crate) fn case(&self) -> &'c Inspection<'c> {
        self.case
    }

    pub(crate) fn message(&self) -> &Message<'j> {
        &self.message
    }

    pub(crate) fn target(&self) -> &Target<'c> {
        &self.target
    }

    pub(crate) fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// Facts known about the message.
    pub fn facts(&self) -> Facts {
        let context = match &self.target {
            Target::Missing => None,
            Target::Known(named) => Some(named.urn().to_string()),
            Target::Unknown(urn) | Target::Foreign(urn) => Some(urn.to_string()),
        };
        Facts {
            message_id: Some(self.message.message_id).filter(|id| !id.is_empty()).map(str::to_owned),
            performative: Some(self.message.performative),
            context,
            unnamed_tool: self.unnamed.map(str::to_owned),
            method: self.message.method(),
            trace: self.message.trace,
            ..self.case.facts()
        }
    }
}

pub(crate) fn malformed(case: &Inspection<'_>, reason: &str) -> Refusal {
    let hint = hint(Code::Malformed, case.protocol());
    Refusal::new(Code::Malformed, reason).with_hint(hint).with_facts(case.facts())
}

pub(crate) fn refused(case: &Inspection<'_>, fault: &MessageFault) -> Refusal {
    let refusal = Refusal::of_message(fault, case.call.binding).with_facts(case.facts());
    let protocol = case.protocol();
    match protocol.fault_hint(fault, case.call, &case.route.options.versions) {
        Some(hint) if case.direction == Direction::Request => refusal.with_hint(hint),
        _ => refusal,
    }
}

impl Refusal {
    /// The refusal of a message or request head that its binding rejects, without facts.
    #[must_use]
    pub fn of_message(fault: &MessageFault, binding: Binding) -> Self {
        let code = match fault.kind {
            FaultKind::Malformed | FaultKind::Stray => Code::Malformed,
            FaultKind::DuplicateKey => Code::DuplicateKey,
            FaultKind::TooLarge => Code::TooLarge,
            FaultKind::TooDeep => Code::TooDeep,
            FaultKind::TooComplex => Code::TooComplex,
            FaultKind::MethodUnsupported => Code::MethodUnsupported,
            FaultKind::VersionUnsupported => Code::VersionUnsupported,
            FaultKind::HeaderMismatch => Code::HeaderMismatch,
        };
        let refusal = Self::new(code, fault.to_string()).with_hint(hint(code, binding.protocol()));
        if fault.kind == FaultKind::Stray { refusal.with_remedy(Remedy::LeaveOut) } else { refusal }
    }
}

/// Hint for the caller of this protocol.
fn hint(code: Code, protocol: &dyn Protocol) -> &'static str {
    match code {
        Code::TooLarge => "send less in one message",
        Code::TooDeep => "nest arrays and objects less deeply",
        Code::TooComplex => "send fewer values or concepts in one message",
        Code::DuplicateKey => "send each member once, in upper and lower case as the binding spells it",
        Code::MethodUnsupported => "use an operation of the protocol version that the request names",
        Code::HeaderMismatch => {
            "send `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` with the values of the message"
        }
        Code::VersionUnsupported => protocol.traits().version_hint,
        _ => protocol.traits().form_hint,
    }
}
