"""Verifies a signed context with openssl alone: Python only takes the JSON apart and writes the ES256 signature as the DER that openssl reads."""

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def unbase64(text):
    return base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))


def integer(value):
    body = value.lstrip(b'\0') or b'\0'
    body = b'\0' + body if body[0] & 0x80 else body
    return bytes([2, len(body)]) + body


signed = json.load(open(sys.argv[1]))
[signature] = signed['signatures']
raw = unbase64(signature['signature'])
assert len(raw) == 64
pair = integer(raw[:32]) + integer(raw[32:])
here = Path(tempfile.mkdtemp())
(here / 'signature.der').write_bytes(bytes([0x30, len(pair)]) + pair)
(here / 'input').write_text(signature['protected'] + '.' + signed['payload'])
(here / 'leaf.der').write_bytes(base64.b64decode(signature['header']['x5c'][0]))
run = lambda *words: subprocess.run(words, cwd=here, check=True)
run('openssl', 'x509', '-inform', 'DER', '-in', 'leaf.der', '-pubkey', '-noout', '-out', 'key.pem')
run('openssl', 'dgst', '-sha256', '-verify', 'key.pem', '-signature', 'signature.der', 'input')
