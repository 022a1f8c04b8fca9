#!/usr/bin/env python3
"""Writes `general.txt`, the general text that a baseline tells the texts of a field from: one sentence in each line.

    general.py CACHE GRAMMAR.py OUT

CACHE holds the wheels of PyPI `botocore` (Apache-2.0) and `chatterbot-corpus` 1.3.3 (BSD-3-Clause), as `pip download` leaves
them. GRAMMAR.py is the own grammar of the training: functions `attack()` and `benign()`.
"""
import glob
import gzip
import importlib.util
import json
import random
import re
import sys
import zipfile

CACHE, GRAMMAR, OUT = sys.argv[1:]
pick = random.Random(31)


def wheel(name):
    return zipfile.ZipFile(sorted(glob.glob(f"{CACHE}/{name}-*.whl"))[-1])


def prose(node, out):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "documentation" and isinstance(value, str):
                out += re.split(r"(?<=[.!?])\s+", re.sub(r"<[^>]+>", "", value))
            else:
                prose(value, out)
    elif isinstance(node, list):
        for value in node:
            prose(value, out)


def reference():
    out, archive = [], wheel("botocore")
    names = sorted(n for n in archive.namelist() if n.endswith("service-2.json.gz"))
    for name in pick.sample(names, 60):
        prose(json.loads(gzip.decompress(archive.read(name))), out)
    return out


def support():
    archive, out = wheel("chatterbot_corpus"), []
    for name in sorted(archive.namelist()):
        if "/english/" in name and name.endswith(".yml"):
            for line in archive.read(name).decode().splitlines():
                text = re.match(r"\s*-\s+(?:-\s+)?(.+)", line)
                out += [text[1].strip("'\"")] if text else []
    return out


def grammar():
    spec = importlib.util.spec_from_file_location("grammar", GRAMMAR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [module.attack() for _ in range(900)], [module.benign() for _ in range(500)]


def main():
    lines = []
    for source, most in [(reference(), 700), (support(), 1300), *((part, 900) for part in grammar())]:
        texts = sorted({" ".join(t.split()) for t in source if 20 < len(t) < 240 and t.count(" ") > 2})
        pick.shuffle(texts)
        lines += texts[:most]
    open(OUT, "w", encoding="utf-8").write("\n".join(lines) + "\n")
    print(len(lines))


main()
