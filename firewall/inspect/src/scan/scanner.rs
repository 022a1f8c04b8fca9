//! The model and the baselines of a generation.

use semgate_contexts::{ContextUrn, Digest, Line};
use semgate_policies::{TextScores, TextWants};
use semgate_scan::{Baseline, Markers, Model, Scanner, Wanted};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

/// A model with the baselines of fields. Immutable; a change makes another one, which goes live with a generation.
pub struct TextScanner {
    scanner: Scanner,
    /// By line, major version and concept.
    fields: HashMap<(Line, u32, String), Positions>,
}

/// Baselines of one concept by their positions.
type Positions = Vec<(String, Arc<Baseline>)>;

/// A field of free text: a position in a concept of a context, in any minor version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanField {
    /// Line of the context.
    pub line: Line,
    /// Major version of the context.
    pub major: u32,
    /// The concept, or the side of a task, as [`Shape::name`](semgate_contexts::Shape::name) has it.
    pub concept: String,
    /// The position as [`Shape::free_text_positions`](semgate_contexts::Shape::free_text_positions) writes it; empty in a field that stands
    /// for the whole concept.
    pub position: String,
}

impl ScanField {
    /// A concept without a position.
    pub(crate) fn concept(urn: &ContextUrn, concept: &str) -> Self {
        Self {
            line: urn.line().clone(),
            major: urn.version().major,
            concept: concept.to_owned(),
            position: String::new(),
        }
    }
}

/// A text with its position; no position outside of the instance.
#[derive(Clone, Debug)]
pub(crate) struct FieldText<'t> {
    pub at: Vec<&'t str>,
    pub text: &'t str,
}

/// A baseline with its field.
#[derive(Clone, Debug)]
pub struct FieldBaseline {
    /// The field whose texts it holds.
    pub field: ScanField,
    /// The table.
    pub baseline: Arc<Baseline>,
}

impl fmt::Debug for TextScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextScanner")
            .field("model", &self.model())
            .field("fields", &self.fields.len())
            .finish_non_exhaustive()
    }
}

impl TextScanner {
    /// A scanner of this model and these baselines. Of two baselines of one field the later one counts.
    #[must_use]
    pub fn new(model: Arc<Model>, baselines: impl IntoIterator<Item = FieldBaseline>) -> Self {
        let mut fields: HashMap<_, Positions> = HashMap::new();
        for FieldBaseline { field, baseline } in baselines {
            let of_concept = fields.entry((field.line, field.major, field.concept)).or_default();
            of_concept.retain(|(position, _)| *position != field.position);
            of_concept.push((field.position, baseline));
        }
        Self { scanner: Scanner { model }, fields }
    }

    /// The model in the program, without a baseline.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: OnceLock<Arc<TextScanner>> = OnceLock::new();
        Arc::clone(SHIPPED.get_or_init(|| Arc::new(Self::new(Model::shipped(), []))))
    }

    /// SHA-256 of the model's file.
    #[must_use]
    pub fn model(&self) -> Digest {
        Digest::from_bytes(self.scanner.model.digest())
    }

    /// The number of fields with a baseline.
    #[must_use]
    pub fn baselines(&self) -> usize {
        self.fields.values().map(Vec::len).sum()
    }

    /// The wanted scores of the texts of one instance, each with its position, and the classes of wordings.
    pub(crate) fn scan(
        &self,
        concept: &ScanField,
        texts: &[FieldText<'_>],
        wants: TextWants,
    ) -> (TextScores, Markers) {
        let TextWants { hidden, markers, injection, unusual } = wants;
        let wanted = Wanted { hidden, markers, injection, unusual };
        let of_concept = self.of_concept(concept).filter(|_| unusual);
        let of_text = |FieldText { at, text }: &FieldText<'_>| {
            let baseline = of_concept.and_then(|fields| {
                let position = pointer(at);
                fields.iter().find(|(field, _)| *field == position).map(|(_, baseline)| &**baseline)
            });
            self.scanner.scan(text, baseline, wanted)
        };
        let all = texts.iter().map(of_text).reduce(semgate_scan::TextScores::join).unwrap_or_default();
        let scores = TextScores {
            made: wants,
            hidden: all.hidden,
            markers: u64::from(all.markers.count()),
            injection: u64::from(all.injection),
            unusual: all.unusual.map(u64::from),
        };
        (scores, all.markers)
    }

    fn of_concept(&self, of: &ScanField) -> Option<&Vec<(String, Arc<Baseline>)>> {
        if self.fields.is_empty() {
            return None;
        }
        self.fields.get(&(of.line.clone(), of.major, of.concept.clone()))
    }
}

/// A position as [`ScanField::position`] writes it.
fn pointer(steps: &[&str]) -> String {
    steps.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}
