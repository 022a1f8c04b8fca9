"""Talks to agents behind Semgate: the semantic handshake, signed contexts, and the metadata that messages carry.

Nothing here reads a clock by itself except :func:`semgate.shake_hands` and :mod:`semgate.http`, which stand at the edge.
"""

from .agent import Agent
from .certificates import Trust
from .context import SignedContext, verify_context
from .errors import Refused
from .handshake import Chosen, Closing, Greeted, Minimum, Offer, shake_hands
from .metadata import A2A_EXTENSION, MCP_META, Session, claim
from .models import Authority, mcp_server, prompt
from .sealing import PeerKey

__all__ = [
    "A2A_EXTENSION",
    "MCP_META",
    "Agent",
    "Authority",
    "Chosen",
    "Closing",
    "Greeted",
    "Minimum",
    "Offer",
    "PeerKey",
    "Refused",
    "Session",
    "SignedContext",
    "Trust",
    "claim",
    "mcp_server",
    "prompt",
    "shake_hands",
    "verify_context",
]
