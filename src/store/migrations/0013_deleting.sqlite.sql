-- Networks and DNS name filters that are deleted in slices.
ALTER TABLE network ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dns_name_filter ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0;

-- The digest covers two more columns.
UPDATE leadership SET digest = '';
