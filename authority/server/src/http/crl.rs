//! `GET /v1/crl/{shards}/{n}.crl`, and `GET /v1/crl/issuer.pem`, their issuer: certificate revocation lists as signed by their issuers and
//! placed by the operator. Lists of further issuers lie in directories of their own, `GET /v1/crl/{set}/{shards}/{n}.crl`.

use std::io::Read;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use semgate_certs::{MAX_CRL_BYTES, MAX_SHARDS};

use super::App;
use super::answer::{REVALIDATE, document};
use super::problem::{Code, Problem};
use super::segment::Segment;
use super::storage::run_blocking;
use crate::document::Document;

/// RFC 5280 §4.2.1.13 and RFC 2585 §4.2.
const PKIX_CRL: &str = "application/pkix-crl";
/// RFC 8555 §9.1.
const PEM_CHAIN: &str = "application/pem-certificate-chain";

/// One list, or its issuer's certificate. Signatures are not checked here; verifiers of certificates do that.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Segment(name): Segment,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let dir = app.config.crls.clone().ok_or(Code::CrlUnknown)?;
    let (dir, rest) = match name.split_once('/') {
        Some((set, rest)) if is_set(set) => (dir.join(set), rest),
        _ => (dir, name.as_str()),
    };
    let (file, media_type) = match rest.split_once('/') {
        None if rest == ISSUER => (dir.join(ISSUER), PEM_CHAIN),
        None => return Err(Code::CrlUnknown.into()),
        Some((shards, list)) => {
            let shards = number(shards).filter(|shards| *shards <= MAX_SHARDS).ok_or(Code::CrlUnknown)?;
            let shard = list.strip_suffix(".crl").and_then(number).filter(|shard| *shard < shards);
            let shard = shard.ok_or(Code::CrlUnknown)?;
            (dir.join(shards.to_string()).join(format!("{shard}.crl")), PKIX_CRL)
        }
    };
    let bytes = run_blocking(move || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(file).map_err(|_| Code::CrlUnknown)?;
        file.take(MAX_CRL_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|_| Code::CrlUnknown)?;
        if bytes.len() > MAX_CRL_BYTES { Err(Code::CrlUnknown.into()) } else { Ok(bytes) }
    });
    Ok(document(&headers, &Document::new(bytes.await?), media_type, REVALIDATE))
}

/// The certificate of the issuer of the lists beside it, as `semgate cert crl` writes it.
pub(crate) const ISSUER: &str = "issuer.pem";

/// The name of a directory with the lists of another issuer: a letter first, then letters, digits and `-`, at most 64.
pub(crate) fn is_set(name: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// A number in its one decimal form.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}
