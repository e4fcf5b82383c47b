-- Which defaults a role has, and with which of them a noderole ran last: content may change them without a
-- value being set. What is in the store counts as run with what the roles have now.
ALTER TABLE role ADD COLUMN defaults BIGINT NOT NULL DEFAULT 0;
ALTER TABLE noderole ADD COLUMN defaults BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deployment ADD COLUMN rerunning BOOLEAN NOT NULL DEFAULT false;
-- The digest is over more columns now.
UPDATE leadership SET digest = '';
