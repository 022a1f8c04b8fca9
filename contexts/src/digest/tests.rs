use super::{Digest, DigestFault};

// FIPS 180-4 example: SHA-256 of "abc".
const ABC: &str = "sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn the_published_vector_has_its_one_text_form() {
    let digest = Digest::of(b"abc");
    assert_eq!(digest.to_string(), ABC);
    assert_eq!(Digest::of_parts(["a", "", "bc"]), digest);
    assert_eq!(Digest::parse(ABC), Ok(digest));
    assert_eq!(Digest::parse_hex(&digest.hex()), Ok(digest));
    assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
}

#[test]
fn every_other_spelling_is_refused_with_its_reason() {
    assert_eq!(Digest::parse(&ABC.to_uppercase()), Err(DigestFault::Scheme));
    assert_eq!(Digest::parse(&ABC.replace("sha-256", "sha256")), Err(DigestFault::Scheme));
    assert_eq!(Digest::parse(&ABC.replace("ba78", "BA78")), Err(DigestFault::Digit));
    assert_eq!(Digest::parse(&ABC.replace("ba78", "ga78")), Err(DigestFault::Digit));
    assert_eq!(Digest::parse(&ABC[..ABC.len() - 1]), Err(DigestFault::Length));
    assert_eq!(Digest::parse(&format!("{ABC}0")), Err(DigestFault::Length));
    assert_eq!(Digest::parse(&format!(" {ABC}")), Err(DigestFault::Scheme));
    assert_eq!(Digest::parse(&ABC.replace("ba78", "é78")), Err(DigestFault::Digit));
    assert_eq!(Digest::parse(&ABC.replace("ba78", "éé")), Err(DigestFault::Digit));
    assert_eq!(Digest::parse(""), Err(DigestFault::Scheme));
}
