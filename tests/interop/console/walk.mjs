// Follows every link from the overview. Each kind of page is judged once: by axe in both colour schemes, and at 400 pixels.
import { TABLE, rowOf } from './pages.mjs';
import { judge, loggedIn, must, open, say, stage, test, told } from './stage.mjs';

const FILES = /\.txt$|\/text$/;

await test(async () => {
  await say('retailer-7', 'supplyChain:v1.0', 'current_decision', { item_id: 'beer', quantity: 1 });
  must((await say('retailer-7', 'supplyChain:v1.0', 'current_decision', { item_id: 'beer', quantity: 5000 })) === 'approval_pending', 'nothing is held');
  const outside = await open();
  const login = await outside.newPage();
  await login.goto('/verdicts');
  must(new URL(login.url()).pathname === '/login', `without a session a page leads to ${login.url()}`);
  await judge(login, '/login');

  const page = await loggedIn('bob');
  const faults = [];
  const seen = new Map();
  const queue = ['/'];
  for (const start of TABLE.filter(([method, row]) => method === 'GET' && !row.includes('*') && !/stream/.test(row))) queue.push(start[1]);
  while (queue.length > 0) {
    const path = queue.shift();
    const url = new URL(path, stage.url);
    const kind = rowOf(url.pathname);
    must(kind, `${path} is linked and not in the table`);
    // a page of its own for each kind; and the first with a query
    const key = kind + (url.search ? '?' : '');
    if (seen.has(key)) continue;
    if (FILES.test(kind)) {
      const answer = await page.request.get(path);
      must(answer.status() === 200, `${path}: ${answer.status()}`);
      must(/^text\/plain/.test(answer.headers()['content-type']), `${path} is no plain text`);
      must(/^attachment/.test(answer.headers()['content-disposition']), `${path} is shown, not saved`);
      seen.set(key, path);
      continue;
    }
    const answer = await page.goto(path);
    must(answer.status() === 200, `${path}: ${answer.status()} ${await page.textContent('main')}`);
    const policy = answer.headers()['content-security-policy'];
    must(/default-src 'none'/.test(policy) && !/unsafe/.test(policy), `${path}: ${policy}`);
    must((await page.locator('h1').count()) === 1, `${path} has not one heading`);
    // the test tells of every page, not of the first alone
    await judge(page, path).catch((why) => faults.push(why.message));
    seen.set(key, path);
    told({ kind, path });
    const links = await page.locator('a[href]').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    queue.push(...links.filter((link) => link.startsWith('/')));
  }
  must(faults.length === 0, faults.join('\n\n'));
});
