use super::*;
use crate::server::carrier::{CarrierFault, FrameBounds, FrameReader, FrameWriter};
use std::net::UdpSocket;

const BOUNDS: FrameBounds = FrameBounds { compressed: 1024, plain: 1024, time: Duration::from_millis(300) };

fn run(what: impl Future<Output = ()>) {
    let local = tokio::task::LocalSet::new();
    local.block_on(&tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(), what);
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn server() -> quinn::ServerConfig {
    listening(&listener_tls().unwrap(), &IacOptions::default(), &Limits::default()).unwrap()
}

fn connector(port: u16, options: &IacOptions) -> QuicConnector {
    QuicConnector::new("127.0.0.1", port, options, &Limits::default()).unwrap()
}

/// Both ends of one connection over the loopback.
async fn pair(options: &IacOptions) -> (std::rc::Rc<Endpoint>, Connection, Connection) {
    let socket = socket();
    let port = socket.local_addr().unwrap().port();
    let endpoint = Endpoints::default().of(socket, server()).unwrap();
    let connector = connector(port, options);
    let accepting = async { endpoint.accept().await.unwrap().accept().unwrap().await.unwrap() };
    let (accepted, opened) = tokio::join!(accepting, connector.connect());
    (endpoint, accepted, opened.unwrap())
}

#[test]
fn frames_travel_in_order_on_a_stream_each() {
    run(async {
        for congestion in [Congestion::Cubic, Congestion::Bbr] {
            let (_endpoint, near, far) = pair(&IacOptions { congestion, ..IacOptions::default() }).await;
            let writer = FrameWriter::quic(far);
            for n in 0..20_u8 {
                writer.send(&[n; 100], Duration::from_secs(1)).await.unwrap();
            }
            let mut reader = FrameReader::Quic(near);
            for n in 0..20_u8 {
                let frame = reader.next(&BOUNDS).await.unwrap();
                assert_eq!((&frame.bytes[..], frame.compressed), (&[n; 100][..], true));
            }
        }
    });
}

#[test]
fn a_frame_beyond_the_limit_or_without_an_end_is_refused() {
    run(async {
        let (_endpoint, near, far) = pair(&IacOptions::default()).await;
        FrameWriter::quic(far.clone()).send(&[0; 1025], Duration::from_secs(1)).await.unwrap();
        let mut reader = FrameReader::Quic(near);
        assert_eq!(reader.next(&BOUNDS).await, Err(CarrierFault::TooLarge));
        let mut silent = far.open_uni().await.unwrap();
        silent.write_all(b"begins").await.unwrap();
        assert_eq!(reader.next(&BOUNDS).await, Err(CarrierFault::TooSlow));
    });
}

#[test]
fn a_cut_frame_never_looks_whole() {
    run(async {
        let (_endpoint, near, far) = pair(&IacOptions::default()).await;
        // more than the other side takes before it reads
        let cut = vec![1; 8 << 20];
        let sent = FrameWriter::quic(far.clone()).send(&cut, Duration::from_millis(50)).await;
        assert_eq!(sent, Err(CarrierFault::TooSlow));
        FrameWriter::quic(far.clone()).send(b"next", Duration::from_secs(1)).await.unwrap();
        let bounds = FrameBounds { compressed: 16 << 20, ..BOUNDS };
        let mut reader = FrameReader::Quic(near);
        let broken = reader.next(&bounds).await.unwrap();
        assert_eq!(&broken.bytes[..], b"", "the cut stream counts as a message, without its bytes");
        assert_eq!(&reader.next(&bounds).await.unwrap().bytes[..], b"next");
    });
}

#[test]
fn neither_side_opens_a_stream_in_both_directions_or_a_datagram() {
    run(async {
        let (_endpoint, near, far) = pair(&IacOptions::default()).await;
        for side in [&near, &far] {
            let opening = tokio::time::timeout(Duration::from_millis(100), side.open_bi());
            assert!(opening.await.is_err(), "no stream is granted");
            assert_eq!(side.max_datagram_size(), None);
        }
    });
}

#[test]
fn a_pinned_certificate_admits_no_other() {
    run(async {
        let (_endpoint, _, far) = pair(&IacOptions::default()).await;
        let shown = far.peer_identity().unwrap().downcast::<Vec<CertificateDer<'static>>>().unwrap();
        let own = Digest::of(&shown[0]);
        let port = far.remote_address().port();
        for (pin, accepted) in [(own, true), (Digest::of(b"another"), false)] {
            let options = IacOptions { upstream_certificate: Some(pin), ..IacOptions::default() };
            let connector = connector(port, &options);
            let serving = async {
                if let Some(incoming) = _endpoint.accept().await {
                    let _ = incoming.await;
                }
            };
            let (opened, ()) = tokio::join!(connector.connect(), serving);
            assert_eq!(opened.is_ok(), accepted, "{pin}: {opened:?}");
        }
    });
}

#[test]
fn a_reload_continues_the_endpoint_of_its_address() {
    run(async {
        let endpoints = Endpoints::default();
        let first = socket();
        let again = first.try_clone().unwrap();
        let port = first.local_addr().unwrap().port();
        let one = endpoints.of(first, server()).unwrap();
        let other = endpoints.of(again, server()).unwrap();
        assert!(std::rc::Rc::ptr_eq(&one, &other), "one endpoint takes all packets of the address");
        drop(one);
        let connector = connector(port, &IacOptions::default());
        let accepting = async { other.accept().await.unwrap().await.unwrap() };
        let (_, opened) = tokio::join!(accepting, connector.connect());
        assert!(opened.is_ok(), "the remaining holder still accepts");
    });
}

#[test]
fn two_connections_come_from_two_addresses() {
    run(async {
        let (endpoint, _near, far) = pair(&IacOptions::default()).await;
        let connector = connector(far.remote_address().port(), &IacOptions::default());
        let accepting = async { endpoint.accept().await.unwrap().await.unwrap() };
        let (second, opened) = tokio::join!(accepting, connector.connect());
        opened.unwrap();
        assert_ne!(second.remote_address(), _near.remote_address());
    });
}
