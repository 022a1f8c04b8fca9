//! Receives the whole body within its limits, without its content coding.

mod inflate;
pub(crate) mod unread;

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use hyper::body::Body;
use semgate_inspect::{Code, Delivered, Now, Refusal};
use tokio::time::Instant;

use crate::config::Limits;
use crate::pipeline::admit::Admitted;
use crate::pipeline::admit::headers::Encoding;
use crate::pipeline::gateway_refusals;
use crate::server::account::turns::Turns;
use crate::server::account::{Charge, NoRoom, cost};
use crate::server::framing::{FramingFault, Serving};

use unread::Unread;

/// Bytes of one message as sent by the caller, inflated if they were compressed.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) admitted: Admitted,
    pub(crate) bytes: Bytes,
}

/// Charge, turns and limits for receiving a body.
pub(crate) struct Room<'r> {
    pub(crate) charge: &'r Charge,
    pub(crate) turns: &'r Turns,
    pub(crate) limits: &'r Limits,
    pub(crate) now: Now,
}

/// Cost of a message beyond its arrival. JSON values are counted by the characters that begin or separate them, even in
/// texts.
pub(crate) fn cost_of(body: &[u8]) -> u64 {
    let values =
        if body.len() < VALUES_FROM { 0 } else { memchr::memchr3_iter(b',', b'[', b'{', body).count() };
    cost(body.len(), values)
}

/// Size below which a body's values cost nothing.
const VALUES_FROM: usize = 500;

/// Reads and charges the body of an admitted request, and begins the unit of work for its inspection.
///
/// # Errors
/// `too_large`, `too_slow`, `rate_limited` for lack of room, `encoding_unsupported`, or `malformed` with the framing fault.
pub(crate) async fn receive(
    admitted: Admitted,
    body: &mut Unread,
    serving: &Serving,
    room: &Room<'_>,
) -> Result<Received, Refusal> {
    let Room { charge, turns, limits, now } = room;
    let most = limits.body_bytes.saturating_add(admitted.framing());
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > most {
        return Err(too_large(limits.body_bytes));
    }
    charge.owe(cost(stated, 0), *now);
    let deadline = Instant::now() + limits.body_timeout;
    let reading = collect(Bytes::new(), body, (most, Some(*charge)), Trailers::Refused);
    let read = tokio::time::timeout_at(deadline, reading).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(Cut::TooLarge)) => return Err(too_large(limits.body_bytes)),
        Ok(Err(Cut::NoRoom)) => return Err(gateway_refusals::no_room(Delivered::No)),
        Ok(Err(Cut::Broken)) => return Err(gateway_refusals::framing_or_cut(serving.fault())),
        Ok(Err(Cut::Trailers)) => return Err(gateway_refusals::framing(FramingFault::Trailers)),
        Err(_) => return Err(too_slow()),
    };
    turns.unit().await;
    let bytes = match admitted.encoding {
        Encoding::Identity => bytes,
        encoding => inflate::inflate(encoding, &bytes, limits, charge)?,
    };
    charge.owe(cost_of(&bytes), *now);
    Ok(Received { admitted, bytes })
}

/// Reason why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// More bytes than the limit.
    TooLarge,
    /// The stream ended early or was framed wrongly.
    Broken,
    /// Trailers follow the body.
    Trailers,
    /// The agent's account has no room for the body.
    NoRoom,
}

/// Treatment of trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trailers {
    /// They break off the body, since a request has none.
    Refused,
    /// They are removed from a reply.
    Dropped,
}

/// Reads all data of a body up to `limit`, after the bytes read before. A single frame, the usual case, is not copied.
/// `charge` first holds the stated length, and then any bytes beyond it.
pub(crate) async fn collect(
    before: Bytes,
    mut body: impl Body<Data = Bytes> + Unpin,
    (limit, charge): (usize, Option<&Charge>),
    trailers: Trailers,
) -> Result<Bytes, Cut> {
    let mut held = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX).min(limit);
    if let Some(charge) = charge {
        charge.hold(held).map_err(|NoRoom| Cut::NoRoom)?;
    }
    let mut first = before;
    let mut more = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let data = match frame.map_err(|_| Cut::Broken)?.into_data() {
            Ok(data) => data,
            Err(_) if trailers == Trailers::Dropped => continue,
            Err(_) => return Err(Cut::Trailers),
        };
        if first.len().saturating_add(more.len()).saturating_add(data.len()) > limit {
            return Err(Cut::TooLarge);
        }
        let read = first.len().saturating_add(more.len()).saturating_add(data.len());
        if let Some(charge) = charge.filter(|_| read > held) {
            charge.hold(read.saturating_sub(held)).map_err(|NoRoom| Cut::NoRoom)?;
            held = read;
        }
        if first.is_empty() && more.is_empty() {
            first = data;
        } else {
            if more.is_empty() {
                more.reserve(first.len().saturating_add(data.len()).saturating_mul(2).min(limit));
                more.extend_from_slice(&first);
                first = Bytes::new();
            }
            more.extend_from_slice(&data);
        }
    }
    Ok(if more.is_empty() { first } else { more.freeze() })
}

/// Refusal of a stated length above the limit, from the head alone.
pub(crate) fn stated_too_large(headers: &http::HeaderMap, limit: usize) -> Option<Refusal> {
    let stated: u64 = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (stated > limit as u64).then(|| too_large(limit))
}

pub(crate) fn too_large(limit: usize) -> Refusal {
    Refusal::new(Code::TooLarge, "the body is larger than the limit")
        .with_hint(format!("send at most {limit} bytes, both compressed and inflated"))
}

fn too_slow() -> Refusal {
    Refusal::new(Code::TooSlow, "the body did not arrive in time").with_hint("send the body at once")
}
