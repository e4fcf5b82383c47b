-- Runs that fail and are tried again, runs that are over, power that waits for those who serve boots.
ALTER TABLE settings ADD COLUMN keep_runs BIGINT NOT NULL DEFAULT 10;
ALTER TABLE settings ADD COLUMN run_deadline_s BIGINT NOT NULL DEFAULT 14400;
ALTER TABLE settings ADD COLUMN barrier_s BIGINT NOT NULL DEFAULT 600;
ALTER TABLE role ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN backoff_s BIGINT NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN deadline_s BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN boot_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN boot_seen TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN status TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hammer ADD COLUMN extra TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN left_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN begun BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE old_run (
    noderole_id BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    result BIGINT NOT NULL,
    runlog TEXT NOT NULL,
    PRIMARY KEY (noderole_id, attempt)
);

CREATE INDEX old_run_ended_at ON old_run (ended_at);

-- The digest is over more columns now.
UPDATE leadership SET digest = '';
