import hashlib
import hmac
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from semgate import Agent, Greeted, Minimum, Offer, PeerKey, Refused, Trust, shake_hands
from semgate.certificates import AGENT
from semgate.encoding import canonical, digest, from_base64url, read_object, to_base64url
from semgate.handshake import Closing, content_of
from semgate.locks import model_of, session
from semgate.sealing import SealingKey
from semgate.signing import Signed


def agent(vectors: Any, role: str) -> Agent:
    party = vectors[role]
    return Agent(party["key"].encode(), party["x5c"], party["id"])


def signed(message: Any) -> Signed:
    content = dict(message["content"])
    del content["concept_type"]
    return Signed.of_json(content)


def greeted(vectors: Any) -> Greeted:
    """The initiator after its HELLO, as the vectors have it."""
    said = signed(vectors["hello"]["message"])
    return Greeted(agent(vectors, "initiator"), vectors["hello"]["payload"], said, said.to_json())


@pytest.mark.parametrize("name", ["hello", "select", "lock"])
def test_every_signed_message_of_the_vectors_verifies(vectors: Any, trust: Trust, name: str) -> None:
    said = signed(vectors[name]["message"])
    assert said.verify(f"snl-{name}+jws", trust, [AGENT], vectors["now"] + 2) == vectors[name]["payload"]


def test_the_handshake_of_the_vectors_ends_with_its_lock(vectors: Any, trust: Trust) -> None:
    now = vectors["now"] + 2
    chosen = greeted(vectors).select(content_of(vectors["select"]["message"], "SELECT"), trust, now)
    assert chosen.choice == Offer.of_json(vectors["select"]["payload"]["choice"])
    assert chosen.hint == "https://authority.test/payment"
    said = signed(vectors["lock"]["message"])
    closing = Closing(chosen, said, said.to_json(), now + 3600)
    agreed = closing.granted(content_of(vectors["granted"], "LOCK"), now)
    assert agreed.lock == vectors["granted"]["content"]["lock"]
    assert agreed.urn == "urn:contexts:payment:v1.1"


def test_a_lock_about_another_session_is_refused(vectors: Any, trust: Trust) -> None:
    now = vectors["now"] + 2
    chosen = greeted(vectors).select(content_of(vectors["select"]["message"], "SELECT"), trust, now)
    # a LOCK of our own: its signature, and so the transcript, is another
    closing = chosen.lock(3600, now)
    granted = content_of(vectors["granted"], "LOCK")
    for content in (granted, {**granted, "lock": "v1.x"}):
        with pytest.raises(Refused) as refused:
            closing.granted(content, now)
        assert refused.value.code == "lock_mismatch"


def test_what_is_to_be_refused_is_refused_for_its_reason(vectors: Any, trust: Trust) -> None:
    judged = 0
    for case in vectors["refused"]:
        if case["kind"] == "LOCK":
            continue  # the responder's side
        with pytest.raises(Refused) as refused:
            if case["kind"] == "SELECT":
                content = {k: v for k, v in case["message"]["content"].items() if k != "concept_type"}
                greeted(vectors).select(content, trust, case["now"])
            else:
                said = signed(case["message"]).verify("snl-hello+jws", trust, [AGENT], case["now"])
                wanted = vectors["hello"]["payload"]
                if said.keys() != wanted.keys():
                    raise Refused("malformed", "another member")
                if said["to"] != wanted["to"]:
                    raise Refused("receiver_mismatch", "for somebody else")
        assert refused.value.code == case["code"], case["name"]
        judged += 1
    assert judged >= 13


