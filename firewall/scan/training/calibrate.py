#!/usr/bin/env python3
"""Writes the table of ranks: 100 logits, of which a known share of the calibration corpus lies above.

    calibrate.py CORPUS.json SCORES OUT.json

CORPUS.json is of `corpus.py`; SCORES is the built example `scores`. Only the raw score counts, so any table will do in the model
that `scores` was built with. Rank 50, 75 and 90 are reached by 1, 0.3 and 0.1 % of the corpus; between them the logarithm of the
share is linear.
"""
import json
import math
import subprocess
import sys

CORPUS, SCORES, OUT = sys.argv[1:]
KNOTS = [(0, 100.0), (50, 1.0), (75, 0.3), (90, 0.1), (100, 0.02)]


def share(rank):
    for (low, high_share), (high, low_share) in zip(KNOTS, KNOTS[1:]):
        if rank <= high:
            t = (rank - low) / (high - low)
            return math.exp((1 - t) * math.log(high_share) + t * math.log(low_share)) / 100


def main():
    raw = []
    for source, texts in json.load(open(CORPUS)).items():
        lines = subprocess.run([SCORES], input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        own = [int(line.split(" ")[0]) for line in lines]
        raw += own
        print(source, len(own))
    raw.sort(reverse=True)
    # the lowest score that at most this share reaches
    table = [(raw[int(len(raw) * share(rank))] + 1) / 65536 for rank in range(1, 101)]
    json.dump(table, open(OUT, "w"))
    print(len(raw), "texts;", " ".join(f"{rank}: {table[rank - 1]:.4f}" for rank in (25, 50, 75, 90, 95, 100)))


main()
