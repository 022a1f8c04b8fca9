#!/usr/bin/env python3
"""Writes the report that the model file carries: counts of texts that reach a rank, for each set.

    report.py SCORES SETS.json CORPUS.json OWN.json OUT.json

SETS.json is {name: {"attack": bool, "texts": [...]}}; CORPUS.json is of `corpus.py`; OWN.json is `tests/scan/own.json`. SCORES is built
with the table of ranks that the report is for.
"""
import json
import subprocess
import sys

SCORES, SETS, CORPUS, OWN, OUT = sys.argv[1:]


def row(texts):
    lines = subprocess.run([SCORES], input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    counts = {"texts": len(texts), "markers": 0, "at_50": 0, "at_75": 0, "at_90": 0}
    for line in lines:
        _, rank, markers, *_ = line.split(" ")
        rank = int(rank)
        counts["markers"] += int(markers) > 0
        for at in (50, 75, 90):
            counts[f"at_{at}"] += rank >= at
    return counts


def main():
    sets = {name: row(one["texts"]) for name, one in json.load(open(SETS)).items()}
    own = json.load(open(OWN))
    sets["own_benign"], sets["own_attacks"] = row(own["benign"]), row(own["attacks"])
    sets["own_disguised"] = row([one["text"] for one in own["disguised"]])
    calibration = {name: row(texts) for name, texts in json.load(open(CORPUS)).items()}
    report = {
        "about": "counts of texts whose score `injection` reaches 50, 75 and 90, markers included, with the views of features format 1",
        "promise": "known wordings and their disguises; an instruction that reads like a plain request is not found",
        "training": "registry packages and an own grammar; see NOTICE",
        "calibration": calibration,
        "tests": sets,
    }
    json.dump(report, open(OUT, "w"), indent=1)
    for name, counts in sets.items():
        print(name, *(f"{key} {value} ({100 * value / counts['texts']:.2f} %)" for key, value in counts.items() if key != "texts"), "of", counts["texts"])


main()
