-- Grants of installations (ADR 0089): who may start the installer of a node, and the stamp that stopped
-- one. Nodes of older versions have no grant: an installer that runs reports its end all the same.
ALTER TABLE settings ADD COLUMN install_wait_s BIGINT NOT NULL DEFAULT 3600;
ALTER TABLE node ADD COLUMN grant_noderole BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN grant_ticket TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN grant_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN grant_void BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN stamp_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE noderole ADD COLUMN grant_barred BIGINT NOT NULL DEFAULT 0;

-- The digest covers more columns.
UPDATE leadership SET digest = '';
