//! The agent's answer to a call, read as a whole or message by message.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use semgate_inspect::{Delivered, Refusal};
use semgate_protocol::a2a::grpc;

use super::frame::{FrameFault, Frames};
use super::head::{ENCODING, MEDIA};
use super::status::{DETAILS, STATUS};
use crate::pipeline::gateway_refusals::{invalid, no_room};
use crate::server::account::{Charge, NoRoom};
use crate::upstream::ReplyBody;

/// Base64 with optional padding (gRPC over HTTP/2, "Custom-Metadata").
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The highest status code of gRPC.
const MAX_STATUS: u8 = 16;

/// A call that did not end in success.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) refusal: Refusal,
    /// The agent's status; `None` if it sent no valid one.
    pub(crate) status: Option<u8>,
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, status: None }
    }
}

/// Messages of an answer in order. Nothing is read ahead of demand.
#[derive(Debug)]
pub(crate) struct Messages {
    frames: Frames,
    trailers: Option<HeaderMap>,
    over: bool,
}

impl Messages {
    /// Judges the head of an answer.
    ///
    /// # Errors
    /// `upstream_invalid` for an invalid answer; otherwise the status, if it is already present.
    pub(crate) fn begin(head: &Parts, limit: usize) -> Result<Self, Ended> {
        if head.status != 200 {
            return Err(invalid("the upstream agent answered a call with an HTTP status").into());
        }
        let headers = &head.headers;
        let mut types = headers.get_all(CONTENT_TYPE).iter();
        let (Some(kind), None) = (types.next(), types.next()) else {
            return Err(invalid("the answer of the upstream agent has no single content type").into());
        };
        let kind = kind.as_bytes();
        if kind != MEDIA.as_bytes() && kind != b"application/grpc+proto" {
            return Err(invalid("the upstream agent answered a call with another content type").into());
        }
        let encodings = headers.get_all(ENCODING).into_iter().chain(headers.get_all(CONTENT_ENCODING));
        if encodings.into_iter().any(|value| value != "identity") {
            return Err(invalid("the answer of the upstream agent is compressed").into());
        }
        // an answer of trailers only
        let trailers = headers.contains_key(STATUS).then(|| headers.clone());
        if let Some(trailers) = &trailers {
            end(trailers)?;
        }
        Ok(Self { frames: Frames::new(limit), trailers, over: false })
    }

    /// Takes the next complete message.
    ///
    /// # Errors
    /// `upstream_invalid`.
    pub(crate) fn ready(&mut self) -> Result<Option<Bytes>, Ended> {
        self.frames.next().map_err(|fault| broken(fault).into())
    }

    /// Takes a piece of the body; `None` is its end.
    ///
    /// # Errors
    /// At the end: a truncated message, a missing status, or the status itself.
    pub(crate) fn take(&mut self, frame: Option<Frame<Bytes>>) -> Result<(), Ended> {
        let Some(frame) = frame else {
            self.over = true;
            let trailers = self.trailers.take().unwrap_or_default();
            end(&trailers)?;
            return self.frames.end().map_err(|fault| broken(fault).into());
        };
        match frame.into_data() {
            Ok(_) if self.trailers.is_some() => {
                Err(invalid("the upstream agent continues after its status").into())
            }
            Ok(data) => {
                self.frames.push(&data);
                Ok(())
            }
            Err(frame) => {
                let second = frame.into_trailers().ok().and_then(|trailers| self.trailers.replace(trailers));
                match second {
                    Some(_) => Err(invalid("the upstream agent ended a call twice").into()),
                    None => Ok(()),
                }
            }
        }
    }

    /// Bytes of the unfinished message.
    pub(crate) fn buffered(&self) -> usize {
        self.frames.buffered()
    }

    /// Returns true once the end was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The only message of a complete answer.
    ///
    /// # Errors
    /// `upstream_invalid`, or the status.
    pub(crate) async fn only(mut self, mut body: ReplyBody, charge: &Charge) -> Result<Bytes, Ended> {
        let mut only = None;
        let (request, mut whole) = (charge.held(), 0);
        while !self.over {
            let frame = body.frame().await.transpose();
            self.take(frame.map_err(|_| invalid("the upstream agent's answer was cut"))?)?;
            let bytes = request.saturating_add(whole).saturating_add(self.buffered());
            charge.hold_only(bytes).map_err(|NoRoom| no_room(Delivered::Yes))?;
            while let Some(message) = self.ready()? {
                whole = message.len();
                if only.replace(message).is_some() {
                    return Err(broken(FrameFault::Second).into());
                }
            }
        }
        only.ok_or_else(|| broken(FrameFault::Missing).into())
    }
}

fn broken(fault: FrameFault) -> Refusal {
    invalid("the answer of the upstream agent has no message after its five-byte prefix")
        .with_cause(fault.code())
        .with_detail(fault.reason())
}

/// Reads the trailers. A failure counts only by its status and the protocol's error that it names.
fn end(trailers: &HeaderMap) -> Result<(), Ended> {
    let mut all = trailers.get_all(STATUS).iter();
    let (Some(status), None) = (all.next(), all.next()) else {
        return Err(invalid("the upstream agent ended a call without a status").into());
    };
    // canonical digits only
    let written = |n: &u8| *n <= MAX_STATUS && n.to_string().as_bytes() == status.as_bytes();
    let number = status.to_str().ok().and_then(|text| text.parse::<u8>().ok()).filter(written);
    if trailers.get_all(DETAILS).iter().nth(1).is_some() {
        let refusal = invalid("the upstream agent ended a call with two details of its status");
        return Err(Ended { refusal, status: number.filter(|status| *status != 0) });
    }
    match number {
        Some(0) => Ok(()),
        None => Err(invalid("the upstream agent ended a call with a status that does not exist").into()),
        Some(status) => {
            // invalid base64 counts as present and empty
            let read = |details: &HeaderValue| BASE64.decode(details.as_bytes()).unwrap_or_default();
            let details = trailers.get(DETAILS).map(read);
            let known = grpc::agent_error(status, details.as_deref()).known;
            let refusal = Refusal::of_agent(known).with_detail(format!("grpc status {status}"));
            Err(Ended { refusal, status: Some(status) })
        }
    }
}

/// A body of at most one piece of data, with trailers.
#[derive(Debug)]
pub(crate) struct Whole {
    data: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Whole {
    pub(crate) fn new(data: Bytes, trailers: HeaderMap) -> Self {
        Self { data: Some(data), trailers: Some(trailers) }
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let frame = this.data.take().map(Frame::data);
        let frame = frame.or_else(|| this.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }
}
