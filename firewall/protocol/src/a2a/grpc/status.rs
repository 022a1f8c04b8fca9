//! `google.rpc.Status`: the error of a call (A2A 1.0 §10.6).

use super::super::AgentError;
use crate::wire::{Raw, Wire, bytes, varint_field};

/// The domain of the errors that A2A defines.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &[u8] = b"type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &[u8] = b"type.googleapis.com/google.rpc.RetryInfo";

/// A `google.rpc.ErrorInfo`.
#[derive(Clone, Copy, Debug)]
pub struct ErrorInfo<'i> {
    /// The error's name, in upper case.
    pub reason: &'i str,
    /// The domain that defines `reason`.
    pub domain: &'i str,
    /// More about it; entries without a value are left out.
    pub metadata: &'i [(&'i str, &'i str)],
}

/// The bytes of a `google.rpc.Status`. With `retry`, a `google.rpc.RetryInfo` gives the whole seconds until the next attempt.
pub fn details(code: u8, message: &str, infos: &[ErrorInfo<'_>], retry: Option<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    varint_field(1, u64::from(code), &mut out);
    bytes(2, message.as_bytes(), &mut out);
    for info in infos {
        let mut inner = Vec::new();
        bytes(1, info.reason.as_bytes(), &mut inner);
        bytes(2, info.domain.as_bytes(), &mut inner);
        for (key, value) in info.metadata.iter().filter(|(_, value)| !value.is_empty()) {
            let mut entry = Vec::new();
            bytes(1, key.as_bytes(), &mut entry);
            bytes(2, value.as_bytes(), &mut entry);
            bytes(3, &entry, &mut inner);
        }
        any(ERROR_INFO, &inner, &mut out);
    }
    if let Some(seconds) = retry {
        let (mut duration, mut inner) = (Vec::new(), Vec::new());
        varint_field(1, seconds, &mut duration);
        bytes(1, &duration, &mut inner);
        any(RETRY_INFO, &inner, &mut out);
    }
    out
}

/// One of the details.
fn any(kind: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let mut any = Vec::new();
    bytes(1, kind, &mut any);
    bytes(2, value, &mut any);
    bytes(3, &any, out);
}

/// The error that an agent means by a status that is not OK, and by its details if any. Keeps nothing but the reason. Details
/// that are unreadable or have no A2A reason name no error; a status names one only without details.
pub fn agent_error(status: u8, details: Option<&[u8]>) -> AgentError {
    let reason = details.map(|details| {
        let info = infos(details).find(|info| info.domain == ERROR_DOMAIN.as_bytes());
        info.and_then(|info| std::str::from_utf8(info.reason).ok()).unwrap_or_default()
    });
    AgentError::of_grpc(status, reason)
}

struct Info<'b> {
    reason: &'b [u8],
    domain: &'b [u8],
}

/// Every `ErrorInfo` in the details, up to the first fault.
fn infos(status: &[u8]) -> impl Iterator<Item = Info<'_>> {
    fields(status).filter_map(|(number, any)| {
        let is_info = number == 3 && field(any, 1) == Some(ERROR_INFO);
        let info = is_info.then(|| field(any, 2))??;
        Some(Info { reason: field(info, 1)?, domain: field(info, 2)? })
    })
}

fn fields(message: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut wire = Wire(message);
    let all = std::iter::from_fn(move || wire.field().ok().flatten());
    all.filter_map(|(number, raw)| if let Raw::Bytes(bytes) = raw { Some((number, bytes)) } else { None })
}

fn field(message: &[u8], wanted: u32) -> Option<&[u8]> {
    fields(message).find(|(number, _)| *number == wanted).map(|(_, bytes)| bytes)
}
