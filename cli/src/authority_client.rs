//! Requests to an authority: who asks, and what its answers mean.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_statement::SigningIdentity;
use serde_json::Value;

use crate::client::{Client, Reply};
use crate::fault::{Doing, Fault};
use crate::profile::{self, Profile};
use crate::system::{read_chain, read_key};
use crate::terminal::print_members;
use crate::up_directory::{UpDirectory, followed};

/// The directory of commands without `--dir`.
pub const DIRECTORY: &str = "./.semgate";

/// The authority and the caller's identity.
#[derive(Debug, Args)]
pub struct AuthorityArgs {
    /// The directory of `semgate up` or `init`; default: the authority of `semgate use`, else `./.semgate`
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The agent of `up.json` that makes the request
    #[arg(long = "as", value_name = "AGENT", default_value = "operator")]
    speaker: String,
    /// Another authority's address; needs `--roots`, and for writing `--cert` and `--key`
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    pub(crate) authority: Option<String>,
    /// PEM roots of that authority
    #[arg(long)]
    roots: Option<PathBuf>,
    /// PEM chain of the publisher, leaf first
    #[arg(long, requires = "key")]
    cert: Option<PathBuf>,
    /// PEM key of the publisher
    #[arg(long, requires = "cert")]
    key: Option<PathBuf>,
}

/// An authority with a client.
pub(crate) struct AuthorityClient {
    pub(crate) client: Client,
    pub(crate) url: String,
    pub(crate) roots: PathBuf,
}

/// The authority that a command asks.
pub(crate) enum Asked {
    /// One that a flag, a variable or a profile names.
    Named(Profile),
    /// That of a directory.
    Directory(UpDirectory),
}

impl AuthorityArgs {
    /// The authority to ask: a flag comes before a variable, before the profile, before `./.semgate`.
    ///
    /// # Errors
    /// A named authority without roots, or no such directory or profile.
    pub(crate) fn asked(&self) -> Result<Asked, Fault> {
        let known = match (&self.authority, &self.dir) {
            (Some(url), _) => Some(self.named(url)?),
            (None, Some(_)) => None,
            (None, None) => profile::known()?,
        };
        let Some(mut known) = known else {
            let dir = self.dir.as_deref().unwrap_or(Path::new(DIRECTORY));
            return Ok(Asked::Directory(UpDirectory::open(dir)?));
        };
        if self.cert.is_some() {
            (known.cert, known.key) = (self.cert.clone(), self.key.clone());
        }
        known.roots = self.roots.clone().unwrap_or(known.roots);
        Ok(Asked::Named(known))
    }

    fn named(&self, url: &str) -> Result<Profile, Fault> {
        if !url.contains("://") {
            return Err(Fault::new("`--authority` is the address of an authority, not its name")
                .hint("give it as `https://host:port`")
                .status(2));
        }
        if let Some(known) = profile::of(url)? {
            return Ok(known);
        }
        let roots = self.roots.clone().ok_or_else(|| {
            Fault::new("`--authority` needs the roots of that authority")
                .hint("give them with `--roots`, or once for all with `semgate use URL --roots FILE`")
                .status(2)
        })?;
        let authority = url.trim_end_matches('/').to_owned();
        Ok(Profile { authority, roots, log_key: None, cert: None, key: None })
    }

    /// The log key in the gateway's configuration of the directory, or of the profile; none for another authority.
    pub(crate) fn log_keys(&self) -> Result<Vec<String>, Fault> {
        match self.asked()? {
            Asked::Named(known) => Ok(known.log_key.into_iter().collect()),
            Asked::Directory(up_dir) => Ok(vec![followed(&up_dir)?.log_key]),
        }
    }

