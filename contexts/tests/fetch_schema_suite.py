"""Brings the JSON-Schema-Test-Suite 2020-12 into a folder.

usage: fetch_schema_suite.py FOLDER VERSION SHA256

The suite travels inside the source archive of the Python package `jsonschema`, which pip downloads (and, to read its
name, prepares) at a pinned version and digest. Nothing of it is installed.
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

folder, version, pinned = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
here = pathlib.Path(tempfile.mkdtemp())
wanted = here / "wanted.txt"
wanted.write_text(f"jsonschema=={version} --hash=sha256:{pinned}\n")
pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jsonschema", "--require-hashes"]
subprocess.run(pip + ["-r", str(wanted), "-d", str(here)], check=True)

inside = f"jsonschema-{version}/json/tests/draft2020-12/"
fresh = folder.with_name(folder.name + ".part")
with tarfile.open(here / f"jsonschema-{version}.tar.gz") as tar:
    for member in tar:
        if member.isfile() and member.name.startswith(inside) and member.name.endswith(".json"):
            inner = pathlib.PurePosixPath(member.name[len(inside) :])
            if ".." in inner.parts:
                sys.exit("a path leads out of the archive")
            path = fresh / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tar.extractfile(member).read())
fresh.rename(folder)
