//! First stage: from bytes to a message. Everything that can be wrong with the form is found here.

use crate::{
    Code, Direction, Facts, Refusal,
    case::{Case, HeaderClaims},
    generation::Named,
};
use bytes::Bytes;
use semgate_contexts::{
    ContextUrn, Digest,
    json::{self, Json},
};
use semgate_message::{
    Asked, Binding, Call, Claim, FaultKind, Form, Message, MessageFault, Reading, RpcId, a2a, header, native,
};

/// Bytes that the strict reader accepted. Only this stage builds one.
#[derive(Debug)]
pub struct Strict<'b> {
    json: Json<'b>,
    bytes: &'b Bytes,
}

/// A message of the route's binding whose context claim, if it has one, is well-formed. Only this stage builds one.
#[derive(Debug)]
pub struct Parsed<'c, 'j> {
    case: &'c Case<'c>,
    message: Message<'j>,
    bytes: &'j Bytes,
    target: Target<'c>,
    digests: Vec<Digest>,
}

/// Which context a message is about, as far as its text tells.
#[derive(Debug)]
pub(crate) enum Target<'c> {
    /// None is named.
    Missing,
    /// One that an authority published.
    Known(&'c Named),
    /// One that has no document here.
    Unknown(ContextUrn),
    /// A reply names another than its request did.
    Foreign(ContextUrn),
}

/// Reads the bytes with the strict reader.
///
/// # Errors
/// `too_large`, `too_deep`, `too_complex`, `duplicate_key` or `malformed`.
pub(crate) fn read<'b>(case: &Case<'_>, bytes: &'b Bytes) -> Result<Strict<'b>, Refusal> {
    json::read(bytes, &case.limits.json).map(|json| Strict { json, bytes }).map_err(|fault| {
        let code = match fault {
            json::Fault::TooLarge => Code::TooLarge,
            json::Fault::TooDeep => Code::TooDeep,
            json::Fault::TooComplex => Code::TooComplex,
            json::Fault::DuplicateKey { .. } => Code::DuplicateKey,
            json::Fault::Malformed { .. } => Code::Malformed,
        };
        Refusal::new(code, fault.to_string()).with_hint(hint(code)).with_facts(case.facts())
    })
}

impl Strict<'_> {
    /// The id that a JSON-RPC answer must repeat, if the message has a valid one.
    pub(crate) fn rpc_id(&self, binding: Binding) -> Option<RpcId> {
        match binding {
            Binding::L8 => None,
            Binding::A2a | Binding::Mcp => a2a::rpc_id(&self.json),
        }
    }
}

/// Reads the message out of the JSON and holds the headers against it.
///
/// # Errors
/// `version_unsupported`, `method_unsupported`, `too_complex`, `duplicate_key` or `malformed`.
pub(crate) fn parse<'c, 'j>(
    case: &'c Case<'c>,
    strict: &'j Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Parsed<'c, 'j>, Refusal> {
    protocol_version(case, headers)?;
    let reading = Reading {
        extension: case.generation.extension(),
        max_concepts: case.limits.concepts,
        admit: case.route.text_parts,
        tenant: case.route.tenant.as_deref(),
    };
    let answered = case.answers.and_then(|sent| sent.rpc_id.as_ref());
    let message = match (case.route.binding, case.direction) {
        (Binding::L8, _) => native::read(&strict.json, &reading),
        (Binding::A2a, Direction::Request) => {
            a2a::request(&strict.json, &Call::a2a(a2a::Version::V10, Form::JsonRpc), &reading)
        }
        (Binding::A2a, Direction::Reply) => match answered {
            Some(id) => {
                let asked = Asked {
                    operation: a2a::Operation::SendMessage,
                    version: a2a::Version::V10,
                    form: Form::JsonRpc,
                    rpc_id: Some(id.clone()),
                };
                match a2a::reply(&strict.json, &asked, &reading) {
                    Ok(a2a::Answer::Said(message)) => Ok(*message),
                    Ok(a2a::Answer::Error(_)) => return Err(malformed(case, "the reply is an error")),
                    Err(fault) => Err(fault),
                }
            }
            None => return Err(malformed(case, "the reply answers no request id")),
        },
        (Binding::Mcp, _) => return Err(malformed(case, "messages of mcp are not read yet")),
    };
    let message = message.map_err(|fault| refused(case, &fault))?;
    context_header(case, headers, message.claims.first())?;
    let target = target(case, &message)?;
    let digests = digests(case, &message.claims)?;
    Ok(Parsed { case, message, bytes: strict.bytes, target, digests })
}

