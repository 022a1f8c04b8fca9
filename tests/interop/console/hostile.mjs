// A gateway that was taken over writes script, bidirectional controls and a megabyte into every text. It stays text.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { loggedIn, must, narrow, stage, test, told, waitFor } from './stage.mjs';

const EVIL = `\u202Eevil\u2066\u200B\u00AD\u001b[31m<script>window.hacked=1</script><img src=x onerror="window.hacked=1"></td></table></form><svg/onload=window.hacked=1>"'\`&{{7*7}}<a href="https://evil.test/">click</a><meta http-equiv="refresh" content="0;url=https://evil.test/"><input name=csrf value=x><base href="https://evil.test/">`;
const MEGABYTE = EVIL + 'A'.repeat(1024 * 1024);
const ID = 'abcdefghijklmnopqrstuvwxy2';
const now = Math.floor(Date.now() / 1000);

const record = (n, more = {}) => ({
  time: now, n, decision_id: ID, direction: 'request', verdict: 'refused', code: EVIL, sender: EVIL, receiver: EVIL, protocol: EVIL,
  performative: EVIL, context: EVIL, digest: EVIL, concepts: [EVIL, EVIL], policies: [EVIL], generation: 1, duration_us: 1, gateway: EVIL,
  ...more,
});

const status = {
  ready: false, obstacles: [EVIL], generation: 1, config: { current: false, fault: EVIL },
  policies: { digest: EVIL, current: false, loading: EVIL, looked: 1, rejected: EVIL, faults: [EVIL], contexts_left_out: [EVIL], warnings: [EVIL] },
  shadow: null,
  authorities: [{ name: EVIL, url: EVIL, recognised: null, distrusted: false, size: 1, issued_at: now, next_update: now, fresh: false,
    obstacle: { cause: EVIL, detail: EVIL }, contexts: 1, context_bytes: 1, contexts_left_out: [EVIL], floors: { [EVIL]: EVIL }, memory: null }],
  audit: { written: 1, lost: 1, working: false },
  certificates: [{ file: EVIL, subject: EVIL, not_after: now, days_left: 0 }],
  routes: [{ name: EVIL, url: 'javascript:window.hacked=1' }],
};

function hold(body) {
  const interaction = { target: 'human://alice.eng', type: 'CLARIFICATION', summary: EVIL, body, options: [EVIL, 'no'], reason: EVIL, context: EVIL };
  const canonical = JSON.stringify({ body, options: interaction.options, reason: EVIL, summary: EVIL, target: interaction.target, type: interaction.type });
  return {
    id: ID, state: 'SENT', kind: 'CLARIFICATION', canonical,
    digest: `sha-256:${createHash('sha256').update(canonical).digest('hex')}`,
    action: null, context_urn: EVIL, interaction: { ...interaction, sender: EVIL },
    demands: [{ policy: EVIL, question: EVIL, approvers: [EVIL], quorum: 1, within: 900, reuse: 'never', reason: 'always', assurance: 'LOW' }],
    opened_at: now, expires_at: now + 900, use_by: null,
    decisions: [{ human_id: EVIL, decision: 'APPROVED', selected_option: EVIL, feedback: EVIL, factor: EVIL, assurance: 'LOW', decided_at: now, evidence: EVIL }],
    may_decide: true, why_not: EVIL, last_approved: { canonical: JSON.stringify({ body: EVIL }), decided_at: now }, delegated_to: [EVIL],
    generation: 1, decision_id: ID,
  };
}

const people = { humans: [{ id: EVIL, profile: { name: EVIL, role: EVIL, timezone: EVIL }, capabilities: [EVIL], groups: [EVIL], status: EVIL, certificate: EVIL, channels: [EVIL] }] };
let body = EVIL;
let streams = 0;

