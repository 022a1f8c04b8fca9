"""The handshake over HTTPS, with the standard library alone."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from .errors import CODES, Refused

_MAX_ANSWER = 512 * 1024
_MAX_HINT = 512


def tls(certificate: str | Path, key: str | Path, roots: str | Path) -> ssl.SSLContext:
    """TLS 1.3 with the agent's own certificate, trusting these roots only."""
    context = ssl.create_default_context(cafile=str(roots))
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(str(certificate), str(key))
    return context


def post(url: str, context: ssl.SSLContext | None = None, timeout: float = 10.0) -> Callable[[bytes], bytes]:
    """A ``send`` for :func:`semgate.shake_hands`. One connection for all messages, since LOCK must reach the process that said SELECT."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        if context is None:
            raise ValueError("https wants the TLS context of the agent")
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    elif parts.scheme == "http" and host in ("127.0.0.1", "::1", "localhost"):
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    else:
        raise ValueError("plain http is for loopback only")

    def send(body: bytes) -> bytes:
        connection.request("POST", parts.path or "/", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read(_MAX_ANSWER + 1)
        if len(data) > _MAX_ANSWER:
            raise Refused("too_large", "the answer is longer than any of a handshake")
        if answer.status != 200:
            raise _refused(data)
        return data

    return send


def _refused(data: bytes) -> Refused:
    from .encoding import read_object

    try:
        problem = read_object(data)
    except Refused:
        return Refused("upstream_invalid", "the answer is no handshake message")
    hint = problem.get("hint")
    code = problem.get("code")
    known = code if isinstance(code, str) and code in CODES else "upstream_invalid"
    return Refused(known, "the other side refused", _line(hint))


def _line(hint: object) -> str | None:
    """A hint as one line that is fit for a log: of its length, and of nothing that a terminal would obey."""
    if not isinstance(hint, str):
        return None
    return "".join(c for c in hint if c.isprintable())[:_MAX_HINT] or None
