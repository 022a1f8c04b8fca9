// Pictures of three pages for the documentation. The second word is the folder.
import { join } from 'node:path';
import { loggedIn, say, test, told, waitFor } from './stage.mjs';

const folder = process.argv[3];
const CONTEXT = 'supplyChain:v1.0';

await test(async () => {
  for (const quantity of [1, 12, 120]) await say('retailer-7', CONTEXT, 'current_decision', { item_id: 'beer', quantity });
  await say('retailer-7', CONTEXT, 'current_decision', { item_id: 'beer', quantity: 'one' });
  await say('public-webapp-3', CONTEXT, 'current_decision', { item_id: 'beer', quantity: 1 });
  await say('retailer-7', CONTEXT, 'current_decision', { item_id: 'beer', quantity: 5000 });
  const page = await loggedIn('bob', { viewport: { width: 1260, height: 800 } });
  const take = async (name) => {
    const path = join(folder, `console-${name}.png`);
    await page.screenshot({ path });
    told({ path });
  };
  await page.goto('/');
  await page.locator('.chart canvas').first().waitFor();
  await take('overview');
  await page.goto('/verdicts');
  await waitFor('the verdicts', async () => (await page.locator('#verdicts tr').count()) >= 6);
  await take('verdicts');
  await page.goto('/approvals');
  await page.getByRole('row').getByRole('link').first().click();
  await page.locator('pre').first().waitFor();
  await take('approval');
});
