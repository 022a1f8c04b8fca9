//! Reads from the disk: away from the async threads, with faults that reveal no more than they must.

use std::path::{Path, PathBuf};

use semgate_contexts::Digest;
use semgate_statement::tiles::{TILE_WIDTH, TilePath, TileSource};

use super::App;
use super::problem::{Code, Problem};
use crate::index::IndexFault;
use crate::publish::Published;
use crate::store::{cut, widest, with_width};

/// Path of a full tile.
pub(super) fn full_tile(app: &App, tile: &TilePath) -> PathBuf {
    app.layout.log.join(tile.full().to_string().trim_start_matches('/'))
}

/// The tiles of the public log, each in the requested width.
pub(super) struct PublicTiles<'a> {
    pub app: &'a App,
    pub public: &'a Published,
}

impl TileSource for PublicTiles<'_> {
    fn tile(&self, tile: &TilePath) -> Option<Vec<u8>> {
        let width = widest(tile, self.public.size).filter(|width| tile.width() <= *width)?;
        let bytes = if width == TILE_WIDTH {
            read_full_tile(&full_tile(self.app, tile)).ok()?
        } else {
            self.public.edge.get(&tile.full())?.1.to_vec()
        };
        if tile.width() == width { Some(bytes) } else { cut(&with_width(*tile, width), &bytes, tile.width()) }
    }
}

/// A full tile that the public log has.
pub(super) fn read_full_tile(path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|e| {
        tracing::error!("reading `{}`: {e}", path.display());
        Problem::from(Code::Internal)
    })
}

/// The problem for an unreadable index, which is then rebuilt; the caller should come again.
pub(super) fn broken(app: &App, fault: &IndexFault) -> Problem {
    tracing::error!("the index could not be read: {fault}");
    app.submit.reindex();
    Problem::new(Code::Busy, "the index is being rebuilt")
}

/// The document of a digest that the index has.
pub(super) fn read_document(app: &App, digest: &Digest) -> Result<Vec<u8>, Problem> {
    match app.documents.read(digest) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            tracing::error!("the document `{digest}` is published and its file is missing or damaged");
            Err(Problem::new(
                Code::Internal,
                "the document is published, but its file is missing or damaged here",
            ))
        }
        Err(fault) => {
            tracing::error!("{fault}");
            Err(Code::Internal.into())
        }
    }
}

/// Runs a read of files or the index on a blocking thread, where a slow disk delays nobody else.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Code::Internal.into()),
    }
}
