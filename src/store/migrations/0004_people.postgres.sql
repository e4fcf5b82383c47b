-- Who may do what, tokens of nodes and of sessions, and which boot of a machine speaks.
ALTER TABLE node ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN old_boots TEXT NOT NULL DEFAULT '';
ALTER TABLE "user" ADD COLUMN access BIGINT NOT NULL DEFAULT 2;
ALTER TABLE "user" ADD COLUMN grants TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN access BIGINT NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN deployment_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN node_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN kind BIGINT NOT NULL DEFAULT 0;

-- The digest is over more columns now.
UPDATE leadership SET digest = '';
