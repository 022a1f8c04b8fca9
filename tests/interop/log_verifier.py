"""An independent verifier of a log: shares no code with Semgate, only the specifications of C2SP and RFC 6962.

    log_verifier.py note FILE LOG_VKEY [WITNESS_VKEY...]     a checkpoint: prints its size, its root and the number of cosignatures
    log_verifier.py tree DIR LOG_VKEY                        every entry of a mirror hashed anew: prints size and root, or fails
    log_verifier.py proof FILE ENTRY LOG_VKEY                a tlog-proof of the bytes in ENTRY
    log_verifier.py since FILE OLD_NOTE LOG_VKEY             that the newer checkpoint continues the older one
"""
import base64, hashlib, pathlib, struct, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def key_of(vkey, kind):
    name, key_id, b64 = vkey.strip().split("+", 2)
    key = base64.b64decode(b64)
    assert key[0] == kind and len(key) == 33, "kind of key"
    assert hashlib.sha256(name.encode() + b"\n" + key).digest()[:4].hex() == key_id, "key id"
    return name, bytes.fromhex(key_id), Ed25519PublicKey.from_public_bytes(key[1:])


def note(text, log, witnesses=()):
    body, lines = text.rsplit("\n\n", 1)
    body += "\n"
    signatures = [line.removeprefix("— ").split(" ", 1) for line in lines.splitlines()]
    def signed(vkey, kind):
        name, key_id, key = key_of(vkey, kind)
        for who, b64 in signatures:
            raw = base64.b64decode(b64)
            if who == name and raw[:4] == key_id:
                if kind == 1:
                    key.verify(raw[4:], body.encode())
                else:
                    (time,) = struct.unpack(">Q", raw[4:12])
                    key.verify(raw[12:], f"cosignature/v1\ntime {time}\n{body}".encode())
                return True
        return False
    assert signed(log, 1), "not signed by the log"
    origin, size, root = body.splitlines()
    assert origin == log.split("+")[0], "origin"
    return int(size), base64.b64decode(root), sum(signed(w, 4) for w in witnesses)


leaf = lambda entry: hashlib.sha256(b"\0" + entry).digest()
node = lambda left, right: hashlib.sha256(b"\1" + left + right).digest()


def tree(hashes):  # RFC 6962, section 2.1
    if len(hashes) == 1:
        return hashes[0]
    k = 1 << (len(hashes) - 1).bit_length() - 1
    return node(tree(hashes[:k]), tree(hashes[k:]))


def entries(directory, size):
    for n in range((size + 255) // 256):
        width = min(256, size - 256 * n)
        name = "/".join(["x%03d" % int(g) for g in f"{n:,}".split(",")[:-1]] + ["%03d" % (n % 1000)])
        path = directory / "tile/entries" / (name if width == 256 else f"{name}.p/{width}")
        raw = path.read_bytes()
        for _ in range(width):
            length = int.from_bytes(raw[:2], "big")
            yield raw[2 : 2 + length]
            raw = raw[2 + length :]
        assert raw == b"", "rest of a bundle"


def included(index, size, proof, value):  # RFC 9162, section 2.1.3.2
    fn, sn = index, size - 1
    for sibling in proof:
        assert sn > 0, "too long"
        if fn & 1 or fn == sn:
            value = node(sibling, value)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            value = node(value, sibling)
        fn, sn = fn >> 1, sn >> 1
    assert sn == 0, "too short"
    return value


def consistent(old, old_root, size, proof):  # RFC 9162, section 2.1.4.2
    if old == size:
        assert not proof
        return old_root
    proof = list(proof) if old & (old - 1) else [old_root, *proof]
    fn, sn = old - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = proof[0]
    for c in proof[1:]:
        assert sn > 0, "too long"
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    assert sn == 0 and fr == old_root, "the older tree is no prefix"
    return sr


def main(job, *words):
    read = lambda name: pathlib.Path(name).read_text(encoding="utf-8")
    if job == "note":
        size, root, cosigned = note(read(words[0]), words[1], words[2:])
        return f"{size} {base64.b64encode(root).decode()} {cosigned}"
    if job == "tree":
        directory = pathlib.Path(words[0])
        size, root, _ = note(read(directory / "checkpoint"), words[1])
        assert tree([leaf(e) for e in entries(directory, size)]) == root, "root"
        return f"{size} {base64.b64encode(root).decode()}"
    head, rest = read(words[0]).split("\n\n", 1)
    lines = head.splitlines()
    size, root, _ = note(rest, words[-1])
    if job == "proof":
        assert lines.pop(0) == "c2sp.org/tlog-proof@v1"
        if lines[0].startswith("extra "):
            lines.pop(0)
        index = int(lines.pop(0).removeprefix("index "))
        proof = [base64.b64decode(line) for line in lines]
        assert included(index, size, proof, leaf(pathlib.Path(words[1]).read_bytes())) == root, "root"
        return f"{index} of {size}"
    old = int(lines.pop(0).removeprefix("old "))
    old_size, old_root, _ = note(read(words[1]), words[-1])
    assert old == old_size, "size"
    assert consistent(old, old_root, size, [base64.b64decode(line) for line in lines]) == root, "root"
    return f"{old} to {size}"


print(main(*sys.argv[1:]))
