//! HTTP/2 from both ends: a client that behaves, one that writes frames as it likes, and an agent.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

pub type Client = SendRequest<Full<Bytes>>;

/// A client over any stream.
pub async fn client<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S) -> Client {
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// A client without TLS.
pub async fn plain(port: u16) -> Client {
    client(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap()).await
}

pub fn post(body: &serde_json::Value) -> Request<Full<Bytes>> {
    Request::post("http://gw/")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap()
}

/// Status, decision id and body.
pub async fn read(response: Response<Incoming>) -> (u16, String, serde_json::Value) {
    let status = response.status().as_u16();
    let decision = response.headers().get("semgate-decision").map(|id| id.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let json = serde_json::from_slice(&body).unwrap_or(serde_json::Value::Null);
    (status, decision.unwrap_or_default(), json)
}

/// What an agent over HTTP/2 has seen.
#[derive(Clone)]
pub struct Agent {
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
    pub heads: Arc<Mutex<Vec<http::request::Parts>>>,
}

impl Agent {
    /// Answers every message with this JSON after this pause, until the process ends; a connection ends after `messages`.
    pub fn saying(body: &serde_json::Value, pause: Duration, messages: usize) -> Agent {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let agent = Agent { port, connections: Arc::default(), heads: Arc::default() };
        let (this, body) = (agent.clone(), Bytes::from(body.to_string()));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    this.connections.fetch_add(1, Ordering::SeqCst);
                    let (heads, body) = (Arc::clone(&this.heads), body.clone());
                    let (done, mut over) = tokio::sync::mpsc::unbounded_channel();
                    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                        let (heads, body, done) = (Arc::clone(&heads), body.clone(), done.clone());
                        async move {
                            let (parts, incoming) = request.into_parts();
                            let _ = incoming.collect().await;
                            heads.lock().unwrap().push(parts);
                            let _ = done.send(());
                            tokio::time::sleep(pause).await;
                            let answer = Response::builder().header("content-type", "application/json");
                            Ok::<_, Infallible>(answer.body(Full::new(body)).unwrap())
                        }
                    });
                    tokio::spawn(async move {
                        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(TokioIo::new(stream), service);
                        let mut connection = std::pin::pin!(connection);
                        let counted = async {
                            for _ in 0..messages {
                                over.recv().await;
                            }
                        };
                        tokio::select! {
                            _ = connection.as_mut() => return,
                            () = counted => connection.as_mut().graceful_shutdown(),
                        }
                        let _ = connection.await;
                    });
                }
            });
        });
        agent
    }
}

/// One frame as it stands on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const GOAWAY: u8 = 7;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// A client that writes what it likes.
pub struct Raw {
    stream: TcpStream,
}

impl Raw {
    /// Preface and empty settings.
    pub fn open(port: u16) -> Raw {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let mut raw = Raw { stream };
        raw.send(4, 0, 0, &[]);
        raw
    }

    /// The other end: an agent that takes `most` streams at once and writes what it likes.
    pub fn accept(listener: &std::net::TcpListener, most: u32) -> Raw {
        Self::accept_setting(listener, &[(3, most)])
    }

    /// One that takes so many bytes of each message, and the rest when it says so.
    pub fn accept_narrow(listener: &std::net::TcpListener, window: u32) -> Raw {
        Self::accept_setting(listener, &[(3, 100), (4, window)])
    }

    fn accept_setting(listener: &std::net::TcpListener, settings: &[(u16, u32)]) -> Raw {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_exact(&mut [0; 24]).unwrap();
        let mut raw = Raw { stream };
        raw.set(settings);
        raw
    }

    fn set(&mut self, settings: &[(u16, u32)]) {
        let one = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        self.send(4, 0, 0, &settings.iter().flat_map(one).collect::<Vec<u8>>());
    }

    /// Says how many streams are taken at once from now on.
    pub fn takes(&mut self, most: u32) {
        self.set(&[(3, most)]);
    }

    /// Says how many bytes of each message are taken from now on.
    pub fn lets_in(&mut self, window: u32) {
        self.set(&[(4, window)]);
    }

    /// The stream of the next message that came whole.
    pub fn message(&mut self) -> u32 {
        loop {
            let frame = self.next(&[DATA]).unwrap();
            if frame.flags & END_STREAM != 0 {
                return frame.stream;
            }
        }
    }

    /// Whether nothing but settings and pings comes for a while.
    pub fn is_silent(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let came = self.next(&[DATA, HEADERS]);
        self.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        came.is_none()
    }

    /// Answers with 200 and this JSON.
    pub fn answer(&mut self, stream: u32, body: &serde_json::Value) {
        let mut block = vec![0x88];
        for text in ["content-type", "application/json"] {
            if text == "content-type" {
                block.push(0);
            }
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
        self.send(HEADERS, END_HEADERS, stream, &block);
        self.send(DATA, END_STREAM, stream, body.to_string().as_bytes());
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        let _ = self.stream.write_all(&bytes);
    }

    /// A POST of JSON with more headers, each as a literal (RFC 7541 §6.2.2).
    pub fn head(&mut self, stream: u32, flags: u8, more: &[(&str, &str)]) {
        let mut block = Vec::new();
        let usual = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "gw"),
            ("content-type", "application/json"),
        ];
        for (name, value) in usual.iter().chain(more) {
            block.push(0);
            for text in [name, value] {
                assert!(text.len() < 127);
                block.push(u8::try_from(text.len()).unwrap());
                block.extend(text.as_bytes());
            }
        }
        self.send(HEADERS, flags | END_HEADERS, stream, &block);
    }

    /// The next frame of one of these kinds; settings are acknowledged, pings answered. `None` at the end.
    pub fn next(&mut self, kinds: &[u8]) -> Option<Frame> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).ok()?;
            let size = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; size];
            self.stream.read_exact(&mut payload).ok()?;
            let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
            let frame = Frame { kind: head[3], flags: head[4], stream, payload };
            match (frame.kind, frame.flags) {
                (4, 0) => self.send(4, 1, 0, &[]),
                (6, 0) => self.send(6, 1, 0, &frame.payload),
                _ => {}
            }
            if kinds.contains(&frame.kind) {
                return Some(frame);
            }
        }
    }

    /// The body of the answer on a stream.
    pub fn body(&mut self, stream: u32) -> String {
        let mut body = Vec::new();
        while let Some(frame) = self.next(&[DATA]) {
            if frame.stream == stream {
                body.extend(&frame.payload);
                if frame.flags & END_STREAM != 0 {
                    break;
                }
            }
        }
        String::from_utf8(body).unwrap()
    }
}

/// The error code of a reset or a farewell.
pub fn code(frame: &Frame) -> u32 {
    let at = if frame.kind == GOAWAY { 4 } else { 0 };
    u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap())
}
