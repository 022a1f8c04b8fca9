//! Inflates compressed bodies within limits.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use semgate_inspect::{Code, Delivered, Refusal};

use crate::config::Limits;
use crate::pipeline::admit::headers::Encoding;
use crate::pipeline::gateway_refusals;
use crate::server::account::{Charge, NoRoom};

/// Inflated bytes for each compressed byte: only a bomb approaches deflate's maximum of about 1000.
const RATIO: usize = 100;

/// Size below which the ratio is not checked, since small bodies may compress well.
const RATIO_FROM: usize = 64 * 1024;

/// Bytes inflated between two checks of the limits.
const STEP: usize = 16 * 1024;

/// # Errors
/// `too_large` above the absolute limit or the ratio. `rate_limited` if the agent's account has no room for the inflated
/// body. `malformed` for a damaged stream, or for bytes after its end, such as a second gzip member.
pub(super) fn inflate(
    encoding: Encoding,
    packed: &Bytes,
    limits: &Limits,
    charge: &Charge,
) -> Result<Bytes, Refusal> {
    let (bytes, rest) = match encoding {
        Encoding::Identity => return Ok(packed.clone()),
        Encoding::Gzip => {
            let mut decoder = GzDecoder::new(&packed[..]);
            let bytes = read(&mut decoder, packed.len(), limits, charge)?;
            (bytes, decoder.into_inner())
        }
        Encoding::Deflate => {
            let mut decoder = ZlibDecoder::new(&packed[..]);
            let bytes = read(&mut decoder, packed.len(), limits, charge)?;
            (bytes, decoder.into_inner())
        }
    };
    if !rest.is_empty() {
        return Err(damaged("there are bytes after the end of the compressed body"));
    }
    Ok(Bytes::from(bytes))
}

fn read(
    decoder: &mut impl Read,
    packed: usize,
    limits: &Limits,
    charge: &Charge,
) -> Result<Vec<u8>, Refusal> {
    let ratio = packed.saturating_mul(RATIO);
    let mut out = Vec::new();
    let mut step = vec![0_u8; STEP];
    loop {
        let size = decoder.read(&mut step).map_err(|_| damaged("the compressed body is damaged"))?;
        if size == 0 {
            return Ok(out);
        }
        charge.hold(size).map_err(|NoRoom| gateway_refusals::no_room(Delivered::No))?;
        out.extend_from_slice(step.get(..size).unwrap_or_default());
        if out.len() > limits.body_bytes || (out.len() > RATIO_FROM && out.len() > ratio) {
            return Err(super::too_large(limits.body_bytes));
        }
    }
}

fn damaged(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
        .with_hint("send the body as one gzip or zlib stream, or uncompressed")
}
