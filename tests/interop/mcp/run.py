#!/usr/bin/env python3
"""The conformance suite of MCP: its server scenarios against a server, its client scenarios against a client, directly and then through a
gateway; both reports side by side.

    python3 tests/interop/mcp/run.py --semgate target/debug/semgate --requirements 2026-07-28|2025-11-25 [--leg server|client] [--kit CHECKOUT] [--auth]

Suite, SDKs and Node.js 22 come from npm in the versions of `package-lock.json` beside this file, below `--work`. Without `--kit` the server and
the client are those beside this file, on the newest SDK. With it they are the suite's own reference server and client: CHECKOUT is a clone of
https://github.com/modelcontextprotocol/conformance in which `npm ci --ignore-scripts` ran, at the top and in `examples/servers/typescript`.

Each server is asked what its tools are (`semgate context import mcp`), the draft is published, and the route takes it as its context.
With `--auth` client scenarios are those of OAuth 2.0 alone (as root, with `nft`): through the gateway the client runs as the user `nobody`, for whom the test
server's port leads to the gateway, so that it knows the server by its own name and port.

The suite brings no client certificate, so the gateway listens plainly on loopback and takes everyone for one configured sender.

Exit status: 0 where no scenario and no check that passes directly is lost, 1 where one is, 2 where a run could not be made.
"""

import argparse
import collections
import concurrent.futures
import fcntl
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from report import markdown, report_of  # noqa: E402
from stage import Failed, Gateway, Process, Up, free_port, wait_for  # noqa: E402

# the suite calls tools with a null for an optional argument, and its reference server writes streams as lines and progress that nobody asked for
ADMITTED = {'binding': 'mcp', 'admit': ['text', 'file'], 'null_arguments': 'absent', 'json_lines': True, 'withhold_stray_progress': True}
# the suite's tool cannot be listed for a draft without a token
AUTHORIZED = {'forward_authorization': True, 'unnamed_tools': 'pass', 'default_context': 'urn:contexts:supplyChain:v1.0'}
# scenarios call tools that the suite's reference server does not have, and take its own answer to that
UNLISTED = {'unnamed_tools': 'pass'}
AT_ONCE = 2


def install(work):
    """The folder with everything of `package-lock.json`, and the environment in which its Node.js comes first."""
    home, wanted = work / 'npm', (HERE / 'package-lock.json').read_text()
    stamp = home / 'installed.txt'
    home.mkdir(parents=True, exist_ok=True)
    with (work / 'npm.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs may begin at once
        if not stamp.exists() or stamp.read_text() != wanted:
            for name in ('package.json', 'package-lock.json'):
                shutil.copy(HERE / name, home)
            subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], cwd=home, check=True)
            stamp.write_text(wanted)
        for script in HERE.glob('*.mjs'):
            shutil.copy(script, home)
    paths = [str(path) for path in home.glob('node_modules/node-linux-*/bin')] + [os.environ['PATH']]
    return home, {**os.environ, 'PATH': os.pathsep.join(paths), 'NO_COLOR': '1'}


def suite(case, *words):
    return ['node', str(case.home / 'node_modules/@modelcontextprotocol/conformance/dist/index.js'), *map(str, words)]


def required(case, leg):
    """The scenarios that the revision asks of a server or a client; with `--auth` also those of extensions, which it asks of nobody."""
    said = subprocess.run(suite(case, 'list', '--requirements', case.requirements), env=case.env, capture_output=True, text=True, check=True).stdout
    wanted, names = False, []
    for line in said.splitlines():
        if line and not line.startswith(' '):
            wanted = leg.capitalize() in line
        elif (wanted or (case.auth and line.endswith(f'[{leg}]'))) and (found := re.match(r'  +- ([\w/.-]+)', line)):
            names.append(found[1])
    return [name for name in names if name.startswith('auth/') == case.auth]


