//! gRPC from both ends: an agent that answers every call the same, and a client that makes one call after the other on a connection.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::Value;

/// A message of `lf.a2a.v1` behind its five bytes, written by an implementation that is not ours.
pub fn framed(message: &str, json: &Value) -> Vec<u8> {
    let descriptors = include_bytes!("../../firewall/protocol/proto/a2a.binpb");
    let pool = DescriptorPool::decode(descriptors.as_slice()).unwrap();
    let of = pool.get_message_by_name(&format!("lf.a2a.v1.{message}")).unwrap();
    let bytes = DynamicMessage::deserialize(of, json).unwrap().encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[0][..], &length, &bytes].concat()
}

/// An agent over HTTP/2 without TLS.
pub fn agent(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Bytes::from(answer);
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let answer = answer.clone();
                let service = hyper::service::service_fn(move |request| said(request, answer.clone()));
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    address
}

async fn said(
    request: Request<Incoming>,
    answer: Bytes,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, Infallible> {
    let _ = request.into_body().collect().await;
    let trailers =
        HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]);
    let body = Full::new(answer).with_trailers(std::future::ready(Some(Ok(trailers))));
    Ok(Response::builder().header("content-type", "application/grpc").body(body).unwrap())
}

/// Makes so many calls of `SendMessage` on one connection, each once the one before was answered well.
pub fn one_connection(address: SocketAddr, message: &[u8], calls: usize) {
    let message = Bytes::copy_from_slice(message);
    runtime().block_on(async move {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let io = TokioIo::new(stream);
        let (mut client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..calls {
            let request = Request::post(format!("http://{address}/lf.a2a.v1.A2AService/SendMessage"))
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .header("a2a-version", "1.0")
                .body(Full::new(message.clone()))
                .unwrap();
            client.ready().await.unwrap();
            let (head, body) = client.send_request(request).await.unwrap().into_parts();
            let whole = body.collect().await.unwrap();
            let ended = whole.trailers().unwrap_or(&head.headers);
            assert_eq!(ended.get("grpc-status").map(HeaderValue::as_bytes), Some(&b"0"[..]), "{ended:?}");
        }
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
