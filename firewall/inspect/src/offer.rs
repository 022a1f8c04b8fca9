//! Contexts that the gateway offers in a handshake for the agent of a route. The counterpart of
//! [`crate::resolve`], used before there is a message.

use crate::resolve::no_policy;
use crate::{Code, Generation, LineScope, Refusal, Route, RouteOptions, TextParts};
use semgate_contexts::{Context, ContextUrn, Line};
use semgate_negotiation::{Features, Floors, HandshakeFault, Offer, ResponderConfig, SupportedContext};
use semgate_protocol::Binding;
use semgate_statement::Standing;

impl Generation {
    /// Contexts that a handshake of this sender on this route can select now.
    ///
    /// The receiver understands each. Some policy lets the sender use its line. It is usable with all its
    /// references, and not deprecated: no new handshake selects a deprecated one.
    ///
    /// The floors are those of authority and operator. Lines that the sender may not use are absent (F0-47).
    pub fn answering(&self, route: &Route, sender: &str, now: u64) -> ResponderConfig {
        let mut answering = ResponderConfig::default();
        for view in self.views() {
            for loaded in view.contexts() {
                let Some(named) = self.named(loaded.urn.as_str()) else { continue };
                let line = loaded.urn.line();
                let floors = self.floors_of(line, named.floor());
                let may = self.policies().may_use_line(sender, line).is_ok();
                let stands = view.lines().holds(line).is_some()
                    && view.standing(&loaded.urn, now) == Standing::Valid
                    && named.hindered().is_none();
                // versions below a floor are offered too: the answer then names the floor
                if !may || !stands || route.understands(&loaded.urn).is_err() || line == self.control_line() {
                    continue;
                }
                answering.contexts.push(SupportedContext {
                    offer: Offer {
                        urn: loaded.urn.clone(),
                        digest: loaded.digest,
                        features: models(route, named.context()),
                    },
                    authority: view.authority().to_owned(),
                });
                if !answering.floors.iter().any(|(known, _)| known == line) {
                    answering.floors.push((line.clone(), floors));
                }
            }
        }
        answering
    }

    /// Checks that some policy lets a sender use the line of each offered context, as for a message of that
    /// line.
    ///
    /// For an upstream agent that selects by itself. Its choice would otherwise reveal its versions of lines
    /// closed to the sender (F0-47).
    ///
    /// # Errors
    /// `policy_denied`, the same for every URN of a line, known or not.
    pub fn may_offer<'u>(
        &self,
        sender: &str,
        offered: impl IntoIterator<Item = &'u ContextUrn>,
    ) -> Result<(), Refusal> {
        offered.into_iter().try_for_each(|urn| {
            self.policies().may_use_line(sender, urn.line()).map(drop).map_err(|_| no_policy(urn))
        })
    }

    /// The route for judging handshakes with the agent of `route`, whatever its binding.
    ///
    /// It has the same name and receiver, and carries native L8 about the control vocabulary only. A permit
    /// for it is spent by the handshake endpoint and never forwarded.
    pub fn handshake_route(&self, route: &Route) -> Route {
        let (line, version) = (self.control_line().clone(), self.control_version());
        Route {
            name: route.name.clone(),
            binding: Binding::HANDSHAKE,
            receiver: route.receiver.clone(),
            upstream: String::new(),
            contexts: vec![LineScope::Exact(line, version)],
            text_parts: TextParts::default(),
            tenant: None,
            options: RouteOptions { passes_handshakes: true, ..RouteOptions::default() },
        }
    }

    fn floors_of(&self, line: &Line, authority: Option<semgate_contexts::Version>) -> Floors {
        Floors { authority, operator: self.operator_floor(line), peers: [None; 2] }
    }
}

/// The features of an offer: the embedding models of the context that the receiver speaks.
fn models(route: &Route, context: &Context) -> Features {
    let named = context.spaces().map(|space| space.model);
    let spoken = named.filter(|model| route.options.embeddings.contains(model));
    // a document names at most sixteen models, half as many as an offer has features
    Features::of_models(spoken).unwrap_or_default()
}

/// Hint for the sender of a handshake that was refused with this code (`docs/spec/snl.md`, "Who MUST refuse
/// what").
pub const fn handshake_hint(code: Code) -> &'static str {
    match code {
        Code::ContextUnknown | Code::ContextBelowFloor => "offer another version, or another line",
        Code::ContextUntrusted => "fetch the signed context from its authority and offer its digest",
        Code::SenderMismatch => "sign with the certificate of the connection, and name its id in `from`",
        Code::ReceiverMismatch => "name the id of the agent at this address in `to`",
        Code::Replayed => "begin a new handshake, and check the clock",
        Code::RateLimited => "open fewer handshakes: a lock holds for many messages",
        _ => "begin a new handshake",
    }
}

/// The refusal of a handshake by its endpoint. The sender reads code and hint; the exact fault is in the
/// operator's record.
impl From<HandshakeFault> for Refusal {
    fn from(fault: HandshakeFault) -> Self {
        let code = Code::ALL.iter().find(|code| code.as_str() == fault.code());
        let code = code.copied().unwrap_or(Code::LockMismatch);
        Refusal::new(code, "the handshake is not valid")
            .with_hint(handshake_hint(code))
            .with_detail(fault.to_string())
    }
}

#[cfg(test)]
mod tests;
