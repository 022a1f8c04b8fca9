//! gRPC from both ends: a client that can send what no well-behaved one does, and an agent that answers what it is told to.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::h2::Client;

/// The bytes of a message of `lf.a2a.v1`, written by an implementation that is not ours.
pub fn proto(message: &str, json: &Value) -> Vec<u8> {
    let pool = pool();
    let of = pool.get_message_by_name(&format!("lf.a2a.v1.{message}")).unwrap();
    DynamicMessage::deserialize(of, json).unwrap().encode_to_vec()
}

/// The JSON of bytes, likewise.
pub fn json(message: &str, bytes: &[u8]) -> Value {
    let of = pool().get_message_by_name(&format!("lf.a2a.v1.{message}")).unwrap();
    serde_json::to_value(DynamicMessage::decode(of, bytes).unwrap()).unwrap()
}

fn pool() -> DescriptorPool {
    DescriptorPool::decode(include_bytes!("../../../protocol/proto/a2a.binpb").as_slice()).unwrap()
}

/// A message behind its five bytes.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// A call as a client makes it.
pub fn call(method: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("http://gw/lf.a2a.v1.A2AService/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("a2a-version", "1.0")
        .body(Full::new(body.into()))
        .unwrap()
}

/// What a caller is answered.
#[derive(Debug)]
pub struct Ended {
    pub http: u16,
    pub head: HeaderMap,
    pub messages: Vec<Vec<u8>>,
    /// Of the head, if it is one of trailers alone.
    pub trailers: HeaderMap,
}

impl Ended {
    pub fn status(&self) -> u8 {
        self.trailers["grpc-status"].to_str().unwrap().parse().unwrap()
    }

    pub fn text(&self) -> &str {
        self.trailers.get("grpc-message").map_or("", |text| text.to_str().unwrap())
    }

    /// Status and code of a refusal.
    pub fn refusal(&self) -> (u8, &str) {
        (self.status(), self.text().split_once(": ").unwrap_or_default().0)
    }

    /// The details of the status, as far as they are text.
    pub fn details(&self) -> String {
        use base64::Engine;
        let details = self.trailers.get("grpc-status-details-bin").map_or(&b""[..], |d| d.as_bytes());
        let bytes = base64::prelude::BASE64_STANDARD_NO_PAD.decode(details).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub async fn ask(client: &mut Client, request: Request<Full<Bytes>>) -> Ended {
    client.ready().await.unwrap();
    let (parts, body) = client.send_request(request).await.unwrap().into_parts();
    let whole = body.collect().await.unwrap();
    let trailers = whole.trailers().cloned().unwrap_or_else(|| parts.headers.clone());
    let mut rest = &whole.to_bytes()[..];
    let mut messages = Vec::new();
    while let Some((prefix, more)) = rest.split_first_chunk::<5>() {
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        assert_eq!(prefix[0], 0);
        messages.push(more[..length].to_vec());
        rest = &more[length..];
    }
    assert!(rest.is_empty());
    Ended { http: parts.status.as_u16(), head: parts.headers, messages, trailers }
}

/// What reached the agent.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// One piece of an answer.
#[derive(Clone, Debug)]
pub enum Piece {
    Data(Vec<u8>),
    Trailers(Vec<(&'static str, String)>),
}

/// What the agent says to one call.
pub struct Says {
    pub head: Vec<(&'static str, String)>,
    pub pieces: UnboundedReceiver<Piece>,
}

/// `grpc-status` alone.
pub fn status(code: u8) -> Piece {
    Piece::Trailers(vec![("grpc-status", code.to_string())])
}

impl Says {
    /// These pieces, at once.
    pub fn pieces(pieces: Vec<Piece>) -> Says {
        let (says, pieces_of) = Says::bit_by_bit();
        for piece in pieces {
            pieces_of.send(piece).unwrap();
        }
        says
    }

    /// One message and a good end.
    pub fn one(message: &[u8]) -> Says {
        Says::pieces(vec![Piece::Data(framed(message)), status(0)])
    }

    /// What the test sends.
    pub fn bit_by_bit() -> (Says, UnboundedSender<Piece>) {
        let (send, pieces) = unbounded_channel();
        (Says { head: vec![("content-type", "application/grpc".to_owned())], pieces }, send)
    }
}

impl Body for Says {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().pieces.poll_recv(cx).map(|piece| {
            piece.map(|piece| {
                Ok(match piece {
                    Piece::Data(bytes) => Frame::data(bytes.into()),
                    Piece::Trailers(all) => Frame::trailers(
                        all.into_iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect(),
                    ),
                })
            })
        })
    }
}

type Script = Box<dyn Fn(&Seen) -> Says + Send + Sync>;

/// An agent over HTTP/2 without TLS.
pub struct Agent {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Agent {
    pub fn start(script: impl Fn(&Seen) -> Says + Send + Sync + 'static) -> Agent {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let agent = Agent { port: listener.local_addr().unwrap().port(), seen: Arc::default() };
        let (seen, script) = (Arc::clone(&agent.seen), Arc::new(Box::new(script) as Script));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                        let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                        async move {
                            let (parts, body) = request.into_parts();
                            let body = body.collect().await.unwrap().to_bytes();
                            let this =
                                Seen { path: parts.uri.path().to_owned(), headers: parts.headers, body };
                            seen.lock().unwrap().push(this.clone());
                            let says = script(&this);
                            let mut answer = Response::builder();
                            for (name, value) in &says.head {
                                answer = answer.header(*name, value);
                            }
                            Ok::<_, Infallible>(answer.body(says).unwrap())
                        }
                    });
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
                }
            });
        });
        agent
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}
