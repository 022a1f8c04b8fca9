//! `semgate cert show`: the certificates of files, for people and for scripts.

use std::path::PathBuf;

use clap::Args;
use semgate_certs::CertificateSummary;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::fault::{Doing, Fault};
use crate::system::{now, read_chain};

/// Files to show.
#[derive(Debug, Args)]
pub struct Show {
    /// PEM files, each with one certificate or more
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Show {
    /// Shows every certificate of every file. Nothing is verified.
    ///
    /// # Errors
    /// A file or certificate cannot be read.
    pub fn run(&self, json: bool) -> Result<(), Fault> {
        let mut all = Vec::new();
        for file in &self.files {
            for der in read_chain(file)?.certificates() {
                let read = CertificateSummary::read(der).doing(format_args!("`{}`", file.display()))?;
                all.push(members(&file.display().to_string(), &read)?);
            }
        }
        if json {
            out!("{}", Value::Array(all));
            return Ok(());
        }
        for (n, one) in all.iter().enumerate() {
            if n > 0 {
                out!("");
            }
            for (name, value) in one.as_object().into_iter().flatten() {
                if let Some(text) = readable(value) {
                    out!("{name}: {text}");
                }
            }
        }
        Ok(())
    }
}

/// A member for people; none if there is nothing to say.
fn readable(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(readable).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        other => Some(other.to_string()),
    }
}

fn members(file: &str, one: &CertificateSummary) -> Result<Value, Fault> {
    let (names, id) = (one.hosts.iter().cloned(), one.spiffe().map(|id| id.as_str().to_owned()));
    let names: Vec<String> = names.chain(one.addresses.iter().map(ToString::to_string)).collect();
    let usages: Vec<&str> = one.usages.iter().map(|usage| usage.as_str()).collect();
    let others: Vec<&String> = one.uris.iter().filter(|uri| Some(*uri) != id.as_ref()).collect();
    Ok(json!({
        "file": file,
        "subject": one.subject,
        "issuer": one.issuer,
        "kind": if one.is_ca { "issuer" } else { "leaf" },
        "usage": usages,
        "spiffe": id,
        "names": names,
        "uris": others,
        "not_before": date(one.not_before)?,
        "not_after": date(one.not_after)?,
        "days_left": one.days_left(now()),
        "serial": one.serial,
        "x5t#S256": one.thumbprint.to_string(),
    }))
}

fn date(seconds: u64) -> Result<String, Fault> {
    let seconds = i64::try_from(seconds).doing("time")?;
    OffsetDateTime::from_unix_timestamp(seconds).doing("time")?.format(&Rfc3339).doing("time")
}
