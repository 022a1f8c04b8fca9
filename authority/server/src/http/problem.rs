//! The one place where a fault becomes an answer: an RFC 9457 problem document with a stable `code` and a `hint`.
//!
//! Codes are listed in `docs/spec/authority-api.md`; a test reads that table. A code is never given a second meaning.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use semgate_certs::KeyFault;
use semgate_contexts::ContextUrn;
use semgate_statement::{SignFault, Status};

use crate::RunFault;

macro_rules! codes {
    ($($(#[$doc:meta])+ $name:ident, $text:literal, $status:ident, $hint:literal;)+) => {
        /// A refusal code, with its HTTP status and a hint.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])+ $name),+ }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$name),+];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status),+ }
            }

            /// Advice for the caller.
            #[must_use]
            pub fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint),+ }
            }
        }
    };
}

codes! {
    /// The body is not the JSON that the route takes.
    Malformed, "malformed", BAD_REQUEST, "send exactly the members that openapi.json names, as UTF-8 JSON";
    /// Two members of one object have the same name.
    DuplicateKey, "duplicate_key", BAD_REQUEST, "name each member once";
    /// No client certificate on a request that writes.
    CertificateRequired, "certificate_required", UNAUTHORIZED, "connect with the client certificate of a publisher";
    /// The certificate is verified, but its owner has no such right on this line.
    NotPermitted, "not_permitted", FORBIDDEN, "ask the operator: `detail` says whether the right on this line is missing (`[[publisher]]` in authority.toml) or a policy does not permit it (`policies`)";
    /// Another person than the one who proposed it has to agree.
    SecondPersonRequired, "second_person_required", FORBIDDEN, "another person with the right must approve it with `semgate authority approve`";
    /// No such route.
    NotFound, "not_found", NOT_FOUND, "see /openapi.json for the routes";
    /// No such proposal waits, or not any longer.
    ProposalUnknown, "proposal_unknown", NOT_FOUND, "see /v1/proposals for the waiting proposals; make an expired proposal again";
    /// No such context is published here.
    ContextUnknown, "context_unknown", NOT_FOUND, "see /v1/contexts for the published contexts";
    /// No authority of that name is recognised here.
    RecognitionUnknown, "recognition_unknown", NOT_FOUND, "see `semgate trust show` for the authorities that are recognised";
    /// The whole listing is longer than readers take; its pages go on.
    ListingPaged, "listing_paged", GONE, "read the pages: /v1/contexts/published/0-1024 and so on, up to the size of /checkpoint";
    /// The context does not count now, so a model must not learn it as current.
    ContextNotCurrent, "context_not_current", GONE, "use a version that counts; /v1/contexts lists them with their status";
    /// No page of more than 1024 entries, of none, or past the end of the published log.
    PageUnknown, "page_unknown", NOT_FOUND, "ask for 1 to 1024 log entries, as `from-to`, within the size of /checkpoint";
    /// The changes since that size are not known, or no longer.
    DeltaUnknown, "delta_unknown", NOT_FOUND, "read /v1/feed/head and the shards that it names";
    /// No shard of that number or digest, or no longer.
    ShardUnknown, "shard_unknown", NOT_FOUND, "read /v1/feed/head again and ask for the shards that it names";
    /// No such tile in the published log.
    TileUnknown, "tile_unknown", NOT_FOUND, "ask for tiles within the size of /checkpoint";
    /// No such revocation list, or none are served here.
    CrlUnknown, "crl_unknown", NOT_FOUND, "see the distribution point of the certificate";
    /// The route exists, the method does not.
    MethodNotAllowed, "method_not_allowed", METHOD_NOT_ALLOWED, "see the header `Allow`";
    /// The body did not arrive in time.
    RequestTimeout, "request_timeout", REQUEST_TIMEOUT, "send the whole body at once";
    /// Another digest is published under this URN; the offer is kept as evidence.
    UrnTaken, "urn_taken", CONFLICT, "a published version never changes; publish the next version";
    /// The line differs only in case from a published line, from one in the policies about publishers, or from a tree that holds it.
    LineCaseTaken, "line_case_taken", CONFLICT, "choose a line that differs in more than case, or spell it as published or as in the policies";
    /// Another authority is recognised for the line; a line belongs to one authority.
    LineRecognised, "line_recognised", CONFLICT, "publish it at the authority that is recognised for the line, or withdraw the recognition first";
    /// The context's status does not allow this act.
    TransitionRefused, "transition_refused", CONFLICT, "see its status in /v1/contexts; a revoked context stays revoked";
    /// The minor version does not accept what another of its major accepts; the comparison shows a document.
    VersionBreaks, "version_breaks", CONFLICT, "publish it under the major of `comparison.next_version`, or keep accepting the document of `comparison`";
    /// It is not known whether the minor version accepts what the others of its major accept.
    VersionUnproven, "version_unproven", CONFLICT, "publish it under the major of `comparison.next_version`, or write the part so that it can be compared";
    /// Policies cannot give it one type with the others of its major, so gateways would refuse every message of one of them.
    VersionUntyped, "version_untyped", CONFLICT, "publish it under the major of `comparison.next_version`, or give the members in `comparison.untyped` their earlier type";
    /// Another version of the major was published meanwhile, without a comparison.
    VersionRaced, "version_raced", SERVICE_UNAVAILABLE, "submit it again; the same submission again is safe";
    /// The floor is higher already.
    FloorLowered, "floor_lowered", CONFLICT, "a floor only rises; lowering one takes a statement by the root key";
    /// No published version is at or above the floor.
    FloorUnpublished, "floor_unpublished", CONFLICT, "publish a version at or above the floor first";
    /// A permission for another authority, for a published version, or beside unpublished versions.
    OverrideRefused, "override_refused", CONFLICT, "permit a version before you publish it; change a published version by the next version; else list the published versions again and sign again";
    /// A statement of the root that is out of order, lacks signatures, or would leave the authority without keys.
    TrustRefused, "trust_refused", CONFLICT, "see `semgate trust show`; draft it again and collect the required signatures";
    /// Nobody could withdraw the recognition: too few publishers may, or the status key may not speak for its lines.
    WithdrawalImpossible, "withdrawal_impossible", CONFLICT, "give publishers the right `revoke` on every line of the recognition, and the status key a certificate for these lines; then submit it again";
    /// The authority was recognised again after its withdrawal was requested.
    RecognitionReplaced, "recognition_replaced", CONFLICT, "check the current recognition (`semgate trust show`), and withdraw it if you mean that one";
    /// The body is longer than its limit.
    TooLarge, "too_large", PAYLOAD_TOO_LARGE, "a context has at most 90 kB of payload";
    /// Neither a bare nor a signed context, or not JSON.
    MediaTypeUnsupported, "media_type_unsupported", UNSUPPORTED_MEDIA_TYPE, "send the type that /openapi.json names for the route: application/jose+json for a signed object, else application/json";
    /// The document is not a context document, or its schemas are not within bounds.
    DocumentInvalid, "document_invalid", UNPROCESSABLE_ENTITY, "run `semgate context check` on the document";
    /// The signed context does not verify: form, signature or chain.
    SignatureInvalid, "signature_invalid", UNPROCESSABLE_ENTITY, "sign it again under a chain of this authority's roots: a context by `semgate context sign`, a statement of the root by `semgate trust sign`, a permission by `semgate context override`";
    /// No signer of this authority may sign on the line.
    LineNotDelegated, "line_not_delegated", UNPROCESSABLE_ENTITY, "the issuing certificate of this authority does not cover the line";
    /// A URN, line, version or reason is not in its form.
    ParameterInvalid, "parameter_invalid", UNPROCESSABLE_ENTITY, "see /openapi.json for the form of each parameter";
    /// Something failed inside; the operator's log says what.
    Internal, "internal", INTERNAL_SERVER_ERROR, "tell the operator of this authority";
    /// Too many submissions or followers at once.
    Busy, "busy", SERVICE_UNAVAILABLE, "try again after the seconds of `Retry-After`";
    /// Too many proposals wait for a second person.
    ProposalsFull, "proposals_full", SERVICE_UNAVAILABLE, "approve waiting proposals, or try again when some have expired";
    /// The submission could not be brought to disk; it was not published.
    StorageFailed, "storage_failed", SERVICE_UNAVAILABLE, "try again; the log of the operator shows the error of the disk";
    /// The submission found no room on the disk; it was not published.
    StorageFull, "storage_full", INSUFFICIENT_STORAGE, "try again when the operator has made room; nothing was published";
    /// A document that followers read would exceed their bound, or a publisher's account its quota.
    AuthorityFull, "authority_full", INSUFFICIENT_STORAGE, "nothing was published; `detail` names the bound: ask the operator to raise the quota of a publisher, or to spread lines over several authorities";
    /// The number of logged permissions is at its limit, for all persons or for this one.
    OverridesFull, "overrides_full", INSUFFICIENT_STORAGE, "publish it under the next major; or ask the operator to raise `limits.overrides`, or to lower `limits.account_share`";
    /// The signing key has no valid certificate, or its device does not answer.
    SignerUnavailable, "signer_unavailable", SERVICE_UNAVAILABLE, "try again; if it still fails, ask the operator to check the key of the role and its certificate";
    /// The authority's clock jumped, or is behind the last signature; it signs nothing now.
    ClockWrong, "clock_wrong", SERVICE_UNAVAILABLE, "nothing was published or revoked: ask the operator to check the clock of this authority";
    /// The new head was not public in time; the statement may still be published.
    Unfinished, "unfinished", SERVICE_UNAVAILABLE, "ask again; the same submission again is safe";
    /// The authority is stopping; ask after its return if the submission was published.
    Stopping, "stopping", SERVICE_UNAVAILABLE, "try again when the authority is back; the same submission again is safe";
}

