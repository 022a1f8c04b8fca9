//! The proof of publication, stapled to a signed context: made for each request from the public tiles.

use http::{HeaderMap, header};
use semgate_statement::tiles::{TILE_WIDTH, TilePath, TileSource, decode_bundle, inclusion_proof};
use semgate_statement::{Checkpoint, Entry, LogVerifier, Stapled, context, prove_entry};

use super::App;
use super::problem::{Code, Problem};
use super::storage::PublicTiles;

/// Returns true if `Accept` names the media type of stapled contexts with a weight above 0. The weight 0 means "not acceptable" (RFC 9110
/// §12.4.2); other weights do not matter.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    let named = |list: &str| {
        list.split(',').any(|one| {
            let mut members = one.split(';').map(str::trim);
            let is_it = members.next().is_some_and(|of| of.eq_ignore_ascii_case(context::STAPLED_MEDIA_TYPE));
            is_it && !members.any(is_unwanted)
        })
    };
    headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok_and(named))
}

/// Returns true if a parameter is the weight 0.
fn is_unwanted(parameter: &str) -> bool {
    let weight = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, value)| value.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

/// The signed context with the proof that its statement, at `index`, is in the public log.
pub(super) fn stapled(app: &App, signed: Vec<u8>, index: u64) -> Result<Vec<u8>, Problem> {
    let public = app.public();
    let tiles = PublicTiles { app, public: &public };
    let internal = |what: &dyn std::fmt::Display| Problem::new(Code::Internal, what.to_string());
    // The index runs ahead of the head by the time of a commit.
    let bundle = TilePath::entries_holding(index, public.size)
        .ok_or_else(|| Problem::new(Code::Busy, "its statement is not public yet"))?;
    let bytes = tiles.tile(&bundle).ok_or(Code::Internal)?;
    let entries = decode_bundle(&bytes, bundle.width()).map_err(|e| internal(&e))?;
    let within = usize::try_from(index % u64::from(TILE_WIDTH)).map_err(|e| internal(&e))?;
    let entry = *entries.get(within).ok_or(Code::Internal)?;
    let key = Entry::read(entry, &app.config.prefix)
        .map_err(|e| internal(&e))?
        .signed()
        .key()
        .ok_or(Code::Internal)?;
    let chain = app.documents.chain(&key).map_err(|e| internal(&e))?.ok_or(Code::Internal)?;
    let note = std::str::from_utf8(&public.checkpoint.bytes).map_err(|e| internal(&e))?;
    let log = LogVerifier::parse(&app.log_key).map_err(|e| internal(&e))?;
    let checkpoint = Checkpoint::verify(note.as_bytes(), &log, log.name()).map_err(|e| internal(&e))?;
    let hashes =
        inclusion_proof(index, checkpoint.size, checkpoint.root, &tiles).map_err(|e| internal(&e))?;
    let proof = prove_entry(entry, Some(&chain), index, hashes, note).map_err(|e| internal(&e))?;
    Stapled { signed, proof: Some(proof) }.to_bytes().map_err(|e| internal(&e))
}

#[cfg(test)]
mod tests;
