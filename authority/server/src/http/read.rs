//! Public reads. All of it comes from the public state under one head, from write-once files, or from the index.

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use axum::extract::{Extension, State};
use axum::response::Response;
use http::header::VARY;
use http::{HeaderMap, HeaderValue};
use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::tiles::{TILE_WIDTH, TilePath};
use semgate_statement::{Listing, context, head, token};
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{IMMUTABLE, REVALIDATE, document, known};
use super::cache::{Key, Stamp};
use super::problem::{Code, Problem};
use super::segment::Segment;
use super::serve::Caller;
use super::storage::{broken, full_tile, read_document, read_full_tile, run_blocking};
use super::{App, staple, stream};
use crate::account::ScarceResource;
use crate::document::Document;
use crate::keys::Role;
use crate::publish::{newest_token, signed_token};
use crate::store::{cut, widest, with_width};
use crate::submit::index_of;

#[cfg(test)]
mod tests;

type Answer = Result<Response, Problem>;
type Shared = State<Arc<App>>;

/// The description of the interface.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

/// `GET /v1/feed/head`
pub(super) async fn head(State(app): Shared, headers: HeaderMap) -> Answer {
    Ok(document(&headers, &app.public().head, head::MEDIA_TYPE, REVALIDATE))
}

/// `GET /v1/feed/stream`
pub(super) async fn feed(State(app): Shared, caller: Extension<Caller>, headers: HeaderMap) -> Answer {
    let charge = app.accounts.charge(&caller.owner, ScarceResource::Stream).map_err(|excess| {
        app.metrics
            .count("semgate_authority_streams_refused_total", &[("reason", excess.as_str().to_owned())]);
        Problem::new(Code::Busy, "there are too many followers; poll the head instead")
    })?;
    stream::look_back(&headers, app.public().size, &app.metrics);
    Ok(stream::follow(stream::Follower {
        heads: app.public.clone(),
        stopping: app.stopping.clone(),
        heartbeat: app.config.limits.heartbeat,
        charge,
        number: app.followed.fetch_add(1, Ordering::Relaxed),
    }))
}

/// `HEAD /v1/feed/stream`: a stream without end has no headers to report.
pub(super) async fn no_head() -> Problem {
    Problem { allow: Some("GET"), ..Code::MethodNotAllowed.into() }
}

/// `GET /v1/feed/shards/{name}`: by digest of the inflated list, or by number.
pub(super) async fn shard(State(app): Shared, Segment(name): Segment, headers: HeaderMap) -> Answer {
    let public = app.public();
    if name.len() == 64 {
        let shard = Arc::clone(public.shard(&name).ok_or(Code::ShardUnknown)?);
        if let Some(token) = shard.signed() {
            return Ok(document(&headers, &token, token::MEDIA_TYPE, IMMUTABLE));
        }
        let (feed, keys, turn) = (feed_of(&app)?, Arc::clone(&app.keys), delta_permit(&app).await?);
        let token = run_blocking(move || {
            let _turn = turn;
            shard.token(&feed.identity, &keys.random).map_err(|fault| Problem::unsigned(&fault))
        });
        let token = token.await?;
        return Ok(document(&headers, &token, token::MEDIA_TYPE, IMMUTABLE));
    }
    let n: usize = name.parse().map_err(|_| Code::ShardUnknown)?;
    if n.to_string() != name {
        return Err(Code::ShardUnknown.into());
    }
    if let Some(newest) = signed_token(&public, n) {
        return Ok(document(&headers, &newest, token::MEDIA_TYPE, REVALIDATE));
    }
    // a key in a device may take a while
    let (feed, work, turn) = (feed_of(&app)?, Arc::clone(&app), delta_permit(&app).await?);
    let newest = run_blocking(move || {
        let _turn = turn;
        let random = &work.keys.random;
        let newest = newest_token(&public, n, &work.config.public_url, &feed.identity, random);
        newest.ok_or(Code::ShardUnknown)?.map_err(|fault| Problem::unsigned(&fault))
    });
    let newest = newest.await?;
    Ok(document(&headers, &newest, token::MEDIA_TYPE, REVALIDATE))
}

