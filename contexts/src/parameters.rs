//! Subjects of a question of the control vocabulary (F0-26): the parameters of a context.

use crate::{Context, Field, FieldType, TermKind};

impl Context {
    /// Shows every parameter by its name: each member, at any depth, of a concept or of a task's parameters, and none of its
    /// results. A name that several members have comes several times.
    pub fn each_parameter<'c>(&'c self, mut see: impl FnMut(&'c str, &'c Field)) {
        for term in self.terms() {
            // parameters come before results
            let count = if term.kind() == TermKind::Task { 1 } else { usize::MAX };
            for shape in term.shapes().take(count) {
                each(shape.fields(), &mut see);
            }
        }
    }
}

fn each<'c>(kind: &'c FieldType, see: &mut impl FnMut(&'c str, &'c Field)) {
    match kind.present() {
        FieldType::Record(fields) => {
            for (name, field) in fields {
                see(name, field);
                each(&field.kind, see);
            }
        }
        FieldType::Array(items) => each(items, see),
        _ => {}
    }
}
