//! A text that came in pieces, and the ways in which readers join them.

/// Separates two pieces. No UTF-8 text holds this byte, so that a boundary costs one byte, as a blank or a line feed would.
const CUT: u8 = 0xff;

/// The pieces of a text in their order. Empty pieces are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces(Vec<u8>);

impl Pieces {
    /// The text of these pieces.
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut pieces = Self::default();
        texts.into_iter().for_each(|text| pieces.push(text));
        pieces
    }

    /// Appends one piece.
    pub(super) fn push(&mut self, text: &str) {
        if !text.is_empty() {
            if !self.0.is_empty() {
                self.0.push(CUT);
            }
            self.0.extend_from_slice(text.as_bytes());
        }
    }

    /// Bytes, with one for each boundary.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// True where the text has no boundary, so that all readers have the same.
    pub(super) fn is_one(&self) -> bool {
        !self.0.contains(&CUT)
    }

    /// The text of a reader who puts this between all pieces.
    pub(super) fn joined(&self, between: &str) -> String {
        let mut whole = Vec::with_capacity(self.0.len());
        for (n, piece) in self.0.split(|byte| *byte == CUT).enumerate() {
            if n > 0 {
                whole.extend_from_slice(between.as_bytes());
            }
            whole.extend_from_slice(piece);
        }
        // each piece is valid UTF-8, so nothing is lost
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// True for the same words, in whatever pieces.
    pub(super) fn says(&self, other: &Self) -> bool {
        self.words().eq(other.words())
    }

    fn words(&self) -> impl Iterator<Item = u8> {
        self.0.iter().copied().filter(|byte| *byte != CUT)
    }
}

#[cfg(test)]
mod tests;
