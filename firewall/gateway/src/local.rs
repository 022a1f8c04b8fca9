//! Answers that the gateway gives by itself: cards, metadata, handshakes, groups, tool lists, clarifications and requests
//! to people.

pub(crate) mod card;
mod card_request;
mod clarify;
mod group;
mod handshake;
mod handshake_relay;
pub(crate) mod identity_card;
mod identity_request;
mod metadata;
mod people;
mod tool_list;

use http::header::IF_NONE_MATCH;
use http::request::Parts;
use semgate_inspect::Peer;

use crate::pipeline::admit::Arrival;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::server::framing::Serving;

impl Exchange<'_> {
    /// Answers a request that is no message.
    pub(crate) async fn answer_locally(
        &self,
        peer: &Peer,
        arrival: Arrival,
        serving: &Serving,
        parts: &Parts,
    ) -> Result<Answer, Stopped> {
        let has = parts.headers.get(IF_NONE_MATCH);
        match arrival {
            Arrival::Card => Box::pin(self.card(peer, has)).await,
            Arrival::Document(call) => Box::pin(self.document(peer, call, has)).await,
            Arrival::Metadata(of) => Box::pin(self.metadata(peer, &of, has)).await,
            Arrival::SealingKey => Box::pin(self.sealing_key(peer)).await,
            Arrival::Socket(wanted) => {
                Ok(wanted.agree(serving, self.shown().clone(), self.decision, &self.charge))
            }
            Arrival::Message(_) => Err(crate::pipeline::admit::unsupported("post a message to `/`").into()),
        }
    }
}
