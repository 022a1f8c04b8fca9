// Who gets in, and who may use which page by which method.
import { PEOPLE, TABLE } from './pages.mjs';
import { loggedIn, must, open, stage, test, told } from './stage.mjs';

const path = (row) => row.replaceAll('*', 'aaaaaaaaaaaaaaaaaaaaaaaaaa');

/** A request as a page of this origin makes it. Redirects are answers. */
async function ask(request, method, row, form, origin = stage.url) {
  const options = { maxRedirects: 0, failOnStatusCode: false, timeout: 5_000 };
  if (method === 'POST') Object.assign(options, { form, headers: { origin } });
  const url = row === '/verdicts/stream' ? `${row}?after=x` : path(row);
  return (await request.fetch(url, { method, ...options })).status();
}

async function token(page) {
  return page.locator('input[name=csrf]').first().getAttribute('value');
}

await test(async () => {
  // by the printed link, once, and never by a GET
  const window = await open();
  const page = await window.newPage();
  await page.goto(stage.link);
  must((await window.cookies()).length === 0, 'a GET of the link began a session');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  const [cookie] = await window.cookies();
  must(cookie.name === '__Host-semgate' && cookie.secure && cookie.httpOnly && cookie.sameSite === 'Strict', JSON.stringify(cookie));
  const again = await (await open()).newPage();
  await again.goto(stage.link);
  await again.getByRole('alert').waitFor();
  must((await again.getByRole('button', { name: 'Log in' }).count()) === 0, 'the link counts twice');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL('**/login');
  must((await ask(page.request, 'GET', '/', {})) === 303, 'the session outlives the logout');
  told({ login: 'link' });

  // by certificate: a stranger's names nobody here
  const stranger = await (await open({ person: 'eve' })).newPage();
  await stranger.goto('/login');
  await stranger.getByRole('alert').waitFor();
  must((await stranger.getByRole('button').count()) === 0, 'a stranger is offered a login');
  told({ login: 'stranger' });

  // nobody gets anything
  const nobody = (await open()).request;
  for (const [method, row] of TABLE) {
    const status = await ask(nobody, method, row, { csrf: 'x' });
    must(status === (method === 'GET' ? 303 : 401), `${method} ${row} without a session: ${status}`);
  }

  for (const [role, person] of Object.entries(PEOPLE)) {
    const page = await loggedIn(person);
    const csrf = await token(page);
    for (const [method, row, roles] of TABLE) {
      if (row === '/logout') continue;
      const status = await ask(page.request, method, row, { csrf });
      const may = roles.includes(role);
      must(may ? status !== 403 && status !== 401 && status !== 303 : status === 403, `${role}: ${method} ${row}: ${status}`);
      if (method !== 'POST' || !may) continue;
      // a form without the token, and one of another origin
      for (const [form, origin] of [[{}, stage.url], [{ csrf: `${csrf}x` }, stage.url], [{ csrf }, 'https://evil.test'], [{ csrf }, 'null']]) {
        const refused = await ask(page.request, method, row, form, origin);
        must(refused === 403, `${role}: ${method} ${row} with ${JSON.stringify(form)} of ${origin}: ${refused}`);
      }
    }
    const nav = await page.locator('nav a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    const wanted = TABLE.filter(([method, row, roles]) => method === 'GET' && roles.includes(role) && nav.includes(row));
    must(wanted.length === nav.length && nav.length > 0, `${role} is shown ${nav}`);
    must((await ask(page.request, 'POST', '/logout', { csrf })) === 303, `${role} cannot log out`);
    told({ role, rows: TABLE.length });
  }
});
