"""Brings the JSON-Schema-Test-Suite 2020-12 into a folder.

usage: fetch_schema_suite.py FOLDER VERSION SHA256

The suite travels inside the source archive of the Python package `jsonschema`. The archive is taken from the package
index (PIP_INDEX_URL or PyPI), by its simple HTML pages; nothing of it is built or run. Its digest is pinned.
"""

import hashlib
import io
import os
import pathlib
import re
import sys
import tarfile
import urllib.parse
import urllib.request

folder, version, pinned = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
name = f"jsonschema-{version}.tar.gz"
index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/jsonschema/"
page = urllib.request.urlopen(index, timeout=60).read().decode("utf-8", "replace")
link = next(l for l in re.findall(r'href="([^"]+)"', page) if l.split("#")[0].endswith("/" + name))
archive = urllib.request.urlopen(urllib.parse.urljoin(index, link.split("#")[0]), timeout=120).read()
if hashlib.sha256(archive).hexdigest() != pinned:
    sys.exit(f"{name} is not the pinned archive")

inside = f"jsonschema-{version}/json/tests/draft2020-12/"
fresh = folder.with_name(folder.name + ".part")
with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
    for member in tar:
        if member.isfile() and member.name.startswith(inside) and member.name.endswith(".json"):
            path = fresh / pathlib.PurePosixPath(member.name[len(inside) :])
            if ".." in path.parts:
                sys.exit("a path leads out of the archive")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tar.extractfile(member).read())
fresh.rename(folder)