impl Code {
    /// The problem for a write that failed and changed nothing.
    pub(crate) fn of_write(fault: &RunFault) -> Self {
        match fault {
            fault if fault.is_no_room() => Self::StorageFull,
            RunFault::Signer { .. } => Self::SignerUnavailable,
            _ => Self::StorageFailed,
        }
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub code: Code,
    pub detail: String,
    pub allow: Option<&'static str>,
    /// An additional member, for problems that show evidence.
    pub more: Option<Box<(&'static str, serde_json::Value)>>,
}

impl Problem {
    /// A problem with its detail, which never holds a value from a payload.
    pub fn new(code: Code, detail: impl std::fmt::Display) -> Self {
        Self { code, detail: detail.to_string(), allow: None, more: None }
    }

    /// The problem for a key that did not sign. A failed device may recover in a moment, and nothing was published.
    pub fn unsigned(fault: &SignFault) -> Self {
        match fault {
            SignFault::Key(KeyFault::Device(_)) => {
                tracing::error!("a key did not sign: {fault}");
                Self::new(Code::SignerUnavailable, "the signing key does not answer")
            }
            fault => Self::new(Code::Internal, fault),
        }
    }

    /// Adds a member.
    pub fn with(mut self, name: &'static str, value: serde_json::Value) -> Self {
        self.more = Some(Box::new((name, value)));
        self
    }
}

/// Checks that a context to which a new document refers counts.
pub(crate) fn reference_counts(urn: &ContextUrn, status: Option<Status>) -> Result<(), Problem> {
    let state = match status {
        Some(Status::Valid | Status::Deprecated) => return Ok(()),
        Some(Status::Invalid) => "revoked",
        Some(Status::Suspended) => "suspended",
        None => "not published here",
    };
    let detail = format!("it refers to `{urn}`, which is {state}; refer to a valid version");
    Err(Problem::new(Code::DocumentInvalid, detail))
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Self { code, detail: String::new(), allow: None, more: None }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let mut body = json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or("error"),
            "status": status.as_u16(),
            "code": self.code.as_str(),
            "hint": self.code.hint(),
        });
        if let (false, Some(members)) = (self.detail.is_empty(), body.as_object_mut()) {
            members.insert("detail".to_owned(), self.detail.clone().into());
        }
        if let (Some(more), Some(members)) = (self.more, body.as_object_mut()) {
            members.insert(more.0.to_owned(), more.1);
        }
        let mut answer = (status, body.to_string()).into_response();
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self.code {
            // RFC 9110 §15.5.2 asks for a challenge; there is no registered scheme for client certificates.
            Code::CertificateRequired => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Client-Certificate"));
            }
            Code::Busy
            | Code::ProposalsFull
            | Code::StorageFull
            | Code::StorageFailed
            | Code::SignerUnavailable
            | Code::ClockWrong
            | Code::Stopping
            | Code::Unfinished
            | Code::VersionRaced => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        answer
    }
}
