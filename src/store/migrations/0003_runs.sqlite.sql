-- Runs that fail and are tried again, runs that are over, power that waits for those who serve boots.
ALTER TABLE settings ADD COLUMN keep_runs INTEGER NOT NULL DEFAULT 10;
ALTER TABLE settings ADD COLUMN run_deadline_s INTEGER NOT NULL DEFAULT 14400;
ALTER TABLE settings ADD COLUMN barrier_s INTEGER NOT NULL DEFAULT 600;
ALTER TABLE role ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN backoff_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN deadline_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN boot_generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN boot_seen TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN status TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hammer ADD COLUMN extra TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN left_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;

CREATE TABLE old_run (
    noderole_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    result INTEGER NOT NULL,
    runlog TEXT NOT NULL,
    PRIMARY KEY (noderole_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX old_run_ended_at ON old_run (ended_at);

-- The digest is over more columns now.
UPDATE leadership SET digest = '';
