//! A stage for messages: the inspection of a gateway, over unpublished documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use semgate_contexts::{Context, ContextUrn, Performative, json};
use semgate_inspect::{
    Arrived, Code, Facts, Generation, HeaderClaims, InspectLimits, Inspector, LineScope, Now, Peer, Refusal,
    Route, RouteOptions, TextParts, TextScanner, asks_ambiguously,
};
use semgate_policies::{
    Approval, Circumstances, Credentials, Keep, Policies, Question, Scores, Session, Verdict, demands,
};
use semgate_protocol::{Binding, Call, a2a::Version, mcp};
use serde_json::Value;

use super::case::{Case, ConceptSubject, Exchange, Subject};
use super::inputs::TypedBy;
use crate::fault::{Doing, Fault};
use crate::names::full_urn;

/// The clock of a case without one, so that no case depends on the current day: 2026-06-01T12:00:00Z.
const NOON: u64 = 1_780_315_200;

/// Policies and contexts that judge messages.
pub struct PolicyStage {
    policies: Arc<Policies>,
    typed: TypedBy,
}

/// The result of a case.
#[derive(Debug, Default)]
pub struct CaseOutcome {
    /// `permitted`, or the code of the refusal.
    pub verdict: &'static str,
    /// The policies that decided.
    pub policies: BTreeSet<String>,
    /// Reason for the refusal, for the operator.
    pub why: String,
    /// Its context, if known.
    pub context: Option<String>,
    /// Its performative, if known.
    pub performative: Option<Performative>,
    /// The request to the policies, with every value; none if it was not reached.
    pub question: Option<Arc<str>>,
    /// The members that policies redacted from the reply.
    pub redacted: Vec<String>,
    /// The demands that people decide first.
    pub demands: Vec<Approval>,
}

/// The sender of a message, and its transport.
#[derive(Debug)]
pub struct CaseMessage<'a> {
    /// Alias or id.
    pub sender: &'a str,
    /// Alias or id.
    pub receiver: &'a str,
    /// Direction of the message.
    pub direction: Exchange,
    /// The binding.
    pub protocol: &'a str,
    /// The version of the binding; default: the newest.
    pub version: Option<&'a str>,
    /// The clock.
    pub time: Option<&'a str>,
    /// Credentials of the sender and of the receiver.
    pub shows: [&'a [String]; 2],
    /// The context that the route pins.
    pub pinned: Option<&'a str>,
}

/// The verdict of a permitted message.
pub const PERMITTED: &str = "permitted";

impl PolicyStage {
    /// A stage with these policies, and the contexts that typed them.
    pub fn new(policies: Policies, typed: TypedBy) -> Self {
        Self { policies: Arc::new(policies), typed }
    }

    /// The policies.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Plays a case. Each is independent: nothing is remembered between them.
    ///
    /// # Errors
    /// A case that cannot be played: an unknown agent, protocol, time, context or concept.
    pub fn play(&self, case: &Case, subject: &Subject) -> Result<CaseOutcome, Fault> {
        let sent = CaseMessage {
            sender: &case.sender,
            receiver: &case.receiver,
            direction: case.direction,
            protocol: &case.protocol,
            version: case.binding_version.as_deref(),
            time: case.time.as_deref(),
            shows: [&case.sender_shows, &case.receiver_shows],
            pinned: match subject {
                Subject::Message { pinned, .. } => pinned.as_deref(),
                Subject::Concept(_) => None,
            },
        };
        match subject {
            Subject::Message { bytes, answers, .. } => self.message(&sent, bytes, answers.as_deref()),
            Subject::Concept(concept) => {
                let (sender, receiver) = self.parties(&sent)?;
                self.concept(case, concept, &sender, &receiver)
            }
        }
    }

    /// Resolves sender and receiver to ids.
    ///
    /// # Errors
    /// A name that is neither an alias nor an id.
    pub fn parties(&self, sent: &CaseMessage<'_>) -> Result<(String, String), Fault> {
        Ok((self.agent(sent.sender)?, self.agent(sent.receiver)?))
    }

