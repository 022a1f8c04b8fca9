//! Formulas: the demands of a schema on one value, with negations at the atoms only. Equal formulas are one.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::json::Decimal;
use crate::schema::types;

/// A formula of the arena.
pub(super) type Id = usize;

/// A formula and its denial.
pub(super) type Pair = (Id, Id);

/// A scalar of `enum`, `const` or a code list; a number as the double by which the validator compares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Bound),
    Text(String),
}

/// A double that can be a key; never NaN, and zero has no sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Bound(u64);

impl Bound {
    pub(super) fn new(value: f64) -> Self {
        Bound(if value == 0.0 { 0.0_f64 } else { value }.to_bits())
    }

    pub(super) fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// A set of member names: those that match `within`, if it is set, and are neither in `names` nor match one of `patterns`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Scope {
    pub(super) within: Option<usize>,
    pub(super) names: BTreeSet<String>,
    pub(super) patterns: BTreeSet<usize>,
}

/// One demand on a value of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    /// Its type is one of these.
    Types(u8),
    In(Rc<BTreeSet<Scalar>>),
    NotIn(Rc<BTreeSet<Scalar>>),
    /// At least; more, if strict.
    Least(Bound, bool),
    /// At most; less, if strict.
    Most(Bound, bool),
    Multiple(Decimal),
    NotMultiple(Decimal),
    MinLength(u64),
    MaxLength(u64),
    Pattern(usize, bool),
    Format(usize, bool),
    /// No character that free text refuses; or at least one of them.
    Plain(bool),
    MinItems(u64),
    MaxItems(u64),
    /// The item at this index, if there is one, fits.
    Item(u64, Id),
    /// There is an item at this index, and it fits.
    HasItem(u64, Id),
    /// All items from this index on fit.
    Items(u64, Id),
    /// Some item from this index on fits.
    SomeItem(u64, Id),
    Unique(bool),
    /// At least so many items fit.
    AtLeast(u64, Id),
    /// At most so many items fit; given with the opposite formula, which the others fit.
    AtMost(u64, Id, Id),
    Has(String),
    Lacks(String),
    /// The member, if it is there, fits.
    Member(String, Id),
    /// All members with names in the scope fit.
    Every(Scope, Id),
    /// Some member with a name in the scope fits.
    SomeMember(Scope, Id),
    Names(Id),
    SomeName(Id),
    MinMembers(u64),
    MaxMembers(u64),
}

impl Atom {
    /// The types of value that it constrains.
    pub(super) const fn types(&self) -> u8 {
        match self {
            Atom::Types(_) | Atom::In(_) | Atom::NotIn(_) => types::ALL,
            Atom::Least(..) | Atom::Most(..) | Atom::Multiple(_) | Atom::NotMultiple(_) => types::NUMBER,
            Atom::MinLength(_)
            | Atom::MaxLength(_)
            | Atom::Pattern(..)
            | Atom::Format(..)
            | Atom::Plain(_) => types::STRING,
            Atom::MinItems(_)
            | Atom::MaxItems(_)
            | Atom::Item(..)
            | Atom::HasItem(..)
            | Atom::Items(..)
            | Atom::SomeItem(..)
            | Atom::Unique(_)
            | Atom::AtLeast(..)
            | Atom::AtMost(..) => types::ARRAY,
            Atom::Has(_)
            | Atom::Lacks(_)
            | Atom::Member(..)
            | Atom::Every(..)
            | Atom::SomeMember(..)
            | Atom::Names(_)
            | Atom::SomeName(_)
            | Atom::MinMembers(_)
            | Atom::MaxMembers(_) => types::OBJECT,
        }
    }
}

/// The members for which parts of a composition vouch (`unevaluatedProperties`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Vouched {
    pub(super) names: BTreeSet<String>,
    pub(super) patterns: BTreeSet<usize>,
    /// For all of them.
    pub(super) all: bool,
    pub(super) parts: Vec<Part>,
}

/// A part that vouches where it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) holds: Id,
    pub(super) fails: Id,
    pub(super) vouched: Vouched,
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Formula {
    True,
    False,
    And(Vec<Id>),
    Or(Vec<Id>),
    /// An atom with its answer for values of another kind.
    Atom(Atom, bool),
    /// A definition of one side, asserted or denied.
    Definition(usize, bool),
    /// Every member that no part vouches for fits; with `false`, some such member does.
    Unevaluated(Rc<Vouched>, Id, bool),
}

/// All formulas, each once.
#[derive(Debug)]
pub(super) struct Arena {
    formulas: Vec<Rc<Formula>>,
    known: HashMap<Rc<Formula>, Id>,
    opposites: HashMap<Id, Id>,
}

/// The formula that always holds.
pub(super) const TRUE: Id = 0;
/// The formula that never does.
pub(super) const FALSE: Id = 1;

