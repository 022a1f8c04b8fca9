//! Texts of one list of parts, which readers join into one text.

use crate::model::Message;

/// The texts of one list of parts: two or more, none of them empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedTexts<'j> {
    /// The texts, in the order of the list; also those that are no instance, since they repeat what is judged elsewhere.
    pub texts: Vec<&'j str>,
    /// The index in [`Message::instances`] of the last text that is an instance.
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

    /// Ends the list. Texts without an instance among them are judged elsewhere.
    pub fn finish(self, out: &mut Message<'j>) {
        if let (Some(last), 2..) = (self.last, self.texts.len()) {
            out.joined_texts.push(JoinedTexts { texts: self.texts, last });
        }
    }
}
