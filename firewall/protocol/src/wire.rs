//! The protobuf wire format, read so that no two readers can differ: one spelling of each number, and nothing that proto3 does
//! not have. Written in the same spelling.

/// The highest number that a field can have.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// A fault of bytes, in words that quote none of them.
pub(crate) type Wrong = &'static str;

/// The payload of one field.
#[derive(Clone, Copy)]
pub(crate) enum Raw<'b> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'b [u8]),
    Fixed32,
}

/// A reader over the fields of one message.
pub(crate) struct Wire<'b>(pub &'b [u8]);

impl<'b> Wire<'b> {
    /// The next field with its number, `None` at the end.
    pub fn field(&mut self) -> Result<Option<(u32, Raw<'b>)>, Wrong> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(u32::MAX);
        if number == 0 || u64::from(number) > MAX_FIELD {
            return Err("has a field with an impossible number");
        }
        let raw = match tag & 7 {
            0 => Raw::Varint(self.varint()?),
            1 => Raw::Fixed64(self.fixed64()?),
            2 => Raw::Bytes(self.bytes()?),
            3 | 4 => return Err("has a group, which this protocol does not use"),
            5 => {
                self.take(4)?;
                Raw::Fixed32
            }
            _ => return Err("has a field of a wire type that does not exist"),
        };
        Ok(Some((number, raw)))
    }

    /// A number in its one shortest spelling: readers differ on longer ones (some cut, some refuse).
    fn varint(&mut self) -> Result<u64, Wrong> {
        let mut value = 0_u64;
        for (n, byte) in self.0.iter().copied().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if n == 9 && bits > 1 {
                return Err("has a number of more than 64 bits");
            }
            value |= bits << (7 * n);
            if byte & 0x80 == 0 {
                if byte == 0 && n > 0 {
                    return Err("has a number in a longer form than necessary");
                }
                self.0 = self.0.get(n + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(if self.0.len() < 10 { CUT } else { "has a number of more than 64 bits" })
    }

    fn fixed64(&mut self) -> Result<u64, Wrong> {
        let bytes = self.take(8)?;
        <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes).map_err(|_| CUT)
    }

    fn bytes(&mut self) -> Result<&'b [u8], Wrong> {
        let len = usize::try_from(self.varint()?).map_err(|_| CUT)?;
        self.take(len)
    }

    fn take(&mut self, len: usize) -> Result<&'b [u8], Wrong> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }
}

const CUT: Wrong = "ends in the middle of a field";

/// A 32-bit number. `None` for a number that fits only when it is cut.
pub(crate) fn int32(varint: u64) -> Option<i32> {
    i32::try_from(varint.cast_signed()).ok()
}

const VARINT: u8 = 0;
const BYTES: u8 = 2;

/// Writes the tag of a field: its number and wire type.
pub(crate) fn tag(number: u32, wire: u8, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | u64::from(wire), out);
}

/// Writes a field of text, bytes or a message.
pub(crate) fn bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    tag(number, BYTES, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Writes a field with a number.
pub(crate) fn varint_field(number: u32, value: u64, out: &mut Vec<u8>) {
    tag(number, VARINT, out);
    varint(value, out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}
