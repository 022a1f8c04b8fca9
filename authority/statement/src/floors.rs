//! The floors document: the lowest version of each line that still counts, computed from a log prefix alone.

use crate::format::{FormatFault, Members, is_name, limits, write};
use crate::sha256::sha256;
use semgate_contexts::{Line, Version};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The largest floors document accepted: some ten thousand lines.
pub const MAX_FLOORS_BYTES: usize = 1024 * 1024;

/// The floors of an authority. Its bytes are JCS; the head holds their SHA-256.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FloorsDocument {
    /// The authority that set them.
    pub authority: String,
    /// Lowest version allowed, by line.
    pub floors: BTreeMap<Line, Version>,
}

impl FloorsDocument {
    /// `{authority, floors: [{line, min} … sorted by line]}` in canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let floors: Vec<_> = self
            .floors
            .iter()
            .map(|(line, min)| serde_json::json!({"line": line.as_str(), "min": min.to_string()}))
            .collect();
        write(&serde_json::json!({"authority": self.authority, "floors": floors}))
    }

    /// SHA-256 of the bytes, as heads name it.
    pub fn sha256(&self) -> Result<[u8; 32], FormatFault> {
        Ok(sha256(&self.to_bytes()?))
    }

    /// Reads canonical bytes. Refuses lines out of order or repeated.
    pub fn read(bytes: &[u8]) -> Result<FloorsDocument, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_FLOORS_BYTES))?;
        let members = Members::closed(&json, &["authority", "floors"], &[])?;
        let authority = members.parsed("authority", |text| is_name(text).then(|| text.to_owned()))?;
        let mut floors = BTreeMap::new();
        for item in members.list("floors")? {
            let item = Members::closed(item, &["line", "min"], &[])?;
            let line = item.parsed("line", |text| Line::parse(text).ok())?;
            floors.insert(line, item.parsed("min", |text| Version::parse(text).ok())?);
        }
        let document = FloorsDocument { authority, floors };
        if document.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical);
        }
        Ok(document)
    }
}