/// `GET /v1/feed/deltas/{from}`: what changed since the log had this size.
pub(super) async fn delta(State(app): Shared, Segment(from): Segment, headers: HeaderMap) -> Answer {
    let size: u64 = from.parse().map_err(|_| Code::DeltaUnknown)?;
    let public = app.public();
    if size.to_string() != from || size > public.size {
        return Err(Code::DeltaUnknown.into());
    }
    if known(&headers, &public.head.etag) {
        return Ok(document(&headers, &public.head, JSON, REVALIDATE));
    }
    if let Some(made) = public.made_delta(size) {
        return Ok(document(&headers, &made, JSON, REVALIDATE));
    }
    let turn = Arc::clone(&app.deltas).acquire_owned().await.map_err(|_| Code::Stopping)?;
    let delta = run_blocking(move || {
        let _turn = turn;
        // a caller that waited mostly finds it made
        if let Some(made) = public.made_delta(size) {
            return Ok(made);
        }
        let made = public.delta(size).ok_or(Code::DeltaUnknown)?;
        app.metrics.count("semgate_authority_deltas_total", &[]);
        Ok(made)
    });
    Ok(document(&headers, &delta.await?, JSON, REVALIDATE))
}

/// A permit to sign one of the few tokens at a time; a caller that waits for one mostly finds its token signed.
async fn delta_permit(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(&app.tokens).acquire_owned().await.map_err(|_| Code::Stopping.into())
}

fn feed_of(app: &App) -> Result<Arc<Role>, Problem> {
    app.keys.feed().map_err(|fault| Problem::new(Code::Internal, fault))
}

/// `GET /v1/floors`
pub(super) async fn floors(State(app): Shared, headers: HeaderMap) -> Answer {
    Ok(document(&headers, &app.public().floors, JSON, REVALIDATE))
}

/// `GET /v1/trust`
pub(super) async fn trust(State(app): Shared, headers: HeaderMap) -> Answer {
    Ok(document(&headers, &app.public().trust, JSON, REVALIDATE))
}

/// `GET /checkpoint`
pub(super) async fn checkpoint(State(app): Shared, headers: HeaderMap) -> Answer {
    Ok(document(&headers, &app.public().checkpoint, TEXT, REVALIDATE))
}

/// `GET /v1/contexts`
pub(super) async fn contexts(State(app): Shared, headers: HeaderMap) -> Answer {
    let public = app.public();
    if public.listing_bytes > app.config.limits.listing_bytes {
        return Err(Code::ListingPaged.into());
    }
    if let Some(listing) = public.listing.get() {
        return Ok(document(&headers, listing, JSON, REVALIDATE));
    }
    // On a task of its own, so that the work goes on if the caller leaves.
    let made = tokio::spawn(async move { public.listing.get_or_try_init(|| listed(app)).await.cloned() });
    let listing = made.await.map_err(|_| Code::Internal)??;
    Ok(document(&headers, &listing, JSON, REVALIDATE))
}

/// The listing from the index, made one at a time, even if heads change faster.
async fn listed(app: Arc<App>) -> Result<Document, Problem> {
    let turn = Arc::clone(&app.listings).acquire_owned().await.map_err(|_| Code::Stopping)?;
    run_blocking(move || {
        let _turn = turn;
        app.metrics.count("semgate_authority_listings_total", &[]);
        let contexts = index_of(&app.index).all().map_err(|fault| broken(&app, &fault))?;
        let bytes = Listing { contexts }.to_bytes().map_err(|fault| Problem::new(Code::Internal, fault))?;
        Ok(Document::new(bytes))
    })
    .await
}

