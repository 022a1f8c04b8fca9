//! What counts of one authority by what another one, or the operator, says of it (F0-50): between the views of the followers and what
//! messages are judged by. Every view stays its own authority's; nothing is merged.

use std::sync::Arc;

use semgate_statement::{Recogniser, View};

use crate::config::Config;

/// The recognisers of the authorities that need one, and who is distrusted, in the order of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Recognisers {
    each: Vec<Option<(usize, Recogniser)>>,
    distrusted: Vec<String>,
}

impl Recognisers {
    /// As configured.
    pub(crate) fn of(config: &Config) -> Self {
        let place = |name: &String| config.authorities.iter().position(|other| other.name == *name);
        let each = config.authorities.iter().map(|authority| {
            let by = authority.recognised_by.as_ref().and_then(place)?;
            Some((by, Recogniser::default()))
        });
        Self { each: each.collect(), distrusted: config.distrusted() }
    }

    /// Who is distrusted from now on; answers whether that is anything new.
    pub(crate) fn distrust(&mut self, names: Vec<String>) -> bool {
        let changed = self.distrusted != names;
        self.distrusted = names;
        changed
    }

    /// The views as they count now, each by its own authority and by the one that must recognise that one.
    pub(crate) fn judge(&mut self, views: &[Arc<View>]) -> Vec<Arc<View>> {
        let distrusted = |view: &Arc<View>| match self.distrusted.iter().any(|name| name == view.authority())
        {
            true => Arc::new(view.distrusted()),
            false => Arc::clone(view),
        };
        let own: Vec<Arc<View>> = views.iter().map(distrusted).collect();
        let mut judged = own.clone();
        for (view, recogniser) in judged.iter_mut().zip(&mut self.each) {
            let Some((by, recogniser)) = recogniser else { continue };
            // one that is not there counts as one that was never heard
            let by = own.get(*by).cloned().unwrap_or_else(|| Arc::new(View::empty("", view.lines().clone())));
            *view = Arc::new(recogniser.judge(view, &by));
        }
        judged
    }
}
