// An operator revokes a context by keyboard and pointer, and the refusal arrives on a page that nobody reloads.
import { judge, loggedIn, must, say, stage, test, told, waitFor } from './stage.mjs';

const CONTEXT = 'supplyChain:v1.0';
const WORDS = { item_id: 'beer', quantity: 1 };

/** Rows of the table, newest first: verdict, sender, message. */
const rows = (page) =>
  page.locator('#verdicts tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

await test(async () => {
  must((await say('retailer-7', CONTEXT, 'current_decision', WORDS)) === 'ALLOWED', 'the first message is refused');
  const live = await loggedIn('ada');
  await live.goto('/verdicts');
  await live.getByRole('status').filter({ hasText: 'Live.' }).waitFor();
  await waitFor('the first message', async () => (await rows(live)).length >= 2);
  const before = (await rows(live)).length;
  must((await rows(live)).every(([, , verdict]) => verdict === 'allowed'), 'something was refused already');
  await live.evaluate(() => { window.same = true; });

  // a message arrives by itself, above the others
  must((await say('retailer-7', CONTEXT, 'current_decision', WORDS)) === 'ALLOWED', 'the second message is refused');
  await waitFor('the second message', async () => (await rows(live)).length >= before + 2);

  // what a person paused stays as it is, and comes later
  await live.getByRole('button', { name: 'Pause' }).click();
  const paused = (await rows(live)).length;
  must((await say('retailer-7', CONTEXT, 'current_decision', WORDS)) === 'ALLOWED', 'the third message is refused');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  must((await rows(live)).length === paused, 'a paused page goes on');
  await live.getByRole('button', { name: 'Go on' }).click();
  await waitFor('what came during the pause', async () => (await rows(live)).length >= paused + 2);

  // a decision is explained by the policies that decided it
  const why = await live.context().newPage();
  await why.goto('/verdicts?code=allowed');
  await why.locator('#verdicts').getByRole('link').last().click();
  await why.getByRole('heading', { name: 'Why' }).first().waitFor();
  const reasons = await why.textContent('main');
  must(reasons.includes('Explained by the policies that decided it') && /decided: permit lines\.cedar/.test(reasons), reasons);
  await judge(why, 'an explained decision');

  const operator = await loggedIn('olaf');
  await operator.goto('/standing');
  const form = operator.locator('form[action="/standing/revoke"]');
  await form.getByLabel('Version').selectOption(`urn:contexts:${CONTEXT}`);
  await form.getByLabel('Reason').fill('a leak');
  await form.getByRole('checkbox').check();
  await form.getByRole('button', { name: 'Revoke' }).click();
  await operator.waitForLoadState();
  const began = Date.now();
  await waitFor('the revocation at the gateway', async () =>
    (await say('retailer-7', CONTEXT, 'current_decision', WORDS)) === 'context_revoked');
  const refused = await waitFor('the refusal on the live page', async () =>
    (await rows(live)).find(([, , verdict]) => verdict === 'context_revoked'));
  must(refused[3].includes('retailer-7'), `the row names ${refused[3]}`);
  must(await live.evaluate(() => window.same === true), 'the page was loaded again');
  told({ revoked: Date.now() - began });

  // the decision opens
  await live.locator('#verdicts tr', { hasText: 'context_revoked' }).first().getByRole('link').click();
  await live.getByRole('heading', { level: 1, name: /^Decision/ }).waitFor();
  const text = await live.textContent('main');
  must(text.includes('context_revoked') && text.includes('"decision_id"'), text);

  // the same page without a script: a table that fits the filter, and reloads itself
  const plain = await loggedIn('ada', { javaScriptEnabled: false });
  await plain.goto('/verdicts?code=context_revoked');
  const verdicts = await plain.locator('#verdicts tr td:nth-child(3)').allTextContents();
  must(verdicts.length > 0 && verdicts.every((one) => one.trim().startsWith('context_revoked')), `${verdicts}`);
  must((await plain.locator('meta[http-equiv=refresh]').count()) === 1, 'the page does not reload itself');
  told({ rows: verdicts.length });
});
