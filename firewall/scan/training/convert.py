#!/usr/bin/env python3
"""Writes the model file of `semgate-scan` from trained weights, a table of ranks and a report.

    convert.py WEIGHTS.npz RANKS.json REPORT.json OUT

WEIGHTS.npz holds `w` (2 x 65,536 int8), `sc` (one step of a weight) and `b` (bias). RANKS.json holds 100 logits, lowest first.
All numbers are little-endian. Prints the SHA-256 of the file.
"""
import hashlib
import json
import struct
import sys

import numpy as np


def main(weights, ranks, report, out):
    z = np.load(weights)
    w = z["w"].astype(np.int8)
    assert w.shape == (131072,)
    table = [round(x * 65536) for x in json.load(open(ranks))]
    assert len(table) == 100 and table == sorted(table)
    text = json.dumps(json.load(open(report)), sort_keys=True, separators=(",", ":")).encode()
    data = b"semgscan" + struct.pack("<IiI", 1, round(float(z["b"]) * 65536), round(float(z["sc"]) * 2**24))
    data += struct.pack("<100i", *table) + struct.pack("<I", len(text)) + text + w.tobytes()
    open(out, "wb").write(data)
    print(hashlib.sha256(data).hexdigest(), out)


main(*sys.argv[1:])
