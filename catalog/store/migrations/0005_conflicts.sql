-- 0005: the conflict lists. Rows belong to a branch by its rid, which never comes back, and outlive it:
-- prune deletes those whose branch is in gone_branches.
-- One row is one refusal however often it is posted: `key` is what makes two posts the same (a hash, see
-- catalog/conflict_list.c).

CREATE TABLE conflicts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT, -- people are told it: it never comes back
    branch_rid     INTEGER NOT NULL,
    key            BLOB NOT NULL CHECK (length(key) = 20),
    first_ms       INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL,
    count          INTEGER NOT NULL,
    accepted       INTEGER NOT NULL,
    snapshot_id    INTEGER NOT NULL,
    identifier     INTEGER NOT NULL,
    placed         INTEGER NOT NULL, -- 0: of no bucket, the next one means nothing
    bucket         INTEGER NOT NULL,
    other_snapshot INTEGER NOT NULL, -- 0: none, or not known
    code           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    principal      TEXT NOT NULL,
    commit_user    TEXT NOT NULL,
    partition      TEXT NOT NULL,
    file           TEXT NOT NULL, -- empty: none
    other_user     TEXT NOT NULL,
    message        TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX conflicts_by_key ON conflicts (branch_rid, key);
CREATE INDEX conflicts_by_branch ON conflicts (branch_rid); -- and, within, by id
CREATE INDEX conflicts_by_age ON conflicts (last_ms);

PRAGMA user_version = 5;
