-- 0002: each branch has a schema of its own, and a table may lie outside the warehouse. An intent may
-- hold the name of a branch that is still to come.
-- The schema is a table beside `branches`: a commit rewrites the row of its branch, and a wide schema
-- would be rewritten with it.

CREATE TABLE schemas (
    branch_rid  INTEGER PRIMARY KEY,
    schema_id   INTEGER NOT NULL,
    schema_json TEXT NOT NULL
) STRICT;
INSERT INTO schemas (branch_rid, schema_id, schema_json)
    SELECT b.rid, t.schema_id, t.schema_json FROM branches b JOIN tables t ON t.rid = b.table_rid;

ALTER TABLE tables DROP COLUMN schema_json;
ALTER TABLE tables DROP COLUMN schema_id;
ALTER TABLE tables ADD COLUMN external TEXT NOT NULL DEFAULT ''; -- its directory; empty: `dir`
CREATE UNIQUE INDEX tables_by_external ON tables (external) WHERE external <> '';
CREATE INDEX tables_by_dir ON tables (dir) WHERE dir <> '';

-- Names of branches that were given up: one that gets a name after that begins with this epoch, so that a
-- commit which was made for another branch of the name, and names no base, is sent back.
ALTER TABLE tables ADD COLUMN names_gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN reserves TEXT NOT NULL DEFAULT ''; -- a name of its table's branches
CREATE UNIQUE INDEX intents_by_reserve ON intents (table_id, reserves) WHERE reserves <> '';

PRAGMA user_version = 2;
