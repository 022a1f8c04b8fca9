//! One message to one person, on the first channel that takes it.

use std::time::Duration;

use bytes::Bytes;
use semgate_approvals::HumanCard;
use semgate_approvals::render::{Card, Links, slack, teams};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::fault::ChannelFault;
use super::mailer::Mailer;
use crate::config::ApprovalsConfig;
use crate::fault::RunFault;
use crate::pipeline::admit::headers::Media;
use crate::server::executor::OnThisCore;
use crate::upstream::egress::deliver;
use crate::upstream::egress::outbound::Outbound;

/// Pauses before the second and the third try: a service that restarts is back, and the person still has time to answer.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Time of one try at a webhook.
const TIME: Duration = Duration::from_secs(10);

/// A way to people. The order is that of the proof that an answer gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Slack,
    Teams,
    Mail,
}

impl Channel {
    const ALL: [Self; 3] = [Self::Slack, Self::Teams, Self::Mail];

    /// Name of the endpoint on a Human Card.
    pub(super) const fn endpoint(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Mail => "email",
        }
    }
}

/// Everything that sends.
pub(crate) struct Channels {
    egress: Option<Outbound>,
    mail: Option<Mailer>,
}

impl Channels {
    /// # Errors
    /// Unreadable roots or credentials.
    pub(crate) fn open(config: &ApprovalsConfig) -> Result<Self, RunFault> {
        let egress =
            config.egress.as_ref().map(|egress| Outbound::new(egress.permitted(), egress.roots.as_deref()));
        let mail = config.mail.as_ref().map(Mailer::open);
        Ok(Self { egress: egress.transpose()?, mail: mail.transpose()? })
    }

    /// Channels of this gateway for which the card has an address.
    fn of<'c>(&self, human: &'c HumanCard) -> impl Iterator<Item = (Channel, &'c str)> {
        let (web, mail) = (self.egress.is_some(), self.mail.is_some());
        let served = move |channel: &Channel| if *channel == Channel::Mail { mail } else { web };
        Channel::ALL.into_iter().filter(served).filter_map(|channel| {
            let address = human.endpoints.get(channel.endpoint())?;
            Some((channel, address.as_str()))
        })
    }

    /// Returns true if the person gets links: by Teams or mail, also when Slack fails.
    pub(super) fn uses_links(&self, human: &HumanCard) -> bool {
        self.of(human).any(|(channel, _)| channel != Channel::Slack)
    }

    /// Sends a card: three tries on each channel in turn, until one takes it.
    ///
    /// # Errors
    /// The fault of the last channel.
    pub(super) async fn notify(
        &self,
        card: &Card,
        links: &Links,
        human: &HumanCard,
    ) -> Result<Channel, ChannelFault> {
        let mut last = ChannelFault::NoAddress;
        for (channel, address) in self.of(human) {
            let mut pauses = PAUSES.iter();
            loop {
                let fault = match self.once(channel, address, card, links).await {
                    Ok(()) => return Ok(channel),
                    Err(fault) => fault,
                };
                last = fault;
                tracing::warn!(
                    human = %human.id, channel = channel.endpoint(), request = %card.id(), %fault,
                    "a request to a person was not delivered"
                );
                match pauses.next() {
                    Some(pause) if fault == ChannelFault::Unreachable => sleep(*pause).await,
                    _ => break,
                }
            }
        }
        Err(last)
    }

    async fn once(
        &self,
        channel: Channel,
        address: &str,
        card: &Card,
        links: &Links,
    ) -> Result<(), ChannelFault> {
        match (channel, &self.mail) {
            (Channel::Slack, _) => self.post(address, &slack(card)).await,
            (Channel::Teams, _) => self.post(address, &teams(card, links)).await,
            (Channel::Mail, Some(mail)) => mail.send(card, links, address).await,
            (Channel::Mail, None) => Err(ChannelFault::NoAddress),
        }
    }

    /// Posts JSON to a listed target. Only success counts; no redirect is followed.
    ///
    /// # Errors
    /// The target is not on the list, does not answer in time, or not with success.
    pub(super) async fn post(&self, url: &str, body: &Value) -> Result<(), ChannelFault> {
        let out = self.egress.as_ref().ok_or(ChannelFault::NoAddress)?;
        let target = out.targets.listed(url).map_err(|_| ChannelFault::Refused)?;
        let body = Bytes::from(body.to_string());
        let sent = async {
            let open = deliver::open(out, &target, &OnThisCore::Aside).await?;
            deliver::send(open, &target, body, Media::Json, None).await
        };
        match timeout(TIME, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(refusal)) if refusal.code() == semgate_inspect::Code::TargetRefused => {
                Err(ChannelFault::Refused)
            }
            Ok(Err(_)) | Err(_) => Err(ChannelFault::Unreachable),
        }
    }
}
