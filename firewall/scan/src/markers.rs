//! Eight classes of wordings that address a model rather than a person.

use std::ops::BitOr;
use std::sync::OnceLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// The names of the classes, in the order of their bits.
const NAMES: [&str; 8] = ["override", "address", "first", "marker", "hush", "leak", "role", "newtask"];

/// A word that is not `my`.
macro_rules! other_word {
    () => {
        r"(?:[a-ln-z0-9_]\w*|m[a-xz0-9_]\w*|my\w+|m)"
    };
}

/// One pattern for each class, over a folded text. Letters are ASCII there, save for those of other alphabets. Wordings that
/// people in business use as well (`ignore my last order`, `before you begin, please`) are left out.
const PATTERNS: [&str; 8] = [
    concat!(
        r"\b(ignor\w*|disregard\w*|forget|overrid\w+|bypass|set aside|(do not|don'?t|stop) (follow\w*|obey\w*)|pay no attention to|abandon)\b",
        r"(?:\W+",
        other_word!(),
        r"){0,3}?\W+(previous|prior|above|earlier|preceding|your|system|initial|original|existing|former|all (?:the|of)|everything)\b",
        r"(?:\W+\w+){0,3}?\W*\b(i?u?nstruct\w*|iunstruct\w*|prompts?|rules?|guid(el|li|an)\w+|directi\w+|commands?|programming|training|task|restrictions?|above|before|told|safety)\b",
    ),
    concat!(
        r"\b(important|special|urgent|secret|hidden|following)\W+(message|note|instructions?|notice|task)\b[^.\n]{0,50}\b(to|for)\W+(the |an? |any )?(ai|a\.i\.|assistant|(language )?model|llm|chatbot|bot)\b",
        r"|\b(important|special|urgent|secret|hidden)\W+(message|note|instructions?)\W+from\b[^.\n]{0,50}\bto you\b",
        r"|\bif you are an? (ai|llm|agent|assistant|language model|bot)\b",
        r"|\b(note|attention|dear|hey|listen)\W+(to |all )?(the |any )?(ai|llms?|assistants?|language models?|chatbots?|(ai|llm|automated|virtual) agents?)\b",
    ),
    r"\bbefore (you )?(can |do |start |begin |continue |proceed |answer\w* |solv\w+ |complet\w+ |us(e|ing) |respond\w* |anything else)[^.\n]{0,70}\b(do the following|(you must|please|first)( first| also| always)? (do|call|use|run|read|send|execute|invoke|provide|pass|forward)\b|read (the (file|content)|[~/.`]))",
    concat!(
        r"<\|(im_start|im_end|system|assistant|user|endoftext)\|>|\[/?inst\]|<</?sys>>",
        r"|^\s*#{2,}\s*\(?(instruction\s*:|system( prompt| message| instruction)?s?\s*[:)]|new (instruction|task|directive|system))",
        r#"|["}\]]\s*(system|assistant|developer)\s*:\s|^\s*system\s*:\s*(you|ignore|new|override|please|disregard|from now|do not|important|the (previous|user))\b"#,
        r"|</?(important|information|system|instructions?|admin|secret|hidden|critical)>|\(system_message\)|\[(system|admin|developer|new instructions?)\]",
        r"|<!--[^>]{0,120}\b(ai|llm|assistant|agent|model|instructions?|system|ignore|you must)\b",
    ),
    concat!(
        r"\b(do not|don'?t|never|without)\W+(tell|telling|mention|mentioning|inform|informing|notify|notifying|alert|alerting|reveal|revealing)\W+",
        r"((this|it|that|anything)\W+)?(to )?(the (user|human|operator|owner|customer)|any(one|body))\b",
        r"|\b(do not|don'?t|never)\W+(mention|reveal|disclose)\W+(this|it)( note| message| instruction| text)?\s*([.!]|$)",
    ),
    concat!(
        r"\b(reveal|print|output|repeat|show|display|leak|disclose|tell me|give me|what (is|are|was|were))\b[^.\n]{0,40}\b(system prompt|(hidden|initial|secret) (prompt|instructions)|secret key|your (full |exact |original |initial |system |hidden )+(instructions|prompt|rules|guidelines))\b",
        r"|\b(reveal|print|output|repeat|leak|disclose)\b[^.\n]{0,40}\byour (instructions|prompt|rules|guidelines|configuration)\b",
    ),
    concat!(
        r"\byou are (now|going to be)\W+(an? |the |in |my )?(\w+ )?(unrestricted|unfiltered|uncensored|jailbroken|evil|dan|ai|llm|assistant|agent|chatbot|hacker|root|administrator|admin|shell|terminal|developer mode|free (from|of))\b",
        r"|\byou are no longer (an?|bound|restricted|limited|required|subject)\b|\bfrom now on,? you (are|will|must|should|only|act|have to|follow)\b|\byou are going to (act as|pretend|roleplay)\b",
        r"|\b(act|behave|respond|answer|pretend|roleplay) (as|like|to be)\b[^.\n]{0,40}\b(unrestricted|no (rules|restrictions|limits|filter)|without (any )?(rules|restrictions|limits|filter)|dan|root|administrator|evil|jailbroken)\b",
        r"|\b(you|respond|reply|answer|act)\b[^.\n]{0,20}\bin (developer|debug|god|dan|unrestricted) mode\b|\b(god|dan|jailbreak) mode\b|\bdo anything now\b",
    ),
    concat!(
        r"\bnew (important |urgent |main |real |primary |system )?(instructions?|directives?|prompt)\W{0,6}[:*\n]|\bnew (important|urgent|main|real|primary) task\W{0,6}[:*\n]",
        r"|\byour (new|real|actual|true) (task|instructions?|goal|objective|mission) (is|are)\b|\bthe (new|real|actual|true) (task|instructions?) (is|are)\b",
        r"|\*+\s*(new|urgent|important)[^*\n]{0,30}(task|instructions?)\s*\*+",
    ),
];

