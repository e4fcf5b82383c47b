-- Networks and DNS name filters that are deleted in slices.
ALTER TABLE network ADD COLUMN deleting BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE dns_name_filter ADD COLUMN deleting BOOLEAN NOT NULL DEFAULT FALSE;

-- The digest covers two more columns.
UPDATE leadership SET digest = '';