    /// An agent by id or alias. An id need not be in `entities.json`: everybody with a certificate may speak.
    fn agent(&self, name: &str) -> Result<String, Fault> {
        if let Some(agent) = self.policies.by_alias(name) {
            return Ok(agent.id.clone());
        }
        if name.starts_with("spiffe://") {
            return Ok(name.to_owned());
        }
        Err(Fault::new(format_args!("there is no agent `{name}`"))
            .hint("name an alias of `entities.json`, or an id, `spiffe://…`"))
    }

    /// Plays a message as sent, or a reply with its request.
    ///
    /// # Errors
    /// As for [`PolicyStage::play`]; or the request does not pass.
    pub fn message(
        &self,
        case: &CaseMessage<'_>,
        bytes: &[u8],
        answers: Option<&[u8]>,
    ) -> Result<CaseOutcome, Fault> {
        let now = Now { unix: instant(case.time)?, monotonic_ms: 0 };
        let (binding, inspector) = (binding(case.protocol)?, self.inspector()?);
        let version = version(binding, case.version)?;
        let (sender, receiver) = self.parties(case)?;
        let peer = |id: &str, shows: &[String]| Peer::configured(id).showing(shown(shows));
        let [sender, receiver] = [peer(&sender, case.shows[0]), peer(&receiver, case.shows[1])];
        let (asker, answerer) = match case.direction {
            Exchange::Request => (sender, receiver),
            Exchange::Reply => (receiver, sender),
        };
        let mut route = route(binding, answerer.id());
        let pinned = case.pinned.map(|name| self.context(name)).transpose()?.map(|one| one.urn().clone());
        // the route admits everything, so it also takes messages that name no context in the protocol's words
        let words = || {
            inspector
                .generation()
                .protocol_urn(binding)
                .filter(|_| !binding.protocol().traits().calls_tools)
                .cloned()
        };
        route.options.default_contexts = pinned.or_else(words).into_iter().collect();
        let route = Arc::new(route);
        let inspect = |bytes: &[u8]| {
            let call = call(binding, version, case.version, bytes);
            let arrived = Arrived::whole(call, Bytes::copy_from_slice(bytes));
            inspector.inspect(&route, &asker, &HeaderClaims::default(), arrived, now)
        };
        let Some(answers) = answers else {
            return Ok(match inspect(bytes) {
                Ok(permit) => CaseOutcome::new(PERMITTED, permit.facts()),
                Err(refusal) => CaseOutcome::refused(&refusal),
            });
        };
        let (_, sent) = inspect(answers)
            .map_err(|refusal| {
                Fault::new(format_args!("the message that it `answers` does not pass: {refusal}"))
            })?
            .spend();
        let reply = Bytes::copy_from_slice(bytes);
        Ok(match inspector.inspect_reply(&sent, &answerer, 200, reply, now) {
            Ok(permit) => CaseOutcome::new(PERMITTED, permit.facts()),
            Err(refusal) => CaseOutcome::refused(&refusal),
        })
    }

    fn inspector(&self) -> Result<Inspector, Fault> {
        let TypedBy { views, floors, prefix, .. } = &self.typed;
        let policies = Arc::clone(&self.policies);
        let generation =
            Generation::new(views.clone(), policies, floors.clone(), prefix.clone()).doing("stage")?;
        Ok(Inspector::new(InspectLimits::default(), generation).with_kept(Keep::everything()))
    }

