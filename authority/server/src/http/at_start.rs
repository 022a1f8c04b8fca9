//! Publications that the configuration asks for at each start. An interrupted start loses none: the next one publishes the missing rest.

use std::sync::Arc;

use bytes::Bytes;
use semgate_contexts::{Context, library};

use super::App;
use super::attempt::Attempt;
use super::problem::Problem;
use super::references::{References, document_code};
use super::storage::broken;
use super::write::publish_document;
use crate::config::StartDocument;
use crate::submit::index_of;
use crate::{RunFault, disk};

/// One document to publish, with its name for the log.
pub(crate) struct Document {
    name: String,
    bytes: Bytes,
}

/// Reads the documents of the configuration, before a port is bound.
///
/// # Errors
/// A file is missing.
pub(crate) fn read(wanted: &[StartDocument]) -> Result<Vec<Document>, RunFault> {
    let mut documents = Vec::new();
    for one in wanted {
        match one {
            StartDocument::File(path) => {
                let bytes = disk::read(path)?;
                let none = || RunFault::Missing {
                    path: path.clone(),
                    what: "`publish_at_start` names it: restore it, or take it off the list".to_owned(),
                };
                let name = path.display().to_string();
                documents.push(Document { name, bytes: bytes.ok_or_else(none)?.into() });
            }
            StartDocument::Shipped(line) => {
                let of_line = library::all().iter().filter(|(name, _)| library::line_of(name) == line);
                documents.extend(of_line.map(|(name, bytes)| Document {
                    name: (*name).to_owned(),
                    bytes: Bytes::from_static(bytes),
                }));
            }
        }
    }
    Ok(documents)
}

/// Publishes every document whose URN is free. A refusal is logged and stops nothing, since revocations must go on.
pub(crate) async fn publish_missing(app: &Arc<App>, documents: Vec<Document>) {
    for Document { name, bytes } in documents {
        match publish(app, bytes).await {
            Ok(Some(urn)) => tracing::info!("published `{urn}`, as `publish_at_start` asks"),
            Ok(None) => {}
            Err(fault) => tracing::error!(
                "`{name}` of `publish_at_start` is not published: {}: {}",
                fault.code.as_str(),
                fault.detail
            ),
        }
    }
}

/// Publishes a document unless its URN is taken; whatever became of that version since, it stays.
async fn publish(app: &Arc<App>, bytes: Bytes) -> Result<Option<String>, Problem> {
    let urn = {
        let referred = References::new(app);
        let (prefix, limits) = (&app.config.prefix, &app.document_limits);
        let checked = Context::check_among(&bytes, prefix, limits, &|urn| referred.find(urn));
        checked.map_err(|fault| referred.problem(document_code(&fault), &fault))?.urn().clone()
    };
    if index_of(&app.index).get(&urn).map_err(|fault| broken(app, &fault))?.is_some() {
        return Ok(None);
    }
    let mut attempt = Attempt::by(app, "publish", Some(app.config.authority.clone()));
    let answer = match attempt.ready() {
        Ok(()) => publish_document(app, &mut attempt, None, bytes, false).await,
        Err(problem) => Err(problem),
    };
    attempt.end(answer).await.map(|_| Some(urn.as_str().to_owned()))
}
