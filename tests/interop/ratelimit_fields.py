"""Reads `RateLimit-Policy` and `RateLimit` with somebody else's parser of structured fields and prints what it found."""

import json
import sys

import http_sf


def items(text):
    parsed = http_sf.parse(text.encode("ascii"), tltype="list")
    assert all(isinstance(name, str) and not isinstance(name, http_sf.Token) for name, _ in parsed), parsed
    return [[name, dict(parameters)] for name, parameters in parsed]


print(json.dumps([items(text) for text in sys.argv[1:]]))
