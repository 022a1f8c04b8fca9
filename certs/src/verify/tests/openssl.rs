//! The second judge: the openssl command.

use super::Case;
use crate::pem::write;
use crate::{Usage, crl_pem};
use std::process::Command;

pub(super) struct Theirs {
    pub(super) accepted: bool,
    pub(super) output: String,
}

/// Certificates in PEM, one after the other.
pub(super) fn pem(certificates: &[rustls_pki_types::CertificateDer<'static>]) -> String {
    certificates.iter().map(|der| write("CERTIFICATE", der)).collect()
}

/// `openssl verify -x509_strict -CAfile roots -untrusted issuing -attime T [-purpose sslserver|sslclient] leaf`.
pub(super) fn verify(case: &Case) -> Theirs {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path
    };
    let (leaf, others) = case.chain.split_at(1);
    let mut command = Command::new("openssl");
    command.args(["verify", "-x509_strict", "-no-CApath", "-no-CAstore"]);
    command.arg("-attime").arg(case.at.to_string());
    match case.usage {
        Usage::Server => drop(command.args(["-purpose", "sslserver"])),
        Usage::Agent => drop(command.args(["-purpose", "sslclient"])),
        // openssl has no purposes for ours.
        Usage::Context | Usage::Status | Usage::Feed | Usage::Log | Usage::Policy => {}
    }
    command.arg("-CAfile").arg(file("roots.pem", pem(&case.roots)));
    if !others.is_empty() {
        command.arg("-untrusted").arg(file("issuing.pem", pem(others)));
    }
    if let Some(lists) = &case.crls {
        // -extended_crl: as RFC 5280 §6.3.3 has it, distribution points included
        command.args(["-crl_check", "-extended_crl"]);
        if !lists.is_empty() {
            let lists = lists.iter().map(|der| crl_pem(der)).collect::<String>();
            command.arg("-CRLfile").arg(file("lists.pem", lists));
        }
    }
    command.arg(file("leaf.pem", pem(leaf)));
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test needs the openssl command, which `apt-get install openssl` brings: {error}")
    });
    let printed = [output.stdout, output.stderr].concat();
    Theirs { accepted: output.status.success(), output: String::from_utf8_lossy(&printed).into_owned() }
}
