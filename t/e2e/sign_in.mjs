// A person with a browser signs in to a site: goes to a protected page, is
// asked, signs in, and sees that page, which must show the login.  Says why on
// stderr and exits 1 when anything is otherwise.
//
//   node sign_in.mjs [OPTION...] URL LOGIN < PASSWORD
//
//   --screenshots DIR  writes DIR/sign_in.png and DIR/signed_in.png
//   --state FILE       keeps the browser's cookies in FILE; when it is there
//                      already, the browser must still be signed in
//   --insecure         takes any certificate
//   --text             prints the text of the page behind
//
// The password comes from stdin, for argv is there for everybody to read.
// CHROMIUM names the browser (/usr/bin/chromium).  playwright-core comes from
// `npm ci` in this folder.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

function fail(why) {
    console.error(`sign_in: ${why}`);
    process.exitCode = 1;
}

const { values: options, positionals: [url, login] } = parseArgs({
    allowPositionals: true,
    options: {
        screenshots: { type: 'string' },
        state: { type: 'string' },
        insecure: { type: 'boolean' },
        text: { type: 'boolean' },
    },
});

if (login === undefined) {
    console.error('usage: node sign_in.mjs [OPTION...] URL LOGIN < PASSWORD');
    process.exit(2);
}

const returning = options.state !== undefined && existsSync(options.state);
const password = returning ? '' : readFileSync(0, 'utf8').split('\n')[0];

if (options.screenshots !== undefined) {
    mkdirSync(options.screenshots, { recursive: true });
}

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    headless: true,
    args: ['--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update',
           '--disable-sync',
           ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
});

async function shoot(page, name) {
    if (options.screenshots !== undefined) {
        await page.screenshot({ path: `${options.screenshots}/${name}.png` });
    }
}

async function signIn(page) {
    const field = page.getByLabel(/^password/i).first();

    if (await field.count() === 0) {
        throw new Error(`no form to sign in at ${page.url()}`);
    }

    await page.getByLabel(/login|user|e-?mail/i).first().fill(login);
    await shoot(page, 'sign_in');
    await field.fill(password);

    await Promise.all([page.waitForEvent('framenavigated'),
                       field.press('Enter')]);
    await page.waitForLoadState();
}

try {
    const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        ignoreHTTPSErrors: options.insecure === true,
        ...(returning ? { storageState: options.state } : {}),
    });
    const page = await context.newPage();

    await page.goto(url);

    if (!returning) {
        await signIn(page);
    }

    const text = await page.locator('body').innerText();

    await shoot(page, 'signed_in');

    if (options.text) {
        console.log(text);
    }

    if (page.url() !== new URL(url).href) {
        fail(`at ${page.url()} and not at ${url}: ${text}`);

    } else if (!text.includes(login)) {
        fail(`${url} does not show ${login}: ${text}`);

    } else if (options.state !== undefined) {
        await context.storageState({ path: options.state });
    }

} catch (error) {
    fail(error.message);

} finally {
    await browser.close();
}
