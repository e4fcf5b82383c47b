-- The ssh host keys that nodes are pinned to.
CREATE TABLE host_key (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    boot INTEGER NOT NULL
) STRICT;

-- An empty store gets its counters when it is founded.
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'host_key', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';

ALTER TABLE settings ADD COLUMN host_keys_imported INTEGER NOT NULL DEFAULT 0;

-- The digest is over more tables and columns now.
UPDATE leadership SET digest = '';
