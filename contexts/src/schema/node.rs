//! The validator reads our own tree: no value is copied between the strict reader and a verdict.
//!
//! Every look at a value is charged to the message's budget (`meter`). Once it is spent, values appear empty, so that the
//! validator ends soon; its verdict does not count then.

use std::borrow::Cow;

use jsonschema::json as backend;
use jsonschema::json::NodeIdentity;
use jsonschema::types::JsonType;
use serde_json::Value;

use super::meter::{LOOK, charge, charge_look_at_text, charge_members, charge_pass, charge_search};
use crate::json::{Json, Number, Object};

/// Tells `jsonschema` how to read our tree.
pub(super) struct Tree;

/// One value as the validator sees it.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    /// A value of the tree.
    Value(&'a Json<'a>),
    /// The whole instance, without the member that names its type.
    Root(Members<'a>),
    /// The name of a member, for `propertyNames`.
    Name(&'a str),
}

/// The members of an object, one of which may be hidden.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    pub(super) object: &'a Object<'a>,
    pub(super) without: Option<&'a str>,
    /// The object stands alone under this name: one validator holds every shape of a document, each as a member.
    pub(super) under: Option<&'a str>,
}

/// The items of an array.
#[derive(Clone, Copy)]
pub(super) struct Items<'a>(&'a [Json<'a>]);

/// A number; compared by its digits where that matters.
pub(super) struct Digits<'a>(pub(super) &'a Number<'a>);

impl backend::Json for Tree {
    type Node<'a> = Node<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    // Members stand in a list, so a pass over them costs about as much as one lookup.
    const KEYS_PER_LOOKUP: usize = 4;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(_: &mut (), string: &str, f: impl FnOnce(Node<'_>) -> T) -> T {
        f(Node::Name(string))
    }
}

impl<'a> Node<'a> {
    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Node::Value(Json::String(text)) => Some(text),
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<&'a Number<'a>> {
        match self {
            Node::Value(Json::Number(number)) => Some(number),
            _ => None,
        }
    }
}

impl<'a> backend::Node<'a, Tree> for Node<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = Digits<'a>;

    fn as_object(&self) -> Option<Members<'a>> {
        let members = match self {
            Node::Value(Json::Object(object)) => Members { object, without: None, under: None },
            Node::Root(members) => *members,
            _ => return None,
        };
        charge(LOOK).then_some(members)
    }

    fn as_array(&self) -> Option<Items<'a>> {
        match self {
            Node::Value(Json::Array(items)) if charge(LOOK) => Some(Items(items)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text().filter(|text| charge_look_at_text(text)).map(Cow::Borrowed)
    }

    fn string_length(&self) -> Option<u64> {
        let counted = |text: &&str| charge(LOOK) && charge_pass(text.len());
        self.text().filter(counted).map(|text| text.chars().count() as u64)
    }

    fn as_number(&self) -> Option<Digits<'a>> {
        self.number().filter(|_| charge(LOOK)).map(Digits)
    }

    fn as_boolean(&self) -> Option<bool> {
        charge(LOOK);
        match self {
            Node::Value(Json::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Node::Value(Json::Null))
    }

    fn json_type(&self) -> JsonType {
        charge(LOOK);
        match self {
            Node::Value(Json::Null) => JsonType::Null,
            Node::Value(Json::Bool(_)) => JsonType::Boolean,
            Node::Value(Json::Number(_)) => JsonType::Number,
            Node::Value(Json::String(_)) | Node::Name(_) => JsonType::String,
            Node::Value(Json::Array(_)) => JsonType::Array,
            Node::Value(Json::Object(_)) | Node::Root(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self {
            Node::Value(value) => equals(value, expected),
            Node::Name(name) => expected.as_str() == Some(name),
            Node::Root(members) => {
                let size = backend::Object::len(members);
                expected.as_object().is_some_and(|expected| {
                    size == expected.len()
                        && backend::Object::members(members).all(|(name, value)| {
                            expected.get(name).is_some_and(|other| value.equals_value(other))
                        })
                })
            }
        }
    }

    /// The validator uses this only to put values into errors, which are never shown. Copying them for every failed branch of
    /// a union would cost more than the validation, so it gets none.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Value::Null)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Node::Value(value) => Some(NodeIdentity::new(std::ptr::from_ref(*value) as usize)),
            // The object of the root may be the first thing inside some other value: the tag keeps them apart.
            Node::Root(members) => {
                let tag = if members.under.is_some() { 2 } else { 1 };
                Some(NodeIdentity::tagged(std::ptr::from_ref(members.object) as usize, tag))
            }
            Node::Name(_) => None,
        }
    }
}

impl backend::JsonNumber for Digits<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.as_i64_exact().and_then(|integer| u64::try_from(integer).ok())
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64_exact()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0.as_f64())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0.text())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        match self.0.to_value() {
            Value::Number(number) => Cow::Owned(number),
            _ => Cow::Owned(serde_json::Number::from(0)),
        }
    }

    /// An integral number is an integer however it is written.
    fn is_integer(&self) -> bool {
        self.0.as_i64_exact().is_some()
    }
}