def outcomes(folder, leg):
    """Of each scenario and of each of its checks below this folder: `SUCCESS`, `FAILURE`, `WARNING`, `SKIPPED` or `INFO`, the worst of its occurrences."""
    worst, tests = ['SKIPPED', 'INFO', 'SUCCESS', 'WARNING', 'FAILURE'], {}
    for file in sorted(folder.rglob('checks.json')):
        scenario = re.sub(r'-\d{4}-\d\d-\d\dT[\d-]+Z$', '', str(file.parent.relative_to(folder)))
        scenario = scenario.removeprefix('server-') if leg == 'server' else scenario
        for check in json.loads(file.read_text()):
            why = ' '.join((check.get('errorMessage') or '').split())[:300]
            for name in (scenario, f"{scenario}: {check['id']}"):
                test = tests.setdefault(name, {'outcome': 'SKIPPED', 'why': ''})
                if worst.index(check['status']) > worst.index(test['outcome']):
                    test.update(outcome=check['status'], why=why)
    return tests


def server_words(case):
    if case.kit:
        return [case.kit / 'examples/servers/typescript/node_modules/.bin/tsx', case.kit / 'examples/servers/typescript/everything-server.ts']
    return ['node', case.home / 'server.mjs']


def client_words(case):
    if case.kit:
        return [str(case.kit / 'node_modules/.bin/tsx'), str(case.kit / 'examples/clients/typescript/everything-client.ts')]
    return ['node', str(case.home / 'client.mjs')]


def draft(case, up, url, line):
    """Publishes what a live server says of its tools; answers the context's URN, or nothing for a server without tools."""
    file = case.out / f'{line}.json'
    for before in (file, file.with_suffix('.tools.json')):
        before.unlink(missing_ok=True)
    words = [case.semgate, 'context', 'import', 'mcp', url, '--line', line, '--out', file]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    (case.out / f'{line}.import.log').write_text(done.stdout + done.stderr)
    return publish(case, up, file, line)


def publish(case, up, file, line):
    if not file.exists():
        return None
    words = [case.semgate, 'context', 'publish', file, '--dir', up.place]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f'{file}: {done.stderr}')
    return f'urn:contexts:{line}:v1.0'


def verdicts(records):
    count = collections.Counter((r['direction'], r['verdict'], r['code']) for r in records)
    return [{'direction': d, 'verdict': v, 'code': c, 'count': n} for (d, v, c), n in sorted(count.items(), key=str)]


def run_server_leg(case, side):
    """Runs the suite against a fresh server and answers what became of each scenario and check."""
    port = free_port()
    env, results = {**case.env, 'PORT': str(port)}, case.out / f'server-{side}'
    shutil.rmtree(results, ignore_errors=True)

    def run(url):
        began = time.monotonic()
        words = suite(case, 'server', '--url', url, '--requirements', case.requirements, '-o', results)
        with (case.out / f'server-{side}.log').open('w') as log:
            subprocess.run(words, stdout=log, stderr=subprocess.STDOUT, env=case.env, timeout=1800)
        return {'seconds': round(time.monotonic() - began, 1), 'tests': outcomes(results, 'server')}

    def answers():
        with socket.create_connection(('127.0.0.1', port), 1):
            return True

    with Process(server_words(case), case.out / f'server-{side}.server.log', env=env) as running:
        wait_for('the server', answers, running)
        if side == 'direct':
            return run(f'http://localhost:{port}/mcp')
        with Up(case.semgate, case.out / 'semgate-server', case.out / 'authority.log') as up:
            urn = draft(case, up, f'http://127.0.0.1:{port}/mcp', 'everything')
            route = {**ADMITTED, **(UNLISTED if case.kit else {}), 'upstream': f'http://127.0.0.1:{port}/mcp', 'default_context': urn}
            with Gateway(case.semgate, up.place, up.known, 'suite', route, case.rules) as gateway:
                result = run(f'http://localhost:{gateway.listen}/mcp')
                time.sleep(0.5)
            result['verdicts'] = verdicts(gateway.records())
            return result


def one(case, scenario, command, folder):
    """One client scenario with this command, to which the suite appends the address of its test server."""
    words = suite(case, 'client', '--scenario', scenario, '--spec-version', case.requirements, '--command', shlex.join(command), '-o', folder)
    words += ['--force'] if case.auth else []  # scenarios of extensions are of no revision
    log = folder.parent / f"{folder.name}-{scenario.replace('/', '-')}.log"
    with log.open('w') as out:
        subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, env=case.env, timeout=300)


