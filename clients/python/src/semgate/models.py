"""Verified definitions for a model: as text for its system prompt, or as an MCP server that it asks.

Both run the program ``semgate``, which verifies signatures, log and status; nothing is believed that it does not believe.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .encoding import read_object
from .errors import Refused

if TYPE_CHECKING:
    from mcp import StdioServerParameters

_MAX_ANSWER = 4 * 1024 * 1024
_MAX_HINT = 512


@dataclass(frozen=True)
class Authority:
    """Whom to ask: the directory of ``semgate up`` or ``init``, or an address with the roots of that authority.

    Without either it is the authority of ``semgate use``, else ``./.semgate``.
    """

    dir: str | Path | None = None
    url: str | None = None
    roots: str | Path | None = None
    log_key: str | None = None

    def arguments(self) -> list[str]:
        """The options of the command line."""
        given = {"--dir": self.dir, "--authority": self.url, "--roots": self.roots, "--log-key": self.log_key}
        return [f"{name}={value}" for name, value in given.items() if value is not None]


def prompt(
    context: str,
    authority: Authority | None = None,
    *,
    budget: int | None = None,
    program: str | Path = "semgate",
    timeout: float = 60.0,
) -> str:
    """The text of a context for a system prompt (``docs/spec/prompt.md``), within ``budget`` tokens.

    Raises :class:`Refused` with the code ``context_untrusted`` if the context cannot be had, is not verified, does not count now (revoked,
    suspended, below a floor) or does not fit, and ``OSError`` if there is no such program.
    """
    words = [str(program), "--json", "context", "prompt", *(authority or Authority()).arguments()]
    if budget is not None:
        words.append(f"--budget={budget}")
    # a context never begins with a dash, so none is taken for an option
    done = subprocess.run([*words, "--", context], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise _refused(done.stderr + done.stdout)
    if len(done.stdout) > _MAX_ANSWER:
        raise Refused("too_large", "the answer is longer than any prompt")
    text = read_object(done.stdout.strip()).get("prompt")
    if not isinstance(text, str):
        raise Refused("context_untrusted", "the program wrote no prompt")
    return text


def mcp_server(authority: Authority | None = None, *, program: str | Path = "semgate") -> StdioServerParameters:
    """The parameters with which a client of the package ``mcp`` starts ``semgate context serve-mcp``."""
    from mcp import StdioServerParameters

    return StdioServerParameters(
        command=str(program), args=["context", "serve-mcp", *(authority or Authority()).arguments()]
    )


def _refused(said: bytes) -> Refused:
    """The fault that the program names, as one line."""
    for line in said.decode("utf-8", "replace").splitlines():
        try:
            fault = json.loads(line)
        except ValueError:
            continue
        if isinstance(fault, dict) and isinstance(fault.get("error"), str):
            hint = fault.get("hint")
            return Refused("context_untrusted", _line(fault["error"]), _line(hint) if isinstance(hint, str) else None)
    return Refused("context_untrusted", "the program `semgate` failed")


def _line(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:_MAX_HINT]
