"""Why something was not believed."""


class Refused(Exception):
    """A message, a context or an answer was refused.

    ``code`` is one of the stable codes of Semgate (``lock_mismatch``, ``replayed``, …). The text holds nothing of what was read.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
