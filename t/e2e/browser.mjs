// A person with a browser: signs in, looks at the dashboard, ends a session,
// signs out, goes back.  Prints TAP; browser.t starts nginx and reads it.
//
//   node browser.mjs URL LOGIN PASSWORD SCREENSHOTS
//
// CHROMIUM names the browser (/usr/bin/chromium).

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, login, password, shots] = process.argv.slice(2);

let count = 0;

function ok(pass, name, detail) {
    count++;
    console.log(`${pass ? 'ok' : 'not ok'} ${count} - ${name}`);

    if (!pass && detail !== undefined) {
        console.log(`# ${String(detail).replaceAll('\n', '\n# ')}`);
    }
}

const is = (got, wanted, name) =>
    ok(got === wanted, name, `got ${got}, wanted ${wanted}`);

const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 800 };

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    headless: true,
    args: ['--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update',
           '--disable-sync',
           ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
});

// What the pages must never do: break their own policy, or fail.
const violations = [];

async function person(options = {}) {
    const context = await browser.newContext({ viewport: desktop, ...options });
    const page = await context.newPage();

    page.on('console', message => {
        if (message.type() === 'error'
            && !/status of 40[134]/.test(message.text()))
        {
            violations.push(message.text());
        }
    });
    page.on('pageerror', error => violations.push(error.message));

    return { context, page };
}

// Does something that leads to another page, and waits for that.
async function go(page, action) {
    const there = page.waitForEvent('framenavigated');

    await action();
    await there;
    await page.waitForLoadState();
}

async function signIn(page) {
    await page.getByLabel(/login|user|e-?mail/i).first().fill(login);
    await page.getByLabel(/^password/i).first().fill(password);
    await go(page, () => page.keyboard.press('Enter'));
}

async function shoot(page, name) {
    for (const [size, viewport] of Object.entries({ phone, desktop })) {
        await page.setViewportSize(viewport);

        for (const colorScheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
            await page.screenshot({
                path: `${shots}/${name}-${size}-${colorScheme}.png`,
                fullPage: true });
        }

        const wide = await page.evaluate(() =>
            document.documentElement.scrollWidth
            > document.documentElement.clientWidth);
        ok(!wide, `${name} fits a ${size}`);
    }

    await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
    await page.setViewportSize(desktop);
}

mkdirSync(shots, { recursive: true });

try {
    // sign in, and come back to where one wanted to go

    const { context, page } = await person();

    await page.goto(`${url}/private/page.html?a=1&b=2`);
    is(new URL(page.url()).pathname, '/sign_in', 'sent to sign in');
    await shoot(page, 'sign_in');

    await page.getByLabel(/login|user|e-?mail/i).first().fill(login);
    await page.getByLabel(/^password/i).first().fill('not the password');
    await go(page, () => page.keyboard.press('Enter'));
    is(new URL(page.url()).pathname, '/sign_in', 'a wrong password stays');
    ok(await page.getByRole('alert').first().isVisible(),
       'and says so in an alert');
    await shoot(page, 'sign_in_failed');

    await signIn(page);
    is(page.url(), `${url}/private/page.html?a=1&b=2`,
       'signed in, back at the page with its query');
    is(await page.locator('h1').innerText(), 'Private', 'and sees it');

    const cookies = await context.cookies();
    const session = cookies.find(cookie => cookie.name === 'session');
    ok(session?.httpOnly && session.sameSite === 'Lax',
       'the cookie is HttpOnly and Lax');
    is(await page.evaluate(() => document.cookie), '',
       'no script can read a cookie');

    // a script without the nonce does not run, one with it does

    await page.goto(`${url}/csp.html`);
    is(await page.title(), 'nonce', 'a script with the nonce runs');
    is(await page.evaluate(() => window.injected), undefined,
       'a script without the nonce is blocked');
    ok(violations.some(text => /Content Security Policy/i.test(text)),
       'and the browser says why');
    violations.length = 0;

    // a second browser, and the dashboard

    const other = await person({ userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone '
        + 'OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) '
        + 'Version/17.0 Mobile/15E148 Safari/604.1' });

    await other.page.goto(`${url}/private/page.html`);
    await signIn(other.page);
    is(await other.page.locator('h1').innerText(), 'Private',
       'a second browser is signed in too');

    await page.goto(`${url}/dashboard`);
    ok((await page.locator('body').innerText()).includes(login),
       'the dashboard says who I am');
    ok(/Safari on (iPhone|iOS)/.test(await page.locator('main').innerText()),
       'and names the other device');
    ok(/this (one|session|device|browser)/i.test(
           await page.locator('main').innerText()), 'and marks this one');
    await shoot(page, 'dashboard');

    // end the other one

    await go(page, () => page.getByRole('button', { name: /^end (?!.*other)/i })
        .first().click());
    is(new URL(page.url()).pathname, '/dashboard', 'back at the dashboard');
    ok(!/Safari on (iPhone|iOS)/.test(
           (await page.locator('main').innerText()).split(/recent/i)[0]),
       'the ended session is gone');

    await other.page.goto(`${url}/private/page.html`);
    is(new URL(other.page.url()).pathname, '/sign_in',
       'the other browser is signed out at once');
    await other.context.close();

    // keyboard alone

    await page.goto(`${url}/dashboard`);
    await page.keyboard.press('Tab');
    ok(await page.evaluate(() => document.activeElement !== document.body),
       'Tab reaches something');

    // sign out, and the back button

    await page.goto(`${url}/private/page.html`);
    await page.goto(`${url}/dashboard`);
    await go(page, () => page.getByRole('button', { name: /sign out/i })
        .first().click());
    ok(!(await context.cookies()).some(cookie => cookie.name === 'session'),
       'signing out drops the cookie');

    await page.goBack();
    await page.waitForLoadState();
    ok(!(await page.locator('body').innerText()).includes('End session')
       && new URL(page.url()).pathname !== '/private/page.html',
       'the back button shows no dashboard', page.url());

    await page.goto(`${url}/private/page.html`);
    is(new URL(page.url()).pathname, '/sign_in', 'and nothing is open');

    // pages work without JavaScript

    const plain = await person({ javaScriptEnabled: false });

    await plain.page.goto(`${url}/private/page.html`);
    await signIn(plain.page);
    is(plain.page.url(), `${url}/private/page.html`,
       'signing in works without JavaScript');

    await plain.page.goto(`${url}/sign_out`);
    await go(plain.page, () => plain.page.getByRole('main')
        .getByRole('button', { name: /sign out/i }).first().click());
    await plain.page.goto(`${url}/private/page.html`);
    is(new URL(plain.page.url()).pathname, '/sign_in',
       'and so does signing out');
    await plain.context.close();

    // an error page

    await page.goto(`${url}/private/page.html`);
    await signIn(page);
    const refused = await page.goto(`${url}/admin/`);
    is(refused.status(), 403, 'a missing role is 403');
    await shoot(page, 'forbidden');

    is(violations.join('; '), '', 'no page broke its policy or failed');
    await context.close();

} catch (error) {
    ok(false, 'no exception', error.stack);

} finally {
    await browser.close();
    console.log(`1..${count}`);
}
