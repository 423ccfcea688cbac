// Express with express-session.
//
//     app.js tokens DATA                  cookies for DATA/sessions.tsv
//     app.js serve DATA LISTEN [REDIS]    LISTEN: a port, or a socket for
//                                         nginx's auth_request; sessions in
//                                         memory, or in a Redis server's
//                                         socket
//
// Node finds the libraries in PEER_MODULES/node_modules.

'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');

const install = createRequire(process.env.PEER_MODULES + '/');
const express = install('express');
const session = install('express-session');

const [command, data, listen, redis] = process.argv.slice(2);
const secret = read('key').toString().trim();


function read(name) {
    return fs.readFileSync(`${data}/${name}`);
}


function rows() {
    return read('sessions.tsv').toString().trimEnd().split('\n')
        .map((line) => line.split('\t'));
}


// What express-session itself writes into Set-Cookie.

function tokens() {
    const library = createRequire(install.resolve('express-session'));
    const { sign } = library('cookie-signature');

    process.stdout.write(rows().map(([id]) => 'connect.sid='
        + encodeURIComponent('s:' + sign(id, secret)) + '\n').join(''));
}


async function store() {
    let sessions;

    if (redis) {
        const { RedisStore } = install('connect-redis');
        const client = install('redis').createClient({
            socket: { path: redis },
        });

        await client.connect();
        sessions = new RedisStore({ client, disableTouch: true });

    } else {
        sessions = new session.MemoryStore();
    }

    const cookie = {
        originalMaxAge: null, expires: null, httpOnly: true, path: '/',
    };

    const set = ([id, user, login, name, roles]) =>
        new Promise((resolve, reject) => {
            sessions.set(id, { cookie, user: { user, login, name, roles } },
                         (error) => (error ? reject(error) : resolve()));
        });
    const all = rows();

    // So many at a time as Redis's client sends well.
    for (let at = 0; at < all.length; at += 500) {
        await Promise.all(all.slice(at, at + 500).map(set));
    }

    return sessions;
}


const drawn = Buffer.alloc(4096);
let used = drawn.length;

function nonce() {
    if (used === drawn.length) {
        crypto.randomFillSync(drawn);
        used = 0;
    }

    used += 16;

    return drawn.toString('base64', used - 16, used);
}


function page() {
    const body = read('body');
    const headers = read('headers').toString().trimEnd().split('\n')
        .map((line) => line.split(/: (.*)/, 2));

    return (req, res) => {
        if (!req.session.user) {
            res.status(401).end();
            return;
        }

        for (const [name, value] of headers) {
            res.setHeader(name, value.replace('NONCE', nonce));
        }

        res.setHeader('Content-Type', 'text/html');
        res.send(body);
    };
}


// nginx sends the page; it wants a yes or no, and the nonce.

function check(req, res) {
    if (!req.session.user) {
        res.status(401).end();
        return;
    }

    res.setHeader('X-Nonce', nonce());
    res.status(204).end();
}


async function serve() {
    const app = express();

    app.disable('x-powered-by');
    app.disable('etag');
    app.use(session({
        secret,
        store: await store(),
        resave: false,
        saveUninitialized: false,
    }));
    app.get('/protected', page());
    app.get('/check', check);

    const server = app.listen(...(/^\d+$/.test(listen)
        ? [Number(listen), '127.0.0.1'] : [listen]));

    server.keepAliveTimeout = 600000;
    server.maxRequestsPerSocket = 0;
}


({ tokens, serve })[command]();
