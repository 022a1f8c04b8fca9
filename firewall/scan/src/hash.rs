//! MurmurHash3 (x86, 32 bits, seed 0), as the trainer's vectorizer uses it.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

fn mixed(k: u32) -> u32 {
    k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

/// The hash of these bytes.
pub(crate) fn murmur3(bytes: &[u8]) -> u32 {
    let mut h = 0_u32;
    let (blocks, tail) = bytes.as_chunks::<4>();
    for block in blocks {
        h = (h ^ mixed(u32::from_le_bytes(*block))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let k = tail.iter().rev().fold(0_u32, |k, byte| (k << 8) | u32::from(*byte));
        h ^= mixed(k);
    }
    #[allow(clippy::cast_possible_truncation, reason = "the length enters the hash modulo 2^32")]
    let length = bytes.len() as u32;
    h ^= length;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// The bucket of these bytes among a power of two: the absolute value of the signed hash, as the trainer counts them.
pub(crate) fn bucket(bytes: &[u8], mask: u32) -> u32 {
    murmur3(bytes).cast_signed().unsigned_abs() & mask
}

#[cfg(test)]
mod tests {
    use super::murmur3;

    #[test]
    fn the_hash_is_murmur3() {
        // published vectors for seed 0
        assert_eq!(murmur3(b""), 0);
        assert_eq!(murmur3(b"test"), 0xba6b_d213);
        assert_eq!(murmur3(b"Hello, world!"), 0xc036_3e43);
        assert_eq!(murmur3(b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }
}
