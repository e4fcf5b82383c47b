-- Roles that serve boots (ADR 0090): the nodes that a noderole has not published since they changed. Its
-- cursor begins at 0, so that after the migration it publishes every node once; what hooks reported to
-- node.boot_seen before is not needed.
CREATE TABLE boot_due (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    noderole_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    attempt BIGINT NOT NULL
);
ALTER TABLE noderole ADD COLUMN boot_cursor BIGINT NOT NULL DEFAULT 0;
ALTER TABLE noderole ADD COLUMN boot_staged BIGINT NOT NULL DEFAULT 0;
ALTER TABLE settings ADD COLUMN boot_server BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE node DROP COLUMN boot_seen;

-- An empty store gets its counters when it is founded.
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'boot_due', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';

-- The digest covers other columns and one more table.
UPDATE leadership SET digest = '';