function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://gateway');
  const json = (value) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  if (pathname === '/verdicts') {
    response.setHeader('content-type', 'text/event-stream');
    streams += 1;
    for (const n of [1, 2, 3]) response.write(`id: ${n}\ndata: ${JSON.stringify(record(n))}\n\n`);
    // the longest text that the console takes, and on the second stream one that it does not
    response.write(`data: ${JSON.stringify(record(4, { sender: EVIL + 'B'.repeat(200 * 1024) }))}\n\n`);
    if (streams > 1) response.write(`data: ${JSON.stringify(record(5, { sender: MEGABYTE }))}\n\n`);
    return undefined;
  }
  if (pathname === '/status') return json(status);
  if (pathname === '/refusals') return json({ minutes: [Math.floor(now / 60)], codes: { [EVIL]: [3] }, allowed: [1] });
  if (pathname === `/decisions/${ID}`) return json({ decision_id: ID, records: [record(1), record(2, { sender: MEGABYTE })] });
  if (pathname === '/v1/approvals') return json({ as: EVIL, total: 1, approvals: [hold(body)] });
  if (pathname === `/v1/approvals/${ID}`) return json(hold(body));
  if (pathname === '/v1/humans') return json(people);
  response.statusCode = 404;
  return response.setHeader('content-type', 'application/problem+json').end(JSON.stringify({ code: EVIL, title: EVIL, detail: EVIL, hint: EVIL }));
}

const { admin, approvals, cert, key } = stage.evil;
const at = (url) => Number(new URL(url).port);
http.createServer(answer).listen(at(admin), '127.0.0.1');
https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer).listen(at(approvals), '127.0.0.1');

/** Nothing of the text became part of the page. */
async function stayedText(page, name) {
  const found = await page.evaluate(() => {
    const own = (selector) => [...document.querySelectorAll(selector)].map((one) => one.outerHTML.slice(0, 200));
    return {
      hacked: window.hacked ?? null,
      scripts: own('script:not([src])'),
      foreign: [...document.querySelectorAll('a[href], form[action], img, iframe, object, base, svg')].filter((one) => {
        const target = one.href ?? one.action;
        return !target || new URL(target, location.href).origin !== location.origin;
      }).map((one) => one.outerHTML.slice(0, 200)),
      handlers: [...document.querySelectorAll('*')].flatMap((one) => [...one.attributes]).filter((one) => /^on/i.test(one.name)).map((one) => one.name),
      hidden: /[\u202A-\u202E\u2066-\u2069\u200B\u00AD\u001B]/.test(document.documentElement.outerHTML),
      codes: document.querySelectorAll('.code').length,
    };
  });
  must(found.hacked === null, `${name}: the script ran`);
  for (const kind of ['scripts', 'foreign', 'handlers']) must(found[kind].length === 0, `${name}: ${kind}: ${found[kind]}`);
  must(!found.hidden, `${name}: a hidden character is on the page`);
  must(found.codes > 0, `${name}: no code stands for a hidden character`);
  must((await page.textContent('main')).includes('<script>window.hacked=1</script>'), `${name}: the text is not shown`);
  must(new URL(page.url()).origin === new URL(stage.url).origin, `${name} led to ${page.url()}`);
  await narrow(page, name);
  told({ page: name });
}

await test(async () => {
  const page = await loggedIn('bob');
  await page.goto('/');
  await stayedText(page, 'overview');
  await page.goto('/verdicts');
  await waitFor('the verdicts', async () => (await page.textContent('#verdicts')).split('evil.test').length > 8);
  await stayedText(page, 'verdicts');
  for (const path of ['/policies', '/agents', '/limits', '/standing', '/log']) {
    await page.goto(path);
    if ((await page.textContent('main')).includes('window.hacked')) await stayedText(page, path);
  }
  await page.goto(`/decisions/${ID}`);
  await stayedText(page, 'decision');
  const file = await page.request.get(`/decisions/${ID}/text`);
  must(/^text\/plain/.test(file.headers()['content-type']) && /^attachment/.test(file.headers()['content-disposition']), 'the file is shown');
  must((await file.text()).length > 1024 * 1024, 'the file is not whole');
  await page.goto('/approvals');
  await stayedText(page, 'approvals');
  for (body of [EVIL, MEGABYTE]) {
    await page.goto(`/approvals/${ID}?gateway=evil`);
    await stayedText(page, `approval of ${body.length} characters`);
    const forms = await page.locator('form input[name=csrf]').evaluateAll((all) => new Set(all.map((one) => one.value)).size);
    must(forms === 1, 'the text brought a form of its own');
  }
});
// streams of the gateway stay open
process.exit();