    /// Plays one concept: schema and policy, the stages after the protocol is read.
    fn concept(
        &self,
        case: &Case,
        subject: &ConceptSubject,
        sender: &str,
        receiver: &str,
    ) -> Result<CaseOutcome, Fault> {
        let ConceptSubject { context, concept, performative, content } = subject;
        let context = self.context(context)?;
        let term = context.term(concept).ok_or_else(|| {
            let known: Vec<String> = context.terms().map(|term| format!("`{}`", term.name())).collect();
            Fault::new(format_args!("{} does not define `{concept}`", context.urn()))
                .hint(format_args!("one of {}", known.join(", ")))
        })?;
        if let Some(code) = self.typed.unusable(context.urn()) {
            return Ok(CaseOutcome { verdict: code.as_str(), ..CaseOutcome::default() });
        }
        let action = action(performative)?;
        let shape = term.side(action).doing(format_args!("`{concept}`"))?;
        let read = json::read(content, &json::Limits::default()).doing("`content`")?;
        let value = read.as_object().ok_or_else(|| Fault::new("`content` is not an object"))?;
        if let Err(fault) = shape.conform(value, None) {
            return Ok(CaseOutcome::misfit(&fault.path, &fault.rule));
        }
        let lock = case.lock_until.as_deref().map(|until| instant(Some(until))).transpose()?;
        let [sender_holds, receiver_holds] = [shown(&case.sender_shows), shown(&case.receiver_shows)];
        let spoken = binding(&case.protocol)?;
        let prose = if spoken.protocol().traits().calls_tools { mcp::prose_beside(value) } else { 0 };
        let ambiguous = u64::from(asks_ambiguously(&context, term.name()));
        let message_bytes = content.len() as u64;
        let scores = Scores { message_bytes, concepts: 1, ambiguous, beside: prose, ..Scores::default() };
        let circumstances = Circumstances {
            protocol_version: version(spoken, case.binding_version.as_deref())?,
            sender_holds: &sender_holds,
            receiver_holds: &receiver_holds,
            session: lock.map(|expires_at| Session { expires_at }),
            scores,
            ..Circumstances::at(instant(case.time.as_deref())?)
        };
        let question = Question {
            sender,
            receiver,
            action,
            context: &context,
            shape,
            value,
            without: None,
            binding: spoken.as_str(),
            direction: case.direction.as_str(),
            circumstances,
        };
        let question = semgate_inspect::scan::offline(&TextScanner::shipped(), &self.policies, question);
        Ok(CaseOutcome::of(&self.policies.decide(&question), &question, case.steps))
    }

    /// The document with this name, in short or as URN.
    fn context(&self, name: &str) -> Result<Arc<Context>, Fault> {
        let urn = ContextUrn::parse(&full_urn(name), &self.typed.prefix).doing(format_args!("`{name}`"))?;
        let context = self.typed.contexts.iter().find(|context| *context.urn() == urn);
        context.map(Arc::clone).ok_or_else(|| {
            Fault::new(format_args!("there is no context `{urn}`")).hint("name its file with `--context`")
        })
    }
}

impl Exchange {
    /// The direction as policies read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
        }
    }
}

impl CaseOutcome {
    fn new(verdict: &'static str, facts: &Facts) -> Self {
        Self {
            verdict,
            policies: facts.policy_ids().into_iter().map(str::to_owned).collect(),
            why: String::new(),
            context: facts.context.clone(),
            performative: facts.performative,
            question: facts.asked.clone(),
            redacted: facts.redacted.clone(),
            demands: Vec::new(),
        }
    }

    fn refused(refusal: &Refusal) -> Self {
        let code = refusal.cause().unwrap_or_else(|| refusal.code());
        let parts = [refusal.reason().to_string(), refusal.detail().to_string()];
        let why: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let demands = refusal.demands().to_vec();
        Self { why: why.join("; "), demands, ..Self::new(code.as_str(), refusal.facts()) }
    }

    fn misfit(path: &str, rule: &str) -> Self {
        let why = format!("`{path}` does not fit the rule `{rule}`");
        Self { verdict: Code::ContentInvalid.as_str(), why, ..Self::default() }
    }

