"""What the commands of this folder have in common: processes, an authority with `semgate up`, and a gateway with one route in front of something."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

PATIENCE = 120
RECEIVER = 'spiffe://semgate.test/agent/wholesaler-1'
SENDER = 'spiffe://semgate.test/agent/retailer-7'


class Failed(Exception):
    """A run that could not be made."""


def free_port():
    """A port that nobody listens on just now, below those that Linux gives to outgoing connections."""
    for _ in range(200):
        port = 20_000 + int.from_bytes(os.urandom(2), 'big') % 12_000
        try:
            with socket.create_server(('127.0.0.1', port)):
                pass
            with socket.create_server(('::', port), family=socket.AF_INET6, dualstack_ipv6=True):
                return port
        except OSError:
            continue
    raise Failed('no free port')


def wait_for(what, ask, process):
    """What `ask` answers at last; it says "not yet" with nothing or an `OSError`."""
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        if process.poll() is not None:
            raise Failed(f'{what}: the process ended with {process.returncode}')
        try:
            if (answer := ask()) is not None:
                return answer
        except OSError:
            pass
        time.sleep(0.1)
    raise Failed(f'waited {PATIENCE} s for {what}')


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


class Process:
    """A process with a log file, ended with the block."""

    def __init__(self, words, log, **more):
        self.words, self.log, self.more = [str(w) for w in words], log, more

    def __enter__(self):
        self.child = subprocess.Popen(self.words, stdout=self.log.open('w'), stderr=subprocess.STDOUT, **self.more)
        return self.child

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Up:
    """`semgate up` in a fresh folder, ended with the block."""

    def __init__(self, semgate, place, log):
        self.semgate, self.place = semgate, place
        shutil.rmtree(place, ignore_errors=True)
        self.process = Process([semgate, 'up', '--dir', place], log)

    def __enter__(self):
        found = self.place / 'up.json'

        def known():
            try:
                return json.loads(found.read_text())
            except ValueError:  # half written
                return None

        self.known = wait_for('semgate up', known, self.process.__enter__())
        return self

    def __exit__(self, *why):
        self.process.__exit__(*why)


def toml(value):
    """A value as TOML: JSON, but for tables."""
    if isinstance(value, dict):
        return '{' + ', '.join(f'{key} = {toml(inner)}' for key, inner in value.items()) + '}'
    return json.dumps(value)


class Gateway:
    """A gateway of that authority with one route, under policies of its own beside those of `up`; ended with the block."""

    def __init__(self, semgate, place, known, name, route, rules):
        self.listen, self.admin, self.home = free_port(), free_port(), place / name
        self.home.mkdir()
        self.audit = self.home / 'audit.jsonl'
        shutil.copytree(place / known['policies'], place / f'{name}-policies')
        (place / f'{name}-policies' / f'{name}.cedar').write_text(rules)
        head = (place / known['firewall_config']).read_text().split('[[route]]')[0]
        # the running house listens at its address for people
        asks, rest = head.split('[approvals]\n')
        head = asks + rest[rest.index('[['):]
        for was, becomes in ((known['admin_url'].removeprefix('http://'), f'127.0.0.1:{self.admin}'), ('state = "firewall"', f'state = "{name}"'),
                             ('firewall/audit.jsonl', f'{name}/audit.jsonl'), ('policies = "policies"', f'policies = "{name}-policies"')):
            if was not in head:
                raise Failed(f'no `{was}` in the configuration of semgate up')
            head = head.replace(was, becomes)
        route = {'name': name, 'listen': f'127.0.0.1:{self.listen}', 'plain_sender': SENDER, 'receiver': RECEIVER, 'contexts': ['*'], **route}
        lines = [f'{key} = {toml(value)}' for key, value in route.items()]
        config = place / f'{name}.toml'
        config.write_text(head + '[[route]]\n' + '\n'.join(lines) + '\n')
        self.process = Process([semgate, 'firewall', 'run', '--config', config], self.home / 'gateway.log')

    def __enter__(self):
        wait_for('the gateway', lambda: get(f'http://127.0.0.1:{self.admin}/readyz'), self.process.__enter__())
        return self

    def __exit__(self, *why):
        self.process.__exit__(*why)

    def records(self):
        return [json.loads(line) for line in self.audit.read_text().splitlines()] if self.audit.exists() else []
