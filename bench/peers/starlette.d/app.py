"""Starlette with its SessionMiddleware, and the sessions in memory.

    app.py tokens DATA          cookies for DATA/sessions.tsv
    app.py serve DATA PORT
"""

import base64
import gc
import json
import os
import sys

import itsdangerous
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import Response
from starlette.routing import Route


def read(data, name):
    with open(f"{data}/{name}", encoding="utf-8") as file:
        return file.read()


def rows(data):
    for line in read(data, "sessions.tsv").splitlines():
        yield line.split("\t")


def tokens(data):
    """What the middleware itself writes into Set-Cookie."""

    signer = itsdangerous.TimestampSigner(read(data, "key").strip())

    for row in rows(data):
        session = base64.b64encode(json.dumps({"id": row[0]}).encode())
        print("session=" + signer.sign(session).decode())


def protected(data):
    sessions = {row[0]: row[1:] for row in rows(data)}
    body = read(data, "body").encode()
    headers = {}

    for line in read(data, "headers").splitlines():
        name, value = line.split(": ", 1)

        if "NONCE" in value:
            csp, (before, after) = name, value.split("NONCE")
        else:
            headers[name] = value

    async def answer(request):
        if sessions.get(request.session.get("id")) is None:
            return Response(status_code=401)

        nonce = base64.b64encode(os.urandom(16)).decode()

        return Response(body, headers={**headers, csp: before + nonce + after},
                        media_type="text/html")

    return answer


def serve(data, port):
    app = Starlette(
        routes=[Route("/protected", protected(data))],
        middleware=[Middleware(SessionMiddleware,
                               secret_key=read(data, "key").strip())],
    )

    # What stays for good need not be looked through by each collection.
    gc.collect()
    gc.freeze()

    uvicorn.run(app, host="127.0.0.1", port=int(port), loop="uvloop",
                http="httptools", ws="none", lifespan="off", backlog=4096,
                access_log=False, log_level="warning", server_header=False,
                timeout_keep_alive=600)


{"tokens": tokens, "serve": serve}[sys.argv[1]](*sys.argv[2:])