/// A2A 1.0 §3.6: the version travels in a header; none means 0.3, which is not spoken here.
fn protocol_version(case: &Case<'_>, headers: &HeaderClaims<'_>) -> Result<(), Refusal> {
    if case.route.binding != Binding::A2a || case.direction == Direction::Reply {
        return Ok(());
    }
    match headers.a2a_version {
        [only] if *only == a2a::Version::V10.as_str() => Ok(()),
        [] | [_] => {
            Err(Refusal::new(Code::VersionUnsupported, "the `A2A-Version` header does not say `1.0`")
                .with_hint("send the header `A2A-Version: 1.0`; no other version of A2A is spoken here")
                .with_facts(case.facts()))
        }
        _ => Err(malformed(case, "there is more than one `A2A-Version` header")),
    }
}

fn context_header(
    case: &Case<'_>,
    headers: &HeaderClaims<'_>,
    claim: Option<&Claim<'_>>,
) -> Result<(), Refusal> {
    match headers.l9_context {
        [] => Ok(()),
        [only] => header::agrees(only, claim).map_err(|fault| refused(case, &fault)),
        _ => Err(malformed(case, "there is more than one `L9-Context` header")),
    }
}

fn target<'c>(case: &'c Case<'c>, message: &Message<'_>) -> Result<Target<'c>, Refusal> {
    let grammar = |claim: &Claim<'_>| {
        ContextUrn::parse(claim.urn, case.generation.prefix()).map_err(|fault| {
            malformed(case, &format!("`{}` is no context urn in canonical form: {fault}", claim.place))
        })
    };
    let lookup = |text: &str| case.generation.named(text).map(Target::Known);
    let Some(sent) = case.answers else {
        return match message.claims.first() {
            None => Ok(match &case.route.options.default_context {
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
        if claim.urn != sent.urn.as_str() {
            return grammar(claim).map(Target::Foreign);
        }
    }
    // a native envelope names its context; in A2A a reply that names none is about the request's
    if message.claims.is_empty() && message.binding == Binding::L8 {
        return Ok(Target::Missing);
    }
    Ok(lookup(sent.urn.as_str()).unwrap_or_else(|| Target::Unknown(sent.urn.clone())))
}

fn digests(case: &Case<'_>, claims: &[Claim<'_>]) -> Result<Vec<Digest>, Refusal> {
    let mut all = Vec::new();
    for claim in claims {
        let Some(text) = claim.digest else { continue };
        let digest = Digest::parse(text).map_err(|_| {
            malformed(
                case,
                &format!("the digest beside `{}` is not `sha-256:` and 64 lowercase hex digits", claim.place),
            )
        })?;
        all.push(digest);
    }
    Ok(all)
}

impl<'c, 'j> Parsed<'c, 'j> {
    pub(crate) fn case(&self) -> &'c Case<'c> {
        self.case
    }

    pub(crate) fn message(&self) -> &Message<'j> {
        &self.message
    }

    /// The bytes that the message was read from.
    pub(crate) fn bytes(&self) -> &'j Bytes {
        self.bytes
    }

    pub(crate) fn target(&self) -> &Target<'c> {
        &self.target
    }

    pub(crate) fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// What is known of the message.
    pub fn facts(&self) -> Facts {
        let context = match &self.target {
            Target::Missing => None,
            Target::Known(named) => Some(named.urn().to_string()),
            Target::Unknown(urn) | Target::Foreign(urn) => Some(urn.to_string()),
        };
        Facts {
            message_id: Some(self.message.message_id.to_owned()),
            performative: Some(self.message.performative),
            context,
            ..self.case.facts()
        }
    }
}

fn malformed(case: &Case<'_>, reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason).with_hint(hint(Code::Malformed)).with_facts(case.facts())
}

fn refused(case: &Case<'_>, fault: &MessageFault) -> Refusal {
    let code = match fault.kind {
        FaultKind::Malformed => Code::Malformed,
        FaultKind::DuplicateKey => Code::DuplicateKey,
        FaultKind::TooLarge => Code::TooLarge,
        FaultKind::TooDeep => Code::TooDeep,
        FaultKind::TooComplex => Code::TooComplex,
        FaultKind::MethodUnsupported => Code::MethodUnsupported,
        FaultKind::VersionUnsupported => Code::VersionUnsupported,
        FaultKind::HeaderMismatch => Code::HeaderMismatch,
    };
    Refusal::new(code, fault.to_string()).with_hint(hint(code)).with_facts(case.facts())
}

const fn hint(code: Code) -> &'static str {
    match code {
        Code::TooLarge => "send less in one message",
        Code::TooDeep => "nest arrays and objects less deeply",
        Code::TooComplex => "send fewer values or concepts in one message",
        Code::DuplicateKey => "send each member once, in the case of letters that the binding has",
        Code::MethodUnsupported => "only `SendMessage` is carried here",
        _ => {
            "send exactly the members that docs/spec/native-l8.md or docs/spec/a2a-binding.md lists, and nothing else"
        }
    }
}
