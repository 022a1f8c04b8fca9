//! Records of a decision: from the rings of the gateways, and from an audit log once they have left these.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::gateways::{ask_all, read};

/// Bytes at the end of an audit log that are searched: about 100,000 records.
const SEARCHED: u64 = 64 << 20;
/// Records of a decision that are shown. A stream has one for each event.
const MOST: usize = 200;

/// `GET /decisions/{id}` of a gateway.
#[derive(Deserialize)]
struct OfGateway {
    records: Vec<Value>,
}

/// The records of a decision.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Each is one line of an audit log.
    pub(crate) lines: Vec<String>,
    /// True if they come from the audit log, since no gateway keeps them any more.
    pub(crate) is_from_log: bool,
    /// True if there are more than are shown.
    pub(crate) is_cut: bool,
}

/// True for the form of a decision id: 26 characters of base32.
pub(crate) fn is_decision(id: &str) -> bool {
    id.len() == 26 && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

/// Looks a decision up. Gateways that do not answer are left out.
///
/// # Errors
/// The audit log cannot be read.
pub(crate) async fn find(app: &Arc<App>, id: &str) -> io::Result<Records> {
    let path = format!("/decisions/{id}");
    let asked = ask_all(app, |app, at| {
        let path = path.clone();
        async move { read::<OfGateway>(&app, at, &path).await.ok() }
    });
    let kept = asked.await.into_iter().flatten().flat_map(|one| one.records);
    let lines: Vec<String> = kept.map(|record| record.to_string()).collect();
    if let (true, Some(log)) = (lines.is_empty(), app.config.audit.clone()) {
        let id = id.to_owned();
        let searched = tokio::task::spawn_blocking(move || search(&log, &id)).await;
        let lines = searched.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        return Ok(cut(lines, true));
    }
    Ok(cut(lines, false))
}

fn cut(mut lines: Vec<String>, is_from_log: bool) -> Records {
    let is_cut = lines.len() > MOST;
    lines.truncate(MOST);
    Records { lines, is_from_log, is_cut }
}

/// Reads the end of an audit log. Lines that are no records are left out, such as one that a crash cut short.
fn search(log: &Path, id: &str) -> io::Result<Vec<String>> {
    let mut file = File::open(log)?;
    let size = file.seek(SeekFrom::End(0))?;
    let from = size.saturating_sub(SEARCHED);
    file.seek(SeekFrom::Start(from))?;
    let (mut reader, mut line, mut lines) = (BufReader::new(file), Vec::new(), Vec::new());
    let wanted = format!("\"decision_id\":\"{id}\"");
    while reader.read_until(b'\n', &mut line)? > 0 && lines.len() <= MOST {
        let text = std::str::from_utf8(&line).ok().map(str::trim_end);
        lines.extend(text.filter(|text| is_record(text, &wanted)).map(str::to_owned));
        line.clear();
    }
    Ok(lines)
}

/// True for a record of the decision. The text of the member alone could stand within a value.
fn is_record(text: &str, wanted: &str) -> bool {
    #[derive(Deserialize)]
    struct Id {
        decision_id: String,
    }
    text.contains(wanted)
        && serde_json::from_str::<Id>(text)
            .is_ok_and(|id| wanted.contains(&format!("\"{}\"", id.decision_id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const ID: &str = "abcdefghijklmnopqrstuvwxy2";

    #[test]
    fn only_decision_ids_are_looked_up() {
        assert!(is_decision(ID));
        for id in ["", "abc", "ABCDEFGHIJKLMNOPQRSTUVWXY2", "abcdefghijklmnopqrstuvwx/.", &"a".repeat(27)] {
            assert!(!is_decision(id), "{id}");
        }
    }

    #[test]
    fn a_decision_is_found_in_the_log_by_its_member_and_not_by_its_text() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let other = "b".repeat(26);
        let one = format!("{{\"n\":1,\"decision_id\":\"{ID}\"}}");
        let within = format!(
            "{{\"n\":2,\"decision_id\":\"{other}\",\"asked\":{{\"x\":{{\"decision_id\":\"{ID}\"}}}}}}"
        );
        let cut = format!("{{\"n\":3,\"decision_id\":\"{ID}\",");
        let last = format!("{{\"n\":4,\"decision_id\":\"{ID}\"}}");
        write!(file, "{one}\n{within}\n{cut}\n{last}\n").unwrap();
        assert_eq!(search(file.path(), ID).unwrap(), [one, last]);
        assert!(search(file.path(), &"c".repeat(26)).unwrap().is_empty());
        assert!(search(Path::new("/nowhere/audit.jsonl"), ID).is_err());
    }
}
