// check.js DATA SOCKET: says for nginx whose session a cookie is.  It answers
// 204, with a nonce for the page that nginx then sends, or 401.

'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');

const [data, socket] = process.argv.slice(2);
const cookies = /(?:^|;\s*)session=([\w-]{22})\.([\w-]{43})(?:;|$)/;


function read(name) {
    return fs.readFileSync(`${data}/${name}`, 'utf8').trimEnd();
}


const key = crypto.createSecretKey(read('key'), 'hex');
const sessions = new Map(read('sessions.tsv').split('\n').map((line) => {
    const [id, user, login, name, roles] = line.split('\t');

    return [id, { user, login, name, roles }];
}));

const given = Buffer.alloc(43);
const right = Buffer.alloc(43);


function find(header) {
    const match = cookies.exec(header);

    if (!match) {
        return undefined;
    }

    const mac = crypto.createHmac('sha256', key).update(match[1]);

    right.latin1Write(mac.digest('base64url'));
    given.latin1Write(match[2]);

    return crypto.timingSafeEqual(right, given) ? sessions.get(match[1])
                                                : undefined;
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


const server = http.createServer((req, res) => {
    res.sendDate = false;

    if (find(req.headers.cookie || '')) {
        res.writeHead(204, { 'X-Nonce': nonce() });

    } else {
        res.writeHead(401, { 'Content-Length': 0 });
    }

    res.end();
});

server.keepAliveTimeout = 600000;
server.listen(socket);