/// Wordings of these classes that people hardly use among each other. One of them alone is an alarm.
const STRONG: [&str; 6] = [
    r"\b(ignor\w*|disregard\w*|forget)\b(?:\W+\w+){0,3}?\W+(previous|prior|above|earlier|preceding|your)\b(?:\W+\w+){0,3}?\W*\b(i?u?nstruct\w*|iunstruct\w*|prompts?|guid(el|li)\w+|directi\w+|commands?|programming)\b",
    r"\b(note|attention|listen)\W+(to |all )?(the |any )?(ai|llms?|language models?|ai (assistants?|agents?|models?))\b|\bif you are an? (ai|llm|language model)\b",
    r"<\|(im_start|im_end|system|assistant|user|endoftext)\|>|\[/?inst\]|<</?sys>>|\(system_message\)|</?(important|information|system|instructions?)>",
    r"\b(do not|don'?t|never|without)\W+(tell|telling|mention|mentioning|inform|informing|notify|notifying|alert|alerting)\W+((this|it|that|anything)\W+to )?the (user|human)\b",
    r"\*+\s*new (urgent|important|system)[^*\n]{0,30}(task|instructions?)\s*\*+",
    r"\bbefore you can\b[^.\n]{0,60}\b(task|question|prompt)\b[^.\n]{0,40}\bdo the following",
];

/// Known wordings in a folded text, or in a view of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wordings {
    pub(crate) markers: Markers,
    /// One of them is no wording of people.
    pub(crate) strong: bool,
}

impl Wordings {
    /// The wordings that stand in a folded text.
    pub(crate) fn of(folded: &str) -> Self {
        let mut wordings = Self::default();
        for at in &set().matches(folded.as_bytes()) {
            match u32::try_from(at).ok().and_then(|class| 1_u8.checked_shl(class)) {
                Some(bit) => wordings.markers.0 |= bit,
                None => wordings.strong = true,
            }
        }
        wordings
    }
}

impl BitOr for Wordings {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { markers: self.markers | other.markers, strong: self.strong || other.strong }
    }
}

/// A set of the eight classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Markers(u8);

impl Markers {
    /// The number of classes, 0 to 8.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The names of the classes, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().enumerate().filter(move |(class, _)| self.0 >> class & 1 == 1).map(|(_, name)| name)
    }
}

impl BitOr for Markers {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn set() -> &'static RegexSet {
    static SET: OnceLock<RegexSet> = OnceLock::new();
    SET.get_or_init(|| {
        let built =
            RegexSetBuilder::new(PATTERNS.into_iter().chain(STRONG)).unicode(false).multi_line(true).build();
        #[expect(
            clippy::expect_used,
            reason = "the patterns are part of this build, and a test compiles them"
        )]
        built.expect("the patterns compile")
    })
}
