-- What a role computes for a noderole is kept apart from what hooks stored there, so that a value it
-- stops computing goes away.
ALTER TABLE noderole ADD COLUMN computed TEXT NOT NULL DEFAULT '';
-- The digest is over a column more now.
UPDATE leadership SET digest = '';
