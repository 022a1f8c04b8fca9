"""python-tuf's own client on a repository that Semgate made.

    tuf_client.py REPOSITORY STATE ROOT     serves REPOSITORY on loopback, begins with the root metadata in ROOT where STATE is new, fetches and
                                            verifies `trust-list.json`; prints {"root": VERSION, "list": TEXT} or {"refused": EXCEPTION}
"""
import functools, http.server, json, os, pathlib, sys, threading
from tuf.ngclient import Updater


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


repository, state, root = sys.argv[1:]
handler = functools.partial(Quiet, directory=repository)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
fresh = not os.path.exists(state)
for part in ("metadata", "targets"):
    os.makedirs(f"{state}/{part}", exist_ok=True)
try:
    updater = Updater(
        f"{state}/metadata",
        f"{url}/metadata/",
        f"{state}/targets",
        f"{url}/targets/",
        bootstrap=pathlib.Path(root).read_bytes() if fresh else None,
    )
    updater.refresh()
    path = updater.download_target(updater.get_targetinfo("trust-list.json"))
    version = updater._trusted_set.root.version
    print(json.dumps({"root": version, "list": pathlib.Path(path).read_text()}))
except Exception as refused:
    print(json.dumps({"refused": type(refused).__name__}))
server.shutdown()
