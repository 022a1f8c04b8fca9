//! The third judge: certtool of GnuTLS. It has no time of its own to be told, so it is told another time of day by libfaketime.

use super::openssl::{Theirs, pem};
use super::{Case, Openssl};
use crate::{Usage, crl_pem};
use std::process::Command;

const LISTS: &str = "certtool looks serial numbers up; it checks no list's presence, issuer, scope or expiry";

const CRITICAL: &str = "RFC 5280 forbids this extension to be critical; certtool does not check";

/// Cases in which certtool says the opposite of us although openssl agrees, and why.
pub(super) const DIFFERS: &[(&str, &str)] = &[
    ("a leaf with keyCertSign", "certtool accepts keyCertSign in a leaf"),
    ("an agent leaf of any usage", "certtool accepts anyExtendedKeyUsage for every usage"),
    ("a leaf with a critical authority key identifier", CRITICAL),
    ("an issuer with a critical authority key identifier", CRITICAL),
    ("a root with a critical authority key identifier", CRITICAL),
    ("a leaf with a critical subject key identifier", CRITICAL),
    ("a leaf with critical authority information access", CRITICAL),
    (
        "under an issuer without key usage",
        "RFC 5280 §4.2.1.3 requires key usage in an issuer; certtool does not check",
    ),
];

/// Cases in which certtool agrees with us although openssl does not, or although it reads lists so.
pub(super) const AGREES: &[&str] = &[
    "in its last second",
    "with a byte after its end",
    "on the list of another shard alone",
    "an issuer that requires an explicit policy",
];

/// Why certtool differs in this case, if it does: for the reason of openssl, unless it is one of the above or about lists.
pub(super) fn differs(case: &Case) -> Option<&'static str> {
    if AGREES.contains(&case.name) {
        return None;
    }
    let of_lists = matches!(case.ours, "revocation_unknown" | "crl_expired" | "crl_invalid");
    let also = DIFFERS.iter().find(|(name, _)| *name == case.name).map(|(_, why)| *why);
    let openssl = match case.openssl {
        Openssl::Differs(why) => Some(why),
        Openssl::Agrees => None,
    };
    also.or(of_lists.then_some(LISTS)).or(openssl)
}

/// `FAKETIME_FMT=%s faketime -f T certtool --verify --load-ca-certificate roots [--load-crl lists] [--verify-purpose oid] --infile chain`.
pub(super) fn verify(case: &Case) -> Theirs {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut command = Command::new("faketime");
    // a clock that stands: one that goes on from there is past the second in question on a busy machine
    command.env("FAKETIME_FMT", "%s").arg("-f").arg(case.at.to_string());
    command.args(["certtool", "--verify", "--load-ca-certificate"]);
    command.arg(file("roots.pem", pem(&case.roots)));
    if case.crls.as_ref().is_some_and(|lists| !lists.is_empty()) {
        let lists = case.crls.iter().flatten().map(|der| crl_pem(der)).collect::<String>();
        command.arg("--load-crl").arg(file("lists.pem", lists));
    }
    if matches!(case.usage, Usage::Server | Usage::Agent) {
        command.arg("--verify-purpose").arg(case.usage.oid());
    }
    command.arg("--infile").arg(file("chain.pem", pem(&case.chain)));
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test needs certtool and faketime, which `apt-get install gnutls-bin faketime` brings: {error}")
    });
    let printed = [output.stdout, output.stderr].concat();
    Theirs { accepted: output.status.success(), output: String::from_utf8_lossy(&printed).into_owned() }
}
