-- 0001: everything. Times are milliseconds since 1970, names compare bytewise (COLLATE BINARY is the
-- default). Wide JSON is the last column, so that a scan of the narrow ones skips its pages.
-- `rid` is our own compact key; `id` is the UUID that clients see. AUTOINCREMENT stands where an id
-- must never come back, because something may still refer to the old one.

PRAGMA application_id = 0x4C544348; -- "LTCH"

CREATE TABLE tenants (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE principals (
    id         INTEGER PRIMARY KEY,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE tokens (
    hash         BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of the token
    principal_id INTEGER NOT NULL REFERENCES principals (id),
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL -- 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_principal ON tokens (principal_id);

CREATE TABLE warehouses (
    id           INTEGER PRIMARY KEY,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id),
    name         TEXT NOT NULL,
    root         TEXT NOT NULL,
    created_ms   INTEGER NOT NULL,
    options_json TEXT NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE databases (
    rid          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    warehouse_id INTEGER NOT NULL REFERENCES warehouses (id),
    name         TEXT NOT NULL,
    dir          TEXT NOT NULL,
    owner        TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    updated_by   TEXT NOT NULL,
    created_ms   INTEGER NOT NULL,
    updated_ms   INTEGER NOT NULL,
    options_json TEXT NOT NULL,
    UNIQUE (warehouse_id, name)
) STRICT;

CREATE TABLE tables (
    rid         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    db_rid      INTEGER NOT NULL REFERENCES databases (rid),
    name        TEXT NOT NULL,
    dir         TEXT NOT NULL,
    type        TEXT NOT NULL,
    schema_id   INTEGER NOT NULL,
    owner       TEXT NOT NULL,
    created_by  TEXT NOT NULL,
    updated_by  TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    schema_json TEXT NOT NULL,
    UNIQUE (db_rid, name)
) STRICT;
CREATE INDEX tables_by_type ON tables (db_rid, type, name);

-- Outcomes outlive their branch, so a new branch must not get the rid of a gone one.
CREATE TABLE branches (
    rid                INTEGER PRIMARY KEY AUTOINCREMENT,
    table_rid          INTEGER NOT NULL REFERENCES tables (rid),
    name               TEXT NOT NULL,
    epoch              INTEGER NOT NULL,
    head_id            INTEGER NOT NULL, -- 0: no snapshot
    head_recorded_ms   INTEGER NOT NULL,
    head_file_ino      INTEGER NOT NULL, -- the bits of a uint64
    head_file_size     INTEGER NOT NULL,
    head_file_ctime_ns INTEGER NOT NULL,
    total_bytes        INTEGER NOT NULL, -- the three totals: -1 = unknown
    total_files        INTEGER NOT NULL,
    last_file_ms       INTEGER NOT NULL,
    head_uuid          TEXT NOT NULL,
    head_json          TEXT NOT NULL,
    UNIQUE (table_rid, name)
) STRICT;

-- What was answered for a commit. Of two with one key the newest snapshot counts.
CREATE TABLE outcomes (
    branch_rid   INTEGER NOT NULL,
    snapshot_id  INTEGER NOT NULL,
    key          BLOB NOT NULL CHECK (length(key) = 20),
    recorded_ms  INTEGER NOT NULL,
    total_bytes  INTEGER NOT NULL,
    total_files  INTEGER NOT NULL,
    last_file_ms INTEGER NOT NULL,
    PRIMARY KEY (branch_rid, snapshot_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_by_key ON outcomes (branch_rid, key, snapshot_id);

-- Branches that are gone while rows of `outcomes` are left for prune.
CREATE TABLE gone_branches (
    rid INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE intents (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL,
    table_id     TEXT NOT NULL, -- no REFERENCES: a purge outlives its table
    branch       TEXT NOT NULL, -- empty: of no branch
    warehouse_id INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    args_json    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX intents_by_branch ON intents (table_id, branch) WHERE branch <> '';

-- Each directory a table of the warehouse ever had. `next` is the number to try when this name is
-- wanted again, so that the search does not start at 2 each time.
CREATE TABLE used_dirs (
    warehouse_id INTEGER NOT NULL REFERENCES warehouses (id),
    dir          TEXT NOT NULL,
    next         INTEGER NOT NULL,
    PRIMARY KEY (warehouse_id, dir)
) STRICT, WITHOUT ROWID;

-- In the order of time, so that old rows go from one end and no second index is written.
CREATE TABLE audit (
    at_ms      INTEGER NOT NULL,
    n          INTEGER NOT NULL, -- counts the rows of one millisecond
    tenant     TEXT NOT NULL,
    principal  TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    PRIMARY KEY (at_ms, n)
) STRICT, WITHOUT ROWID;

-- One row that is written to see whether writing works. `n` goes up each time: an UPDATE that changes
-- no byte writes no page, and so would show nothing.
CREATE TABLE alive (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    n     INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO alive (one, n, at_ms) VALUES (1, 0, 0);

PRAGMA user_version = 1;
