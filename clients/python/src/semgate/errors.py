"""Why something was not believed."""

from __future__ import annotations

CODES = frozenset(
    """
    malformed duplicate_key too_deep too_complex encoding_unsupported method_unsupported version_unsupported
    header_mismatch context_missing too_slow too_large context_unknown context_untrusted context_revoked
    context_suspended context_below_floor status_stale concept_undefined content_invalid content_uninspectable
    host_refused sender_mismatch receiver_mismatch lock_mismatch not_found out_of_turn replayed policy_denied
    policy_error approval_required approval_pending approval_denied approval_expired tool_drift target_refused ambiguity_limited rate_limited
    upstream_unavailable upstream_invalid reply_refused agent_error authorization_required upstream_timeout
    audit_unavailable state_unavailable
    """.split()
)
"""The stable codes of Semgate. What another side calls its refusal is one of these, or not told."""


class Refused(Exception):
    """A message, a context or an answer was refused.

    ``code`` is one of the stable codes of Semgate (``lock_mismatch``, ``replayed``, …). ``hint`` is what the other side says that can be
    done about it, or ``None``; it is no more trusted than whoever said it. The text holds nothing else of what was read.
    """

    def __init__(self, code: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{code}: {reason}; hint: {hint}" if hint else f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.hint = hint