impl<'a> backend::Object<'a, Tree> for Members<'a> {
    type Node = Node<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        if self.under.is_some() {
            return 1;
        }
        let hidden = self.without.is_some_and(|name| self.object.get(name).is_some());
        self.object.len().saturating_sub(usize::from(hidden))
    }

    fn get(&self, key: &String) -> Option<Node<'a>> {
        if let Some(name) = self.under {
            return (name == key).then_some(Node::Root(Members { under: None, ..*self }));
        }
        if self.without == Some(key.as_str()) || !charge_search(self.object.len()) {
            return None;
        }
        self.object.get(key).map(Node::Value)
    }

    fn members(&self) -> MembersIter<'a> {
        if let Some(name) = self.under {
            let inner = Node::Root(Members { under: None, ..*self });
            return MembersIter { one: Some((name, inner)), members: [].iter(), without: None };
        }
        let names = || self.object.members().iter().map(|(name, _)| name.len()).sum();
        let members = match charge_members(self.object.len(), names) {
            true => self.object.members(),
            false => &[],
        };
        MembersIter { one: None, members: members.iter(), without: self.without }
    }
}

/// Goes over the members that are not hidden.
pub(super) struct MembersIter<'a> {
    one: Option<(&'a str, Node<'a>)>,
    members: std::slice::Iter<'a, (Cow<'a, str>, Json<'a>)>,
    without: Option<&'a str>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(one) = self.one.take() {
            return Some(one);
        }
        loop {
            let (name, value) = self.members.next()?;
            if self.without != Some(name.as_ref()) {
                return Some((name.as_ref(), Node::Value(value)));
            }
        }
    }
}

impl<'a> backend::Array<'a, Tree> for Items<'a> {
    type Node = Node<'a>;
    type ElementsIter = std::iter::Map<std::slice::Iter<'a, Json<'a>>, fn(&'a Json<'a>) -> Node<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        let items = if charge_pass(self.0.len()) { self.0 } else { &[] };
        items.iter().map(Node::Value)
    }

    /// Pair by pair: a context bounds the items wherever it asks for this.
    fn is_unique(&self) -> bool {
        let pairs = self.0.iter().enumerate();
        pairs.into_iter().all(|(index, item)| !self.0.iter().take(index).any(|earlier| same(earlier, item)))
    }
}

/// Returns true if a value of the tree equals a value of a schema.
fn equals(value: &Json<'_>, expected: &Value) -> bool {
    if !charge(LOOK) {
        return false;
    }
    match (value, expected) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(value), Value::Bool(expected)) => value == expected,
        (Json::String(text), Value::String(expected)) => text == expected,
        (Json::Number(number), Value::Number(expected)) => {
            backend::cmp::equal_numbers(&Digits(number), expected)
        }
        (Json::Array(items), Value::Array(expected)) => {
            items.len() == expected.len()
                && items.iter().zip(expected).all(|(item, value)| equals(item, value))
        }
        (Json::Object(object), Value::Object(expected)) => {
            object.len() == expected.len()
                && object
                    .iter()
                    .all(|(name, value)| expected.get(name).is_some_and(|other| equals(value, other)))
        }
        _ => false,
    }
}

/// Returns true if two values of the tree are equal, members in any order.
fn same(left: &Json<'_>, right: &Json<'_>) -> bool {
    if !charge(LOOK) {
        return false;
    }
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && charge(LOOK.saturating_mul(left.len() as u64))
                && sorted(left)
                    .into_iter()
                    .zip(sorted(right))
                    .all(|(left, right)| left.0 == right.0 && same(left.1, right.1))
        }
        (Json::Array(_) | Json::Object(_), _) | (_, Json::Array(_) | Json::Object(_)) => false,
        (left, right) => left == right,
    }
}

fn sorted<'o>(object: &'o Object<'_>) -> Vec<(&'o str, &'o Json<'o>)> {
    let mut members: Vec<(&str, &Json<'_>)> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    members
}