def line_of(scenario):
    return re.sub('[^a-z0-9]', '', scenario)


def run_client_leg(case, side):
    """Runs the client against every scenario's test server, each with a gateway of its own in between."""
    scenarios, results = required(case, 'client'), case.out / f'client-{side}'
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    began = time.monotonic()
    if side == 'direct':
        each(lambda scenario: one(case, scenario, client_words(case), results), scenarios)
        return {'seconds': round(time.monotonic() - began, 1), 'tests': outcomes(results, 'client')}
    drafts = case.out / 'client-drafts'
    shutil.rmtree(drafts, ignore_errors=True)
    drafts.mkdir()
    with Up(case.semgate, case.out / 'semgate-client', case.out / 'authority.log') as up:

        def asked(scenario):
            words = [str(case.semgate), 'context', 'import', 'mcp', '--line', line_of(scenario), '--out', str(drafts / f'{line_of(scenario)}.json')]
            one(case, scenario, words, case.out / 'client-asked')

        if not case.auth:
            each(asked, scenarios)
        urns = {scenario: publish(case, up, drafts / f'{line_of(scenario)}.json', line_of(scenario)) for scenario in scenarios}
        began = time.monotonic()
        each(lambda scenario: through(case, up, scenario, urns[scenario], results), scenarios)
        # the authority writes records of its own
        files = sorted(up.place.glob('*/audit.jsonl'))
        records = [json.loads(line) for file in files if file.parent.name not in ('firewall', 'authority') for line in file.read_text().splitlines()]
    return {'seconds': round(time.monotonic() - began, 1), 'tests': outcomes(results, 'client'), 'verdicts': verdicts(records)}


def through(case, up, scenario, urn, results):
    stage = {'semgate': str(case.semgate), 'place': str(up.place), 'known': up.known, 'name': f's-{line_of(scenario)}', 'rules': case.rules,
             'client': client_words(case), 'route': {**ADMITTED, **({'default_context': urn} if urn else {})}}
    if case.auth:
        stage.update({'as': pwd.getpwnam('nobody').pw_uid, 'route': {**ADMITTED, **AUTHORIZED}})
    file = case.out / f'{line_of(scenario)}.stage.json'
    file.write_text(json.dumps(stage))
    one(case, scenario, [sys.executable, str(HERE / 'through.py'), str(file)], results)


def each(run, scenarios):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, scenarios))


LEGS = {'server': run_server_leg, 'client': run_client_leg}


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument('--semgate', type=lambda p: Path(p).resolve(), required=True)
    words.add_argument('--requirements', choices=['2026-07-28', '2025-11-25'], required=True)
    words.add_argument('--leg', choices=list(LEGS), default='server')
    words.add_argument('--kit', type=lambda p: Path(p).resolve())
    words.add_argument('--work', type=lambda p: Path(p).resolve(), default=ROOT / 'target/mcp')
    words.add_argument('--auth', action='store_true', help='the client scenarios of OAuth 2.0; needs root and nft')
    case = words.parse_args()
    if case.auth and (case.leg != 'client' or os.geteuid() != 0 or not shutil.which('nft')):
        raise Failed('--auth goes with --leg client, as root, with nft')
    case.home, case.env = install(case.work)
    case.rules = (HERE / 'permit.cedar').read_text()
    case.out = case.work / '-'.join(filter(None, [case.requirements, case.leg, case.kit and 'reference', case.auth and 'auth']))
    case.out.mkdir(parents=True, exist_ok=True)
    report = report_of(case, *(LEGS[case.leg](case, side) for side in ('direct', 'proxied')))
    (case.out / 'report.json').write_text(json.dumps(report, indent=1) + '\n')
    (case.out / 'report.md').write_text(markdown(report))
    print(f"{case.out / 'report.md'}: " + ', '.join(f'{name} {len(tests)}' for name, tests in report['sets'].items()))
    return 1 if report['sets']['only_direct'] else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, subprocess.SubprocessError) as failed:
        print(failed, file=sys.stderr)
        sys.exit(2)
