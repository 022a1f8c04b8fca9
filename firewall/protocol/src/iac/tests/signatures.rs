//! Both signed forms, held against vectors that OpenSSL signed and the C library of zstd compressed. Their compressed form has
//! the bytes that `iac-rs` 0.0.8 was seen to send.

use super::*;

/// The public key of the seed `00 01 … 1f`.
const KEY: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";

/// The fields of [`TASK`] up to the ids, in both forms.
const HEAD: &str = "0a0161 120162 1805 220c7b227461736b223a2274227d 28babba9d806 309785c9bad2bb81de66";

/// The signature over the explicit form.
const OVER_EXPLICIT: &str = "0166b417d54fb654a963d2a51d10659cb8ce63f9d0515c5daf870fda6cc2042f\
                             d55cf1100f18ef3535260ad89df89b2983748c523cc27995e86dfdef6aba660b";

/// The signature over the omitted form.
const OVER_OMITTED: &str = "431d00b5e70a42dc7c9534b1c0d18b794cd4b3e52d3bec40808b1cf0507e8de0\
                            89576c0e05aecfbd73c24462a627678fbb7f66aa10b7b98feb26e800cf52920e";

/// The explicit encoding with this signature.
fn explicit(signature: &str) -> Vec<u8> {
    unhex(&format!("{HEAD} 3800 4240{signature} 4a00"))
}

/// The omitted encoding with this signature.
fn omitted(signature: &str) -> Vec<u8> {
    unhex(&format!("{HEAD} 4240{signature}"))
}

fn vector_key() -> [u8; KEY_LEN] {
    unhex(KEY).try_into().unwrap()
}

#[test]
fn iac_signature_in_both_encodings() {
    assert_eq!(TASK.signed(SignedForm::Explicit), unhex(&format!("{HEAD} 3800 4200 4a00")));
    assert_eq!(TASK.signed(SignedForm::Explicit).len(), 44);
    assert_eq!(TASK.signed(SignedForm::Omitted), unhex(HEAD));
    assert_eq!(TASK.signed(SignedForm::Omitted).len(), 38);
    // the form that is signed and the form that is sent are unrelated: agents sign with one encoder and send with another
    for (signature, form) in [(OVER_EXPLICIT, SignedForm::Explicit), (OVER_OMITTED, SignedForm::Omitted)] {
        for sent in [explicit(signature), omitted(signature)] {
            let frame = read(sent.clone()).unwrap();
            assert_eq!(frame.verify(&vector_key()), Some(form));
            assert_eq!(frame.bytes(), &sent);
        }
    }
}

#[test]
fn the_stream_of_the_stock_client_inflates_to_its_message() {
    let stream = unhex(&format!("28b52ffd 00 58 610300 {HEAD} 3800 4240{OVER_EXPLICIT} 4a00"));
    let protobuf = inflate(&stream, &FrameLimits::default()).unwrap();
    assert_eq!(protobuf, explicit(OVER_EXPLICIT));
    let frame = read(protobuf).unwrap();
    assert_eq!((frame.from(), frame.to(), frame.payload()), ("a", "b", r#"{"task":"t"}"#));
    assert_eq!((frame.msg_id(), frame.session_id()), (TASK.msg_id, 0));
    assert_eq!((frame.kind(), frame.timestamp()), (MessageType::DelegateTask, TASK.timestamp));
    // the same with a checksum and a size in the header, as other writers of zstd send it
    let checked = format!("28b52ffd 24 6c 610300 {HEAD} 3800 4240{OVER_EXPLICIT} 4a00 4bd7c83f");
    assert_eq!(inflate(&unhex(&checked), &FrameLimits::default()).unwrap(), explicit(OVER_EXPLICIT));
}

#[test]
fn a_draft_is_signed_as_openssl_signs_it() {
    let seed: Vec<u8> = (0..32).collect();
    let key = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    let draft = Draft {
        from: "a".to_owned(),
        to: "b".to_owned(),
        kind: TASK.kind,
        payload: TASK.payload.to_owned(),
        timestamp: TASK.timestamp,
        msg_id: TASK.msg_id,
        session_id: 0,
        extra: Vec::new(),
    };
    assert_eq!(draft.sign(&key), explicit(OVER_EXPLICIT));
}

#[test]
fn another_key_another_field_and_no_signature_verify_as_nothing() {
    let signed = Fields { signature: &unhex(OVER_EXPLICIT), ..TASK };
    assert_eq!(frame(&signed).verify(&vector_key()), Some(SignedForm::Explicit));
    assert_eq!(frame(&signed).verify(&public(&key(1))), None);
    assert_eq!(frame(&TASK).verify(&vector_key()), None);
    let changed: [(&str, Fields<'_>); 8] = [
        ("from", Fields { from: "c", ..signed }),
        ("to", Fields { to: "c", ..signed }),
        ("msg_type", Fields { kind: MessageType::Terminate, ..signed }),
        ("payload_json", Fields { payload: r#"{"task":"u"}"#, ..signed }),
        ("timestamp", Fields { timestamp: TASK.timestamp + 1, ..signed }),
        ("msg_id", Fields { msg_id: 1, ..signed }),
        ("session_id", Fields { session_id: 1, ..signed }),
        ("extra_data", Fields { extra: b"x", ..signed }),
    ];
    for (field, fields) in changed {
        assert_eq!(frame(&fields).verify(&vector_key()), None, "{field}");
    }
}

#[test]
fn iac_attack_signature_in_another_spelling() {
    // S + L verifies in readers that do not reduce it: the same message would have two signatures, and pass twice
    let signature = unhex(OVER_EXPLICIT);
    let order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut carry = 0_u16;
    let mut spelled = signature.clone();
    for (byte, add) in spelled[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = (sum & 0xff) as u8;
        carry = sum >> 8;
    }
    assert_ne!(spelled, signature);
    assert_eq!(frame(&Fields { signature: &spelled, ..TASK }).verify(&vector_key()), None);
}
