"""Why something was not believed."""

from __future__ import annotations


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
