//! Translation of SMT-LIB text from the set theory that Cedar's compiler writes to the arrays that z3 reads.
//!
//! Cedar has neither cardinality nor complement of sets, so a set is an array from elements to booleans and every query keeps its answer.

/// Overflow predicates of SMT-LIB 2.7, for versions of z3 that lack them.
pub const OVERFLOW: &str = "\
(define-fun bvsaddo ((a (_ BitVec 64)) (b (_ BitVec 64))) Bool (not (= ((_ sign_extend 1) (bvadd a b)) (bvadd ((_ sign_extend 1) a) ((_ sign_extend 1) b)))))
(define-fun bvssubo ((a (_ BitVec 64)) (b (_ BitVec 64))) Bool (not (= ((_ sign_extend 1) (bvsub a b)) (bvsub ((_ sign_extend 1) a) ((_ sign_extend 1) b)))))
(define-fun bvsmulo ((a (_ BitVec 64)) (b (_ BitVec 64))) Bool (not (and (bvsmul_noovfl a b) (bvsmul_noudfl a b))))
";

/// A term of SMT-LIB.
#[derive(Debug, Clone, PartialEq)]
enum Term<'t> {
    Atom(&'t str),
    List(Vec<Term<'t>>),
}

/// Rewrites a script for z3. `overflow` adds the predicates of [`OVERFLOW`] after the logic is set.
///
/// Returns nothing for text that is no sequence of terms.
pub fn for_z3(script: &str, overflow: bool) -> Option<String> {
    let mut out = String::with_capacity(script.len());
    for term in read(script)? {
        write(&rewrite(term), &mut out);
        out.push('\n');
        if overflow && out.ends_with("(set-logic ALL)\n") {
            out.push_str(OVERFLOW);
        }
    }
    Some(out)
}

fn rewrite(term: Term<'_>) -> Term<'_> {
    let Term::List(items) = term else {
        return match term {
            Term::Atom("set.subset") => Term::Atom("subset"),
            Term::Atom("set.inter") => Term::Atom("intersection"),
            Term::Atom("set.union") => Term::Atom("union"),
            other => other,
        };
    };
    let mut items: Vec<Term<'_>> = items.into_iter().map(rewrite).collect();
    match items.as_slice() {
        [Term::Atom("set.member"), _, _] => {
            items.swap(1, 2);
            if let Some(head) = items.first_mut() {
                *head = Term::Atom("select");
            }
            Term::List(items)
        }
        [Term::Atom("set.insert"), elements @ .., set] => {
            elements.iter().fold(set.clone(), |set, element| {
                Term::List(vec![Term::Atom("store"), set, element.clone(), Term::Atom("true")])
            })
        }
        [Term::Atom("as"), Term::Atom("set.empty"), sort] => {
            let constant = Term::List(vec![Term::Atom("as"), Term::Atom("const"), sort.clone()]);
            Term::List(vec![constant, Term::Atom("false")])
        }
        _ => Term::List(items),
    }
}

fn read(text: &str) -> Option<Vec<Term<'_>>> {
    let mut open: Vec<Vec<Term<'_>>> = vec![Vec::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' => {
                open.push(Vec::new());
                1
            }
            ')' => {
                let list = open.pop()?;
                open.last_mut()?.push(Term::List(list));
                1
            }
            ';' => rest.find('\n').unwrap_or(rest.len()),
            c if c.is_whitespace() => c.len_utf8(),
            _ => {
                let length = atom(rest)?;
                open.last_mut()?.push(Term::Atom(rest.get(..length)?));
                length
            }
        };
        rest = rest.get(length..)?;
    }
    let all = open.pop()?;
    open.is_empty().then_some(all)
}

/// The length of the atom that a text begins with: a string (two quotes stand for one), a quoted symbol, or a word.
fn atom(text: &str) -> Option<usize> {
    match text.chars().next()? {
        '"' => {
            let mut at = 1;
            loop {
                at += text.get(at..)?.find('"')? + 1;
                if !text.get(at..)?.starts_with('"') {
                    return Some(at);
                }
                at += 1;
            }
        }
        '|' => Some(text.get(1..)?.find('|')? + 2),
        _ => Some(text.find(|c: char| c.is_whitespace() || "()\";|".contains(c)).unwrap_or(text.len())),
    }
}

fn write(term: &Term<'_>, out: &mut String) {
    match term {
        Term::Atom(text) => out.push_str(text),
        Term::List(items) => {
            out.push('(');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(item, out);
            }
            out.push(')');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OVERFLOW, for_z3};

    #[test]
    fn sets_become_arrays_and_texts_stay() {
        for (cvc5, z3) in [
            ("(assert (set.member x s))", "(assert (select s x))\n"),
            (
                "(set.insert \"a)\" \"b\"\"(\" (as set.empty (Set String)))",
                "(store (store ((as const (Set String)) false) \"a)\" true) \"b\"\"(\" true)\n",
            ),
            ("(set.subset a (set.inter b c))", "(subset a (intersection b c))\n"),
            (
                "(= |set.member (| \"(set.member x s)\") ; (\n(check-sat)",
                "(= |set.member (| \"(set.member x s)\")\n(check-sat)\n",
            ),
        ] {
            assert_eq!(for_z3(cvc5, false).as_deref(), Some(z3));
        }
        assert_eq!(for_z3("(set-logic ALL)", true), Some(format!("(set-logic ALL)\n{OVERFLOW}")));
        for broken in ["(", "())", "\"a", "|a"] {
            assert_eq!(for_z3(broken, false), None, "{broken}");
        }
    }
}
