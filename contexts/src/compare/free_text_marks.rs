//! Marks of free text. Policies depend on them, but schemas do not show them.

use std::collections::{BTreeSet, HashSet};

use super::budget::Budget;
use crate::field::FieldType;
use crate::schema::{View, pointer};
use crate::term::Shape;

/// One value, as both documents see it, and its type in the newer one where that is known.
struct Value<'v> {
    old: View<'v>,
    new: View<'v>,
    kind: Option<&'v FieldType>,
    path: String,
}

/// Walks every value in which the older shape sees free text, by any keyword, as the search in messages does.
///
/// # Errors
/// The reason that a policy could see less free text in the newer shape: a string was free text, is not, and may be prose; or
/// there are more places than the budget allows.
pub(super) fn free_text_marks(
    pointer: &str,
    old: &Shape,
    new: &Shape,
    budget: &Budget,
) -> Result<(), String> {
    let mut seen = HashSet::new();
    let root = Value {
        old: old.compiled.free_text.view(),
        new: new.compiled.free_text.view(),
        kind: Some(&new.compiled.fields),
        path: pointer.to_owned(),
    };
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        if !value.old.leads() || value.new.is_nothing() {
            continue;
        }
        let kind = value.kind.map(std::ptr::from_ref);
        if !seen.insert((value.old.key(), value.new.key(), kind)) {
            continue;
        }
        if value.old.is_text() && !value.new.is_text() && may_be_prose(value.kind) {
            return Err(format!(
                "`{}` is no longer marked as free text, so policy conditions on free text would not see it",
                value.path
            ));
        }
        let inside = value.children();
        if !budget.spend(1 + inside.len() as u64) {
            return Err(format!(
                "the schema marks free text in more positions than the limit: {}",
                budget.reason()
            ));
        }
        open.extend(inside);
    }
    Ok(())
}

/// Returns true if a string of any wording can be of this type.
fn may_be_prose(kind: Option<&FieldType>) -> bool {
    match kind.map(FieldType::present) {
        None | Some(FieldType::Opaque) => true,
        Some(FieldType::Text { values, .. }) => values.is_none(),
        Some(_) => false,
    }
}

impl<'v> Value<'v> {
    fn children(&self) -> Vec<Value<'v>> {
        let kind = self.kind.map(FieldType::present);
        let (is_object, is_array) = match kind {
            None | Some(FieldType::Opaque) => (true, true),
            Some(FieldType::Record(_)) => (true, false),
            Some(FieldType::Array(_)) => (false, true),
            Some(_) => (false, false),
        };
        let mut all = Vec::new();
        if is_object {
            let names: BTreeSet<&'v str> = self.old.names().chain(self.new.names()).collect();
            all.extend(names.into_iter().map(|name| self.member(Some(name), kind)));
            all.push(self.member(None, kind));
        }
        if is_array {
            let kind = match kind {
                Some(FieldType::Array(items)) => Some(&**items),
                _ => None,
            };
            let (old, new) = (self.old.item(), self.new.item());
            all.push(Value { old, new, kind, path: format!("{}/items", self.path) });
        }
        all
    }

    fn member(&self, name: Option<&'v str>, kind: Option<&'v FieldType>) -> Value<'v> {
        let kind = match (kind, name) {
            (Some(FieldType::Record(members)), Some(name)) => members.get(name).map(|field| &field.kind),
            _ => None,
        };
        let below = name.map_or("/additionalProperties".to_owned(), |name| pointer(&["properties", name]));
        let path = self.path.clone() + &below;
        Value { old: self.old.member(name), new: self.new.member(name), kind, path }
    }
}
