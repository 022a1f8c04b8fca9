//! Human Cards from a directory, one JSON file each.

use std::path::Path;

use semgate_approvals::{HumanCard, HumanRegistry};

use crate::fault::RunFault;

/// Bytes of a card: a page of text is less.
const MAX_CARD: u64 = 64 * 1024;

/// Reads every `*.json` of the directory.
///
/// # Errors
/// The file that is unreadable, no card, or whose id, certificate or address another card has.
pub(crate) fn load(dir: &Path) -> Result<HumanRegistry, RunFault> {
    let fault = |path: &Path, why: &dyn std::fmt::Display| RunFault::File {
        path: path.to_owned(),
        what: "human card",
        why: why.to_string(),
    };
    let mut cards = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|why| fault(dir, &why))? {
        let path = entry.map_err(|why| fault(dir, &why))?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let size = std::fs::metadata(&path).map_err(|why| fault(&path, &why))?.len();
        if size > MAX_CARD {
            return Err(fault(&path, &"it is larger than a card may be"));
        }
        let text = std::fs::read(&path).map_err(|why| fault(&path, &why))?;
        cards.push(serde_json::from_slice::<HumanCard>(&text).map_err(|why| fault(&path, &why))?);
    }
    HumanRegistry::new(cards)
        .map_err(|id| fault(dir, &format!("`{id}` has the id, certificate or address of another card")))
}
