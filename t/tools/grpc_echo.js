// A gRPC back end that answers with the request headers it received, one
// "name: value" a line: grpc_echo.js PORT.  Ends with its standard input.

'use strict';

const http2 = require('http2');

const server = http2.createServer();

server.on('stream', (stream, headers, flags, raw) => {
    const lines = [];

    for (let i = 0; i < raw.length; i += 2) {
        lines.push(`${raw[i]}: ${raw[i + 1]}\n`);
    }

    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'text/plain' });
    stream.end(lines.join('') + '\n');
});

server.listen(Number(process.argv[2]), '127.0.0.1');

process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
