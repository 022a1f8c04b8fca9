#!/usr/bin/env python3
"""The A2A conformance kit against its own agent: directly, then through a gateway; both reports side by side.

    python3 tests/interop/tck/run.py --kit CHECKOUT --semgate target/debug/semgate [--transport jsonrpc|http_json|grpc] [--bound URN]

CHECKOUT is a clone of https://github.com/a2aproject/a2a-tck at branch `1.0-dev` or `0.3.x`. Kit and agent get environments of their
own below `--work`, with the versions of `<branch>/kit.txt` and `<branch>/agent.txt` beside this file. Each run meets a fresh agent.
The kit brings no client certificate, so the gateway listens plainly on loopback and takes everyone for one configured sender.
With `--bound URN`, every message names that context (see bound.py), on both sides. With `--newest` the kit's
agent runs on the newest SDK and takes push configurations (see newest.py).

What passes on one side only stands in `<branch>/explained.json` with its reason: through the gateway only, and with the newest SDK also
directly only. Exit status: 0 where exactly the listed rows differ, 1 where others do or a listed one does not, which are named, 2 where
a run could not be made.
"""

import argparse
import collections
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from report import markdown, report_of  # noqa: E402
from stage import Failed, Gateway, Process, Up, free_port, get, wait_for  # noqa: E402

# What each transport needs of a route, and where the agent serves it.
ROUTES = {
    ('1.0-dev', 'jsonrpc'): {'upstream': 'http://127.0.0.1:{port}/', 'versions': ['1.0'], 'transports': ['jsonrpc']},
    ('1.0-dev', 'http_json'): {'upstream': 'http://127.0.0.1:{port}/a2a/rest', 'versions': ['1.0'], 'transports': ['rest']},
    ('1.0-dev', 'grpc'): {'upstream': 'http://127.0.0.1:{grpc}', 'versions': ['1.0'], 'transports': ['grpc'], 'upstream_http2': True},
    ('0.3.x', 'jsonrpc'): {'upstream': 'http://127.0.0.1:{port}/', 'versions': ['0.3'], 'transports': ['jsonrpc']},
}
COMMON = {'default_context': 'urn:contexts:a2a:v1.0', 'admit': ['text', 'file', 'data']}

# The 0.3.x branch's agent was written for an SDK before 0.3, which still had camelCase attributes, and its port is fixed.
AMENDED = {'agent_executor.py': [('task.contextId', 'task.context_id')], '__main__.py': [('9999', '{port}')]}


def environment(work, branch, role):
    """The interpreter of an environment with exactly the versions of `<branch>/<role>.txt`."""
    home, wanted = work / f'{branch}-{role}', (HERE / branch / f'{role}.txt').read_text()
    stamp, python = home / 'installed.txt', home / 'bin/python'
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, '-m', 'venv', '--clear', home], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '-q', '--no-deps', '-r', HERE / branch / f'{role}.txt'], check=True)
        stamp.write_text(wanted)
    return python


def agent(case, port, grpc):
    """The kit's own agent, not yet started."""
    python = environment(case.work, case.branch, case.agent)
    if case.branch == '1.0-dev':
        surroundings = {**os.environ, 'SUT_HOST': f'127.0.0.1:{port}', 'GRPC_PORT': str(grpc)}
        script = 'sut_agent.py' if case.agent == 'agent' else HERE / 'newest.py'
        return Process([python, script], case.out / 'agent.log', cwd=case.kit / 'sut/a2a-python', env=surroundings)
    copy = case.out / 'agent'
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(case.kit / 'python-sut/tck_core_agent', copy)
    for name, changes in AMENDED.items():
        text = (copy / name).read_text()
        for was, becomes in changes:
            text = text.replace(was, becomes.format(port=port))
        (copy / name).write_text(text)
    return Process([python, '.'], case.out / 'agent.log', cwd=copy)


def kit_words(case, python, url, results):
    if case.branch == '1.0-dev':
        words = [python, 'run_tck.py', '--sut-host', url, '--transport', case.transport, '--', f'--junitxml={results}']
    else:
        words = [python, '-m', 'pytest', 'tests/mandatory', 'tests/optional', f'--sut-url={url}', '--test-scope=all', '--transports', 'jsonrpc', '-q',
                 '--tb=short', f'--junitxml={results}']
    return words + (['-p', 'bound'] if case.bound else [])


