//! gotoHuman: `POST /requestReview` asks for a permission about the fields of a form.

use super::draft::{Draft, Kind};
use crate::{
    MessageFault,
    member::{Read, object, required, string, unknown},
    text,
};
use semgate_contexts::json::Json;

/// Reads a review.
///
/// # Errors
/// `malformed` for a member that is unknown, missing or of the wrong form, and for `autoApprove: true`: no agent approves.
pub(super) fn review(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    let (mut draft, mut form, mut title, mut fields) = (Draft::default(), None, None, None);
    for (key, value) in object(body, "")?.iter() {
        match key {
            "formId" => form = Some(string(value, "", key)?),
            "title" => title = Some(string(value, "", key)?),
            "fields" => fields = Some(value),
            "webhookUrl" => draft.json("callback", value),
            "autoApprove" if matches!(value, Json::Bool(false) | Json::Null) => {}
            "autoApprove" => {
                return Err(MessageFault::malformed("/autoApprove", "asks for an approval without a person"));
            }
            "agentId" | "config" | "meta" | "assignTo" | "assignToGroups" | "updateForReviewId"
            | "workflow" | "sessionId" | "millis" | "origin" | "originV" => draft.ignored(key, value),
            _ => return unknown("", key),
        }
    }
    let form = required(form, "", "formId")?;
    draft.string("summary", title.unwrap_or(form));
    draft.put("call", |out| {
        out.push_str("{\"name\":");
        text::string(form, out);
        if let Some(fields) = fields {
            out.push_str(",\"arguments\":");
            text::write(fields, out);
        }
        out.push('}');
    });
    draft.finish(Kind::Permission, default_human)
}
