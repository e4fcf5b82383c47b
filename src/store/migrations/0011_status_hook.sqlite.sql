-- The hook whose failure the status of a noderole quotes, as 1 + its number; 0: the status quotes none.
-- Until now the beginning of the status was compared with the names of hooks.
ALTER TABLE noderole ADD COLUMN status_hook INTEGER NOT NULL DEFAULT 0;
UPDATE noderole SET status_hook = CASE
    WHEN substr(status, 1, 13) = 'on_proposed: ' THEN 1
    WHEN substr(status, 1, 12) = 'on_blocked: ' THEN 2
    WHEN substr(status, 1, 9) = 'on_todo: ' THEN 3
    WHEN substr(status, 1, 15) = 'on_transition: ' THEN 4
    WHEN substr(status, 1, 11) = 'on_active: ' THEN 5
    WHEN substr(status, 1, 10) = 'on_error: ' THEN 6
    WHEN substr(status, 1, 11) = 'on_commit: ' THEN 7
    WHEN substr(status, 1, 14) = 'on_node_bind: ' THEN 8
    WHEN substr(status, 1, 22) = 'on_deployment_create: ' THEN 9
    WHEN substr(status, 1, 22) = 'on_deployment_delete: ' THEN 10
    WHEN substr(status, 1, 16) = 'on_node_create: ' THEN 11
    WHEN substr(status, 1, 16) = 'on_node_change: ' THEN 12
    WHEN substr(status, 1, 16) = 'on_node_delete: ' THEN 13
    WHEN substr(status, 1, 9) = 'sysdata: ' THEN 14
    WHEN substr(status, 1, 10) = 'template: ' THEN 15
    ELSE 0
END WHERE status <> '';

-- The digest covers one more column.
UPDATE leadership SET digest = '';
