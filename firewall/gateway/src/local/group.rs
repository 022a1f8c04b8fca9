//! A message to a group: each member gets it separately, and the replies return together.
//!
//! Each member's copy takes the path of its own message. It is judged with the member as receiver, and its reply with the
//! member as sender, each with a record. The combined answer consists of checked bytes, within a number and a time.

use std::rc::Rc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use http_body_util::BodyExt;
use semgate_inspect::{Code, Delivered, Quota, Refusal};
use semgate_protocol::Call;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::timeout_at;

use super::clarify::STATED_BY;
use crate::clock::unix_now;
use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::gateway_refusals;
use crate::pipeline::quota;
use crate::pipeline::receive::Received;
use crate::pipeline::refuse::{self, Manner};
use crate::server::worker::Group;
use crate::server::worker::RouteWorker;

/// Result of one member.
enum MemberReply {
    /// A reply of the member, or of the gateway in its place.
    Reply(Box<RawValue>, Whose),
    Acknowledged,
    Missing(Box<Refusal>),
}

/// Author of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Member,
    Gateway,
}

/// Result of one member, and the caller's remaining quotas for its message.
type Came = (MemberReply, Vec<Quota>);

/// Answer for a group. The replies are the members' own bytes, except for the gateway's.
#[derive(Serialize)]
struct Gathered<'g> {
    group: &'g str,
    replies: Vec<Box<RawValue>>,
    /// Members for which the gateway replied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said_by_gateway: Vec<&'g str>,
    /// Members that accepted the message without a reply.
    acknowledged: Vec<&'g str>,
    missing: Vec<Missing<'g>>,
    /// Members not waited for, since enough replies had arrived.
    unheard: Vec<&'g str>,
}

#[derive(Serialize)]
struct Missing<'g> {
    receiver: &'g str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    delivered: &'static str,
}

impl Exchange<'_> {
    /// Sends the message to every member at once. If nobody answers, the answer is the refusal of the
    /// first member that may have the message, or else of the first member.
    pub(crate) async fn gather(&self, group: &Group, received: Received) -> Answer {
        let deadline = tokio::time::Instant::now() + group.time;
        let Received { admitted, bytes } = received;
        let mut asked = FuturesUnordered::new();
        for (at, member) in group.members.iter().enumerate() {
            let (worker, identity) = (Rc::clone(member), Rc::clone(self.identity));
            let one = Received { admitted: same(&admitted, member), bytes: bytes.clone() };
            let (decision, began) = (self.decision, self.began);
            let (caller, shown, charge) = (self.caller.clone(), self.shown.clone(), self.charge.clone());
            let trace = self.trace.again(member, self.decision);
            // dropped with the set: each unfinished member leaves a record
            asked.push(async move {
                let exchange = Exchange {
                    trace,
                    charge,
                    shown,
                    began,
                    ..Exchange::new(&worker, &identity, caller, Manner::Plain, decision)
                };
                (at, ask(&exchange, one).await)
            });
        }
        let mut replies: Vec<Option<Came>> = group.members.iter().map(|_| None).collect();
        let mut late = false;
        let enough = |replies: &[Option<Came>]| {
            replies.iter().filter(|one| matches!(one, Some((MemberReply::Reply(..), _)))).count()
                >= group.replies
        };
        while !enough(&replies) {
            match timeout_at(deadline, asked.next()).await {
                Ok(Some((at, came))) => {
                    if let Some(place) = replies.get_mut(at) {
                        *place = Some(came);
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    late = true;
                    break;
                }
            }
        }
        drop(asked);
        self.together(group, replies, late)
    }

    fn together(&self, group: &Group, replies: Vec<Option<Came>>, late: bool) -> Answer {
        let name = group.name.as_str();
        let mut all = Gathered {
            group: name,
            replies: Vec::new(),
            said_by_gateway: Vec::new(),
            acknowledged: Vec::new(),
            missing: Vec::new(),
            unheard: Vec::new(),
        };
        let mut refused: Vec<Refusal> = Vec::new();
        let mut quotas = Vec::new();
        for (member, came) in group.members.iter().zip(replies) {
            let id = member.route.receiver.as_str();
            let came = came.map(|(came, told)| {
                quotas.extend(told);
                came
            });
            let refusal = match came {
                Some(MemberReply::Reply(reply, whose)) => {
                    all.replies.push(reply);
                    all.said_by_gateway.extend((whose == Whose::Gateway).then_some(id));
                    continue;
                }
                Some(MemberReply::Acknowledged) => {
                    all.acknowledged.push(id);
                    continue;
                }
                None if !late => {
                    all.unheard.push(id);
                    continue;
                }
                None => gateway_refusals::timeout(Delivered::Unknown),
                Some(MemberReply::Missing(refusal)) => *refusal,
            };
            all.missing.push(Missing {
                receiver: id,
                code: refusal.code().as_str(),
                cause: refusal.cause().map(Code::as_str),
                delivered: refusal.delivered().as_str(),
            });
            refused.push(refusal);
        }
        if all.replies.is_empty() && all.acknowledged.is_empty() {
            let had = refused.iter().find(|refusal| refusal.delivered() != Delivered::No);
            if let Some(refusal) = had.or(refused.first()) {
                return refuse::refuse(refusal, self.manner, self.decision);
            }
        }
        let body = serde_json::to_vec(&all).unwrap_or_default();
        let mut answer =
            refuse::answer(self.decision, StatusCode::OK.as_u16(), "application/json", Bytes::from(body));
        quota::tell(&mut answer, Quota::tightest(quotas));
        answer
    }
}

/// Sends one member's copy on the path of every message.
async fn ask(exchange: &Exchange<'_>, received: Received) -> Came {
    let now = unix_now();
    let answered = match exchange.identity.peer(now).and_then(|peer| exchange.shown().by(peer, now)) {
        Ok(peer) => exchange.pass(&peer, received).await,
        Err(refusal) => Err(Stopped::from(refusal)),
    };
    match answered {
        Ok(mut answer) => {
            let quotas = quota::sent(&mut answer);
            let ours = answer.headers().contains_key(STATED_BY);
            let whose = if ours { Whose::Gateway } else { Whose::Member };
            let replies = match answer.into_body().collect().await.map(|body| body.to_bytes()) {
                Ok(body) if body.is_empty() => MemberReply::Acknowledged,
                Ok(body) => match raw(&body) {
                    Some(reply) => MemberReply::Reply(reply, whose),
                    None => MemberReply::Missing(Box::new(unwritten())),
                },
                Err(_) => MemberReply::Missing(Box::new(unwritten())),
            };
            (replies, quotas)
        }
        Err(stopped) => {
            let _ = exchange.stop(&stopped);
            let quotas = stopped.refusal.quotas().to_vec();
            (MemberReply::Missing(Box::new(stopped.refusal)), quotas)
        }
    }
}

/// The bytes of a reply, unchanged.
fn raw(body: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(body.to_vec()).ok()?).ok()
}

fn unwritten() -> Refusal {
    gateway_refusals::invalid("the reply of a member cannot be combined with the others")
}

/// Copies the head of a group message for another member. The caller's credentials are included only if the member's own
/// route forwards them, since they work for anyone who sees them.
fn same(admitted: &Admitted, member: &RouteWorker) -> Admitted {
    let mut head = admitted.in_place(Call::l8());
    head.credentials.retain(|(name, _)| member.rules.credentials.contains(name));
    head
}
