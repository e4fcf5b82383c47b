-- Boot environments of barclamps (docs/spec/boot.md).
CREATE TABLE bootenv (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    kernel TEXT NOT NULL,
    initrd TEXT NOT NULL,
    args TEXT NOT NULL,
    method TEXT NOT NULL,
    os TEXT NOT NULL,
    available BOOLEAN NOT NULL,
    barclamp_id BIGINT NOT NULL
);

-- An empty store gets its counters when it is founded.
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'bootenv', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';

-- The digest covers one more table.
UPDATE leadership SET digest = '';
