//! What counts of one authority by what another one says of it (F0-50): between the views of the followers and what messages are judged by.
//! Every view stays its own authority's; nothing is merged.

use std::sync::Arc;

use semgate_statement::{Recogniser, View};

use crate::config::Config;

/// The recognisers of the authorities that need one, in the order of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Recognisers(Vec<Option<(usize, Recogniser)>>);

impl Recognisers {
    /// As configured.
    pub(crate) fn of(config: &Config) -> Self {
        let place = |name: &String| config.authorities.iter().position(|other| other.name == *name);
        let each = config.authorities.iter().map(|authority| {
            let by = authority.recognised_by.as_ref().and_then(place)?;
            Some((by, Recogniser::default()))
        });
        Self(each.collect())
    }

    /// The views as they count now, each by its own authority and by the one that must recognise that one.
    pub(crate) fn judge(&mut self, views: &[Arc<View>]) -> Vec<Arc<View>> {
        let mut judged = views.to_vec();
        for (view, recogniser) in judged.iter_mut().zip(&mut self.0) {
            let Some((by, recogniser)) = recogniser else { continue };
            // one that is not there counts as one that was never heard
            let by =
                views.get(*by).cloned().unwrap_or_else(|| Arc::new(View::empty("", view.lines().clone())));
            *view = Arc::new(recogniser.judge(view, &by));
        }
        judged
    }
}