def run_kit(case, side, url):
    """Runs the kit and answers what became of each test."""
    python, results = environment(case.work, case.branch, 'kit'), case.out / f'{side}.xml'
    words = [str(w) for w in kit_words(case, python, url, results)]
    results.unlink(missing_ok=True)
    began = time.monotonic()
    with (case.out / f'{side}.log').open('w') as log:
        subprocess.run(words, cwd=case.kit, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, 'PYTHONPATH': str(HERE), 'TCK_CONTEXT': case.bound}, timeout=1800)
    if not results.exists():
        raise Failed(f'the kit wrote no results; see {side}.log')
    tests = {}
    for test in ElementTree.parse(results).getroot().iter('testcase'):
        outcome, why = 'passed', ''
        for kind in ('failure', 'error', 'skipped'):
            if (said := test.find(kind)) is not None:
                outcome = 'xfailed' if said.get('type') == 'pytest.xfail' else {'failure': 'failed'}.get(kind, kind)
                why = ' '.join((said.get('message') or '').split())[:300]
        tests[f"{test.get('classname').removeprefix('tests.')}::{test.get('name')}"] = {'outcome': outcome, 'why': why}
    return {'command': shlex.join(words), 'seconds': round(time.monotonic() - began, 1), 'tests': tests}


def through(case, port, grpc):
    """Authority and gateway in front of the agent, and the kit through them."""
    route = {'binding': 'a2a'}
    for name, value in {**ROUTES[case.branch, case.transport], **COMMON}.items():
        route[name] = value.format(port=port, grpc=grpc) if isinstance(value, str) else value
    if case.transport == 'grpc':
        route['card_from'] = f'http://127.0.0.1:{port}/.well-known/agent-card.json'
    if case.branch == '0.3.x':
        # its agent declares bearer tokens and OAuth 2.0
        route['forward_authorization'] = True
    if case.agent == 'newest':
        # the addresses that the kit names, and its own receiver on a free port
        targets = ['https://example.com/', 'http://localhost:*/', 'http://127.0.0.1:*/']
        route['push'] = {'listen': '127.0.0.1:0', 'plain': True, 'targets': targets, 'roots': '/etc/ssl/certs/ca-certificates.crt'}
    with Up(case.semgate, case.out / 'semgate', case.out / 'authority.log') as up:
        with Gateway(case.semgate, up.place, up.known, 'tck', route, (HERE / 'tck.cedar').read_text()) as gateway:
            result = run_kit(case, 'proxied', f'http://127.0.0.1:{gateway.listen}')
            time.sleep(0.5)
    count = collections.Counter((r['direction'], r['verdict'], r['code']) for r in gateway.records())
    result['verdicts'] = [{'direction': d, 'verdict': v, 'code': c, 'count': n} for (d, v, c), n in sorted(count.items(), key=str)]
    return result


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument('--kit', type=lambda p: Path(p).resolve(), required=True)
    words.add_argument('--semgate', type=lambda p: Path(p).resolve(), required=True)
    words.add_argument('--transport', default='jsonrpc', choices=['jsonrpc', 'http_json', 'grpc'])
    words.add_argument('--work', type=lambda p: Path(p).resolve(), default=ROOT / 'target/tck')
    words.add_argument('--bound', metavar='URN', default='')
    words.add_argument('--newest', action='store_const', const='newest', default='agent', dest='agent', help="1.0-dev: the agent of newest.py")
    words.add_argument('--direct-only', action='store_true')
    case = words.parse_args()
    case.branch = '1.0-dev' if (case.kit / 'sut/a2a-python').is_dir() else '0.3.x'
    case.out = case.work / '-'.join(filter(None, [case.branch, case.transport, case.agent == 'newest' and 'newest', case.bound and 'bound']))
    case.out.mkdir(parents=True, exist_ok=True)
    sides = []
    for side in ['direct'] if case.direct_only else ['direct', 'proxied']:
        port, grpc = free_port(), free_port()
        with agent(case, port, grpc) as running:
            wait_for("the kit's agent", lambda: get(f'http://127.0.0.1:{port}/.well-known/agent-card.json'), running)
            sides.append(run_kit(case, side, f'http://127.0.0.1:{port}') if side == 'direct' else through(case, port, grpc))
    if case.direct_only:
        print(dict(collections.Counter(test['outcome'] for test in sides[0]['tests'].values())), sides[0]['seconds'], 's')
        return 0
    report = report_of(case, *sides)
    (case.out / 'report.json').write_text(json.dumps(report, indent=1) + '\n')
    (case.out / 'report.md').write_text(markdown(report))
    print(f"{case.out / 'report.md'}: " + ', '.join(f'{name} {len(tests)}' for name, tests in report['sets'].items()))
    for line in report['unexplained']:
        print(line, file=sys.stderr)
    return 1 if report['unexplained'] else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, subprocess.SubprocessError) as failed:
        print(failed, file=sys.stderr)
        sys.exit(2)
