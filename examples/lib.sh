# Shared by the `run` scripts: a directory of their own, which ends with them, and free ports.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
pids=
finish() {
  for pid in $pids; do kill "$pid" 2> /dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

# A free port on loopback, below those that outgoing connections take. Nobody else may have marked it by its UDP port.
port() {
  python3 -c 'import random, socket
while True:
    at = ("127.0.0.1", random.randrange(20000, 32000))
    try:
        socket.socket().bind(at)
        socket.socket(type=socket.SOCK_DGRAM).bind(at)
        break
    except OSError: pass
print(at[1])'
}

# Starts a server in the background: start NAME COMMAND...
start() {
  log=$work/$1.log
  shift
  "$@" > "$log" 2>&1 &
  pids="$! $pids"
}

# Waits until somebody listens on a port.
listening() {
  python3 -c 'import socket, sys, time
for _ in range(600):
    try: socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close(); break
    except OSError: time.sleep(0.1)
else: sys.exit("nobody listens on " + sys.argv[1])' "$1"
}
