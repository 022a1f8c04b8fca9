"""The two runs side by side, as JSON and as Markdown."""

import collections
import datetime
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def said_by(*words, cwd=HERE, **more):
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, **more)
    return done.stdout.strip() or 'unknown'


def compare(direct, proxied):
    passed = [{name for name, test in side['tests'].items() if test['outcome'] == 'SUCCESS'} for side in (direct, proxied)]
    return {'both': sorted(passed[0] & passed[1]), 'only_direct': sorted(passed[0] - passed[1]), 'only_proxied': sorted(passed[1] - passed[0])}


def scenarios(names):
    return [name for name in names if ': ' not in name]


def verdict(sets):
    lost, gained = len(scenarios(sets['only_direct'])), len(scenarios(sets['only_proxied']))
    return (f'{lost} scenarios that pass directly are lost' if lost else 'no scenario that passes directly is lost') + (f'; {gained} pass through the gateway only.' if gained else '.')


def row(name, sides):
    cells = [side['tests'].get(name, {'outcome': 'not run', 'why': ''}) for side in sides]
    return f'| {name} | ' + ' | '.join(f"{c['outcome'].lower()} {c['why']}".strip().replace('|', '\\|') for c in cells) + ' |'


def markdown(report):
    sides, sets = report['sides'], report['sets']
    names = sorted({name for side in sides.values() for name in side['tests']})
    lines = [f"# Conformance suite of MCP, {report['requirements']}, {report['leg']} scenarios" + (', reference' if report['kit_commit'] else '') + (', OAuth 2.0' if report['auth'] else ''), '',
             f"{report['date']}: {verdict(sets)}", '', '| | |', '|---|---|',
             f"| suite | `@modelcontextprotocol/conformance` {report['versions']['conformance']}, `--requirements {report['requirements']}` |",
             f"| {report['leg']} | {report['implementation']} |", f"| gateway | {report['semgate']}, commit `{report['commit']}` |", f"| Node.js | {report['node']} |",
             f"| command | `{report['command']}` |", '', '| side | scenarios passed | failed | checks passed | failed | seconds |', '|---|---|---|---|---|---|']
    for name, side in sides.items():
        count = collections.Counter((': ' in test, side['tests'][test]['outcome']) for test in side['tests'])
        lines.append(f"| {name} | {count[False, 'SUCCESS']} | {count[False, 'FAILURE']} | {count[True, 'SUCCESS']} | {count[True, 'FAILURE']} | {side['seconds']} |")
    for title, key in (('Pass only directly', 'only_direct'), ('Pass only through the gateway', 'only_proxied')):
        lines += ['', f'## {title}: {len(sets[key])} (scenarios and checks)', '']
        if sets[key]:
            lines += ['| scenario: check | directly | through the gateway |', '|---|---|---|']
        lines += [row(name, sides.values()) for name in sets[key]]
    lines += ['', '## Scenarios', '', '| scenario | directly | through the gateway |', '|---|---|---|']
    for name in scenarios(names):
        lines.append(f'| {name} | ' + ' | '.join(side['tests'].get(name, {'outcome': 'not run'})['outcome'].lower() for side in sides.values()) + ' |')
    lines += ['', '## What the gateway recorded', '', '| direction | verdict | code | records |', '|---|---|---|---|']
    lines += [f"| {v['direction']} | {v['verdict']} | {v['code'] or ''} | {v['count']} |" for v in sides['proxied']['verdicts']]
    return '\n'.join(lines) + '\n'


def report_of(case, direct, proxied):
    pins = json.loads((HERE / 'package.json').read_text())['dependencies']
    versions = {name.removeprefix('@modelcontextprotocol/'): version for name, version in pins.items()}
    commit = said_by('git', 'rev-parse', '--short', 'HEAD', cwd=case.kit) if case.kit else ''
    if case.kit:
        what = f"the suite's own, of `modelcontextprotocol/conformance` at `{commit}`"
    else:
        what = f"`tests/interop/mcp/{case.leg}.mjs` on `@modelcontextprotocol/{case.leg}` {versions[case.leg]}"
    return {
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'), 'requirements': case.requirements, 'leg': case.leg, 'versions': versions,
        'kit_commit': commit, 'auth': case.auth, 'implementation': what, 'semgate': said_by(case.semgate, '--version'), 'commit': said_by('git', 'rev-parse', '--short', 'HEAD'),
        'node': said_by('node', '--version', env=case.env), 'sets': compare(direct, proxied), 'sides': {'direct': direct, 'proxied': proxied},
        'command': f'python3 tests/interop/mcp/run.py --semgate target/debug/semgate --requirements {case.requirements} --leg {case.leg}' + (' --kit conformance' if case.kit else '') + (' --auth' if case.auth else ''),
    }
