//! Zstd dictionaries of routes for IAC agents.

use bytes::Bytes;
use semgate_contexts::Digest;
use semgate_protocol::iac::Dictionaries;

use crate::config::ZstdDictionary;
use crate::fault::RunFault;
use crate::server::pem_files::fault;

const WHAT: &str = "dictionary";

/// Reads the dictionaries of a route.
///
/// # Errors
/// The file is unreadable, has another digest than the configuration pins, is no zstd dictionary, or has the id of another.
pub(crate) fn load(pinned: &[ZstdDictionary]) -> Result<Dictionaries, RunFault> {
    let mut all = Dictionaries::default();
    for ZstdDictionary { file, digest } in pinned {
        let bytes = std::fs::read(file).map_err(|why| fault(file, WHAT, &why))?;
        let real = Digest::of(&bytes);
        if real != *digest {
            return Err(fault(file, WHAT, &format!("its digest is `{real}`, and `{digest}` is pinned")));
        }
        all.add(Bytes::from(bytes)).map_err(|why| fault(file, WHAT, &why))?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_counts_only_with_its_pinned_digest() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.dict");
        std::fs::write(&file, b"no dictionary").unwrap();
        let why =
            |digest: Digest| load(&[ZstdDictionary { file: file.clone(), digest }]).unwrap_err().to_string();
        assert!(why(Digest::of(b"another")).contains("is pinned"));
        assert!(why(Digest::of(b"no dictionary")).contains("is no zstd dictionary"));
        assert!(load(&[]).is_ok());
    }
}
