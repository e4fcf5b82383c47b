-- The address of the client that sent the command an event tells of; empty for commands of the
-- installation itself and for all events from before this column.
ALTER TABLE event ADD COLUMN address TEXT NOT NULL DEFAULT '';
