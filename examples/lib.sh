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

# A free port on loopback.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

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
