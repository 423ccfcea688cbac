// The session check in njs.  It has no comparison in constant time, so this
// one looks at each character whatever came before.

import cr from 'crypto';

const length = 22 + 1 + 43;


function same(a, b) {
    let differ = 0;

    for (let i = 0; i < 43; i++) {
        differ |= a.charCodeAt(i) ^ b.charCodeAt(i);
    }

    return differ === 0;
}


function user(cookie) {
    if (cookie === undefined || cookie.length !== length || cookie[22] !== '.')
    {
        return undefined;
    }

    const id = cookie.slice(0, 22);
    const mac = cr.createHmac('sha256', Buffer.from(site.key, 'hex'))
                  .update(id).digest('base64url');

    return same(mac, cookie.slice(23)) ? site.sessions[id] : undefined;
}


function answer(r) {
    if (user(r.variables.cookie_session) === undefined) {
        r.return(401);
        return;
    }

    const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));

    r.headersOut['Content-Security-Policy'] =
        site.before + nonce.toString('base64') + site.after;
    r.return(200, site.body);
}


export default { answer };
