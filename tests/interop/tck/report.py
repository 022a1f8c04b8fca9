"""The two runs side by side, as JSON and as Markdown."""

import collections
import datetime
import subprocess
import sys
from pathlib import Path

from explained import reasons, run_of, unexplained

HERE = Path(__file__).resolve().parent


def said_by(*words, cwd=HERE):
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True)
    return done.stdout.strip() or 'unknown'


def compare(direct, proxied):
    passed = [{name for name, test in side['tests'].items() if test['outcome'] == 'passed'} for side in (direct, proxied)]
    return {'both': sorted(passed[0] & passed[1]), 'only_direct': sorted(passed[0] - passed[1]), 'only_proxied': sorted(passed[1] - passed[0])}


def verdict(report):
    sets, left = report['sets'], len(report['unexplained'])
    if not sets['only_direct'] and not sets['only_proxied']:
        return 'the same tests pass directly and through the gateway.'
    lost = f"{len(sets['only_direct'])} tests that pass directly are lost" if sets['only_direct'] else 'no test that passes directly is lost'
    of_these = f'{left} rows are not as listed' if left else 'each row is listed, with its reason'
    return f"{lost}; {len(sets['only_proxied'])} pass through the gateway only; {of_these}."


def markdown(report):
    sides, sets = report['sides'], report['sets']
    kinds = sorted({test['outcome'] for side in sides.values() for test in side['tests'].values()})
    count = {name: collections.Counter(test['outcome'] for test in side['tests'].values()) for name, side in sides.items()}
    lines = [f"# A2A conformance kit, {report['branch']}, {report['transport']}" + (f", every message bound to {report['bound']}" if report['bound'] else ''), '',
             f"{report['date']}: {verdict(report)}", '',
             '| | |', '|---|---|', f"| kit | `a2aproject/a2a-tck`, branch `{report['branch']}`, commit `{report['kit_commit']}` |",
             f"| upstream agent | the kit's own Python agent{report['agent']} on a2a-sdk {report['agent_sdk']} |",
             f"| gateway | {report['semgate']}, commit `{report['commit']}` |", f"| Python | {report['python']} |", f"| command | `{report['command']}` |", '',
             '| side | ' + ' | '.join(kinds) + ' | seconds |', '|---' * (len(kinds) + 2) + '|']
    lines += [f'| {name} | ' + ' | '.join(str(count[name][kind]) for kind in kinds) + f" | {side['seconds']} |" for name, side in sides.items()]
    for title, key, listed in (('Pass only directly', 'only_direct', 'lost'), ('Pass only through the gateway', 'only_proxied', 'gained')):
        why = reasons(report['branch'], report['run'], listed)
        lines += ['', f'## {title}: {len(sets[key])}', '']
        if sets[key]:
            lines += ['| test | directly | through the gateway | since the gateway |', '|---|---|---|---|']
        for name in sets[key]:
            cells = [side['tests'].get(name, {'outcome': 'not run', 'why': ''}) for side in sides.values()]
            lines.append(f'| `{name}` | ' + ' | '.join(f"{c['outcome']} {c['why']}".strip().replace('|', '\\|') for c in cells) + f" | {why.get(name, 'not listed')} |")
    lines += ['', f"## Not as listed: {len(report['unexplained'])}", ''] + [f'- {line}' for line in report['unexplained']]
    other = sorted(n for n, t in sides['direct']['tests'].items() if t['outcome'] in ('failed', 'error') and n not in sets['only_proxied'])
    lines += ['', f'## Pass on neither side: {len(other)}', ''] + [f'- `{name}`' for name in other]
    lines += ['', f"## Pass on both sides: {len(sets['both'])}", ''] + [f'- `{name}`' for name in sets['both']]
    lines += ['', '## What the gateway recorded', '', '| direction | verdict | code | records |', '|---|---|---|---|']
    lines += [f"| {v['direction']} | {v['verdict']} | {v['code'] or ''} | {v['count']} |" for v in sides['proxied']['verdicts']]
    return '\n'.join(lines) + '\n'


def report_of(case, direct, proxied):
    sets, run = compare(direct, proxied), run_of(case.transport, case.agent)
    pins = dict(line.split('==') for line in (HERE / case.branch / f'{case.agent}.txt').read_text().split())
    return {
        'date': datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%d %H:%M UTC'), 'branch': case.branch, 'transport': case.transport, 'run': run, 'bound': case.bound,
        'unexplained': unexplained(case.branch, run, sets), 'kit_commit': said_by('git', 'rev-parse', 'HEAD', cwd=case.kit),
        'agent_sdk': pins['a2a-sdk'], 'agent': ' (newest.py)' if case.agent == 'newest' else '', 'semgate': said_by(case.semgate, '--version'), 'commit': said_by('git', 'rev-parse', '--short', 'HEAD'),
        'python': sys.version.split()[0], 'sets': sets, 'sides': {'direct': direct, 'proxied': proxied},
        'command': f'python3 tests/interop/tck/run.py --kit a2a-tck --semgate target/debug/semgate --transport {case.transport}' + ' --newest' * (case.agent == 'newest') + (f' --bound {case.bound}' if case.bound else ''),
    }
