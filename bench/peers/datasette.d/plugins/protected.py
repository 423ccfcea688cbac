"""A page for whoever Datasette's own ds_actor cookie says has a session."""

import base64
import os

from datasette import Response, hookimpl

DATA = os.environ["PEER_DATA"]
SELECT = "select user from sessions where id = ?"


def read(name):
    with open(f"{DATA}/{name}", encoding="utf-8") as file:
        return file.read()


body = read("body")
headers = {}

for line in read("headers").splitlines():
    name, value = line.split(": ", 1)

    if "NONCE" in value:
        csp, (before, after) = name, value.split("NONCE")
    else:
        headers[name] = value


async def answer(datasette, request):
    actor = request.actor

    if actor is None:
        return Response.text("Unauthorized", status=401)

    found = await datasette.get_database("sessions").execute(
        SELECT, [actor["id"]])

    if not found.rows:
        return Response.text("Unauthorized", status=401)

    nonce = base64.b64encode(os.urandom(16)).decode()

    return Response(body, headers={**headers, csp: before + nonce + after},
                    content_type="text/html")


@hookimpl
def register_routes():
    return [(r"^/protected$", answer)]
