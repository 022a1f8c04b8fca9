// A person approves one message by keyboard alone, and denies another.
import { judge, loggedIn, must, say, test, told, waitFor } from './stage.mjs';

const CONTEXT = 'supplyChain:v1.0';
const order = (quantity) => say('retailer-7', CONTEXT, 'current_decision', { item_id: 'beer', quantity });

/** Moves the focus by Tab until this element has it. */
async function tabTo(page, target) {
  await target.first().waitFor();
  for (let presses = 0; presses < 120; presses += 1) {
    if (await target.first().evaluate((one) => one === document.activeElement)) {
      const shown = await target.first().evaluate((one) => {
        const style = getComputedStyle(one);
        return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      });
      must(shown, 'the focus cannot be seen');
      return;
    }
    await page.keyboard.press('Tab');
  }
  throw new Error('the focus never gets there');
}

async function follow(page, target) {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
  await page.waitForLoadState();
}

/** Opens the request about this quantity, with keys. */
async function opened(page, quantity) {
  await follow(page, page.getByRole('navigation').getByRole('link', { name: 'Approvals' }));
  // the newest ends last
  await follow(page, page.getByRole('row').getByRole('link').last());
  const action = await page.locator('pre').first().textContent();
  must(action.includes(`"quantity": ${quantity}`), `the page shows ${action}`);
}

await test(async () => {
  must((await order(5000)) === 'approval_pending', 'nothing is held');
  const page = await loggedIn('alice');
  await opened(page, 5000);
  await judge(page, 'a request');
  await page.reload();
  const digest = await page.locator('input[name=digest]').first().getAttribute('value');
  must((await page.textContent('main')).includes(digest), 'the page does not show the digest');
  await follow(page, page.getByRole('button', { name: 'Approve exactly this action' }));
  await waitFor('the approval', async () => (await page.textContent('main')).includes('APPROVED'));
  must((await order(5001)) === 'approval_pending', 'an approval lets another action pass');
  must((await order(5000)) === 'ALLOWED', 'the approved action does not pass');
  must((await order(5000)) === 'approval_pending', 'an approval is used twice');
  told({ approved: digest });

  // denied, with a reason that the page demands or takes
  await follow(page, page.getByRole('navigation').getByRole('link', { name: 'Approvals' }));
  // the list has seconds
  await page.waitForTimeout(1_100);
  must((await order(7000)) === 'approval_pending', 'nothing is held');
  await page.reload();
  await opened(page, 7000);
  const deny = page.locator('form[action$="/deny"]');
  await tabTo(page, deny.getByLabel('Reason'));
  await page.keyboard.type('too much beer');
  await follow(page, deny.getByRole('button', { name: 'Deny' }));
  await waitFor('the denial', async () => (await page.textContent('main')).includes('DENIED'));
  must((await order(7000)) === 'approval_denied', 'a denied action is not refused');
  must((await page.textContent('main')).includes('too much beer'), 'the reason is lost');
  told({ denied: true });
});
