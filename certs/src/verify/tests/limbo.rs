//! The page's section on x509-limbo, the suite of path validation of the C2SP.

use std::fmt::Write;

/// Test cases that Semgate judges otherwise: their names, the suite's verdict, Semgate's, and why.
const DEVIATIONS: [(&str, &str, &str, &str); 25] = [
    ("`webpki::cn::*` (9)", "refused", "ok", "Semgate reads no common name"),
    (
        "`rfc5280::aki::{leaf,intermediate,cross-signed-root}-missing-aki`, `rfc5280::ski::{intermediate,root}-missing-ski`, \
         `webpki::aki::root-with-aki-*` (5)",
        "refused",
        "ok",
        "key identifiers only help to find a path; the signature decides",
    ),
    (
        "`rfc5280::root-non-critical-basic-constraints`",
        "refused",
        "ok",
        "openssl's configuration made such roots for years; the constraints bind either way",
    ),
    (
        "`rfc5280::nc::permitted-dns-match-noncritical`",
        "refused",
        "ok",
        "the suite's `webpki::nc::permitted-dns-match-noncritical` wants the opposite; the constraints bind either way",
    ),
    (
        "`rfc5280::nc::invalid-dnsname-leading-period`",
        "refused",
        "ok",
        "many issuers write it; it binds as the tree below the name",
    ),
    ("`rfc5280::ca-empty-subject`", "refused", "ok", "names are compared whole; the signature decides"),
    (
        "`rfc5280::san::noncritical-with-empty-subject`, `webpki::san::san-critical-with-nonempty-subject`, \
         `webpki::eku::ee-critical-eku`",
        "refused",
        "ok",
        "names and usages bind whether critical or not",
    ),
    ("`rfc5280::san::underscore-dns`", "refused", "ok", "cluster hosts have such names"),
    (
        "`rfc5280::serial::{zero,too-long}`",
        "refused",
        "ok",
        "serial numbers are only looked up in revocation lists",
    ),
    (
        "`webpki::eku::{ee-anyeku,root-has-eku}`",
        "refused",
        "ok",
        "the requested usage is present; further usages mean nothing in the TLS family",
    ),
    ("`webpki::malformed-aia`", "refused", "ok", "Semgate does not read this extension; it is not critical"),
    (
        "`webpki::san::public-suffix-{multi-label,private-namespace}-wildcard-san`",
        "refused",
        "ok",
        "Semgate has no list of public suffixes; the operator names the servers",
    ),
    ("`pathlen::max-chain-depth-{0,1}-exhausted`", "refused", "ok", "the bound is fixed: four certificates"),
    ("`cve::cve-2024-0567`", "ok", "`too_long`", "the bound is fixed: four certificates"),
    (
        "`webpki::cryptographydotio-chain`, `online::*` with RSA (9)",
        "ok",
        "`unsupported_algorithm`",
        "Semgate has no RSA",
    ),
    ("`online::{google,microsoft}.com`", "ok", "`too_long`", "at most 128 names"),
    (
        "`crl::issuer-no-keyusage-extension`",
        "ok",
        "`wrong_role`",
        "RFC 5280 §4.2.1.3 requires keyCertSign in an issuer",
    ),
    (
        "`rfc5280::ca-as-leaf`, `pathlen::validation-ignores-pathlen-in-leaf`",
        "ok",
        "`wrong_role`",
        "a CA certificate identifies nobody",
    ),
    ("`rfc5280::eku::ee-without-eku`", "ok", "`wrong_usage`", "a leaf must hold its usage"),
    (
        "`rfc5280::nc::nc-permits-email-*` (5)",
        "ok",
        "`name_constraints`",
        "webpki refuses every certificate under a constraint of mail addresses",
    ),
    (
        "`rfc5280::nc::permitted-dn-match`",
        "ok",
        "`name_constraints`",
        "webpki refuses every certificate under a constraint of directory names",
    ),
    (
        "`pathlen::self-issued-certs-pathlen`, `rfc5280::nc::permitted-self-issued`",
        "ok",
        "`bad_signature`",
        "Semgate has no special rules for self-issued issuers",
    ),
    (
        "`rfc5280::unknown-critical-extension-unrelated-root`",
        "ok",
        "`unknown_critical_extension`",
        "an unusable root fails at the start",
    ),
    ("`crl::crlnumber-critical`", "refused", "ok", "the number is read either way"),
    (
        "`crl::issuer-missing-crlsign`",
        "refused",
        "ok",
        "webpki keeps no key usage of a root; holders of lists check cRLSign before they keep a list",
    ),
];

/// The section, as Markdown.
pub(super) fn section() -> String {
    let mut page = String::from(concat!(
        "\n## x509-limbo\n\n",
        "[x509-limbo](https://github.com/C2SP/x509-limbo) (commit 8a2e6f41, without bettertls) has 208 cases of path validation. ",
        "Each was judged for the usage `server` with the name that it expects. Semgate deviates in these.\n",
    ));
    for (suite, verb) in [("refused", "accepts"), ("ok", "refuses")] {
        writeln!(page, "\nSemgate {verb}:\n").unwrap();
        for (cases, _, ours, why) in DEVIATIONS.iter().filter(|(_, wanted, ..)| *wanted == suite) {
            let ours = if *ours == "ok" { String::new() } else { format!(", {ours}") };
            writeln!(page, "- {cases}{ours}: {why}").unwrap();
        }
    }
    page
}