impl Arena {
    pub(super) fn new() -> Self {
        let mut arena = Arena { formulas: Vec::new(), known: HashMap::new(), opposites: HashMap::new() };
        arena.add(Formula::True);
        arena.add(Formula::False);
        arena.pair(TRUE, FALSE);
        arena
    }

    pub(super) fn add(&mut self, formula: Formula) -> Id {
        let formula = Rc::new(formula);
        if let Some(known) = self.known.get(&formula) {
            return *known;
        }
        let id = self.formulas.len();
        self.formulas.push(Rc::clone(&formula));
        self.known.insert(formula, id);
        id
    }

    /// Notes that one of the two holds, and never both.
    pub(super) fn pair(&mut self, holds: Id, fails: Id) -> Pair {
        self.opposites.insert(holds, fails);
        self.opposites.insert(fails, holds);
        (holds, fails)
    }

    pub(super) fn get(&self, id: Id) -> Rc<Formula> {
        self.formulas.get(id).cloned().unwrap_or_else(|| Rc::new(Formula::True))
    }

    pub(super) fn opposite(&self, id: Id) -> Option<Id> {
        self.opposites.get(&id).copied()
    }

    /// All of them.
    pub(super) fn and(&mut self, parts: impl IntoIterator<Item = Id>) -> Id {
        let parts: BTreeSet<Id> = parts.into_iter().filter(|part| *part != TRUE).collect();
        if parts.contains(&FALSE) {
            return FALSE;
        }
        match (parts.first(), parts.len()) {
            (None, _) => TRUE,
            (Some(only), 1) => *only,
            _ => self.add(Formula::And(parts.into_iter().collect())),
        }
    }

    /// Any of them.
    pub(super) fn or(&mut self, parts: impl IntoIterator<Item = Id>) -> Id {
        let parts: BTreeSet<Id> = parts.into_iter().filter(|part| *part != FALSE).collect();
        if parts.contains(&TRUE) {
            return TRUE;
        }
        match (parts.first(), parts.len()) {
            (None, _) => FALSE,
            (Some(only), 1) => *only,
            _ => self.add(Formula::Or(parts.into_iter().collect())),
        }
    }

    /// All of these hold; or some does not.
    pub(super) fn all(&mut self, parts: &[Pair]) -> Pair {
        let holds = self.and(parts.iter().map(|part| part.0));
        let fails = self.or(parts.iter().map(|part| part.1));
        if parts.len() == 1 { (holds, fails) } else { self.pair(holds, fails) }
    }

    /// Some of these holds; or none does.
    pub(super) fn any(&mut self, parts: &[Pair]) -> Pair {
        let denied: Vec<Pair> = parts.iter().map(|(holds, fails)| (*fails, *holds)).collect();
        let (fails, holds) = self.all(&denied);
        (holds, fails)
    }

    /// An atom and its opposite: of values of another kind the first holds, the second does not.
    pub(super) fn atoms(&mut self, holds: Atom, fails: Atom) -> Pair {
        let holds = self.add(Formula::Atom(holds, true));
        let fails = self.add(Formula::Atom(fails, false));
        self.pair(holds, fails)
    }

    /// The value has one of these types.
    pub(super) fn types(&mut self, mask: u8) -> Pair {
        self.atoms(Atom::Types(mask), Atom::Types(types::ALL & !mask))
    }

    /// The value is one of these scalars.
    pub(super) fn one_of(&mut self, values: Rc<BTreeSet<Scalar>>) -> Pair {
        self.atoms(Atom::In(Rc::clone(&values)), Atom::NotIn(values))
    }

    /// An object has this member.
    pub(super) fn has(&mut self, name: &str) -> Pair {
        self.atoms(Atom::Has(name.to_owned()), Atom::Lacks(name.to_owned()))
    }

    /// The member of this name, if it is there, fits.
    pub(super) fn member(&mut self, name: &str, (holds, fails): Pair) -> Pair {
        let says = self.add(Formula::Atom(Atom::Member(name.to_owned(), holds), true));
        let has = self.add(Formula::Atom(Atom::Has(name.to_owned()), false));
        let denies = self.add(Formula::Atom(Atom::Member(name.to_owned(), fails), false));
        let denied = self.and([has, denies]);
        self.pair(says, denied)
    }

    /// Every member with a name in the scope fits.
    pub(super) fn every(&mut self, scope: Scope, (holds, fails): Pair) -> Pair {
        self.atoms(Atom::Every(scope.clone(), holds), Atom::SomeMember(scope, fails))
    }

    /// The item at this index, if it is there, fits.
    pub(super) fn item(&mut self, at: usize, (holds, fails): Pair) -> Pair {
        self.atoms(Atom::Item(at as u64, holds), Atom::HasItem(at as u64, fails))
    }

    /// Every item from this index on fits.
    pub(super) fn items(&mut self, from: usize, (holds, fails): Pair) -> Pair {
        self.atoms(Atom::Items(from as u64, holds), Atom::SomeItem(from as u64, fails))
    }
}
