//! The second judge: the openssl command.

use super::Case;
use crate::Usage;
use crate::pem::write;
use std::process::Command;

pub(super) struct Theirs {
    pub(super) accepted: bool,
    pub(super) output: String,
}

/// `openssl verify -x509_strict -CAfile roots -untrusted issuing -attime T [-purpose sslserver|sslclient] leaf`.
pub(super) fn verify(case: &Case) -> Theirs {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path
    };
    let pem = |certificates: &[rustls_pki_types::CertificateDer<'static>]| {
        certificates.iter().map(|der| write("CERTIFICATE", der)).collect::<String>()
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
    command.arg(file("leaf.pem", pem(leaf)));
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test needs the openssl command, which `apt-get install openssl` brings: {error}")
    });
    let said = [output.stdout, output.stderr].concat();
    Theirs { accepted: output.status.success(), output: String::from_utf8_lossy(&said).into_owned() }
}
