//! Human Cards from a directory, one JSON file each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use semgate_approvals::{HumanCard, HumanRegistry};
use tokio::signal::unix::{SignalKind, signal};

use super::Desk;
use super::seal::{CardKey, address, is_sealed};
use crate::config::ApprovalsConfig;
use crate::fault::RunFault;

/// Bytes of a card: a page of text is less.
const MAX_CARD: u64 = 64 * 1024;
/// Time between two looks at the directory. A change counts once it stayed for one more look.
const POLL: Duration = Duration::from_secs(1);

/// Reads every `*.json` of the directory.
///
/// # Errors
/// The file that is unreadable, no card, or whose id, certificate or address another card has. A sealed address that the key
/// does not open.
pub(crate) fn load(settings: &ApprovalsConfig) -> Result<HumanRegistry, RunFault> {
    let key = settings.card_key.as_deref().map(CardKey::open).transpose()?;
    let cards =
        files(&settings.humans)?.into_iter().map(|path| read(&path)).collect::<Result<Vec<_>, _>>()?;
    registry(&settings.humans, cards, key.as_ref())
}

/// The registry of these cards, which keeps sealed addresses sealed.
pub(super) fn registry(
    dir: &Path,
    cards: Vec<HumanCard>,
    key: Option<&CardKey>,
) -> Result<HumanRegistry, RunFault> {
    let twice = |id| fault(dir, &format!("`{id}` has the id, certificate or address of another card"));
    // two sealed values of one address differ, so the opened ones are compared
    let opened = cards.iter().map(|card| opened(card, key).map_err(|why| fault(dir, &why)));
    HumanRegistry::new(opened.collect::<Result<Vec<_>, _>>()?).map_err(twice)?;
    HumanRegistry::new(cards).map_err(twice)
}

fn opened(card: &HumanCard, key: Option<&CardKey>) -> Result<HumanCard, String> {
    let mut opened = card.clone();
    for (channel, value) in &mut opened.endpoints {
        if is_sealed(value) {
            *value = address(key, card, channel).ok_or_else(|| {
                format!("the sealed `{channel}` of `{}` does not open: `approvals.card_key` is missing or another", card.id)
            })?;
        }
    }
    Ok(opened)
}

/// The files of cards, by name.
///
/// # Errors
/// The directory cannot be read.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>, RunFault> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|why| fault(dir, &why))? {
        let path = entry.map_err(|why| fault(dir, &why))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads one card.
///
/// # Errors
/// The file, with line and column where it is no card.
pub(super) fn read(path: &Path) -> Result<HumanCard, RunFault> {
    let size = std::fs::metadata(path).map_err(|why| fault(path, &why))?.len();
    if size > MAX_CARD {
        return Err(fault(path, &"it is larger than a card may be"));
    }
    let text = std::fs::read(path).map_err(|why| fault(path, &why))?;
    serde_json::from_slice(&text).map_err(|why| fault(path, &why))
}

fn fault(path: &Path, why: &dyn std::fmt::Display) -> RunFault {
    RunFault::File { path: path.to_owned(), what: "human card", why: why.to_string() }
}

/// Name, time and size of each card file.
type Stamp = Vec<(OsString, Option<SystemTime>, u64)>;

fn stamp(dir: &Path) -> Stamp {
    let each = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok();
        let (time, size) = data.map_or((None, 0), |data| (data.modified().ok(), data.len()));
        (path.file_name().unwrap_or_default().to_owned(), time, size)
    };
    files(dir).unwrap_or_default().iter().map(each).collect()
}

/// Reads the cards again on SIGHUP, and when files change. Faulty cards change nothing.
pub(crate) async fn follow(desk: Desk, settings: Arc<ApprovalsConfig>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    let (mut live, mut last) = (stamp(&settings.humans), None);
    loop {
        let asked = tokio::select! {
            () = tokio::time::sleep(POLL) => false,
            got = hangup.recv() => got.is_some(),
        };
        let now = stamp(&settings.humans);
        let steady = last.replace(now.clone()).is_some_and(|last| last == now);
        if !asked && (now == live || !steady) {
            continue;
        }
        live = now;
        match load(&settings) {
            Ok(registry) => {
                tracing::info!(cards = registry.cards().count(), "the human cards on disk are in use");
                desk.set_registry(registry);
            }
            Err(why) => tracing::error!(%why, "cannot take the human cards; those before stay in use"),
        }
    }
}
