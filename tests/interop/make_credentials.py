"""Credentials for the gateway, good and bad, made by joserfc by docs/spec/credentials.md alone.

Called with the certificate files (PEM) of the agent that shows them and of another agent, and their SPIFFE ids; prints a JWK set and, by name, tokens.
"""

import base64
import hashlib
import hmac
import json
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

own_file, other_file, own_id, other_id = sys.argv[1:5]
AUDIENCE = 'spiffe://semgate.test/gateway'
ISSUER = 'https://hr.test'
now = int(time.time())


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def thumbprint(path):
    der = x509.load_pem_x509_certificates(open(path, 'rb').read())[0].public_bytes(Encoding.DER)
    return encoded(hashlib.sha256(der).digest())


ec = ECKey.generate_key('P-256', {'kid': 'ec', 'use': 'sig', 'alg': 'ES256'})
ed = OKPKey.generate_key('Ed25519', {'kid': 'ed'})
rsa = RSAKey.generate_key(2048, {'kid': 'rsa', 'alg': 'RS256'})
stranger = ECKey.generate_key('P-256', {'kid': 'ec'})


def claims(**more):
    base = {'iss': ISSUER, 'aud': AUDIENCE, 'iat': now, 'exp': now + 600, 'credentials': ['planner', 'auditor']}
    base |= {'cnf': {'x5t#S256': thumbprint(own_file)}}
    base |= more
    return {name: value for name, value in base.items() if value is not None}


def token(claims, key=ec, alg='ES256', **header):
    head = {'alg': alg, 'kid': key.kid, 'typ': 'JWT'} | header
    head = {name: value for name, value in head.items() if value is not None}
    return jwt.encode(head, claims, key, algorithms=[alg])


def by_hand(header, claims, sign):
    signed = encoded(json.dumps(header).encode()) + '.' + encoded(json.dumps(claims).encode())
    return signed + '.' + encoded(sign(signed.encode()))


public = ec.as_pem(private=False)
good = token(claims())
head, body, signature = good.split('.')
altered = json.loads(base64.urlsafe_b64decode(body + '=='))
altered['credentials'] = ['planner', 'root']

print(json.dumps({
    'jwks': {'keys': [key.as_dict(private=False) for key in (ec, ed, rsa)]},
    'good': {
        'by certificate': good,
        'by certificate and id': token(claims(sub=own_id)),
        'by id': token(claims(cnf=None, sub=own_id)),
        'several audiences': token(claims(aud=['other', AUDIENCE])),
        'EdDSA': token(claims(), ed, 'EdDSA'),
        'RS256': token(claims(), rsa, 'RS256'),
    },
    'without': token(claims(credentials=['auditor'])),
    'brief': token(claims(exp=now + int(sys.argv[5]))),
    'bad': {
        'none': [by_hand({'alg': 'none', 'kid': 'ec'}, claims(), lambda _: b''), 'algorithm'],
        'public key as secret': [
            by_hand({'alg': 'HS256', 'kid': 'ec'}, claims(), lambda text: hmac.digest(public, text, 'sha256')), 'algorithm'],
        'key of another kind': [token(claims(), ed, 'EdDSA', kid='ec'), 'unknown_key'],
        'unknown key': [token(claims(), ec, kid='other'), 'unknown_key'],
        'no key named': [token(claims(), ec, kid=None), 'header'],
        'same name, other key': [token(claims(), stranger), 'signature'],
        'altered': ['.'.join([head, encoded(json.dumps(altered).encode()), signature]), 'signature'],
        'key brought along': [token(claims(), stranger, jwk=stranger.as_dict(private=False)), 'header'],
        'key by address': [token(claims(), stranger, jku='https://evil.test/keys'), 'header'],
        'certificate by address': [token(claims(), stranger, x5u='https://evil.test/chain'), 'header'],
        'other audience': [token(claims(aud='spiffe://semgate.test/other')), 'audience'],
        'other issuer': [token(claims(iss='https://evil.test')), 'unknown_issuer'],
        'expired': [token(claims(exp=now - 1)), 'expired'],
        'no end': [token(claims(exp=None)), 'claims'],
        'not yet': [token(claims(nbf=now + 300)), 'not_yet_valid'],
        'certificate of another': [token(claims(cnf={'x5t#S256': thumbprint(other_file)}, sub=own_id)), 'other_certificate'],
        'key of another': [token(claims(cnf={'jkt': encoded(b'x' * 32)}, sub=own_id)), 'other_certificate'],
        'id of another': [token(claims(sub=other_id)), 'other_subject'],
        'stripped, of another': [token(claims(cnf=None, sub=other_id)), 'other_subject'],
        'stripped, of nobody': [token(claims(cnf=None)), 'other_subject'],
        'oversized': [token(claims(padding='x' * 8192)), 'too_large'],
        'no token': ['Bearer ' + good, 'malformed'],
    },
}))
