//! The authority's event stream. Its contents are never trusted: an event only suggests a request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Notify;
use tokio_rustls::rustls::ClientConfig;

use super::addresses::Addresses;
use crate::upstream::Connector;

const STREAM: &str = "/v1/feed/stream";
/// Silence before the stream is reopened. Authorities send comments far more often.
const SILENCE: Duration = Duration::from_secs(90);
/// First pause between attempts; it grows. Polls continue meanwhile.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Notifies `hint` of every event of the address that answers, for ever.
pub(super) async fn listen(
    addresses: Addresses,
    tls: Arc<ClientConfig>,
    timeout: Duration,
    hint: Arc<Notify>,
) {
    let random = SystemRandom::new();
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(url) = addresses.all().get(addresses.current()) {
            let connector = Connector::fixed(url, Some(Arc::clone(&tls)), timeout);
            if events(&connector, &url.host_header(), timeout, &hint).await.is_some() {
                pause = FIRST_PAUSE;
            }
        }
        let mut byte = [0_u8; 1];
        let _ = random.fill(&mut byte);
        tokio::time::sleep(pause.mul_f64(1.0 + f64::from(byte[0]) / 512.0)).await;
        pause = pause.saturating_mul(2).min(LAST_PAUSE);
    }
}

/// Reads one stream to its end; `None` if it never began.
async fn events(connector: &Connector, host: &str, timeout: Duration, hint: &Notify) -> Option<()> {
    let mut link = connector.connect().await.ok()?.link;
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = Uri::from_static(STREAM);
    request.headers_mut().insert(HOST, HeaderValue::try_from(host).ok()?);
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let response = tokio::time::timeout(timeout, link.try_send(request)).await.ok()?.ok()?;
    if response.status() != 200 {
        return None;
    }
    // one request covers the events that were missed
    hint.notify_one();
    let mut stream = response.into_body();
    let mut line_begins = true;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, stream.frame()).await {
        let Ok(data) = frame.into_data() else { continue };
        if speaks(&data, &mut line_begins) {
            hint.notify_one();
        }
    }
    Some(())
}

/// Returns true if a line begins in `data` that is neither empty nor a comment (WHATWG HTML §9.2.6). Keeps only one flag of
/// the stream, so a stream without line ends costs nothing.
fn speaks(data: &[u8], line_begins: &mut bool) -> bool {
    let mut speaks = false;
    for byte in data {
        let ends = matches!(byte, b'\n' | b'\r');
        speaks |= *line_begins && !ends && *byte != b':';
        *line_begins = ends;
    }
    speaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_events_however_they_are_cut() {
        let mut begins = true;
        assert!(!speaks(b": alive\n\n:", &mut begins));
        assert!(!speaks(b" data: not\r\n", &mut begins));
        assert!(speaks(b"event: head\ndata: {}\n\n", &mut begins));
        assert!(speaks(b"d", &mut begins));
        assert!(!speaks(b"ata: x", &mut begins));
    }
}
