//! Strings: lists are tried one by one; automata decide patterns, lengths and free text exactly. The validator decides
//! formats, text by text; patterns around formats exclude texts that cannot have them.

use std::rc::Rc;

use serde_json::Value;

use super::super::automata::{self, TextConstraints};
use super::super::formats::{self, SAMPLES};
use super::super::formula::{Atom, Scalar};
use super::{COPIED_A_STEP, NoValue, Solution, Solver, described_of, unclear};

/// Texts of an automaton that are asked for a format.
const TEXTS_TRIED: usize = 64;

impl Solver<'_> {
    pub(super) fn string(&mut self, atoms: &[&Atom]) -> Solution {
        self.text(atoms, &[])
    }

    /// A text that fits all atoms and is not in `not`.
    pub(super) fn text(&mut self, atoms: &[&Atom], not: &[&str]) -> Solution {
        if let Some(values) =
            atoms.iter().find_map(|atom| if let Atom::In(values) = atom { Some(values) } else { None })
        {
            let texts = values.iter().filter_map(|value| match value {
                Scalar::Text(text) if !not.contains(&text.as_str()) => Some(text.as_str()),
                _ => None,
            });
            return self.listed(texts, atoms);
        }
        let formats: Vec<(usize, bool)> = atoms
            .iter()
            .filter_map(|atom| if let Atom::Format(number, is) = atom { Some((*number, *is)) } else { None })
            .collect();
        if contradict(&formats) {
            return Err(NoValue::Nothing);
        }
        let mut not: Vec<&str> = not.to_vec();
        for atom in atoms {
            if let Atom::NotIn(values) = atom {
                self.charge(values.len() as u64 / COPIED_A_STEP)?;
                not.extend(values.iter().filter_map(|value| match value {
                    Scalar::Text(text) => Some(text.as_str()),
                    _ => None,
                }));
            }
        }
        if let Some(solution) = self.long(atoms) {
            return solution;
        }
        if formats.is_empty() {
            return match self.words(atoms, &[], &not, 1, false) {
                Ok(texts) => texts.into_iter().next().map_or(Err(NoValue::Nothing), given),
                Err(why) => unclear(why),
            };
        }
        self.formatted(atoms, &formats, &not)
    }

    /// A text that is longer than a witness may be, where nothing but its length and free text is asked for: it is described.
    fn long(&self, atoms: &[&Atom]) -> Option<Solution> {
        let (least, most) = lengths(atoms);
        let by_length = atoms.iter().all(|atom| {
            matches!(
                atom,
                Atom::MinLength(_) | Atom::MaxLength(_) | Atom::Plain(_) | Atom::NotIn(_) | Atom::Types(_)
            )
        });
        // any character that free text takes will do, or one that it refuses and any others
        let plain = |wanted: bool| atoms.iter().any(|atom| matches!(atom, Atom::Plain(is) if *is == wanted));
        let possible = least <= most && by_length && !(plain(true) && plain(false));
        // of so many texts, at most a few are excluded
        (least > self.limits.max_size && possible)
            .then(|| described_of(least, |least| format!("a text of {least} characters")))
    }

    fn listed<'t>(&mut self, texts: impl Iterator<Item = &'t str>, atoms: &[&Atom]) -> Solution {
        let mut undecided = false;
        for text in texts {
            self.charge(atoms.len() as u64)?;
            let fits: Vec<Option<bool>> = atoms.iter().map(|atom| self.text_fits(atom, text)).collect();
            if fits.iter().all(|fits| *fits == Some(true)) {
                return given(text.to_owned());
            }
            undecided |= !fits.contains(&Some(false));
        }
        if undecided { unclear("a pattern that is not supported") } else { Err(NoValue::Nothing) }
    }

    /// Texts by the automata, with the patterns around formats; with `common`, those that most texts of a format match.
    fn words(
        &mut self,
        atoms: &[&Atom],
        formats: &[(usize, bool)],
        not: &[&str],
        count: usize,
        common: bool,
    ) -> Result<Vec<String>, &'static str> {
        let mut supersets = Vec::new();
        for (number, is) in formats {
            let name = Self::format(*number);
            let pattern = match (*is, common) {
                (true, false) | (false, true) => formats::superset_pattern(name),
                (true, true) => formats::common(name),
                (false, false) => formats::subset_pattern(name),
            };
            supersets.extend(pattern.map(|pattern| (self.reader.own_pattern(pattern), *is)));
        }
        let required = formats.iter().filter(|(_, is)| *is);
        let longest = required.filter_map(|(number, _)| formats::longest(Self::format(*number))).min();
        let (least, most) = lengths(atoms);
        let most = most.min(longest.unwrap_or(u64::MAX));
        let mut numbers: Vec<(usize, bool)> = supersets;
        numbers.extend(atoms.iter().filter_map(|atom| match atom {
            Atom::Pattern(number, found) => Some((*number, *found)),
            _ => None,
        }));
        numbers.sort_unstable();
        numbers.dedup();
        if most < least {
            return Ok(Vec::new());
        }
        if least > self.limits.max_size {
            return Err("a text longer than a witness may be");
        }
        let clash = |(number, found): &(usize, bool)| *found && numbers.contains(&(*number, false));
        if numbers.iter().any(clash) {
            return Ok(Vec::new());
        }
        let patterns =
            numbers.iter().filter_map(|(number, found)| Some((self.reader.patterns.get(*number)?, *found)));
        let plain = |wanted: bool| atoms.iter().any(|atom| matches!(atom, Atom::Plain(is) if *is == wanted));
        let wanted = TextConstraints {
            patterns: patterns.collect(),
            least,
            most: (most < u64::MAX).then_some(most),
            plain: plain(true),
            not_plain: plain(false),
            not: not.to_vec(),
        };
        automata::find(&wanted, count, &self.budget)
    }

    fn formatted(&mut self, atoms: &[&Atom], formats: &[(usize, bool)], not: &[&str]) -> Solution {
        let mut tries: Vec<String> = SAMPLES.iter().map(|text| (*text).to_owned()).collect();
        let (least, _) = lengths(atoms);
        if least <= self.limits.max_size {
            let least = usize::try_from(least).unwrap_or(usize::MAX);
            tries.extend(
                formats
                    .iter()
                    .filter(|(_, is)| *is)
                    .filter_map(|(number, _)| formats::long_example(Self::format(*number), least)),
            );
        }
        let fits = |solver: &mut Self, text: &str| {
            solver.budget.spend(4);
            !not.contains(&text) && atoms.iter().all(|atom| solver.text_fits(atom, text) == Some(true))
        };
        if let Some(text) = tries.iter().find(|text| fits(self, text)) {
            return given(text.clone());
        }
        for common in [false, true] {
            match self.words(atoms, formats, not, TEXTS_TRIED, common) {
                // no text around the formats means none at all; no common text means nothing
                Ok(texts) if texts.is_empty() && !common => return Err(NoValue::Nothing),
                Ok(texts) => {
                    if let Some(text) = texts.into_iter().find(|text| fits(self, text)) {
                        return given(text);
                    }
                }
                Err(why) => return unclear(why),
            }
        }
        let names: Vec<&str> = formats.iter().map(|(number, _)| Self::format(*number)).collect();
        unclear(format!("`format` {} together with other rules", names.join(", ")))
    }
}

/// The fewest and the most characters that are asked for.
fn lengths(atoms: &[&Atom]) -> (u64, u64) {
    atoms.iter().fold((0, u64::MAX), |(least, most), atom| match atom {
        Atom::MinLength(length) => (least.max(*length), most),
        Atom::MaxLength(length) => (least, most.min(*length)),
        _ => (least, most),
    })
}

fn given(text: String) -> Solution {
    Ok(Rc::new(Value::String(text)))
}

/// Returns true if a text would have to have a format and also lack it, or a format around it.
fn contradict(formats: &[(usize, bool)]) -> bool {
    let name = Solver::format;
    formats.iter().any(|(inner, is)| {
        *is && formats.iter().any(|(outer, is)| !is && formats::lies_in(name(*inner), name(*outer)))
    })
}
