// One HTTP/2 request: h2_get.js PORT PATH NAME VALUE ..., a name several times
// is several fields.  Writes the response's body.

'use strict';

const http2 = require('http2');

const [port, path, ...fields] = process.argv.slice(2);
const headers = { ':path': path, ':authority': 'localhost' };

for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i];

    headers[name] = name in headers
        ? [].concat(headers[name], fields[i + 1]) : fields[i + 1];
}

const client = http2.connect(`http://127.0.0.1:${port}`);

client.on('error', (error) => {
    console.error(error);
    process.exit(1);
});

const request = client.request(headers);

request.setEncoding('utf8');
request.on('data', (text) => process.stdout.write(text));
request.on('end', () => client.close());
request.end();
