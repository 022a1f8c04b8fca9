use super::*;
use crate::testing::{Keys, MemoryAuthority, START};
use semgate_certs::ChainFault;

fn verify(keys: &Keys, bytes: &[u8], at: u64) -> Result<SignedContext, ContextFault> {
    verify_context(bytes, &keys.roots, at, &Prefix::default(), &DocumentLimits::default())
}

fn context() -> Context {
    MemoryAuthority::context(&MemoryAuthority::document("payment:v1.0", "transfer"))
}

#[test]
fn a_signed_context_gives_back_the_document_and_its_signer() {
    let keys = Keys::new(START - 10);
    let signer = keys.signer(&["travel", "payment"]);
    let bytes = sign_context(&context(), &signer, &keys.random).unwrap();
    let signed = verify(&keys, &bytes, START).unwrap();
    assert_eq!(signed.context().digest(), context().digest());
    assert_eq!(signed.signer(), signer.thumbprint());
}

#[test]
fn a_signer_of_another_line_is_refused() {
    let keys = Keys::new(START - 10);
    for line in ["travel", "payments", "pay", "a.payment"] {
        let bytes = sign_context(&context(), &keys.signer(&[line]), &keys.random).unwrap();
        assert_eq!(verify(&keys, &bytes, START).unwrap_err(), ContextFault::LineNotDelegated, "{line}");
    }
}

#[test]
fn another_usage_is_refused() {
    let keys = Keys::new(START - 10);
    for identity in [&keys.status, &keys.feed] {
        let bytes = sign_context(&context(), identity, &keys.random).unwrap();
        let fault = ContextFault::Jws(JwsFault::Chain(ChainFault::WrongUsage));
        assert_eq!(verify(&keys, &bytes, START).unwrap_err(), fault);
    }
}

#[test]
fn the_chain_is_judged_at_the_time_of_publication() {
    let keys = Keys::new(START - 10);
    let bytes = sign_context(&context(), &keys.signer(&["payment"]), &keys.random).unwrap();
    let expired = ContextFault::Jws(JwsFault::Chain(ChainFault::Expired));
    assert_eq!(verify(&keys, &bytes, START + 31 * 86_400).unwrap_err(), expired);
    assert!(verify(&keys, &bytes, START + 29 * 86_400).is_ok());
}

#[test]
fn a_document_that_is_not_canonical_is_refused_and_never_repaired() {
    let keys = Keys::new(START - 10);
    let signer = keys.signer(&["payment"]);
    let canonical = std::str::from_utf8(context().bytes()).unwrap().to_owned();
    for payload in [canonical.replacen(':', ": ", 1), format!("{canonical}\n")] {
        let bytes = General::sign(payload.as_bytes(), TYPE, &signer, &keys.random).unwrap();
        let fault = verify(&keys, &bytes, START).unwrap_err();
        assert!(matches!(fault, ContextFault::Document(_)), "{fault:?}");
    }
    let bytes = General::sign(canonical.as_bytes(), TYPE, &signer, &keys.random).unwrap();
    assert!(verify(&keys, &bytes, START).is_ok());
}

#[test]
fn a_head_is_no_context() {
    let keys = Keys::new(START - 10);
    let bytes =
        General::sign(context().bytes(), "head+jws", &keys.signer(&["payment"]), &keys.random).unwrap();
    assert_eq!(verify(&keys, &bytes, START).unwrap_err(), ContextFault::Jws(JwsFault::Type));
}
