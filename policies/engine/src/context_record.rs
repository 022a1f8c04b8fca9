//! The context record of a question, member by member: the circumstances as policies read them.

use cedar_policy::{EntityUid, RestrictedExpression};
use semgate_contexts::Line;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::ask::Resolved;
use crate::wants::Wants;
use crate::{Question, Scores};

type Expression = RestrictedExpression;

/// A member of the context record, with the scores that are looked at; none for `session` outside of sessions.
///
/// # Errors
/// A time that is none of a year of four digits. A score of a text that nobody looked at.
pub(crate) fn member(
    name: &str,
    question: &Question<'_>,
    resolved: &Resolved<'_>,
    wants: Wants,
    receiver: impl FnOnce() -> EntityUid,
) -> Result<Option<Expression>, String> {
    let around = &question.circumstances;
    let text = |text: &str| Expression::new_string(text.to_owned());
    Ok(Some(match name {
        "receiver" => Expression::new_entity_uid(receiver()),
        "line" => text(Line::as_str(&resolved.info.line)),
        "major" => Expression::new_long(i64::from(resolved.shape.major)),
        "minor" => Expression::new_long(i64::from(resolved.shape.minor)),
        "binding" => text(question.binding),
        "binding_version" => text(around.protocol_version),
        "direction" => text(question.direction),
        "free_text" => Expression::new_bool(resolved.free_text),
        "locked" => Expression::new_bool(around.locked().is_some()),
        "session" => match around.locked() {
            Some(session) => Expression::new_record([("expires".to_owned(), moment(session.expires_at)?)])
                .map_err(|_| "the session".to_owned())?,
            None => return Ok(None),
        },
        "now" => moment(around.now)?,
        "scores" => scores(question, &around.scores, wants)?,
        other => return Err(format!("no value for `context.{other}`")),
    }))
}

fn scores(question: &Question<'_>, measured: &Scores, wants: Wants) -> Result<Expression, String> {
    let value = |name: &str| {
        let counted = match name {
            "text_length" => question.shape.free_text_length(question.value).saturating_add(measured.beside),
            "message_bytes" => measured.message_bytes,
            "concepts" => measured.concepts,
            "ambiguous" => measured.ambiguous,
            text => return measured.text.get(text),
        };
        Some(Some(counted))
    };
    let mut pairs = Vec::new();
    for name in wants.scores() {
        let value = value(name).ok_or_else(|| format!("no value for `context.scores.{name}`"))?;
        let value = value.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
        pairs.extend(value.map(|value| (name.to_owned(), Expression::new_long(value))));
    }
    Expression::new_record(pairs).map_err(|_| "the scores".to_owned())
}

/// A second as Cedar's `datetime`.
fn moment(unix: u64) -> Result<Expression, String> {
    let seconds = i64::try_from(unix).map_err(|_| "the time".to_owned())?;
    let time = OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| "the time".to_owned())?;
    time.format(&Rfc3339).map(Expression::new_datetime).map_err(|_| "the time".to_owned())
}