    /// The client certificate for the authority, with its key.
    pub(crate) fn identity(&self) -> Result<SigningIdentity, Fault> {
        let (cert, key) = match (self.asked()?, &self.cert, &self.key) {
            (_, Some(cert), Some(key)) => (cert.clone(), key.clone()),
            (Asked::Directory(up_dir), ..) => {
                let agent = up_dir.agent(&self.speaker)?;
                (up_dir.path(&agent.cert), up_dir.path(&agent.key))
            }
            (Asked::Named(Profile { cert: Some(cert), key: Some(key), .. }), ..) => (cert, key),
            _ => {
                return Err(
                    Fault::new("there is no signer").hint("name your certificate and key: `--cert`, `--key`")
                );
            }
        };
        Ok(SigningIdentity::new(read_key(&key)?, read_chain(&cert)?))
    }

    /// Opens a client for the authority.
    ///
    /// # Errors
    /// A file cannot be read, or there is no such agent.
    pub(crate) fn reach(&self) -> Result<AuthorityClient, Fault> {
        match self.asked()? {
            Asked::Named(known) => {
                let identity = known.cert.as_deref().zip(known.key.as_deref());
                let client = Client::new(&known.roots, identity)?;
                Ok(AuthorityClient { client, url: known.authority, roots: known.roots })
            }
            Asked::Directory(up_dir) => Ok(AuthorityClient {
                client: Client::of_agent(&up_dir, &self.speaker)?,
                url: up_dir.up().authority_url.clone(),
                roots: up_dir.path(&up_dir.up().roots),
            }),
        }
    }
}

impl AuthorityClient {
    /// GET of a path.
    ///
    /// # Errors
    /// No answer; an error status is an answer.
    pub(crate) async fn get(&self, path: &str) -> Result<Reply, Fault> {
        self.client.get(&format!("{}{path}", self.url)).await
    }

    /// POST of a body with its type to a path.
    ///
    /// # Errors
    /// No answer; an error status is an answer.
    pub(crate) async fn post(&self, path: &str, kind: &str, body: Vec<u8>) -> Result<Reply, Fault> {
        self.client.post(&format!("{}{path}", self.url), kind, body).await
    }

    /// POST of JSON to a path.
    ///
    /// # Errors
    /// No answer; an error status is an answer.
    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Result<Reply, Fault> {
        self.post(path, "application/json", body.to_string().into_bytes()).await
    }
}

/// The exit status if a second person must approve first.
const PROPOSED: u8 = 5;

/// Prints the result, or that it waits for a second person.
///
/// # Errors
/// As [`answer`].
pub fn done(reply: &Reply, json: bool) -> Result<u8, Fault> {
    let body = answer(reply)?;
    print_members(&body, json);
    if reply.status != 202 {
        return Ok(0);
    }
    let id = body.get("proposal").and_then(Value::as_str).unwrap_or_default();
    tell!("nothing was done yet: another person must approve it with `semgate authority approve {id}`");
    Ok(PROPOSED)
}

/// The body of a success.
///
/// # Errors
/// The authority's problem document, as a fault with its hint.
pub fn answer(reply: &Reply) -> Result<Value, Fault> {
    if (200..300).contains(&reply.status) {
        return serde_json::from_slice(&reply.body).doing("the authority's answer");
    }
    Err(refused(reply))
}

/// The fault for an answer with another status.
pub fn refused(reply: &Reply) -> Fault {
    let problem: Value = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    let text = |name: &str| problem.get(name).and_then(Value::as_str);
    let detail = text("detail").or_else(|| text("title")).unwrap_or("no reason given");
    let code = text("code").map(|code| format!(" `{code}`")).unwrap_or_default();
    let fault = Fault::new(format_args!("the authority refused with {}{code}: {detail}", reply.status))
        .comparison(problem.get("comparison").filter(|comparison| comparison.is_object()));
    let witness = problem.pointer("/comparison/parts/0/witness");
    match text("hint") {
        Some(hint) if let Some(witness) = witness => fault.hint(format_args!("{witness} shows it; {hint}")),
        Some(hint) => fault.hint(hint),
        None => fault.hint(
            "check that this is the address of an authority; `semgate context list` shows what it publishes",
        ),
    }
}

#[cfg(test)]
mod tests;
