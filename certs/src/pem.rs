//! PEM sections (RFC 7468), read by rustls-pki-types, with bounds and without skipping unknown sections.

use crate::PemFault;
use crate::encoding::to_base64;
use rustls_pki_types::pem::{PemObject, SectionKind};

/// The DER of every section. All must be of one kind. Text between sections, which openssl writes, is ignored.
pub(crate) fn sections(pem: &str, kind: SectionKind, max_bytes: usize) -> Result<Vec<Vec<u8>>, PemFault> {
    if pem.len() > max_bytes {
        return Err(PemFault::TooLarge);
    }
    let mut contents = Vec::new();
    for item in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()) {
        match item {
            Ok((of, der)) if of == kind => contents.push(der),
            Ok(_) => return Err(PemFault::OtherSection),
            Err(_) => return Err(PemFault::Malformed),
        }
    }
    // The reader skips sections with unknown labels. Count them, so that none is overlooked.
    let begun = pem.split(['\n', '\r']).filter(|line| line.starts_with("-----BEGIN ")).count();
    match contents.len() {
        n if n != begun => Err(PemFault::OtherSection),
        0 => Err(PemFault::Empty),
        _ => Ok(contents),
    }
}

/// One section, in lines of 64 characters.
pub(crate) fn write(label: &str, der: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let text = to_base64(der);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at_checked(64).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}
