//! The stream of one gateway, opened again whenever it ends.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde::Deserialize;
use tokio::time::timeout;

use super::events::{Event, Events};
use super::{Feeds, Verdict};
use crate::app::App;
use crate::client::{CallFault, read_json};

/// Time until the head of the answer.
const OPEN_TIME: Duration = Duration::from_secs(10);
/// Time without a byte after which a stream is dead: three heartbeats of a gateway.
const SILENCE: Duration = Duration::from_secs(45);
/// Pause before the first try again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
struct Gap {
    missed: u64,
}

/// Follows the gateway at this position of the configuration, until the console ends.
pub(crate) async fn follow(app: Arc<App>, at: usize) {
    let mut pause = FIRST_PAUSE;
    loop {
        let ended = read(&app, at, &mut pause).await;
        let fault =
            ended.err().map_or_else(|| "the gateway ended the stream".to_owned(), |why| why.to_string());
        app.feeds.turned(at, Some(fault));
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Reads one stream to its end. The first byte makes the next pause short again.
async fn read(app: &Arc<App>, at: usize, pause: &mut Duration) -> Result<(), CallFault> {
    let silent = |what: &str| CallFault::Silent(what.to_owned());
    let gateway = app.config.gateways.get(at).ok_or_else(|| silent("no such gateway"))?;
    let path = app.feeds.last(at).map_or_else(|| "/verdicts".to_owned(), |n| format!("/verdicts?after={n}"));
    let server = app.admin(gateway);
    let opened = timeout(OPEN_TIME, server.open(Method::GET, &path, None)).await;
    let answer = opened.map_err(|_| silent("nothing within 10 s"))??;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err(silent("the gateway is of a version without live verdicts")),
        status => return Err(CallFault::Silent(format!("status {}", status.as_u16()))),
    }
    app.feeds.turned(at, None);
    let (mut body, mut events) = (answer.into_body(), Events::default());
    loop {
        let frame = timeout(SILENCE, body.frame()).await.map_err(|_| silent("the stream fell silent"))?;
        let Some(frame) = frame else { return Ok(()) };
        let frame = frame.map_err(|why| CallFault::Silent(why.to_string()))?;
        let Ok(bytes) = frame.into_data() else { continue };
        *pause = FIRST_PAUSE;
        let complete = events.take(&bytes).map_err(|_| silent("an event without end"))?;
        for event in complete {
            take(&app.feeds, at, &event);
        }
    }
}

/// Takes an event. One that cannot be read is missed, and the next try begins after it.
pub(super) fn take(feeds: &Feeds, at: usize, event: &Event) {
    let data = event.data.as_bytes();
    let taken = match event.kind.as_str() {
        _ if event.is_bad => None,
        "" | "message" => read_json::<Verdict>(data).ok().map(|verdict| feeds.add(at, verdict)),
        "gap" => read_json::<Gap>(data).ok().map(|gap| feeds.missed(at, gap.missed)),
        // a later version may send more
        _ => Some(()),
    };
    if taken.is_none() {
        tracing::warn!(id = event.id, "an event of a gateway cannot be read and is missed");
        feeds.skipped(at, event.id);
    }
}
