//! Findings as files for other tools: SARIF 2.1.0 for reviews of code, JUnit XML for reports of tests.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::fault::{Fault, Finding};
use crate::system::write;

/// Files that a command writes besides its result.
#[derive(Debug, Default, Args)]
pub struct FindingFiles {
    /// Also write what is wrong to this file, as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also write what was checked to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// One check, and what it found wrong.
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its faults; empty if it passed.
    pub findings: Vec<Finding>,
}

impl FindingFiles {
    /// Writes the files of a job that ended with this outcome. `subject` is the directory or file that it judged. A fault
    /// stands for one check more, which failed.
    ///
    /// # Errors
    /// The outcome's own, or that of a file that cannot be written.
    pub fn write(
        &self,
        job: &str,
        subject: &Path,
        mut checks: Vec<Check>,
        outcome: Result<u8, Fault>,
    ) -> Result<u8, Fault> {
        let name = subject.display().to_string();
        match &outcome {
            Err(fault) if fault.findings().is_empty() => {
                checks.push(Check { name, findings: vec![Finding::new(fault.what())] });
            }
            Err(fault) => checks.push(Check { name, findings: fault.findings().to_vec() }),
            Ok(_) if checks.is_empty() => checks.push(Check { name, findings: Vec::new() }),
            Ok(_) => {}
        }
        if let Some(file) = &self.sarif {
            write(file, format!("{:#}\n", sarif(job, subject, &checks)).as_bytes())?;
        }
        if let Some(file) = &self.junit {
            write(file, junit(job, &checks).as_bytes())?;
        }
        outcome
    }
}

/// A log of one run.
fn sarif(job: &str, subject: &Path, checks: &[Check]) -> Value {
    let rule = job.replace(' ', "-");
    let result = |finding: &Finding| {
        let path = if finding.file.is_empty() { subject.to_owned() } else { subject.join(&finding.file) };
        let mut location = json!({"artifactLocation": {"uri": uri(&path)}});
        if let Some(members) = location.as_object_mut().filter(|_| finding.line > 0) {
            let region = json!({"startLine": finding.line, "startColumn": finding.column.max(1)});
            members.insert("region".to_owned(), region);
        }
        json!({
            "ruleId": rule, "level": "error", "message": {"text": finding.message},
            "locations": [{"physicalLocation": location}],
        })
    };
    let results: Vec<Value> = checks.iter().flat_map(|check| &check.findings).map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "semgate", "version": env!("CARGO_PKG_VERSION"),
                "rules": [{"id": rule, "shortDescription": {"text": format!("semgate {job}")}}],
            }},
            "results": results,
        }],
    })
}

/// A path as a reference relative to the working directory, where it lies below (RFC 3986).
fn uri(path: &Path) -> String {
    let below = std::env::current_dir().ok();
    let path = below.as_deref().and_then(|base| path.strip_prefix(base).ok()).unwrap_or(path);
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let text = parts.collect::<PathBuf>().to_string_lossy().into_owned();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let written = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    written.collect()
}

/// A suite with a case for each check.
fn junit(job: &str, checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| !check.findings.is_empty()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">\n",
        xml(job),
        checks.len()
    );
    for check in checks {
        text.push_str(&format!("<testcase classname=\"{}\" name=\"{}\">", xml(job), xml(&check.name)));
        if let Some(first) = check.findings.first() {
            let all: Vec<String> = check.findings.iter().map(|finding| xml(&finding.message)).collect();
            text.push_str(&format!(
                "<failure message=\"{}\">{}</failure>",
                xml(&first.message),
                all.join("\n")
            ));
        }
        text.push_str("</testcase>\n");
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Text for an attribute or an element. XML 1.0 has no control characters but these three.
fn xml(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r'));
    let escaped = kept.map(|c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        other => other.to_string(),
    });
    escaped.collect()
}
