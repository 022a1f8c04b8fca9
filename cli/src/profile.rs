//! The authority that commands ask where no flag names one: by variables, or by a profile of `semgate use`.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_statement::LogVerifier;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::{Doing, Fault};
use crate::system::{read, read_roots, replace, unwritable};
use crate::terminal::print_members;

/// The profile of `use` without `--name`.
const USUAL: &str = "default";
/// The file with the name of the profile in use.
const SELECTED: &str = "selected";

/// An authority, and how its answers are verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its address.
    pub authority: String,
    /// PEM roots, as an absolute path.
    pub roots: PathBuf,
    /// The verifier key of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_key: Option<String>,
    /// PEM chain of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM key of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

/// Remember an authority for the commands after this one; alone, show the one in use
#[derive(Debug, Args)]
pub struct Use {
    /// The authority's address; without it, `--name` selects an older profile
    #[arg(value_name = "URL", requires = "roots")]
    authority: Option<String>,
    /// PEM roots of the authority
    #[arg(long, requires = "authority")]
    roots: Option<PathBuf>,
    /// The verifier key of its log, `origin+id+key`
    #[arg(long, value_name = "VKEY", requires = "authority")]
    log_key: Option<String>,
    /// PEM chain of the caller
    #[arg(long, requires_all = ["key", "authority"])]
    cert: Option<PathBuf>,
    /// PEM key of the caller
    #[arg(long, requires = "cert")]
    key: Option<PathBuf>,
    /// Name of the profile
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Use none any longer; profiles stay
    #[arg(long, conflicts_with_all = ["authority", "name"])]
    none: bool,
}

impl Use {
    /// Writes or selects a profile.
    ///
    /// # Errors
    /// Roots or key cannot be read, or there is no such profile.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        if self.none {
            return self.unselect();
        }
        let Some(url) = &self.authority else {
            return match &self.name {
                Some(name) => select(name, &load(name)?, json),
                None => show(json),
            };
        };
        let roots = self.roots.as_deref().unwrap_or(Path::new(""));
        read_roots(roots)?;
        if let Some(key) = &self.log_key {
            LogVerifier::parse(key.trim())
                .hinted("`--log-key`", "the authority's operator has it in `log.pub`")?;
        }
        let whole = |path: &Path| fs::canonicalize(path).doing(format_args!("`{}`", path.display()));
        let profile = Profile {
            authority: url.trim_end_matches('/').to_owned(),
            roots: whole(roots)?,
            log_key: self.log_key.as_ref().map(|key| key.trim().to_owned()),
            cert: self.cert.as_deref().map(whole).transpose()?,
            key: self.key.as_deref().map(whole).transpose()?,
        };
        let name = self.name.as_deref().unwrap_or(USUAL);
        write(&file(name)?, &toml::to_string(&profile).doing("profile")?)?;
        select(name, &profile, json)
    }

    fn unselect(&self) -> Result<u8, Fault> {
        let selected = directory()?.join(SELECTED);
        match fs::remove_file(&selected) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(unwritable(&selected, &why)),
            _ => Ok(0),
        }
    }
}

/// The authority of the environment: of variables first, then of the profile in use. None without either.
///
/// # Errors
/// A named profile does not exist, or a variable lacks its companion.
pub fn known() -> Result<Option<Profile>, Fault> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let profile = match variable("SEMGATE_PROFILE") {
        Some(name) => Some(load(&name)?),
        None => selected()?.map(|name| load(&name)).transpose()?,
    };
    let (roots, log_key) = (variable("SEMGATE_ROOTS").map(PathBuf::from), variable("SEMGATE_LOG_KEY"));
    let Some(url) = variable("SEMGATE_AUTHORITY") else {
        return Ok(profile.map(|profile| Profile {
            roots: roots.unwrap_or(profile.roots),
            log_key: log_key.or(profile.log_key),
            ..profile
        }));
    };
    let authority = url.trim_end_matches('/').to_owned();
    // the keys of another authority would verify nothing of this one
    let same = profile.filter(|profile| profile.authority == authority);
    let roots = roots.or_else(|| same.as_ref().map(|same| same.roots.clone())).ok_or_else(|| {
        Fault::new("`SEMGATE_AUTHORITY` names an authority without roots")
            .hint("set `SEMGATE_ROOTS` too")
            .status(2)
    })?;
    let log_key = log_key.or_else(|| same.as_ref()?.log_key.clone());
    let (cert, key) = same.map_or((None, None), |same| (same.cert, same.key));
    Ok(Some(Profile { authority, roots, log_key, cert, key }))
}

/// The profile of this address, if it is the one known.
///
/// # Errors
/// As [`known`].
pub fn of(url: &str) -> Result<Option<Profile>, Fault> {
    Ok(known()?.filter(|profile| profile.authority == url.trim_end_matches('/')))
}

fn directory() -> Result<PathBuf, Fault> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let config =
        config.ok_or_else(|| Fault::new("no home directory is known").hint("set `XDG_CONFIG_HOME`"))?;
    Ok(config.join("semgate"))
}

fn file(name: &str) -> Result<PathBuf, Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || name == SELECTED || !name.chars().all(plain) {
        return Err(Fault::new(format_args!("`{name}` is no name for a profile"))
            .hint("letters, digits, `-`, `_` and `.`")
            .status(2));
    }
    Ok(directory()?.join(format!("{name}.toml")))
}

fn load(name: &str) -> Result<Profile, Fault> {
    let file = file(name)?;
    if !file.exists() {
        return Err(Fault::new(format_args!("there is no profile `{name}`"))
            .hint("`semgate use URL --roots FILE --name NAME` makes one; `SEMGATE_PROFILE` names one"));
    }
    toml::from_str(&read(&file)?)
        .hinted(format_args!("`{}`", file.display()), "write it again with `semgate use`")
}

fn selected() -> Result<Option<String>, Fault> {
    let Ok(directory) = directory() else { return Ok(None) };
    let selected = directory.join(SELECTED);
    if selected.exists() { Ok(Some(read(&selected)?.trim().to_owned())) } else { Ok(None) }
}

fn select(name: &str, profile: &Profile, json: bool) -> Result<u8, Fault> {
    write(&directory()?.join(SELECTED), name)?;
    print_members(&json!({"profile": name, "authority": profile.authority, "roots": profile.roots}), json);
    Ok(0)
}

fn show(json: bool) -> Result<u8, Fault> {
    match known()? {
        Some(profile) => print_members(&serde_json::to_value(&profile).doing("profile")?, json),
        None => tell!("none: commands ask the authority of `--dir`, else of `./.semgate`"),
    }
    Ok(0)
}

/// Writes a file for its owner alone.
fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(|why| unwritable(dir, &why))?;
    fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(|why| unwritable(dir, &why))?;
    replace(path, text.as_bytes())?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|why| unwritable(path, &why))
}