/// `GET /v1/contexts/{urn}`: as it was signed, or, on request, with the proof of its publication.
pub(super) async fn context(State(app): Shared, Segment(urn): Segment, headers: HeaderMap) -> Answer {
    let urn = ContextUrn::parse(&urn, &app.config.prefix).map_err(|_| Code::ContextUnknown)?;
    let key = Key::Name(urn.clone());
    let work = Arc::clone(&app);
    let with_proof = staple::is_asked_for(&headers);
    let find = move || {
        let record = index_of(&work.index).get(&urn).map_err(|fault| broken(&work, &fault))?;
        let record = record.ok_or(Code::ContextUnknown)?;
        let (signed, stamp) = stamped(&work, &record.digest)?;
        if with_proof {
            Ok((staple::stapled(&work, signed, record.index)?, None))
        } else {
            Ok((signed, stamp))
        }
    };
    // A proof refers to the newest checkpoint, so a stapled context is never cached.
    let (signed, media_type) = if with_proof {
        (Document::new(run_blocking(find).await?.0), context::STAPLED_MEDIA_TYPE)
    } else {
        (cached(&app, key, find).await?, context::MEDIA_TYPE)
    };
    let mut answer = document(&headers, &signed, media_type, REVALIDATE);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}

/// `GET /v1/contexts/by-digest/{digest}`
pub(super) async fn by_digest(State(app): Shared, Segment(digest): Segment, headers: HeaderMap) -> Answer {
    let digest = Digest::parse(&digest).map_err(|_| Code::ContextUnknown)?;
    let work = Arc::clone(&app);
    let signed = cached(&app, Key::Digest(digest), move || {
        if !index_of(&work.index).is_published(&digest).map_err(|fault| broken(&work, &fault))? {
            return Err(Code::ContextUnknown.into());
        }
        stamped(&work, &digest)
    });
    Ok(document(&headers, &signed.await?, context::MEDIA_TYPE, IMMUTABLE))
}

/// `GET /tile/…`: any width within the public log, even if a wider file superseded its own.
pub(super) async fn tile(State(app): Shared, Segment(rest): Segment, headers: HeaderMap) -> Answer {
    let tile = TilePath::parse(&format!("/tile/{rest}")).map_err(|_| Code::TileUnknown)?;
    let public = app.public();
    let width = widest(&tile, public.size).filter(|width| tile.width() <= *width).ok_or(Code::TileUnknown)?;
    let work = Arc::clone(&app);
    let answer = cached(&app, Key::Tile(tile), move || {
        let bytes = if width == TILE_WIDTH {
            read_full_tile(&full_tile(&work, &tile))?
        } else {
            public.edge.get(&tile.full()).ok_or(Code::Internal)?.1.to_vec()
        };
        let bytes = match tile.width() {
            same if same == width => Some(bytes),
            narrower => cut(&with_width(tile, width), &bytes, narrower),
        };
        Ok((bytes.ok_or(Code::Internal)?, None))
    });
    Ok(document(&headers, &answer.await?, BYTES, IMMUTABLE))
}

/// `GET /openapi.json`
pub(super) async fn openapi(headers: HeaderMap) -> Answer {
    static SERVED: LazyLock<Document> = LazyLock::new(|| Document::new(OPENAPI));
    Ok(document(&headers, &SERVED, JSON, REVALIDATE))
}

/// The cached answer, or the result of `read`, run away from the async threads.
async fn cached(
    app: &App,
    key: Key,
    read: impl FnOnce() -> Result<(Vec<u8>, Option<Stamp>), Problem> + Send + 'static,
) -> Result<Document, Problem> {
    if let Some(known) = app.cache.get(&key) {
        return Ok(known);
    }
    let (document, stamp) =
        run_blocking(move || read().map(|(bytes, stamp)| (Document::new(bytes), stamp))).await?;
    app.cache.keep(key, &document, stamp);
    Ok(document)
}

/// A published document, and the state of its file before it was read.
fn stamped(app: &App, digest: &Digest) -> Result<(Vec<u8>, Option<Stamp>), Problem> {
    let stamp = Stamp::of(&app.documents.path(digest)).ok_or(Code::Internal);
    let bytes = read_document(app, digest)?;
    Ok((bytes, Some(stamp?)))
}
