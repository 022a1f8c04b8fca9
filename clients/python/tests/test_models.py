import json
import stat
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from semgate import Authority, Refused, mcp_server, prompt


def program(tmp_path: Path, said: str, status: int = 0) -> Path:
    """A program that writes its arguments to a file, says this and ends with this status."""
    path = tmp_path / "semgate"
    (tmp_path / "said").write_text(said)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{tmp_path}/words'\ncat '{tmp_path}/said'\nexit {status}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def words(tmp_path: Path) -> list[str]:
    return (tmp_path / "words").read_text().splitlines()


def test_a_prompt_is_what_the_program_wrote_and_the_authority_is_named_in_full(tmp_path: Path) -> None:
    text = "# Context urn:contexts:travel:v2.1\n"
    semgate = program(tmp_path, json.dumps({"urn": "urn:contexts:travel:v2.1", "prompt": text}))
    asked = Authority(url="https://authority.test", roots="roots.pem", log_key="key")
    assert prompt("travel:v2.1", asked, budget=900, program=semgate) == text
    assert words(tmp_path) == [
        "--json", "context", "prompt", "--authority=https://authority.test", "--roots=roots.pem", "--log-key=key",
        "--budget=900", "--", "travel:v2.1",
    ]  # fmt: skip


def test_attack_a_context_that_looks_like_an_option_is_none(tmp_path: Path) -> None:
    semgate = program(tmp_path, json.dumps({"prompt": ""}))
    prompt("--file=/etc/passwd", program=semgate)
    assert words(tmp_path)[-2:] == ["--", "--file=/etc/passwd"]


@pytest.mark.parametrize(
    ("said", "reason", "hint"),
    [
        ('{"error": "`urn` is revoked", "hint": "use another\\u001b[0m"}', "`urn` is revoked", "use another[0m"),
        ("no json", "the program `semgate` failed", None),
        ("", "the program `semgate` failed", None),
    ],
)
def test_a_refusal_of_the_program_is_raised_with_its_hint(tmp_path: Path, said: str, reason: str, hint: str | None) -> None:
    with pytest.raises(Refused) as refused:
        prompt("travel:v2.1", program=program(tmp_path, said, 1))
    assert (refused.value.code, refused.value.reason, refused.value.hint) == ("context_untrusted", reason, hint)


@pytest.mark.parametrize("said", ["", "{}", '{"prompt": 1}', '{"prompt": "a", "prompt": "b"}', "[]"])
def test_anything_but_a_prompt_is_refused(tmp_path: Path, said: str) -> None:
    with pytest.raises(Refused):
        prompt("travel:v2.1", program=program(tmp_path, said))


def test_a_missing_program_is_named() -> None:
    with pytest.raises(OSError):
        prompt("travel:v2.1", program="/nowhere/semgate")


def test_the_parameters_of_the_server_start_it_for_this_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class StdioServerParameters:
        command: str
        args: list[str] = field(default_factory=list)

    stand_in = types.ModuleType("mcp")
    setattr(stand_in, "StdioServerParameters", StdioServerParameters)
    monkeypatch.setitem(sys.modules, "mcp", stand_in)
    server = mcp_server(Authority(dir="/srv/semgate"))
    assert (server.command, server.args) == ("semgate", ["context", "serve-mcp", "--dir=/srv/semgate"])
