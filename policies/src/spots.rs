//! Where in `entities.json` and `limits.json` something stands: the strict reader keeps no places, so a text that is faulty is walked
//! a second time, once for all faults in it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use semgate_contexts::json;

use crate::parse::place;
use crate::{Place, PolicyFault};

/// Characters of a member's name that a pointer shows; a longer one, or one that is not plain, is not repeated.
const MAX_NAME: usize = 64;

/// The place of what the strict reader refused; none of its own for a text that is too large as a whole.
pub(crate) fn of_fault(file: &str, text: &[u8], fault: json::Fault) -> Place {
    match fault {
        json::Fault::DuplicateKey { offset } | json::Fault::Malformed { offset, .. } => {
            // up to the fault it is UTF-8
            let before = text.get(..offset).unwrap_or_default();
            place(file, &String::from_utf8_lossy(before), before.len())
        }
        _ => unplaced(file),
    }
}

/// The file, and nothing within it.
pub(crate) fn unplaced(file: &str) -> Place {
    Place { file: file.to_owned(), line: 0, column: 0 }
}

/// The pointer of a member that an object must not have; of the object, where the name is none to repeat.
pub(crate) fn member(object: &str, name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if plain && (1..=MAX_NAME).contains(&name.len()) { format!("{object}/{name}") } else { object.to_owned() }
}

/// Gives each fault of a JSON file the place that its pointer leads to. The text is one that the strict reader accepted.
pub(crate) fn placed(file: &str, text: &[u8], faults: &mut [PolicyFault]) {
    let pointers: Vec<&str> = faults.iter().filter_map(|fault| pointer(fault)).collect();
    let spots = Spots::of(file, text, &pointers);
    for fault in faults {
        let at = pointer(fault).map(|pointer| spots.at(pointer));
        if let PolicyFault::Entities { place, .. } | PolicyFault::Limits { place, .. } = fault
            && let Some(at) = at
        {
            *place = at;
        }
    }
}

fn pointer(fault: &PolicyFault) -> Option<&str> {
    match fault {
        PolicyFault::Entities { pointer, .. } | PolicyFault::Limits { pointer, .. } => Some(pointer),
        _ => None,
    }
}

/// Places by JSON Pointer: of a member where its name begins, of an item where it begins.
pub(crate) struct Spots {
    file: String,
    at: HashMap<String, (usize, usize)>,
}

impl Spots {
    /// Walks the text once, whatever is sought in it.
    pub fn of(file: &str, text: &[u8], pointers: &[&str]) -> Self {
        // what is not there is told where it is missing
        let above = |pointer: &&str| {
            let whole = (*pointer).to_owned();
            let ends = whole.match_indices('/').map(|(at, _)| at).chain([whole.len()]).collect::<Vec<_>>();
            ends.into_iter().filter_map(|end| whole.get(..end).map(str::to_owned)).collect::<Vec<_>>()
        };
        let wanted: HashSet<String> = pointers.iter().flat_map(above).collect();
        let mut walk = Walk {
            bytes: text,
            at: 0,
            line: 1,
            column: 1,
            path: String::new(),
            wanted: &wanted,
            found: HashMap::new(),
        };
        walk.space();
        let mark = walk.mark();
        walk.value(mark);
        Self { file: file.to_owned(), at: walk.found }
    }

    /// Where a pointer leads to, else the nearest thing above it.
    pub fn at(&self, pointer: &str) -> Place {
        let mut rest = pointer;
        loop {
            if let Some((line, column)) = self.at.get(rest) {
                return Place { file: self.file.clone(), line: *line, column: *column };
            }
            match rest.rfind('/') {
                Some(end) => rest = rest.get(..end).unwrap_or_default(),
                None => return unplaced(&self.file),
            }
        }
    }
}

/// One pass over a text that the strict reader accepted, so that nothing here has to refuse; it recurses as deep as that allowed.
struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
    line: usize,
    column: usize,
    path: String,
    wanted: &'t HashSet<String>,
    found: HashMap<String, (usize, usize)>,
}

impl<'t> Walk<'t> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        match self.peek() {
            Some(b'\n') => (self.line, self.column) = (self.line + 1, 1),
            // a character is counted by its first byte
            Some(byte) if byte & 0xc0 != 0x80 => self.column += 1,
            _ => {}
        }
        self.at += 1;
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.step();
        }
    }

    const fn mark(&self) -> (usize, usize) {
        (self.line, self.column)
    }

    fn value(&mut self, mark: (usize, usize)) {
        if self.wanted.contains(&self.path) {
            self.found.insert(self.path.clone(), mark);
        }
        match self.peek() {
            Some(b'{') => self.each(b'}', true),
            Some(b'[') => self.each(b']', false),
            Some(b'"') => drop(self.string()),
            _ => {
                let ends = |byte: u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
                while self.peek().is_some_and(|byte| !ends(byte)) {
                    self.step();
                }
            }
        }
    }

    /// The members of an object, or the items of an array.
    fn each(&mut self, end: u8, named: bool) {
        self.step();
        let above = self.path.len();
        for position in 0_usize.. {
            self.space();
            if self.peek().is_none_or(|byte| byte == end) {
                self.step();
                return;
            }
            let mark = self.mark();
            self.path.push('/');
            if named {
                let name = self.string();
                self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                self.space();
                self.step();
                self.space();
            } else {
                self.path.push_str(&position.to_string());
            }
            self.value(mark);
            self.path.truncate(above);
            self.space();
            if self.peek() == Some(b',') {
                self.step();
            }
        }
    }

    fn string(&mut self) -> Cow<'t, str> {
        let from = self.at;
        self.step();
        while let Some(byte) = self.peek().filter(|byte| *byte != b'"') {
            if byte == b'\\' {
                self.step();
            }
            self.step();
        }
        self.step();
        let quoted = self.bytes.get(from..self.at).unwrap_or_default();
        match quoted.contains(&b'\\') {
            true => Cow::Owned(serde_json::from_slice(quoted).unwrap_or_default()),
            false => String::from_utf8_lossy(quoted.get(1..quoted.len() - 1).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Spots, member};

    #[test]
    fn a_member_stands_where_its_name_begins_and_an_item_where_it_begins() {
        let text = "{\n  \"é\\\"\": [1, {\"a\": \"x,]}\"}],\n\t\"b\" : {\"c\\u0064\": [true,-1.5e3 ]} }";
        let spots = |pointer: &str| {
            let place = Spots::of("f", text.as_bytes(), &[pointer]).at(pointer);
            (place.line, place.column)
        };
        assert_eq!(spots(""), (1, 1));
        assert_eq!(spots("/é\""), (2, 3));
        assert_eq!(spots("/é\"/1"), (2, 14));
        assert_eq!(spots("/é\"/1/a"), (2, 15));
        assert_eq!(spots("/b"), (3, 2));
        assert_eq!(spots("/b/cd"), (3, 9));
        assert_eq!(spots("/b/cd/1"), (3, 26));
        // what is missing is missing from what is there
        assert_eq!(spots("/b/nothing/0"), (3, 2));
        assert_eq!(spots("/é\"/1/b"), (2, 14));
    }

    #[test]
    fn a_name_that_is_not_plain_is_not_repeated() {
        assert_eq!(member("/a/0", "Disabled"), "/a/0/Disabled");
        for name in ["", "a b", "a/b", "\u{202e}", &"x".repeat(65)] {
            assert_eq!(member("/a/0", name), "/a/0");
        }
    }
}
