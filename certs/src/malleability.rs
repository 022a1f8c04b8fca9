//! Twin certificates. An ECDSA signature (r, s) has a twin, (r, n − s), which verifies as well and takes no key to make. So
//! the holder of a certificate has another with the same key and another thumbprint. A statement about a certificate's
//! thumbprint also covers its twin.

/// The order of the group of P-256 (SEC 2, 2.4.2).
const ORDER_256: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
/// The order of the group of P-384 (SEC 2, 2.5.1).
const ORDER_384: [u8; 48] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc7, 0x63, 0x4d, 0x81, 0xf4, 0x37, 0x2d, 0xdf, 0x58, 0x1a,
    0x0d, 0xb2, 0x48, 0xb0, 0xa7, 0x7a, 0xec, 0xec, 0x19, 0x6a, 0xcc, 0xc5, 0x29, 0x73,
];

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// The DER bytes of the twin. None where the signature is no ECDSA signature on P-256 or P-384, the only ones with a twin
/// that verify here.
pub(crate) fn mirrored_signature(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = only_element(SEQUENCE, der)?;
    let (_, after) = next(SEQUENCE, certificate)?;
    let (_, signature) = next(SEQUENCE, after)?;
    let signed = certificate.get(..certificate.len() - signature.len())?;
    let (0, pair) =
        only_element(BIT_STRING, signature)?.split_first().map(|(unused, rest)| (*unused, rest))?
    else {
        return None;
    };
    let (r, s) = next(INTEGER, only_element(SEQUENCE, pair)?)?;
    let other = match r.len().max(s.len()) {
        // `s` with its head of two bytes
        ..=35 => minus(&ORDER_256, only_element(INTEGER, s)?)?,
        _ => minus(&ORDER_384, only_element(INTEGER, s)?)?,
    };
    let pair = wrap(SEQUENCE, &[wrap(INTEGER, r), wrap(INTEGER, &other)].concat());
    let signature = wrap(BIT_STRING, &[&[0], pair.as_slice()].concat());
    Some(wrap(SEQUENCE, &[signed, &signature].concat()))
}

/// `order - s`, as the content of an INTEGER; none unless 0 < s < order.
fn minus(order: &[u8], s: &[u8]) -> Option<Vec<u8>> {
    let start = s.iter().position(|byte| *byte != 0)?;
    let s = s.get(start..)?;
    let pad = order.len().checked_sub(s.len())?;
    let mut borrow = 0_i16;
    let mut digits: Vec<u8> = Vec::with_capacity(order.len());
    let s = std::iter::repeat_n(&0, pad).chain(s);
    for (order, s) in order.iter().rev().zip(s.collect::<Vec<_>>().into_iter().rev()) {
        let digit = i16::from(*order) - i16::from(*s) - borrow;
        borrow = i16::from(digit < 0);
        digits.push(u8::try_from(digit.rem_euclid(256)).ok()?);
    }
    if borrow != 0 {
        return None;
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    // an INTEGER has a sign
    if *digits.last()? & 0x80 != 0 {
        digits.push(0);
    }
    digits.reverse();
    Some(digits)
}

/// The content of an element that is all of the bytes.
fn only_element(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    next(tag, bytes).and_then(|(content, rest)| rest.is_empty().then_some(content))
}

/// The content of the first element, and the bytes behind it.
fn next(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (actual, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    if *actual != tag {
        return None;
    }
    let (length, rest) = match first {
        ..=0x7f => (usize::from(*first), rest),
        0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut out = vec![tag];
    match digits.as_slice() {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        // no certificate is longer than 2^24 bytes
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(u8::MAX));
            out.extend(long);
        }
    }
    out.extend(content);
    out
}
