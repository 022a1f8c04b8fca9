//! A policy directory as text, before anything in it is judged.

use std::path::Path;

use crate::{PolicyFault, PolicyLimits};

/// The content of a policy directory: every `*.cedar` file by name, and `entities.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicySource {
    /// File name and text of each `*.cedar` file, sorted by name.
    pub files: Vec<(String, String)>,
    /// The bytes of `entities.json`.
    pub entities: Vec<u8>,
}

impl PolicySource {
    /// Reads the directory, not its subdirectories: `*.cedar` and `entities.json`; other names are left alone.
    ///
    /// # Errors
    /// A directory or file that cannot be read (a missing `entities.json` too), that is not UTF-8, or that passes a
    /// bound of [`PolicyLimits::default`]. An empty directory is not refused here but by
    /// [`Policies::load`](crate::Policies::load).
    pub fn read_dir(dir: &Path) -> Result<Self, PolicyFault> {
        Self::read_dir_within(dir, &PolicyLimits::default())
    }

    /// Like [`PolicySource::read_dir`], within other bounds.
    ///
    /// # Errors
    /// As [`PolicySource::read_dir`].
    pub fn read_dir_within(dir: &Path, limits: &PolicyLimits) -> Result<Self, PolicyFault> {
        let unreadable = |path: &Path, why: &dyn std::fmt::Display| PolicyFault::Unreadable {
            path: path.display().to_string(),
            why: why.to_string(),
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|e| unreadable(dir, &e))? {
            let path = entry.map_err(|e| unreadable(dir, &e))?.path();
            // As a shell reads `*.cedar`: what begins with a dot is an editor's lock or copy, not a policy.
            let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if hidden || path.extension().and_then(|e| e.to_str()) != Some("cedar") {
                continue;
            }
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
                return Err(unreadable(&path, &"the file name is not UTF-8"));
            };
            let bytes = read_at_most(&path, limits.max_file_bytes, name)?;
            let text = String::from_utf8(bytes).map_err(|_| unreadable(&path, &"not UTF-8"))?;
            files.push((name.to_owned(), text));
            if files.len() > limits.max_files {
                return Err(PolicyFault::TooLarge {
                    what: "policy files".to_owned(),
                    limit: limits.max_files,
                });
            }
        }
        files.sort();
        let entities = read_at_most(&dir.join("entities.json"), limits.max_entities_bytes, "entities.json")?;
        Ok(Self { files, entities })
    }

    /// The policies and agents shipped with the program: the paper's three policies and the agents of the demo.
    #[must_use]
    pub fn shipped() -> Self {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        Self {
            files: vec![
                text("ambiguity.cedar", include_str!("../rules/ambiguity.cedar")),
                text("free-text.cedar", include_str!("../rules/free-text.cedar")),
                text("handshake.cedar", include_str!("../rules/handshake.cedar")),
                text("lines.cedar", include_str!("../rules/lines.cedar")),
                text("payment.cedar", include_str!("../rules/payment.cedar")),
                text("protocols.cedar", include_str!("../rules/protocols.cedar")),
                text("supply-chain.cedar", include_str!("../rules/supply-chain.cedar")),
            ],
            entities: include_bytes!("../rules/entities.json").to_vec(),
        }
    }
}

/// Reads a file, refusing more than `limit` bytes before they are all in memory.
fn read_at_most(path: &Path, limit: usize, what: &str) -> Result<Vec<u8>, PolicyFault> {
    use std::io::Read as _;
    let unreadable =
        |e: std::io::Error| PolicyFault::Unreadable { path: path.display().to_string(), why: e.to_string() };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .map_err(unreadable)?
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > limit {
        return Err(PolicyFault::TooLarge { what: format!("bytes of `{what}`"), limit });
    }
    Ok(bytes)
}
