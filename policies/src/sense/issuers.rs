//! Credentials of tokens that policies ask for, and whether anybody can vouch for them.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::pst::BinaryOp;

use super::compared::is_credentials;
use super::never::{Literally, compared_with};
use super::walk;
use crate::PolicyFault;
use crate::check::{Texts, closest};
use crate::credentials::TOKEN_SPACE;
use crate::parse::Written;

impl Texts<'_> {
    /// Every issuer of tokens that some policy asks for, with the first policy that does.
    pub fn issuers(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for written in self.each() {
            for asked in asked(written) {
                if let Some(issuer) = issuer(&asked.text) {
                    all.entry(issuer.to_owned()).or_insert_with(|| written.id.to_string());
                }
            }
        }
        all
    }

    /// Credentials of issuers that are none of these, so that nobody ever shows them.
    pub fn unknown_issuers(&self, issuers: &BTreeSet<String>) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in self.each() {
            for asked in asked(written) {
                let Some(issuer) = issuer(&asked.text).filter(|issuer| !issuers.contains(*issuer)) else {
                    continue;
                };
                let fault = PolicyFault::UnknownIssuer {
                    place: self.place_of_text(written, &asked),
                    policy: written.id.to_string(),
                    hint: meant(issuer, issuers),
                    credential: asked.text,
                };
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
        faults
    }
}

fn meant(issuer: &str, issuers: &BTreeSet<String>) -> String {
    match closest(issuer, issuers.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if issuers.is_empty() => "the configuration has no `[[credential_issuer]]`".to_owned(),
        None => "its name is `name` of a `[[credential_issuer]]`".to_owned(),
    }
}

/// The issuer in `token:ISSUER:NAME`.
fn issuer(credential: &str) -> Option<&str> {
    credential.strip_prefix(TOKEN_SPACE)?.split_once(':').map(|(issuer, _)| issuer)
}

/// The texts that credentials are compared with.
fn asked(written: &Written) -> Vec<Literally> {
    let mut all = Vec::new();
    walk::of_two(&written.judged, |op, left, right| match op {
        BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny if is_credentials(left) => {
            compared_with(right, &mut all);
        }
        BinaryOp::ContainsAll | BinaryOp::ContainsAny if is_credentials(right) => {
            compared_with(left, &mut all)
        }
        BinaryOp::Eq | BinaryOp::NotEq if is_credentials(left) => compared_with(right, &mut all),
        BinaryOp::Eq | BinaryOp::NotEq if is_credentials(right) => compared_with(left, &mut all),
        _ => {}
    });
    all
}
