//! A policy directory as text, before anything in it is judged.

mod located;
mod strays;

pub(crate) use strays::spelt_out;

use std::borrow::Cow;
use std::path::Path;

use semgate_contexts::Digest;

pub use located::Located;

use crate::parse::location;
use crate::{PolicyFault, PolicyLimits};

/// The one file of a set that holds no policies and that no set is without.
const ENTITIES: &str = "entities.json";
/// The one file of a set that it may be without.
const LIMITS: &str = "limits.json";

/// The content of a policy directory: every `*.cedar` file by name, `entities.json`, and `limits.json` if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicySource {
    /// File name and text of each `*.cedar` file, sorted by name.
    pub files: Vec<(String, String)>,
    /// The bytes of `entities.json`.
    pub entities: Vec<u8>,
    /// The bytes of `limits.json`.
    pub limits: Option<Vec<u8>>,
}

impl PolicySource {
    /// Reads the directory, not its subdirectories: `*.cedar`, `entities.json` and, if it is there, `limits.json`; other names are left
    /// alone ([`PolicySource::strays`]).
    ///
    /// # Errors
    /// A directory or file that cannot be read (a missing `entities.json` too), that is not a regular file or lies, links followed, in another directory
    /// than the others ([`PolicySource::located`]), that is not UTF-8, that passes a bound of
    /// [`PolicyLimits::default`], or whose name is nearly one of a set ([`PolicyFault::NearlyNamed`]). An empty directory is not refused here but by
    /// [`Policies::load`](crate::Policies::load).
    pub fn read_dir(dir: &Path) -> Result<Self, PolicyFault> {
        Self::read_dir_within(dir, &PolicyLimits::default())
    }

    /// Like [`PolicySource::read_dir`], within other bounds.
    ///
    /// # Errors
    /// As [`PolicySource::read_dir`].
    pub fn read_dir_within(dir: &Path, limits: &PolicyLimits) -> Result<Self, PolicyFault> {
        let mut contents = Vec::new();
        for Located { name, path, .. } in Self::located(dir, limits)? {
            let bytes = read_at_most(&path, Self::limit_of(&name, limits), &name)?;
            contents.push((name, bytes));
        }
        Self::of(contents, limits)
    }

