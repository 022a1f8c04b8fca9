import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from semgate import Refused
from semgate.errors import CODES
from semgate.http import post


class Says(BaseHTTPRequestHandler):
    problem: Any = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(type(self).problem).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Says)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ({"hint": "negotiate a new lock"}, "negotiate a new lock"),
        ({"hint": "two\nlines\x1b[2J"}, "twolines[2J"),
        ({"hint": "a" * 600}, "a" * 512),
        ({"hint": 7}, None),
        ({"hint": ""}, None),
        ({}, None),
    ],
)
def test_a_refusal_keeps_what_can_be_done_about_it(url: str, said: dict[str, object], hint: str | None) -> None:
    Says.problem = {"code": "lock_mismatch", **said}
    with pytest.raises(Refused) as caught:
        post(url)(b"{}")
    refused = caught.value
    assert (refused.code, refused.reason, refused.hint) == ("lock_mismatch", "the other side refused", hint)
    assert str(refused) == "lock_mismatch: the other side refused" + (f"; hint: {hint}" if hint else "")


@pytest.mark.parametrize(
    "code",
    ["two\nlines", "\x1b[2Jlock_mismatch", "a" * 400_000, "", "no_such_code", 7, None, ["lock_mismatch"], {"a": 1}],
    ids=["lines", "escape", "long", "empty", "unknown", "number", "null", "list", "object"],
)
def test_attack_the_code_of_a_refusal_came_into_the_text_whatever_it_was(url: str, code: object) -> None:
    Says.problem = {"code": code, "hint": "negotiate a new lock"}
    with pytest.raises(Refused) as caught:
        post(url)(b"{}")
    assert caught.value.code == "upstream_invalid"
    assert str(caught.value) == "upstream_invalid: the other side refused; hint: negotiate a new lock"


def test_the_known_codes_are_those_of_the_page() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "refusals.md"
    table = page.read_text().split("## The codes", 1)[1]
    assert CODES == {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
