-- Statements other than those that write or read the rows of one table, which are generated from
-- the records (tools/gen/statements). Parameters are $1, $2, ... on both engines.

-- lead_take: a process that starts becomes the leader
UPDATE leadership SET epoch = epoch + 1, holder = $1, claim = $2
RETURNING epoch, turn, now_ms, digest;

-- lead_keep: the leader raises its epoch, unless another process has raised it
UPDATE leadership SET epoch = epoch + 1, holder = $1, claim = $2 WHERE epoch = $3
RETURNING epoch, turn, now_ms, digest;

-- mark: the store position and its leader
SELECT epoch, turn, now_ms, digest, holder, claim FROM leadership;

-- guard: the first statement of every batch; no updated row means that another process leads
UPDATE leadership SET turn = turn + 1, now_ms = $3, digest = $4 WHERE epoch = $1 AND turn = $2;

-- fill_mark: the last statement of a copy
UPDATE leadership SET epoch = $1, turn = $2, now_ms = $3, digest = $4;

-- events: after (turn, n), oldest first
SELECT turn, n, at, actor, verb, object, object_id, changes, address FROM event
WHERE (turn, n) > ($1, $2) ORDER BY turn, n LIMIT $3;

-- events_back: before (turn, n), newest first
SELECT turn, n, at, actor, verb, object, object_id, changes, address FROM event
WHERE (turn, n) < ($1, $2) ORDER BY turn DESC, n DESC LIMIT $3;

-- members: a page of the closed intervals of membership that cover a snapshot
SELECT deployment_id, noderole_id, role_id, node_id, from_seq, to_seq FROM old_member
WHERE deployment_id = $1 AND from_seq <= $2 AND to_seq > $2 AND noderole_id > $4
ORDER BY deployment_id, noderole_id, role_id, node_id, from_seq, to_seq LIMIT $3;

-- data: a page of the closed intervals of committed user data that cover a snapshot
SELECT deployment_id, role_id, node_id, from_seq, to_seq, data FROM old_data
WHERE deployment_id = $1 AND from_seq <= $2 AND to_seq > $2 AND (role_id, node_id) > ($4, $5)
ORDER BY deployment_id, role_id, node_id, from_seq, to_seq LIMIT $3;

-- runs: ended runs of a noderole, newest first
SELECT noderole_id, attempt, run_id, node_id, role_id, started_at, ended_at, result, runlog, reason,
    reason_subject, reason_text
FROM old_run WHERE noderole_id = $1 ORDER BY noderole_id DESC, attempt DESC LIMIT $2;

-- sweep_events: delete events before a time among the oldest ones, so that the scan is bounded
DELETE FROM event WHERE (turn, n) IN
(SELECT turn, n FROM (SELECT turn, n, at FROM event ORDER BY turn, n LIMIT $2) AS oldest
 WHERE at < $1);

-- sweep_runs: delete a bounded number of runs that ended before a time, oldest first
DELETE FROM old_run WHERE (noderole_id, attempt) IN
(SELECT noderole_id, attempt FROM old_run WHERE ended_at < $1 ORDER BY ended_at LIMIT $2);
