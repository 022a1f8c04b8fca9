"""The side that opens a handshake: HELLO → SELECT → LOCK → the lock. Each step is made by the one before it."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .agent import Agent
from .certificates import AGENT, SERVER, Trust, trust_domain
from .encoding import Json, canonical, closed, from_base64url, is_digest, read_object, seconds, text, to_base64url
from .errors import Refused
from .locks import end_of, model_of, session, session_of
from .metadata import A2A_EXTENSION, Session
from .sealing import PeerKey, SealingKey
from .signing import SKEW, Signed

_FEATURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}\Z")
#: The beginning of a feature that names an embedding model.
_EMBEDDING = "embedding:"
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,53}\Z")
_VERSION = re.compile(r"v(0|[1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,9})\Z")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_HINT = re.compile(r"[!-~]{1,512}\Z")
_URN = re.compile(r"urn:[a-z0-9:-]+:([A-Za-z0-9.-]+):(v[0-9]+\.[0-9]+)\Z")
#: The highest number of a version.
_HIGHEST = 2**32 - 1
#: Longest session in seconds.
LONGEST = 43_200

Version = tuple[int, int]


def version(text_: str) -> Version:
    """``v2.1`` as numbers, since ``v1.10`` is newer than ``v1.9``."""
    found = _VERSION.match(text_)
    if not found or max(int(found[1]), int(found[2])) > _HIGHEST:
        raise Refused("malformed", "not a version")
    return int(found[1]), int(found[2])


def is_line(text_: str) -> bool:
    """Whether it is the name of a line: labels of letters, digits and inner hyphens, joined by dots."""
    return len(text_) <= 253 and all(_LABEL.match(label) for label in text_.split("."))


@dataclass(frozen=True)
class Offer:
    """A context that can be spoken."""

    urn: str
    digest: str
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_digest(self.digest) or list(self.features) != sorted(set(self.features)):
            raise Refused("malformed", "an offer needs a digest, and features in order, each once")
        if len(self.features) > 32 or not all(_FEATURE.match(feature) for feature in self.features):
            raise Refused("malformed", "not the names of features")
        if not all(_MODEL.match(model) for model in self.models):
            raise Refused("malformed", "not the name of an embedding model")
        self.line, self.version  # noqa: B018 - both are read once, so that a URN that is none is refused here

    @classmethod
    def with_models(cls, urn: str, digest: str, models: Iterable[str], features: Iterable[str] = ()) -> Offer:
        """An offer of a context with the embedding models that this side speaks."""
        names = {*features, *(f"{_EMBEDDING}{model}" for model in models)}
        return cls(urn, digest, tuple(sorted(names)))

    @property
    def models(self) -> tuple[str, ...]:
        """The embedding models among the features: several in an offer, at most one in a choice."""
        found = (feature for feature in self.features if feature.startswith(_EMBEDDING))
        return tuple(feature.removeprefix(_EMBEDDING) for feature in found)

    @property
    def line(self) -> str:
        """The line of the URN."""
        return self._parts()[0]

    @property
    def version(self) -> Version:
        """The version of the URN."""
        return version(self._parts()[1])

    def _parts(self) -> tuple[str, str]:
        found = _URN.match(self.urn)
        if not found or not is_line(found[1]):
            raise Refused("malformed", "not the URN of a context")
        return found[1], found[2]

    def to_json(self) -> Json:
        """As it stands in a HELLO."""
        return {"urn": self.urn, "digest": self.digest, "features": list(self.features)}

    @classmethod
    def of_json(cls, value: object) -> Offer:
        """Reads an offer."""
        members = closed(value, {"urn", "digest", "features"})
        features = members["features"]
        if not isinstance(features, list) or not all(isinstance(one, str) for one in features):
            raise Refused("malformed", "features are no list of texts")
        return cls(text(members, "urn", 256), text(members, "digest", 72), tuple(features))


@dataclass(frozen=True)
class Minimum:
    """The lowest version of a line that a party takes."""

    line: str
    min: str

    def to_json(self) -> Json:
        """As it stands in HELLO and SELECT."""
        return {"line": self.line, "min": self.min}

    @classmethod
    def of_json(cls, value: object) -> Minimum:
        """Reads a minimum."""
        members = closed(value, {"line", "min"})
        version(text(members, "min", 22))
        if not is_line(text(members, "line", 253)):
            raise Refused("malformed", "a minimum is of no line")
        return cls(members["line"], members["min"])

    @classmethod
    def list_of_json(cls, value: object) -> tuple[Minimum, ...]:
        """Reads the minimums of a party: at most 64, no line twice."""
        if not isinstance(value, list) or len(value) > 64:
            raise Refused("malformed", "minimums are no list")
        minimums = tuple(cls.of_json(one) for one in value)
        # no authority publishes two lines that differ in case alone
        if len({one.line.lower() for one in minimums}) != len(minimums):
            raise Refused("malformed", "minimums state a line twice")
        return minimums


def _nonce() -> str:
    return to_base64url(secrets.token_bytes(16))


def message(kind: str, content: Json, sender: str, receiver: str, context: str = A2A_EXTENSION) -> Json:
    """The native L8 message around a concept object of the handshake."""
    return {
        "protocol": "L8/1.0",
        "message_id": _nonce(),
        "performative": "REQUEST",
        "sender_id": sender,
        "receiver_id": receiver,
        "context": context,
        "content": {"concept_type": kind, **content},
    }


def content_of(reply: Json, kind: str, context: str = A2A_EXTENSION) -> Json:
    """The concept object of a native L8 message, without its name."""
    content = reply.get("content")
    if reply.get("context") != context or not isinstance(content, dict):
        raise Refused("malformed", "the answer is no handshake message")
    content = dict(content)
    if content.pop("concept_type", None) != kind:
        raise Refused("malformed", f"the answer is no {kind}")
    return content


@dataclass(frozen=True)
class Greeted:
    """A HELLO was said; its SELECT is awaited."""

    agent: Agent
    hello: Json
    signed: Signed
    content: Json
    key: SealingKey | None = None

    @classmethod
    def say(
        cls,
        agent: Agent,
        to: str,
        offers: Sequence[Offer],
        minimums: Sequence[Minimum] = (),
        *,
        now: int,
        seal_to: PeerKey | None = None,
    ) -> Greeted:
        """Says HELLO. ``content`` is the concept object to send, without its name."""
        if seal_to is not None and seal_to.agent != to:
            raise Refused("receiver_mismatch", "the key to seal to is another agent's")
        trust_domain(to)
        key = SealingKey() if seal_to is not None else None
        hello: Json = {
            "nonce": _nonce(),
            "from": agent.id,
            "to": to,
            "issued_at": now,
            "contexts": [offer.to_json() for offer in offers],
            "minimums": [minimum.to_json() for minimum in minimums],
        }
        if key is not None:
            hello["key"] = to_base64url(key.point)
        signed = agent.sign(hello, "snl-hello+jws")
        content = signed.to_json() if seal_to is None else {"sealed": seal_to.seal("HELLO", signed)}
        return cls(agent, hello, signed, content, key)

    def select(self, content: Json, trust: Trust, now: int) -> Chosen:
        """Takes the SELECT: by the agent that was greeted, about this HELLO, with a choice that was offered."""
        if ("sealed" in content) != (self.key is not None):
            raise Refused("lock_mismatch", "sealed where it should be open, or the other way round")
        if self.key is not None:
            signed = self.key.open("SELECT", closed(content, {"sealed"})["sealed"])
        else:
            signed = Signed.of_json(content)
        said = signed.verify("snl-select+jws", trust, [AGENT, SERVER], now)
        names = {"nonce", "from", "to", "issued_at", "minimums", "choice", "hello"}
        closed(said, names, frozenset({"hint"}))
        if len(from_base64url(text(said, "nonce", 86))) != 16:
            raise Refused("malformed", "member `nonce` has not its length")
        if said["from"] != self.hello["to"]:
            raise Refused("sender_mismatch", "the answer is from another agent")
        if said["to"] != self.hello["from"]:
            raise Refused("receiver_mismatch", "the answer is for another agent")
        if said["hello"] != self.signed.digest:
            raise Refused("lock_mismatch", "the answer is about another hello")
        minimums = Minimum.list_of_json(said["minimums"])
        choice = Offer.of_json(said["choice"])
        self._holds(choice, minimums)
        hint = text(said, "hint", 512) if "hint" in said else None
        if hint is not None and not _HINT.match(hint):
            raise Refused("malformed", "member `hint` is no text of its form")
        return Chosen(self, signed, choice, minimums, hint)

    def _holds(self, choice: Offer, minimums: Sequence[Minimum]) -> None:
        offered = [Offer.of_json(one) for one in self.hello["contexts"]]
        match = next((offer for offer in offered if offer.urn == choice.urn), None)
        if match is None or match.digest != choice.digest or not set(choice.features) <= set(match.features):
            raise Refused("lock_mismatch", "the choice was not offered")
        if len(choice.models) > 1:
            raise Refused("lock_mismatch", "the choice names more than one embedding model")
        ours = [Minimum.of_json(one) for one in self.hello["minimums"]]
        for minimum in [*ours, *minimums]:
            if minimum.line.lower() == choice.line.lower() and choice.version < version(minimum.min):
                raise Refused("context_below_floor", "the choice is below a minimum")


@dataclass(frozen=True)
class Chosen:
    """A SELECT was verified."""

    greeted: Greeted
    signed: Signed
    choice: Offer
    minimums: tuple[Minimum, ...]
    #: Where a person may read about the context. Never fetch it.
    hint: str | None

    def lock(self, seconds_: int, now: int) -> Closing:
        """Says LOCK, for a session of so many seconds."""
        expires = now + min(seconds_, LONGEST)
        lock = {
            "from": self.greeted.hello["from"],
            "to": self.greeted.hello["to"],
            "issued_at": now,
            "hello": self.greeted.signed.digest,
            "select": self.signed.digest,
            "expires_at": expires,
        }
        signed = self.greeted.agent.sign(lock, "snl-lock+jws")
        return Closing(self, signed, signed.to_json(), expires)


@dataclass(frozen=True)
class Closing:
    """A LOCK was said; the lock is awaited."""

    chosen: Chosen
    signed: Signed
    content: Json = field(repr=False)
    asked: int

    def granted(self, content: Json, now: int) -> Session:
        """Takes the answer to LOCK."""
        closed(content, {"lock", "expires_at"})
        expires = seconds(content, "expires_at")
        if expires > self.asked or expires + SKEW <= now:
            raise Refused("lock_mismatch", "the lock is over, or ends later than was asked")
        lock = text(content, "lock", 256)
        if session_of(lock) != self._session():
            raise Refused("lock_mismatch", "the lock is about another session than was settled")
        if end_of(lock) != expires:
            raise Refused("lock_mismatch", "the lock ends at another second than the answer says")
        choice = self.chosen.choice
        model = next(iter(choice.models), None)
        # gateways hold vectors against the model in the lock
        if model_of(lock) != model:
            raise Refused("lock_mismatch", "the lock names another embedding model than was chosen")
        return Session(choice.urn, choice.digest, lock, expires, model)

    def _session(self) -> str:
        greeted = self.chosen.greeted
        ours = [Minimum.of_json(one) for one in greeted.hello["minimums"]]
        minimums = [[(one.line, one.min) for one in stated] for stated in (ours, self.chosen.minimums)]
        messages = (greeted.signed.jws, self.chosen.signed.jws, self.signed.jws)
        return session(self.chosen.choice.features, minimums, messages)


def shake_hands(
    agent: Agent,
    to: str,
    offers: Sequence[Offer],
    send: Callable[[bytes], bytes],
    trust: Trust,
    *,
    minimums: Sequence[Minimum] = (),
    seconds: int = 3600,
    seal_to: PeerKey | None = None,
    clock: Callable[[], float] = time.time,
) -> Session:
    """HELLO to LOCK with the agent ``to``. ``send`` posts the bytes of one message to its handshake address and answers the reply's."""

    def ask(kind: str, answer: str, content: Json) -> Json:
        reply = read_object(send(canonical(message(kind, content, agent.id, to))))
        return content_of(reply, answer)

    greeted = Greeted.say(agent, to, offers, minimums, now=int(clock()), seal_to=seal_to)
    chosen = greeted.select(ask("HELLO", "SELECT", greeted.content), trust, int(clock()))
    closing = chosen.lock(seconds, int(clock()))
    return closing.granted(ask("LOCK", "LOCK", closing.content), int(clock()))
