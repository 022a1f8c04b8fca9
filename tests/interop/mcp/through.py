"""A gateway for one run of a client: `through.py STAGE SERVER`, where the suite appends the address of its test server.

STAGE is a JSON file that run.py wrote: where the authority is, the route, the policies, and the words of the client, which is run with
the gateway's address in place of the server's. The exit status is the client's.
"""

import json
import subprocess
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from stage import Gateway  # noqa: E402


def main():
    stage, server = json.loads(Path(sys.argv[1]).read_text()), urllib.parse.urlsplit(sys.argv[2])
    route = {**stage['route'], 'upstream': f'http://127.0.0.1:{server.port}{server.path}'}
    with Gateway(stage['semgate'], Path(stage['place']), stage['known'], stage['name'], route, stage['rules']) as gateway:
        return subprocess.run([*stage['client'], f'http://localhost:{gateway.listen}{server.path}']).returncode


sys.exit(main())
