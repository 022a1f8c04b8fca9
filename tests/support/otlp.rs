//! A strict receiver of spans: OTLP over HTTP with protobuf. It fails the test of whoever sends it anything that the protocol does not have.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;

use super::{address, wait_for};

/// A span, and the service that made it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub service: String,
    pub span: Span,
}

impl Seen {
    /// An attribute as text; `None` where the span has none of this name.
    pub fn attribute(&self, key: &str) -> Option<String> {
        attribute(&self.span.attributes, key)
    }

    pub fn is(&self, kind: SpanKind) -> bool {
        self.span.kind() == kind
    }
}

/// The receiver, with everything that it took.
pub struct Receiver {
    pub address: SocketAddr,
    taken: Arc<Mutex<Vec<Seen>>>,
    faults: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    /// Starts one that takes every batch.
    pub fn start() -> Self {
        Self::answering("200 OK")
    }

    /// Starts one that answers with this status.
    pub fn answering(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (taken, faults) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (keep, blame) = (Arc::clone(&taken), Arc::clone(&faults));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (keep, blame) = (Arc::clone(&keep), Arc::clone(&blame));
                std::thread::spawn(move || serve(stream, status, &keep, &blame));
            }
        });
        Self { address, taken, faults }
    }

    /// The settings of a gateway that exports here.
    pub fn settings(&self, sample: &str) -> String {
        format!("[traces]\nendpoint = \"http://{}\"\nsample = {sample}\n", self.address)
    }

    /// Every span so far.
    pub fn spans(&self) -> Vec<Seen> {
        let faults = self.faults.lock().unwrap();
        assert!(faults.is_empty(), "the receiver was sent what OTLP does not have: {faults:?}");
        self.taken.lock().unwrap().clone()
    }

    /// Waits until the spans satisfy `enough`.
    pub fn wait(&self, what: &str, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        wait_for(what, || Some(self.spans()).filter(|spans| enough(spans)))
    }
}

/// An attribute as text.
pub fn attribute(all: &[KeyValue], key: &str) -> Option<String> {
    all.iter().find(|one| one.key == key).and_then(|one| one.value.as_ref()).map(text)
}

fn text(value: &AnyValue) -> String {
    match value.value.as_ref() {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::ArrayValue(array)) => array.values.iter().map(text).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}

fn serve(mut stream: TcpStream, status: &str, keep: &Mutex<Vec<Seen>>, blame: &Mutex<Vec<String>>) {
    while let Some((head, body)) = request(&mut stream) {
        match batch(&head, &body) {
            Ok(spans) => keep.lock().unwrap().extend(spans),
            Err(fault) => blame.lock().unwrap().push(fault),
        }
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
            let length: usize = length.trim().parse().ok()?;
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn batch(head: &str, body: &[u8]) -> Result<Vec<Seen>, String> {
    for line in ["post /v1/traces http/1.1", "content-type: application/x-protobuf"] {
        if !head.lines().any(|one| one == line) {
            return Err(format!("`{line}` is missing: {head}"));
        }
    }
    let batch = ExportTraceServiceRequest::decode(body).map_err(|fault| fault.to_string())?;
    let mut seen = Vec::new();
    for resource in batch.resource_spans {
        let attributes = resource.resource.unwrap_or_default().attributes;
        let service = attribute(&attributes, "service.name").ok_or("a resource has no `service.name`")?;
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            strict(&span)?;
            seen.push(Seen { service: service.clone(), span });
        }
    }
    Ok(seen)
}

/// The rules of `opentelemetry/proto/trace/v1/trace.proto` that its types do not hold.
fn strict(span: &Span) -> Result<(), String> {
    let id = |id: &[u8], length| id.len() == length && id.iter().any(|byte| *byte != 0);
    let keys: BTreeSet<&str> = span.attributes.iter().map(|one| one.key.as_str()).collect();
    let holds = [
        ("trace_id", id(&span.trace_id, 16)),
        ("span_id", id(&span.span_id, 8)),
        ("parent_span_id", span.parent_span_id.is_empty() || id(&span.parent_span_id, 8)),
        ("name", !span.name.is_empty()),
        ("kind", SpanKind::try_from(span.kind).is_ok_and(|kind| kind != SpanKind::Unspecified)),
        ("times", span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano),
        ("attributes", keys.len() == span.attributes.len() && !keys.contains("")),
    ];
    match holds.into_iter().find(|(_, holds)| !holds) {
        Some((what, _)) => Err(format!("`{what}` of {span:?}")),
        None => Ok(()),
    }
}

/// Posts a body to a plain listener with these header lines, and returns the status of the answer.
pub fn post(url: &str, headers: &str, body: &str) -> super::Answer {
    let mut stream = TcpStream::connect(address(url)).unwrap();
    stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        super::path(url),
        address(url),
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    super::Answer::read(&mut stream)
}
