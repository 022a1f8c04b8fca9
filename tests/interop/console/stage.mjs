// A browser before the console, and the judgements that hold for every page.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import axe from 'axe-core';
import { chromium } from 'playwright-core';

// {url, dir, semgate, chromium, link, people: {name: {cert, key}}}
export const stage = JSON.parse(readFileSync(process.argv[2], 'utf8'));

const run = promisify(execFile);
const origin = new URL(stage.url).origin;
const contexts = [];
let browser;

export class Failed extends Error {}

export function must(condition, text) {
  if (!condition) throw new Failed(text);
}

export function told(fact) {
  console.log(JSON.stringify(fact));
}

/** Asks until there is an answer. */
export async function waitFor(what, ask, time = 60_000) {
  const end = Date.now() + time;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    must(Date.now() < end, `waited ${time} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Runs a command of Semgate; answers its status and its JSON. */
export async function semgate(...words) {
  try {
    const { stdout } = await run(stage.semgate, words);
    return { status: 0, stdout };
  } catch (why) {
    must(typeof why.code === 'number', String(why));
    return { status: why.code, stdout: why.stdout, stderr: why.stderr };
  }
}

/** Says something as an agent; answers `ALLOWED`, or the code of the refusal. */
export async function say(agent, context, concept, value) {
  const words = ['--json', 'say', '--dir', stage.dir, '--as', agent, context, concept, JSON.stringify(value)];
  const said = await semgate(...words);
  const json = JSON.parse(said.stdout);
  return said.status === 0 ? 'ALLOWED' : json.code;
}

/**
 * A window of its own: no cookie, and the client certificate of this person, if one is named. Whatever leaves the origin, and
 * whatever the browser complains about, fails the test at its end.
 */
export async function open({ person, ...more } = {}) {
  browser ??= await chromium.launch({ executablePath: stage.chromium, args: ['--no-sandbox', '--disable-gpu'] });
  const shown = person && stage.people[person];
  const clientCertificates = shown ? [{ origin, certPath: shown.cert, keyPath: shown.key }] : [];
  const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: stage.url, clientCertificates, ...more });
  context.setDefaultTimeout(30_000);
  context.faults = [];
  context.requests = 0;
  contexts.push(context);
  context.on('request', (request) => {
    context.requests += 1;
    const url = new URL(request.url());
    if (url.origin !== origin) context.faults.push(`a request left the origin: ${url.href.slice(0, 200)}`);
  });
  context.on('page', (page) => watch(context, page));
  return context;
}

function watch(context, page) {
  page.on('pageerror', (why) => context.faults.push(`${page.url()}: ${why}`));
  page.on('dialog', (dialog) => context.faults.push(`${page.url()}: a dialog: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    // an answer of 4xx, which some tests want
    if (message.type() !== 'error' || /^Failed to load resource: .* status of [45]\d\d/.test(text)) return;
    context.faults.push(`${page.url()}: ${text}`);
  });
}

/** A page of a person who is logged in by certificate. */
export async function loggedIn(person, more = {}) {
  const context = await open({ person, ...more });
  const page = await context.newPage();
  await page.goto('/login');
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  return page;
}

/** Finds what `axe-core` and a narrow window object to, in both colour schemes. */
export async function judge(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).slice(0, 3).join(' ')}`);
    must(found.length === 0, `${name}, ${colorScheme}: ${found.join('\n')}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await narrow(page, name);
}

/** A page of 400 pixels scrolls down alone. */
export async function narrow(page, name) {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 400, height: 800 });
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const out = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > width + 1);
    return [`${document.documentElement.scrollWidth}`, ...out.slice(0, 5).map((one) => one.outerHTML.slice(0, 200))];
  });
  must(wide.length === 0, `${name} is wider than 400 pixels: ${wide.join('\n')}`);
  await page.setViewportSize(before);
}

/** Runs a test to its end; its last line says how many requests were watched. */
export async function test(work) {
  try {
    await work();
    const faults = contexts.flatMap((context) => context.faults);
    must(faults.length === 0, faults.join('\n'));
    told({ requests: contexts.reduce((sum, context) => sum + context.requests, 0) });
  } catch (why) {
    const faults = contexts.flatMap((context) => context.faults);
    console.error([why.stack ?? why, ...faults].join('\n'));
    process.exitCode = 1;
  } finally {
    await browser?.close();
  }
}
