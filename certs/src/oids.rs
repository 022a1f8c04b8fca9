//! Object identifiers as text.

#[cfg(test)]
mod tests;

/// An object identifier in dotted decimals (X.690 §8.19), from its bytes in DER without tag and length. `None` for other
/// bytes, or for a number of more than 128 bits. The longest in use (2.25, made of UUIDs) has 128.
///
/// x509-parser derives the first two numbers from the first byte alone, and would read 2.999.1 as 3.16.55.1.
pub(crate) fn text_of(der: &[u8]) -> Option<String> {
    let mut numbers: Vec<u128> = Vec::new();
    let mut number: Option<u128> = None;
    for byte in der {
        // the shortest form alone (X.690 §8.19.2)
        if number.is_none() && *byte == 0x80 {
            return None;
        }
        let all = number.unwrap_or(0).checked_mul(128)? | u128::from(byte & 0x7f);
        number = (byte & 0x80 != 0).then_some(all);
        if number.is_none() {
            numbers.push(all);
        }
    }
    let (first, rest) = numbers.split_first().filter(|_| number.is_none())?;
    let arc = (first / 40).min(2);
    let texts = [arc, first - arc * 40].into_iter().chain(rest.iter().copied()).map(|n| n.to_string());
    Some(texts.collect::<Vec<_>>().join("."))
}
