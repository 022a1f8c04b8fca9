"""A gateway for one run of a client: `through.py STAGE SERVER`, where the suite appends the address of its test server.

STAGE is a JSON file that run.py wrote: where the authority is, the route, the policies, and the words of the client, which is run with
the gateway's address in place of the server's. The exit status is the client's.

With `as` in STAGE the client keeps the server's address, as it does where a gateway has taken a server's name: it runs as that user, and what that
user sends to the server's port on this machine comes to the gateway (`nft`, as root). All other ports lead where they always do.
"""

import contextlib
import json
import subprocess
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from stage import Gateway  # noqa: E402


@contextlib.contextmanager
def redirected(user, port, to):
    """While it lasts, connections of this user to the port lead to the other one."""
    table = f'semgate_interop_{port}'
    rules = (f'table inet {table} {{\n chain redirected {{\n  type nat hook output priority -100\n'
             f'  meta skuid {user} tcp dport {port} redirect to :{to}\n }}\n}}\n')
    subprocess.run(['nft', '-f', '-'], input=rules, text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(['nft', 'delete', 'table', 'inet', table], check=True)


def main():
    stage, server = json.loads(Path(sys.argv[1]).read_text()), urllib.parse.urlsplit(sys.argv[2])
    route, user = {**stage['route'], 'upstream': f'http://127.0.0.1:{server.port}{server.path}'}, stage.get('as')
    if user is not None:
        route['public_url'] = sys.argv[2]
    with Gateway(stage['semgate'], Path(stage['place']), stage['known'], stage['name'], route, stage['rules']) as gateway:
        if user is None:
            return subprocess.run([*stage['client'], f'http://localhost:{gateway.listen}{server.path}']).returncode
        with redirected(user, server.port, gateway.listen):
            return subprocess.run([*stage['client'], sys.argv[2]], user=user, group=user, extra_groups=[]).returncode


sys.exit(main())