def part(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def expand(prk: bytes, label: str, epoch: int) -> bytes:
    info = label.encode() + number(epoch) + number(86_400)
    return HKDFExpand(hashes.SHA256(), 32, info).derive(prk)


def test_the_lock_is_what_the_specification_says_byte_for_byte(vectors: Any) -> None:
    said = {name: signed(vectors[name]["message"]).jws.encode() for name in ("hello", "select", "lock")}
    transcript = hashlib.sha256(
        part(b"semgate transcript v1") + part(said["hello"]) + part(said["select"]) + part(said["lock"])
    ).digest()
    assert vectors["transcript"] == "sha-256:" + transcript.hex()
    select, hello = vectors["select"]["payload"], vectors["hello"]["payload"]
    features = select["choice"]["features"]
    body = part(b"semgate session v1") + part(number(len(features)))
    body += b"".join(part(feature.encode()) for feature in features)
    for minimums in (hello["minimums"], select["minimums"]):
        body += part(number(len(minimums)))
        body += b"".join(part(m["line"].encode()) + part(m["min"].encode()) for m in minimums)
    about = hashlib.sha256(body + part(transcript)).digest()
    assert vectors["session"] == to_base64url(about)
    prk = hmac.digest(b"semgate snl v1", from_base64url(vectors["fleet_secret"]), "sha256")
    epoch = (vectors["now"] + 2) // 86_400
    expires = vectors["granted"]["content"]["expires_at"]
    texts = ["semgate.test", hello["from"], hello["to"], vectors["route"], vectors["authority"], select["choice"]["urn"]]
    claim = part(b"semgate lock v1") + b"".join(part(text.encode()) for text in texts)
    claim += part(bytes.fromhex(select["choice"]["digest"].removeprefix("sha-256:")))
    claim += part(about) + part(number(expires))
    tag = hmac.digest(expand(prk, "lock", epoch), claim, "sha256")
    fingerprint = expand(prk, "id", epoch)[:4].hex()
    lock = f"v1.{epoch}-{fingerprint}.{expires}.{to_base64url(about)}.{to_base64url(tag)}"
    assert vectors["granted"]["content"]["lock"] == lock


def derive_key_pair(seed: bytes) -> ec.EllipticCurvePrivateKey:
    """DeriveKeyPair of RFC 9180 §7.1.3 for P-256."""
    suite = b"KEM" + (0x0010).to_bytes(2, "big")
    prk = hmac.digest(b"", b"HPKE-v1" + suite + b"dkp_prk" + seed, "sha256")
    info = (32).to_bytes(2, "big") + b"HPKE-v1" + suite + b"candidate" + b"\0"
    return ec.derive_private_key(int.from_bytes(HKDFExpand(hashes.SHA256(), 32, info).derive(prk)), ec.SECP256R1())


def test_the_sealed_hello_of_the_vectors_opens(vectors: Any, trust: Trust) -> None:
    sealed = vectors["sealed"]
    key = SealingKey(derive_key_pair(from_base64url(sealed["seed"])))
    assert key.id == sealed["key"]
    assert PeerKey.stated(sealed["statement"], trust, vectors["now"]).id == key.id
    opened = key.open("HELLO", sealed["hello"]["content"]["sealed"])
    said = opened.verify("snl-hello+jws", trust, [AGENT], vectors["now"])
    assert said["contexts"] == vectors["hello"]["payload"]["contexts"]
    assert len(from_base64url(said["key"])) == 65
    with pytest.raises(Refused, match="does not open"):
        key.open("SELECT", sealed["hello"]["content"]["sealed"])
    with pytest.raises(Refused, match="over"):
        PeerKey.stated(sealed["statement"], trust, vectors["now"] + 86_400)


class Responder:
    """Just enough of the other side, with the keys of the vectors."""

    def __init__(self, vectors: Any, trust: Trust, now: int, key: SealingKey | None = None) -> None:
        self.me, self.trust, self.now, self.key = agent(vectors, "responder"), trust, now, key
        self.minimums: list[Any] = []
        self.tamper = lambda said: said
        self.grant = lambda granted: granted

    def __call__(self, body: bytes) -> bytes:
        asked = read_object(body)
        content = dict(asked["content"])
        kind = content.pop("concept_type")
        if kind == "HELLO":
            sealed = self.key.open("HELLO", content["sealed"]) if self.key else Signed.of_json(content)
            hello = sealed.verify("snl-hello+jws", self.trust, [AGENT], self.now)
            said = self.tamper({
                "nonce": to_base64url(b"n" * 16), "from": self.me.id, "to": hello["from"], "issued_at": self.now,
                "minimums": self.minimums, "choice": hello["contexts"][-1], "hello": sealed.digest,
            })
            answer = self.me.sign(said, "snl-select+jws")
            self.said = (hello, sealed.jws, said, answer.jws)
            content = answer.to_json()
            if "key" in hello:
                to = PeerKey(hello["from"], from_base64url(hello["key"]))
                content = {"sealed": to.seal("SELECT", answer)}
            kind = "SELECT"
        else:
            locking = Signed.of_json(content)
            lock = locking.verify("snl-lock+jws", self.trust, [AGENT], self.now)
            hello, hello_jws, select, select_jws = self.said
            minimums = [[(one["line"], one["min"]) for one in said["minimums"]] for said in (hello, select)]
            about = session(select["choice"]["features"], minimums, (hello_jws, select_jws, locking.jws))
            models = [name.removeprefix("embedding:") for name in select["choice"]["features"] if name.startswith("embedding:")]
            form, model = ("v2", f"{to_base64url(models[0].encode())}.") if models else ("v1", "")
            self.lock = f"{form}.0-00000000.{lock['expires_at']}.{about}.{model}{to_base64url(b't' * 32)}"
            content = self.grant({"lock": self.lock, "expires_at": lock["expires_at"]})
        return canonical({**asked, "performative": "AGREE", "content": {"concept_type": kind, **content}})


OFFERS = [Offer("urn:contexts:payment:v1.9", digest(b"9")), Offer("urn:contexts:payment:v1.10", digest(b"10"), ("iban",))]


def hands(vectors: Any, trust: Trust, responder: Responder, **more: Any) -> Any:
    me = agent(vectors, "initiator")
    return shake_hands(me, vectors["responder"]["id"], OFFERS, responder, trust, clock=lambda: vectors["now"], **more)


def test_hello_to_lock(vectors: Any, trust: Trust) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    agreed = hands(vectors, trust, responder, seconds=60)
    assert (agreed.urn, agreed.expires_at) == ("urn:contexts:payment:v1.10", vectors["now"] + 60)
    assert agreed.l8_members() == {"context": agreed.urn, "digest": digest(b"10"), "lock": responder.lock}


MODELS = Offer.with_models("urn:contexts:search:v1.0", digest(b"s"), ["acme/mini", "acme/large"], ["batch"])


def chooses(*features: str) -> Any:
    """A responder's choice of the offer with these features."""
    return lambda said: {**said, "choice": {**MODELS.to_json(), "features": sorted(features)}}


def hands_with_models(vectors: Any, trust: Trust, responder: Responder) -> Any:
    me = agent(vectors, "initiator")
    return shake_hands(me, vectors["responder"]["id"], [MODELS], responder, trust, clock=lambda: vectors["now"])


def test_hello_to_lock_with_a_choice_of_a_model(vectors: Any, trust: Trust) -> None:
    assert MODELS.features == ("batch", "embedding:acme/large", "embedding:acme/mini")
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = chooses("batch", "embedding:acme/mini")
    agreed = hands_with_models(vectors, trust, responder)
    assert agreed.model == "acme/mini"
    assert (agreed.lock, model_of(agreed.lock)) == (responder.lock, "acme/mini")


def test_a_responder_that_knows_no_models_chooses_none(vectors: Any, trust: Trust) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = chooses("batch")
    assert hands_with_models(vectors, trust, responder).model is None


@pytest.mark.parametrize(
    ("features", "why"),
    [
        (["embedding:acme/large", "embedding:acme/mini"], "more than one"),
        (["embedding:acme/other"], "not offered"),
    ],
)
def test_a_choice_of_two_models_or_of_a_strange_one_is_refused(
    vectors: Any, trust: Trust, features: list[str], why: str
) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = chooses(*features)
    with pytest.raises(Refused, match=why) as refused:
        hands_with_models(vectors, trust, responder)
    assert refused.value.code == "lock_mismatch"


@pytest.mark.parametrize("model", ["acme/large", None])
def test_attack_a_lock_that_names_another_model_than_was_chosen_is_refused(
    vectors: Any, trust: Trust, model: str | None
) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = chooses("embedding:acme/mini")

    def renamed(granted: Any) -> Any:
        parts = granted["lock"].split(".")
        form, named = ("v2", [to_base64url(model.encode())]) if model else ("v1", [])
        return {**granted, "lock": ".".join([form, *parts[1:4], *named, parts[5]])}

    responder.grant = renamed
    with pytest.raises(Refused, match="another embedding model") as refused:
        hands_with_models(vectors, trust, responder)
    assert refused.value.code == "lock_mismatch"


@pytest.mark.parametrize("model", ["", "a b", "-a", "m" * 55])
def test_a_model_has_a_name(model: str) -> None:
    with pytest.raises(Refused) as refused:
        Offer.with_models("urn:contexts:search:v1.0", digest(b"s"), [model])
    assert refused.value.code == "malformed"


def test_hello_to_lock_sealed(vectors: Any, trust: Trust) -> None:
    key = SealingKey(derive_key_pair(from_base64url(vectors["sealed"]["seed"])))
    to = PeerKey.stated(vectors["sealed"]["statement"], trust, vectors["now"])
    responder = Responder(vectors, trust, vectors["now"], key)
    assert hands(vectors, trust, responder, seal_to=to).lock == responder.lock


def test_versions_compare_as_numbers(vectors: Any, trust: Trust) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    assert hands(vectors, trust, responder, minimums=[Minimum("payment", "v1.10")])
    responder.tamper = lambda said: {**said, "choice": OFFERS[0].to_json()}
    with pytest.raises(Refused) as refused:
        hands(vectors, trust, responder, minimums=[Minimum("payment", "v1.10")])
    assert refused.value.code == "context_below_floor"


def test_a_hello_that_was_put_in_place_of_another_is_seen(vectors: Any, trust: Trust) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = lambda said: {**said, "hello": digest(b"a lesser hello")}
    with pytest.raises(Refused) as refused:
        hands(vectors, trust, responder)
    assert refused.value.code == "lock_mismatch"


def test_a_minimum_of_the_other_side_binds_its_own_choice(vectors: Any, trust: Trust) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.minimums = [{"line": "Payment", "min": "v2.0"}]
    with pytest.raises(Refused) as refused:
        hands(vectors, trust, responder)
    assert refused.value.code == "context_below_floor"


@pytest.mark.parametrize("hint", ["", "a b", "a\n", "a\x1b[2J", "\u00e9", "x" * 513, "https://a.test/\u202e", 7])
def test_bug_a_hint_with_other_than_visible_ascii_was_taken(vectors: Any, trust: Trust, hint: Any) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.tamper = lambda said: {**said, "hint": hint}
    with pytest.raises(Refused, match="`hint` is no text of its form") as refused:
        hands(vectors, trust, responder)
    assert refused.value.code == "malformed"


@pytest.mark.parametrize(
    ("minimums", "why"),
    [
        ([("payment", "v1.0"), ("payment", "v1.1")], "a line twice"),
        ([("payment", "v1.0"), ("PAYMENT", "v1.1")], "a line twice"),
        ([("pay me now!", "v1.0")], "no line"),
        ([("pay_me", "v1.0")], "no line"),
        ([("-a", "v1.0")], "no line"),
        ([("a..b", "v1.0")], "no line"),
        ([("a" * 64, "v1.0")], "no line"),
        ([("payment\n", "v1.0")], "no line"),
        ([("payment", "v01.0")], "not a version"),
        ([("payment", "v4294967296.0")], "not a version"),
    ],
)
def test_bug_minimums_of_no_line_or_of_one_twice_were_taken(
    vectors: Any, trust: Trust, minimums: list[tuple[str, str]], why: str
) -> None:
    responder = Responder(vectors, trust, vectors["now"])
    responder.minimums = [{"line": line, "min": low} for line, low in minimums]
    with pytest.raises(Refused, match=why) as refused:
        hands(vectors, trust, responder)
    assert refused.value.code == "malformed"


@pytest.mark.parametrize("later", [999_999, 1, -1])
def test_bug_a_lock_that_ends_at_another_second_than_its_answer_says_was_taken(
    vectors: Any, trust: Trust, later: int
) -> None:
    responder = Responder(vectors, trust, vectors["now"])

    def retimed(granted: Any) -> Any:
        parts = granted["lock"].split(".")
        parts[2] = str(int(parts[2]) + later)
        return {**granted, "lock": ".".join(parts)}

    responder.grant = retimed
    with pytest.raises(Refused, match="another second") as refused:
        hands(vectors, trust, responder)
    assert refused.value.code == "lock_mismatch"


@pytest.mark.parametrize("text", ["AA==", "AA\n", "A", "AB", "A+8", "\u0661AAA"])
def test_base64url_has_one_spelling(text: str) -> None:
    with pytest.raises(Refused):
        from_base64url(text)


@pytest.mark.parametrize("data", [b"[]", b'{"a":1,"a":1}', b'{"a":NaN}', b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"{"])
def test_json_is_read_strictly(data: bytes) -> None:
    with pytest.raises(Refused):
        read_object(data)
