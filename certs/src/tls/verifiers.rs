//! `verify_chain` as rustls asks for it.

use super::{ExpectedServer, ServerTrust};
use crate::chain_fault::fault_of;
use crate::peer::bounded;
use crate::verify::verify_chain;
use crate::{ChainFault, PeerFault, PeerRoots, Usage};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};
use std::sync::Arc;
use webpki::EndEntityCert;

/// TLS 1.2 is not among the versions of any configuration, so rustls never asks.
const TLS12: &str = "tls 1.2 is not supported";

/// Judges the certificates of clients by [`PeerRoots::identify`].
#[derive(Debug)]
pub(super) struct Clients {
    roots: Arc<PeerRoots>,
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
    mandatory: bool,
}

impl Clients {
    pub(super) fn required(roots: Arc<PeerRoots>, provider: &CryptoProvider) -> Clients {
        let subjects = roots.roots().flat_map(|roots| &roots.roots);
        let hints = subjects.map(|root| DistinguishedName::in_sequence(&root.anchor.subject)).collect();
        Clients { roots, hints, algorithms: provider.signature_verification_algorithms, mandatory: true }
    }

    pub(super) fn optional(roots: Arc<PeerRoots>, provider: &CryptoProvider) -> Clients {
        Clients { mandatory: false, ..Clients::required(roots, provider) }
    }
}

impl ClientCertVerifier for Clients {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let shown: Vec<_> = std::iter::once(leaf).chain(others).cloned().collect();
        self.roots.identify(&shown, now.as_secs()).map_err(error_of)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _leaf: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General(TLS12.to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, leaf, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Judges the certificates of servers by `verify_chain` and by the expected identity.
#[derive(Debug)]
pub(super) struct Servers {
    trust: ServerTrust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Servers {
    pub(super) fn new(trust: ServerTrust, provider: &CryptoProvider) -> Servers {
        Servers { trust, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Servers {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        dialled: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown: Vec<_> = std::iter::once(leaf).chain(others).cloned().collect();
        let roots = &self.trust.roots;
        let chain = bounded(&shown, roots.limits()).map_err(|fault| error_of(fault.into()))?;
        let verified = verify_chain(&chain, roots, Usage::Server, now.as_secs());
        let verified = verified.map_err(|fault| error_of(fault.into()))?;
        let (named, id) = match &self.trust.expected {
            ExpectedServer::Named => (Some(dialled), None),
            ExpectedServer::Id(id) => (None, Some(id)),
            ExpectedServer::NamedWithId(id) => (Some(dialled), Some(id)),
        };
        if let Some(name) = named {
            let end = EndEntityCert::try_from(leaf).map_err(|error| error_of(fault_of(&error).into()))?;
            let fits = end.verify_is_valid_for_subject_name(name);
            fits.map_err(|_| Error::InvalidCertificate(CertificateError::NotValidForName))?;
        }
        match id {
            Some(id) if *id != verified.spiffe().map_err(error_of)? => Err(error_of(PeerFault::OtherId)),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _leaf: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General(TLS12.to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, leaf, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Our reason as a rustls error: the fitting alert where TLS has one, else our own words.
fn error_of(fault: PeerFault) -> Error {
    let error = match fault {
        PeerFault::Chain(ChainFault::Expired) => CertificateError::Expired,
        PeerFault::Chain(ChainFault::NotYetValid) => CertificateError::NotValidYet,
        PeerFault::Chain(ChainFault::UnknownIssuer) => CertificateError::UnknownIssuer,
        PeerFault::Chain(ChainFault::BadSignature) => CertificateError::BadSignature,
        PeerFault::Chain(ChainFault::WrongUsage) => CertificateError::InvalidPurpose,
        PeerFault::Chain(ChainFault::Revoked) => CertificateError::Revoked,
        PeerFault::Chain(ChainFault::Malformed) => CertificateError::BadEncoding,
        other => CertificateError::Other(OtherError(Arc::new(other))),
    };
    Error::InvalidCertificate(error)
}
