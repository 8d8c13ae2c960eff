-- 0004: totals of partitions. Rows here belong to a branch by its rid, which never comes back, and
-- outlive it: whoever tidies up deletes those whose branch is gone. Each branch that has any has a row
-- in partition_state.

-- Totals are complete up to this snapshot; -1: unknown. A branch without a row: 0.
CREATE TABLE partition_state (
    branch_rid INTEGER PRIMARY KEY,
    folded_id  INTEGER NOT NULL
) STRICT;

-- What commits did to partitions, as long as it is not folded into `partitions`.
CREATE TABLE partition_deltas (
    branch_rid  INTEGER NOT NULL,
    snapshot_id INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    by          TEXT NOT NULL,
    deltas      BLOB NOT NULL, -- see store_sqlite_partition.c
    PRIMARY KEY (branch_rid, snapshot_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE partitions (
    branch_rid   INTEGER NOT NULL,
    key          TEXT NOT NULL,
    records      INTEGER NOT NULL, -- this and the next four: below 0 = unknown
    bytes        INTEGER NOT NULL,
    files        INTEGER NOT NULL,
    last_file_ms INTEGER NOT NULL,
    buckets      INTEGER NOT NULL,
    done         INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    updated_ms   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    updated_by   TEXT NOT NULL,
    spec_json    TEXT NOT NULL,
    PRIMARY KEY (branch_rid, key)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
