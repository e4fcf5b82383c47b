-- The admin node that the first start makes for its own host, until an operator makes another.
ALTER TABLE node ADD COLUMN automatic BOOLEAN NOT NULL DEFAULT false;

-- The digest is over a column more now.
UPDATE leadership SET digest = '';
