//! The log of the authority: checkpoint, size, witnesses, the newest acts, and how far each gateway has read it.

use askama::Template;

use crate::acts::{Checkpoint, Logged, checkpoint, newest};
use crate::answer::{Answer, Frame, html};
use crate::gateways::{Status, ask_all, read};
use crate::guard::Visit;
use crate::visible::filters;

/// A gateway's view of an authority.
struct Reader {
    gateway: String,
    authority: String,
    size: u64,
    issued_at: u64,
    next_update: u64,
}

#[derive(Template)]
#[template(path = "log.html")]
struct Page {
    frame: Frame,
    url: String,
    checkpoint: Checkpoint,
    acts: Vec<Logged>,
    readers: Vec<Reader>,
}

/// `GET /log`
pub(crate) async fn page(visit: Visit) -> Answer {
    let authority = visit.app.authority();
    let checkpoint = checkpoint(&authority).await?;
    let acts = newest(&authority, checkpoint.size).await?;
    let asked = ask_all(&visit.app, |app, at| async move { read::<Status>(&app, at, "/status").await }).await;
    let mut readers = Vec::new();
    for (gateway, status) in visit.app.config.gateways.iter().zip(asked) {
        readers.extend(status.into_iter().flat_map(|status| status.authorities).map(|followed| Reader {
            gateway: gateway.name.clone(),
            authority: followed.name,
            size: followed.size,
            issued_at: followed.issued_at,
            next_update: followed.next_update,
        }));
    }
    let url = visit.app.config.authority.url.clone();
    html(&Page { frame: visit.frame("/log"), url, checkpoint, acts, readers })
}