    /// Opens a file and waits for nobody: where a pipe without a writer was put in its place since it was looked at, an open that waits
    /// would hold up whoever reads. What was opened may be anything, so its type is to be looked at before it is read.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<std::fs::File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let at_once = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(std::io::Error::other)?;
        std::fs::File::options().read(true).custom_flags(at_once).open(path)
    }

    /// Returns true if a file of this name is one of a set: `entities.json`, `limits.json`, or what a shell takes for `*.cedar`, so that an editor's
    /// lock or copy, which begins with a dot, is none.
    #[must_use]
    pub fn takes(name: &str) -> bool {
        name == ENTITIES || name == LIMITS || (!name.starts_with('.') && name.ends_with(".cedar"))
    }

    /// The most bytes that a file of this name may have.
    #[must_use]
    pub fn limit_of(name: &str, limits: &PolicyLimits) -> usize {
        if name == ENTITIES { limits.max_entities_bytes } else { limits.max_file_bytes }
    }

    /// The names in a directory that are of a set, sorted; `entities.json` always, so that whoever reads finds out that it is not there.
    ///
    /// # Errors
    /// The directory cannot be read, or holds more than [`PolicyLimits::max_files`] policy files, one whose name is not UTF-8, or a
    /// file whose name is nearly one of a set.
    pub fn names(dir: &Path, limits: &PolicyLimits) -> Result<Vec<String>, PolicyFault> {
        let (mut names, mut policies) = (vec![ENTITIES.to_owned()], 0);
        for entry in std::fs::read_dir(dir).map_err(|e| unreadable(dir, &e))? {
            let name = entry.map_err(|e| unreadable(dir, &e))?.file_name();
            let Some(name) = name.to_str() else {
                if name.as_encoded_bytes().ends_with(b".cedar") && !name.as_encoded_bytes().starts_with(b".")
                {
                    return Err(unreadable(&dir.join(&name), &"the file name is not UTF-8"));
                }
                continue;
            };
            if let Some(meant) = strays::nearly(name).filter(|_| !dir.join(name).is_dir()) {
                return Err(PolicyFault::NearlyNamed { name: name.to_owned(), meant });
            }
            if name == ENTITIES || !Self::takes(name) {
                continue;
            }
            policies += usize::from(name != LIMITS);
            names.push(name.to_owned());
            too_many(policies, limits)?;
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A set of these files, by name; each name is there once.
    ///
    /// # Errors
    /// A name that [`takes`](Self::takes) refuses or that is present twice, no `entities.json`, a policy file that is not UTF-8, or a
    /// bound that is passed.
    pub fn of(contents: Vec<(String, Vec<u8>)>, limits: &PolicyLimits) -> Result<Self, PolicyFault> {
        let mut source = Self::default();
        let mut entities = None;
        for (name, bytes) in contents {
            let fault = |why: &dyn std::fmt::Display| unreadable(Path::new(&name), why);
            let limit = Self::limit_of(&name, limits);
            if bytes.len() > limit {
                return Err(PolicyFault::TooLarge { what: format!("bytes of `{name}`"), limit });
            }
            if !Self::takes(&name) || name.contains('/') {
                return Err(fault(&"not the name of a policy file"));
            }
            let twice = match name.as_str() {
                ENTITIES => entities.replace(bytes).is_some(),
                LIMITS => source.limits.replace(bytes).is_some(),
                _ => {
                    let text = String::from_utf8(bytes).map_err(|why| not_utf8(&name, &why))?;
                    let twice = source.files.iter().any(|(known, _)| *known == name);
                    source.files.push((name.clone(), text));
                    twice
                }
            };
            if twice {
                return Err(fault(&"a second file of this name"));
            }
            too_many(source.files.len(), limits)?;
        }
        source.files.sort();
        source.entities = entities.ok_or_else(|| unreadable(Path::new(ENTITIES), &"there is none"))?;
        Ok(source)
    }

    /// Name and bytes of every file of the set, sorted by name: what [`of`](Self::of) makes the same set of.
    #[must_use]
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        let limits = self.limits.iter().map(|bytes| (LIMITS.to_owned(), bytes.clone()));
        let mut contents: Vec<_> =
            files.chain([(ENTITIES.to_owned(), self.entities.clone())]).chain(limits).collect();
        contents.sort();
        contents
    }

    /// SHA-256 over name, length and bytes of every policy file, of `entities.json`, and of `limits.json` if there is one, as
    /// `docs/reference/policy.md` says.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let entities = (ENTITIES, self.entities.as_slice());
        let limits = self.limits.as_deref().map(|bytes| (LIMITS, bytes));
        let files = self.files.iter().map(|(n, t)| (n.as_str(), t.as_bytes()));
        let parts = files.chain([entities]).chain(limits).flat_map(|(name, content)| {
            let head = Cow::Owned(format!("{name}\n{}\n", content.len()).into_bytes());
            [head, Cow::Borrowed(content)]
        });
        Digest::of_parts(parts)
    }

    /// The policies and agents shipped with the program: the paper's three policies and the agents of the demo.
    #[must_use]
    pub fn shipped() -> Self {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        Self {
            files: vec![
                text("ambiguity.cedar", include_str!("../../rules/ambiguity.cedar")),
                text("devops.cedar", include_str!("../../rules/devops.cedar")),
                text("free-text.cedar", include_str!("../../rules/free-text.cedar")),
                text("handshake.cedar", include_str!("../../rules/handshake.cedar")),
                text("ldp.cedar", include_str!("../../rules/ldp.cedar")),
                text("lines.cedar", include_str!("../../rules/lines.cedar")),
                text("payment.cedar", include_str!("../../rules/payment.cedar")),
                text("people.cedar", include_str!("../../rules/people.cedar")),
                text("protocols.cedar", include_str!("../../rules/protocols.cedar")),
                text("sstp.cedar", include_str!("../../rules/sstp.cedar")),
                text("supply-chain.cedar", include_str!("../../rules/supply-chain.cedar")),
            ],
            entities: include_bytes!("../../rules/entities.json").to_vec(),
            limits: None,
        }
    }
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> PolicyFault {
    PolicyFault::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

/// Where a file is not UTF-8: another program wrote it, or saved it in an encoding of its own.
fn not_utf8(name: &str, why: &std::string::FromUtf8Error) -> PolicyFault {
    let upto = why.utf8_error().valid_up_to();
    let bytes = why.as_bytes();
    let before = bytes.get(..upto).unwrap_or_default();
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "save the file as UTF-8 and not as UTF-16",
        _ => "save the file as UTF-8",
    };
    let byte = bytes.get(upto).copied().unwrap_or_default();
    PolicyFault::Syntax {
        location: location(name, &String::from_utf8_lossy(before), before.len()),
        why: format!("byte 0x{byte:02x} is not UTF-8 ({hint})"),
    }
}

fn too_many(files: usize, limits: &PolicyLimits) -> Result<(), PolicyFault> {
    if files > limits.max_files {
        return Err(PolicyFault::TooLarge { what: "policy files".to_owned(), limit: limits.max_files });
    }
    Ok(())
}

/// Reads a file, refusing more than `limit` bytes before they are all in memory.
fn read_at_most(path: &Path, limit: usize, what: &str) -> Result<Vec<u8>, PolicyFault> {
    use std::io::Read as _;
    let fault = |e: std::io::Error| unreadable(path, &e);
    let mut bytes = Vec::new();
    let file = PolicySource::open(path).map_err(fault)?;
    if !file.metadata().map_err(fault)?.is_file() {
        return Err(unreadable(path, &"not a regular file"));
    }
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() > limit {
        return Err(PolicyFault::TooLarge { what: format!("bytes of `{what}`"), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
