//! Other readings of a text: disguises taken off. A view is made only where it differs from the folded text.

mod coded;
mod skeleton;
mod spacing;
mod unjoined;

use crate::fold::fold;

/// The folded text first, then each view of it and of the texts that it carries in a code.
pub(crate) fn views(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut views = Vec::with_capacity(1);
    for carried in coded::decoded(text) {
        plain_views(fold(&carried), &mut views);
    }
    plain_views(folded, &mut views);
    let last = views.len() - 1;
    views.swap(0, last);
    views
}

/// Adds the views of a folded text, and last the text itself. Each view takes off one more disguise than the one before.
fn plain_views(folded: String, views: &mut Vec<String>) {
    let steps: [fn(&str) -> Option<String>; 4] =
        [spacing::joined, spacing::parted, skeleton::unleet, unjoined::unjoined];
    let mut last = skeleton::skeleton(&folded);
    for step in steps {
        if let Some(next) = step(last.as_deref().unwrap_or(&folded)) {
            views.extend(last.replace(next));
        }
    }
    views.extend(last);
    views.push(folded);
}
