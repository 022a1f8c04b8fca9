use super::*;
use semgate_negotiation::{LockFault, NoCommonVersion};

#[test]
fn every_code_of_a_handshake_is_one_of_the_list() {
    let faults = [
        HandshakeFault::TooLarge,
        HandshakeFault::Member("nonce"),
        HandshakeFault::SignerMismatch,
        HandshakeFault::ReceiverMismatch,
        HandshakeFault::Replayed,
        HandshakeFault::NoCommon(NoCommonVersion::Disjoint),
        HandshakeFault::BelowMinimum { floor: semgate_contexts::Version::new(1, 0) },
        HandshakeFault::DigestDiffers,
        HandshakeFault::Busy,
        HandshakeFault::OtherHello,
        HandshakeFault::Lock(LockFault::NoKeys),
        HandshakeFault::Key(semgate_certs::KeyFault::Randomness),
    ];
    for fault in faults {
        let refusal = Refusal::from(fault);
        assert_eq!(refusal.code().as_str(), fault.code());
        assert!(!refusal.hint().is_empty() && refusal.detail() == fault.to_string());
    }
}
