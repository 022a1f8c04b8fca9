"""The vectors of the specification, as a second implementation reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from semgate import Trust

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def vectors() -> Any:
    return json.loads((REPOSITORY / "firewall/negotiation/vectors/handshake.json").read_text())


@pytest.fixture(scope="session")
def trust(vectors: Any) -> Trust:
    return Trust({vectors["trust_domain"]: vectors["roots"].encode()})
