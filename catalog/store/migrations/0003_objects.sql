-- 0003: views and functions. Each kind has its own names in a database.

CREATE TABLE objects (
    rid        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    db_rid     INTEGER NOT NULL REFERENCES databases (rid),
    kind       TEXT NOT NULL CHECK (kind IN ('view', 'function')),
    name       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    created_by TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    json       TEXT NOT NULL,
    UNIQUE (db_rid, kind, name)
) STRICT;

PRAGMA user_version = 3;