    /// The outcome of one question, after so many steps of its sender.
    fn of(verdict: &Verdict, question: &Question<'_>, steps: u64) -> Self {
        let policies = verdict.policies().to_vec().into_iter().collect();
        let asked = match verdict {
            Verdict::Permitted { obligations, .. } => demands(question, obligations, &|| steps),
            _ => Vec::new(),
        };
        let (code, why) = match verdict {
            Verdict::Permitted { .. } if !asked.is_empty() => {
                (Code::ApprovalRequired.as_str(), String::new())
            }
            Verdict::Permitted { .. } => (PERMITTED, String::new()),
            Verdict::Denied { .. } => (Code::PolicyDenied.as_str(), String::new()),
            Verdict::Errored { why, .. } => (Code::PolicyError.as_str(), why.to_string()),
            Verdict::Untypable { path, rule } => return Self::misfit(path, rule),
        };
        let demands = asked.iter().map(|one| (**one).clone()).collect();
        Self { verdict: code, policies, why, demands, ..Self::default() }
    }
}

/// Credentials of an agent, valid while the case plays.
fn shown(names: &[String]) -> Credentials {
    Credentials::new(names.iter().map(|name| (name.clone(), u64::MAX)))
}

/// The headers that an MCP client would send with this message: they repeat its version, method and name. None for other messages.
fn head(bytes: &[u8]) -> mcp::Head {
    let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let method = text("/method");
    let begins = method.as_deref() == Some(mcp::Operation::Initialize.method());
    let of_sessions = (!begins).then(|| mcp::Revision::NEWEST_WITH_SESSIONS.as_str().to_owned());
    mcp::Head {
        version: text("/params/_meta/io.modelcontextprotocol~1protocolVersion").or(of_sessions),
        name: text("/params/name").or_else(|| text("/params/uri")),
        method,
        ..mcp::Head::default()
    }
}

/// A route that admits everything in its binding: only the policies are tested.
fn route(binding: Binding, receiver: &str) -> Route {
    Route {
        name: "rehearsal".to_owned(),
        binding,
        receiver: receiver.to_owned(),
        upstream: String::new(),
        contexts: vec![LineScope::All],
        text_parts: TextParts { text: true, raw: true, url: true, data: true },
        tenant: None,
        // policies also decide handshakes, at the address that routes have for them
        options: RouteOptions {
            versions: vec![Version::V10, Version::V03],
            passes_handshakes: true,
            ..RouteOptions::default()
        },
    }
}

fn action(name: &str) -> Result<Performative, Fault> {
    Performative::ALL.into_iter().find(|known| known.as_str() == name).ok_or_else(|| {
        let known = Performative::ALL.map(|known| format!("`{}`", known.as_str()));
        Fault::new(format_args!("there is no performative `{name}`"))
            .hint(format_args!("one of {}", known.join(", ")))
    })
}

/// A message as its transport carries it; a version that the case does not name may stand in an MCP message itself.
fn call(binding: Binding, version: &str, named: Option<&str>, bytes: &[u8]) -> Call {
    let head = head(bytes);
    let named = named.map(str::to_owned).or_else(|| head.version.clone());
    Call::in_version(binding, version, mcp::Head { version: named, ..head })
}

fn binding(name: &str) -> Result<Binding, Fault> {
    Binding::parse(name).ok_or_else(|| {
        Fault::new(format_args!("there is no protocol `{name}`"))
            .hint(format_args!("write {}", Binding::listed()))
    })
}

/// The version of a binding by its name; default: the newest.
fn version(binding: Binding, name: Option<&str>) -> Result<&'static str, Fault> {
    let all = binding.protocol().versions();
    let Some(name) = name else { return Ok(all.first().copied().unwrap_or_default()) };
    all.iter().find(|known| **known == name).copied().ok_or_else(|| {
        let known: Vec<String> = all.iter().map(|known| format!("`{known}`")).collect();
        Fault::new(format_args!("`{}` has no version `{name}`", binding.as_str()))
            .hint(format_args!("write {}", known.join(" or ")))
    })
}

fn instant(text: Option<&str>) -> Result<u64, Fault> {
    let Some(text) = text else { return Ok(NOON) };
    let format = time::format_description::well_known::Rfc3339;
    let read = time::OffsetDateTime::parse(text, &format)
        .hinted(format_args!("the time `{text}`"), "for instance `2026-11-22T08:00:00Z` (RFC 3339)")?;
    u64::try_from(read.unix_timestamp()).doing(format_args!("the time `{text}`"))
}
