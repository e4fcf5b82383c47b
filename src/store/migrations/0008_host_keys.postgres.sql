-- The ssh host keys that nodes are pinned to.
CREATE TABLE host_key (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    since_ms BIGINT NOT NULL,
    boot BIGINT NOT NULL
);

-- An empty store gets its counters when it is founded.
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'host_key', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';

ALTER TABLE settings ADD COLUMN host_keys_imported BOOLEAN NOT NULL DEFAULT false;

-- The digest is over more tables and columns now.
UPDATE leadership SET digest = '';
