//! `google.rpc.Status`: how a call says what went wrong (A2A 1.0 §10.6).

use super::{
    super::AgentError,
    encode::{bytes, varint_field},
    wire::{Raw, Wire},
};

/// The domain of the errors that A2A defines.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &[u8] = b"type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &[u8] = b"type.googleapis.com/google.rpc.RetryInfo";

/// A `google.rpc.ErrorInfo`.
#[derive(Clone, Copy, Debug)]
pub struct ErrorInfo<'i> {
    /// What went wrong, in upper case.
    pub reason: &'i str,
    /// Whose word `reason` is.
    pub domain: &'i str,
    /// More about it; entries without a value are left out.
    pub metadata: &'i [(&'i str, &'i str)],
}

/// The bytes of a `google.rpc.Status`. Where a call may be tried again after `retry` whole seconds, a `google.rpc.RetryInfo` says so.
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

/// Which error an agent means by a status that is not OK and by its details, if it has any; what it wrote beside the reason is not kept.
/// Details that cannot be read, or have no reason of A2A's, name none: only without details a status speaks for itself.
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
