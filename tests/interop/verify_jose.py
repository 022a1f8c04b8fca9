"""Two independent JOSE libraries verify what the authority signed, by the recipe of docs/spec/signed-context.md.

Called with a file (general JWS JSON, `x5c` in the unprotected header) and the expected `typ`; prints the payload's SHA-256 as each library sees it.
"""

import base64
import hashlib
import json
import sys

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

signed = json.load(open(sys.argv[1]))
typ = sys.argv[2]
[signature] = signed['signatures']
der = base64.b64decode(signature['header']['x5c'][0])
spki = x509.load_der_x509_certificate(der).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
protected = json.loads(base64.urlsafe_b64decode(signature['protected'] + '=='))
assert protected['typ'] == typ, protected
thumb = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b'=').decode()
assert protected['x5t#S256'] == thumb, 'thumbprint'


def joserfc(document):
    from joserfc import jws
    from joserfc.jwk import ECKey
    return jws.deserialize_json(document, ECKey.import_key(spki), algorithms=['ES256']).payload


def jwcrypto(document):
    from jwcrypto import jwk, jws
    token = jws.JWS()
    token.deserialize(json.dumps(document), jwk.JWK.from_pem(spki))
    return token.payload


def refused(library, document):
    try:
        library(document)
    except Exception:
        return True
    return False


for library in (joserfc, jwcrypto):
    payload = library(json.loads(json.dumps(signed)))
    assert json.loads(payload)
    altered = json.loads(json.dumps(signed))
    altered['payload'] = altered['payload'][:-6] + ('A' if altered['payload'][-6] != 'A' else 'B') + altered['payload'][-5:]
    assert refused(library, altered), f'{library.__name__} took an altered payload'
    print(library.__name__, 'sha-256:' + hashlib.sha256(payload).hexdigest())
