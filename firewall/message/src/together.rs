//! Texts that stand in one list of parts: whoever reads the parts reads them one after the other, as one text.

use crate::model::Message;

/// The texts of one list of parts: two or more, none of them empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together<'j> {
    /// The texts, in the order of the list; also those that are no instance, since they repeat what is judged elsewhere.
    pub texts: Vec<&'j str>,
    /// The place in [`Message::instances`] of the last of them that is one.
    pub last: usize,
}

/// Gathers the texts of one list while its parts are read.
#[derive(Default)]
pub(crate) struct Gathered<'j> {
    texts: Vec<&'j str>,
    last: Option<usize>,
}

impl<'j> Gathered<'j> {
    /// Adds the text of a part that was just read; `before` is how many instances there were before it.
    pub fn add(&mut self, text: &'j str, before: usize, out: &Message<'j>) {
        if text.is_empty() {
            return;
        }
        self.texts.push(text);
        let last = out.instances.len().checked_sub(1);
        self.last = last.filter(|last| *last >= before).or(self.last);
    }

    /// The list is over. Texts of which none is an instance are judged elsewhere.
    pub fn finish(self, out: &mut Message<'j>) {
        if let (Some(last), 2..) = (self.last, self.texts.len()) {
            out.together.push(Together { texts: self.texts, last });
        }
    }
}
