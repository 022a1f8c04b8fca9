//! Pages of the listing: made once from the entries of the public log, whoever asks, and immutable.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Uri};
use semgate_statement::listing::{Page, Span};
use semgate_statement::tiles::{TILE_WIDTH, TilePath, TileSource, decode_bundle};

use super::App;
use super::answer::{IMMUTABLE, document};
use super::cache::Key;
use super::problem::{Code, Problem};
use super::segment::Segment;
use super::storage::{PublicTiles, run_blocking};
use crate::document::Document;
use crate::publish::Published;

/// `GET /v1/contexts/published/{span}`: the publications in the entries of the span. Each page has one name; an equivalent path, such as
/// one with percent signs, is refused.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    Segment(span): Segment,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let public = app.public();
    let is_page = |span: &Span| span.end() <= public.size && span.path() == uri.path();
    let span = Span::parse(&span).filter(is_page).ok_or(Code::PageUnknown)?;
    let key = Key::Page(span);
    let served = |page: &Document| Ok(document(&headers, page, "application/json", IMMUTABLE));
    if let Some(known) = app.cache.get(&key) {
        return served(&known);
    }
    let turn = Arc::clone(&app.listings).acquire_owned().await.map_err(|_| Code::Stopping)?;
    // a caller that waited mostly finds it made
    if let Some(known) = app.cache.get(&key) {
        return served(&known);
    }
    let work = Arc::clone(&app);
    let made = run_blocking(move || {
        let _turn = turn;
        work.metrics.count("semgate_authority_pages_total", &[]);
        let page = Document::new(made(&work, &public, span)?);
        // spans that followers use; others, which anybody may make up, evict nothing
        if span.begins_a_page() || span.end() == public.size {
            work.cache.keep(key, &page, None);
        }
        Ok(page)
    });
    served(&made.await?)
}

fn made(app: &App, public: &Published, span: Span) -> Result<Vec<u8>, Problem> {
    let internal = |what: &dyn std::fmt::Display| {
        tracing::error!("the page `{span}`: {what}");
        Problem::from(Code::Internal)
    };
    let tiles = PublicTiles { app, public };
    let width = u64::from(TILE_WIDTH);
    let mut entries: Vec<Vec<u8>> = Vec::new();
    let mut at = span.first() - span.first() % width;
    while at < span.end() {
        let path = TilePath::entries_holding(at, public.size).ok_or(Code::Internal)?;
        let bytes = tiles.tile(&path).ok_or_else(|| internal(&format_args!("`{path}` cannot be read")))?;
        let bundle = decode_bundle(&bytes, path.width()).map_err(|fault| internal(&fault))?;
        let wanted = (at..span.end()).zip(bundle).filter(|(index, _)| *index >= span.first());
        entries.extend(wanted.map(|(_, entry)| entry.to_vec()));
        at += width;
    }
    let page = Page::of(span, entries.iter().map(Vec::as_slice), &app.config.prefix);
    page.map_err(|fault| internal(&fault))?.to_bytes().map_err(|fault| internal(&fault))
}
