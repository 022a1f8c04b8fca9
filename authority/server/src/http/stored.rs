//! What lies on the disk, and how it is looked at: away from those who wait for nothing, and with a fault that says no more than it must.

use std::path::{Path, PathBuf};

use semgate_contexts::Digest;
use semgate_statement::tiles::TilePath;

use super::App;
use super::problem::{Code, Problem};
use crate::index::IndexFault;

/// Where a full tile lies.
pub(super) fn full_tile(app: &App, tile: &TilePath) -> PathBuf {
    app.layout.log.join(tile.full().to_string().trim_start_matches('/'))
}

/// A full tile that the public log has.
pub(super) fn read_full_tile(path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|e| {
        tracing::error!("reading `{}`: {e}", path.display());
        Problem::from(Code::Internal)
    })
}

/// An index that cannot be read is rebuilt, and the caller asked to come again.
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

/// Files and the index are read where a slow disk stops nobody else.
pub(super) async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Code::Internal.into()),
    }
}
