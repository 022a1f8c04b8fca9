"""What messages carry: the context that they are about, and the lock of the session."""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Any, Protocol

from .encoding import Json

#: The extension URI of A2A, the key of its metadata, and the URN of the control vocabulary.
A2A_EXTENSION = "urn:contexts:snl:v1.0"
#: The key in MCP's ``_meta``.
MCP_META = "dev.semgate/l9"


def claim(
    urn: str, *, digest: str | None = None, lock: str | None = None, performative: str | None = None
) -> Json:
    """``{"context", "digest"?, "lock"?, "performative"?}``."""
    parts = {"context": urn, "digest": digest, "lock": lock, "performative": performative}
    return {name: value for name, value in parts.items() if value is not None}


class _A2aMessage(Protocol):
    """A message of a2a-sdk: a protobuf message whose metadata is a ``Struct``."""

    @property
    def metadata(self) -> Any: ...

    @property
    def extensions(self) -> MutableSequence[str]: ...


@dataclass(frozen=True)
class Session:
    """What a handshake leaves behind: every message of the session names this context and carries this lock."""

    urn: str
    digest: str
    lock: str
    expires_at: int
    #: The embedding model of every vector in the session; ``None`` where the other side chose none.
    model: str | None = None

    def claim(self, performative: str | None = None) -> Json:
        """The claim of one message."""
        return claim(self.urn, digest=self.digest, lock=self.lock, performative=performative)

    def a2a_metadata(self, performative: str | None = None) -> Json:
        """``message.metadata`` of A2A."""
        return {A2A_EXTENSION: self.claim(performative)}

    def mark(self, message: _A2aMessage, performative: str | None = None) -> None:
        """Sets metadata and extension of a message of a2a-sdk."""
        message.metadata.update(self.a2a_metadata(performative))
        if A2A_EXTENSION not in message.extensions:
            message.extensions.append(A2A_EXTENSION)

    def mcp_meta(self, performative: str | None = None) -> Json:
        """``_meta`` of an MCP request, as in ``session.call_tool(name, arguments, meta=…)``."""
        return {MCP_META: self.claim(performative)}

    def l8_members(self) -> Json:
        """Members of the envelope of native L8."""
        return {"context": self.urn, "digest": self.digest, "lock": self.lock}
