//! Published contexts, read from the authority. A document never changes under its digest, so each is fetched once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use semgate_contexts::{Context, ContextUrn, Digest, DocumentLimits, Prefix};
use serde::Deserialize;

use crate::client::{CallFault, Server};

/// Documents kept: more than the lines of a large authority have versions in use.
const MAX_KEPT: usize = 4_096;

/// A published context, as the authority lists it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Listed {
    pub(crate) urn: String,
    pub(crate) digest: String,
    pub(crate) index: u64,
    /// VALID, INVALID, SUSPENDED or DEPRECATED.
    pub(crate) status: String,
}

#[derive(Deserialize)]
struct Listing {
    contexts: Vec<Listed>,
}

#[derive(Deserialize)]
struct Signed {
    payload: String,
}

/// Documents by digest.
#[derive(Default)]
pub(crate) struct Library {
    kept: Mutex<HashMap<String, Arc<[u8]>>>,
    /// The documents that were last checked, with their digests.
    checked: Mutex<(Vec<String>, Vec<Arc<Context>>)>,
}

/// All published contexts, by line and version.
///
/// # Errors
/// No answer, or a listing that is too long to be read as a whole.
pub(crate) async fn listing(authority: &Server) -> Result<Vec<Listed>, CallFault> {
    let Listing { mut contexts } = authority.get("/v1/contexts").await?.json()?;
    // the listing writes them in lower case, people and specifications do not
    contexts.iter_mut().for_each(|one| one.status.make_ascii_uppercase());
    let order = |one: &Listed| ContextUrn::parse(&one.urn, &Prefix::default()).ok();
    contexts.sort_by_cached_key(|one| order(one).map(|urn| (urn.line().clone(), urn.version())));
    Ok(contexts)
}

impl Library {
    /// The document of a digest, whose bytes have that digest.
    ///
    /// # Errors
    /// No answer, or bytes of another digest.
    pub(crate) async fn document(&self, authority: &Server, digest: &str) -> Result<Arc<[u8]>, CallFault> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let wrong = || CallFault::Silent("not the document of this digest".to_owned());
        let asked = Digest::parse(digest).map_err(|_| wrong())?;
        let signed: Signed = authority.get(&format!("/v1/contexts/by-digest/{asked}")).await?.json()?;
        let bytes = URL_SAFE_NO_PAD.decode(signed.payload).map_err(|_| wrong())?;
        if Digest::of(&bytes) != asked {
            return Err(wrong());
        }
        let bytes: Arc<[u8]> = bytes.into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(digest.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Every published document, for typing policies. A document that this version cannot read is left out, and logged.
    ///
    /// # Errors
    /// No answer, or bytes of another digest.
    pub(crate) async fn contexts(&self, authority: &Server) -> Result<Vec<Arc<Context>>, CallFault> {
        let mut listed = listing(authority).await?;
        listed.sort_by_key(|one| one.index);
        let digests: Vec<String> = listed.iter().map(|one| one.digest.clone()).collect();
        {
            let known = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
            if known.0 == digests {
                return Ok(known.1.clone());
            }
        }
        let mut documents = Vec::new();
        for one in &listed {
            documents.push(self.document(authority, &one.digest).await?);
        }
        // checking compiles schemas
        let checked = tokio::task::spawn_blocking(move || checked(&documents)).await;
        let checked = checked.map_err(|why| CallFault::Silent(why.to_string()))?;
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = (digests, checked.clone());
        Ok(checked)
    }
}

/// Checks documents in the order of the log: each refers only to earlier ones.
fn checked(documents: &[Arc<[u8]>]) -> Vec<Arc<Context>> {
    let mut all: HashMap<ContextUrn, Arc<Context>> = HashMap::new();
    for bytes in documents {
        let earlier = |urn: &ContextUrn| all.get(urn).cloned();
        match Context::from_canonical(bytes, &Prefix::default(), &DocumentLimits::default(), &earlier) {
            Ok(context) => {
                let context = Arc::new(context);
                all.insert(context.urn().clone(), context);
            }
            Err(why) => tracing::warn!(%why, "a published context cannot be read"),
        }
    }
    let mut all: Vec<Arc<Context>> = all.into_values().collect();
    all.sort_by(|one, other| one.urn().cmp(other.urn()));
    all
}
