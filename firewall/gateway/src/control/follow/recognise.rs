//! Recognition between authorities: decides how much of one authority counts by the statement of another, or of the operator.
//! It filters the followers' views before messages are judged by them. Each view stays its own authority's; nothing is
//! merged.

use std::sync::Arc;

use semgate_statement::{Recogniser, View};

use crate::config::Config;

/// Recognisers of the authorities that need one, and the distrusted authorities, in configuration order.
#[derive(Debug, Default)]
pub(crate) struct Recognisers {
    each: Vec<Option<(usize, Recogniser)>>,
    distrusted: Vec<String>,
}

impl Recognisers {
    /// Creates the recognisers of the configuration.
    pub(crate) fn of(config: &Config) -> Self {
        let position_of = |name: &String| config.authorities.iter().position(|other| other.name == *name);
        let each = config.authorities.iter().map(|authority| {
            let by = authority.recognised_by.as_ref().and_then(position_of)?;
            Some((by, Recogniser::default()))
        });
        Self { each: each.collect(), distrusted: config.distrusted() }
    }

    /// Sets the distrusted authorities. Returns true if they changed.
    pub(crate) fn distrust(&mut self, names: Vec<String>) -> bool {
        let changed = self.distrusted != names;
        self.distrusted = names;
        changed
    }

    /// The views as they count now, each judged by its own authority and its recogniser.
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
            // an absent recogniser counts as one never heard from
            let by = own.get(*by).cloned().unwrap_or_else(|| Arc::new(View::empty("", view.lines().clone())));
            *view = Arc::new(recogniser.judge(view, &by));
        }
        judged
    }
}
