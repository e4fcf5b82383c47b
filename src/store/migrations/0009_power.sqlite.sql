-- The power state of a machine, when and by which hammer it was read, why a reading failed since, and
-- the results of the last orders.
ALTER TABLE node ADD COLUMN power_state INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN power_read_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN power_driver TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN power_reason INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN power_error TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN power_order INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN power_results TEXT NOT NULL DEFAULT '';

-- The digest is over more columns now.
UPDATE leadership SET digest = '';
