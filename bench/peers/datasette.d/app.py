"""Datasette, which finds its sessions in a database of its own.

    app.py tokens DATA                   cookies for DATA/sessions.tsv
    app.py load DATA DATABASE            writes DATA/sessions.tsv into it
    app.py serve DATA DATABASE PORT
"""

import gc
import os
import sqlite3
import sys

import uvicorn
from datasette.app import Datasette


def read(data, name):
    with open(f"{data}/{name}", encoding="utf-8") as file:
        return file.read()


def rows(data):
    for line in read(data, "sessions.tsv").splitlines():
        yield line.split("\t", 1)


def tokens(data):
    datasette = Datasette(secret=read(data, "key").strip())

    for row in rows(data):
        print("ds_actor=" + datasette.sign({"a": {"id": row[0]}}, "actor"))


def load(data, database):
    connection = sqlite3.connect(database)

    with connection:
        connection.execute("create table sessions"
                           " (id text primary key, user text not null)"
                           " without rowid")
        connection.executemany("insert into sessions values (?, ?)",
                               rows(data))

    connection.close()


def serve(data, database, port):
    os.environ["PEER_DATA"] = data

    here = os.path.dirname(os.path.abspath(__file__))
    app = Datasette([], immutables=[database], cors=False,
                    metadata={"allow": {"id": "*"}},
                    plugins_dir=f"{here}/plugins",
                    secret=read(data, "key").strip()).app()

    gc.collect()
    gc.freeze()

    uvicorn.run(app, host="127.0.0.1", port=int(port), loop="uvloop",
                http="httptools", ws="none", lifespan="on", backlog=4096,
                access_log=False, log_level="warning", server_header=False,
                timeout_keep_alive=600)


{"tokens": tokens, "load": load, "serve": serve}[sys.argv[1]](*sys.argv[2:])
