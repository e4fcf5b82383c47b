-- Why a run, a hook or a power action failed, as a code with its subject and a sentence.
ALTER TABLE node ADD COLUMN reason BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN reason_subject TEXT NOT NULL DEFAULT '';
ALTER TABLE noderole ADD COLUMN reason BIGINT NOT NULL DEFAULT 0;
ALTER TABLE noderole ADD COLUMN reason_subject TEXT NOT NULL DEFAULT '';
ALTER TABLE noderole ADD COLUMN reason_text TEXT NOT NULL DEFAULT '';
ALTER TABLE old_run ADD COLUMN reason BIGINT NOT NULL DEFAULT 0;
ALTER TABLE old_run ADD COLUMN reason_subject TEXT NOT NULL DEFAULT '';
ALTER TABLE old_run ADD COLUMN reason_text TEXT NOT NULL DEFAULT '';

-- The digest is over more columns now.
UPDATE leadership SET digest = '';
