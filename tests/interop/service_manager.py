"""A service manager in miniature: holds sockets, passes them to a server, and hears its notifications.

    service_manager.py ADDRESS... -- COMMAND...

Reads words from standard input, and answers each by a line: `restart` ends the server by SIGTERM and starts it again,
`reload` sends SIGHUP. The answer lists the notifications until the server was ready again. Ends the server with its input.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

FIRST = 3


def main(words):
    at = words.index("--")
    listeners = []
    for number, address in enumerate(words[:at]):
        host, port = address.rsplit(":", 1)
        listener = socket.create_server((host, int(port)), backlog=1024)
        os.dup2(listener.fileno(), 60 + number)
        listeners.append(listener)
    for number in range(len(listeners)):
        os.dup2(60 + number, FIRST + number, inheritable=True)
        os.close(60 + number)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "notify")
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(path)
        notify.settimeout(90)
        environment = dict(os.environ, NOTIFY_SOCKET=path, LISTEN_FDS=str(len(listeners)))
        passed = range(FIRST, FIRST + len(listeners))

        def start():
            return subprocess.Popen(words[at + 1 :], env=environment, pass_fds=passed)

        def notifications():
            heard = []
            while not heard or "READY=1" not in heard[-1]:
                heard.append(notify.recv(4096).decode().splitlines())
            return heard

        def tell(heard):
            print(json.dumps(heard), flush=True)

        server = start()
        tell(notifications())
        for word in sys.stdin:
            if word.strip() == "restart":
                server.send_signal(signal.SIGTERM)
                status = server.wait()
                assert status == 0, f"the server ended with {status}"
                server = start()
            else:
                server.send_signal(signal.SIGHUP)
            tell(notifications())
        server.terminate()
        server.wait()


main(sys.argv[1:])
