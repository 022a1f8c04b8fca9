//! `GET /v1/crl/{shards}/{n}.crl`: revocation lists of certificates, as their issuers signed them and the operator put them.

use std::io::Read;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use semgate_certs::{MAX_CRL_BYTES, MAX_SHARDS};

use super::App;
use super::answer::{REVALIDATE, document};
use super::problem::{Code, Problem};
use super::read::away;
use super::segment::Segment;
use crate::publish::Document;

/// RFC 5280 §4.2.1.13 and RFC 2585 §4.2.
const PKIX_CRL: &str = "application/pkix-crl";

/// One list. Its signature is for whoever verifies a certificate; nothing of it is looked at here.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Segment(name): Segment,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let dir = app.config.crls.clone().ok_or(Code::CrlUnknown)?;
    let (shards, list) = name.split_once('/').ok_or(Code::CrlUnknown)?;
    let shards = number(shards).filter(|shards| *shards <= MAX_SHARDS).ok_or(Code::CrlUnknown)?;
    let shard = list.strip_suffix(".crl").and_then(number).filter(|shard| *shard < shards);
    let shard = shard.ok_or(Code::CrlUnknown)?;
    let bytes = away(move || {
        let file = dir.join(shards.to_string()).join(format!("{shard}.crl"));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(file).map_err(|_| Code::CrlUnknown)?;
        file.take(MAX_CRL_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|_| Code::CrlUnknown)?;
        if bytes.len() > MAX_CRL_BYTES { Err(Code::CrlUnknown.into()) } else { Ok(bytes) }
    });
    Ok(document(&headers, &Document::new(bytes.await?), PKIX_CRL, REVALIDATE))
}

/// A number in its one decimal form.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}
