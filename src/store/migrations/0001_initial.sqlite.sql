-- The schema: a table for each noun, a column for each field, in the order of the records.
-- Texts are UTF-8; documents are canonical JSON text, empty for {}; times are ms since 1970.
-- References are not declared: the core checks them whenever it loads.

-- One row: who leads, and how far the store is. Every batch begins by moving turn on.
CREATE TABLE leadership (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    now_ms INTEGER NOT NULL,
    digest TEXT NOT NULL, -- of all loaded tables, 32 hex digits; empty: not known
    holder TEXT NOT NULL, -- for people
    claim TEXT NOT NULL   -- tells our own lost answer from somebody else
) STRICT;
INSERT INTO leadership VALUES (1, 0, 0, 0, '', '', '');

-- id 1 only.
CREATE TABLE settings (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    pool_normal INTEGER NOT NULL,
    pool_high INTEGER NOT NULL,
    max_depth INTEGER NOT NULL,
    test_jig INTEGER NOT NULL
) STRICT;

-- The last id handed out in each table; id is its name.
CREATE TABLE counter (
    id TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE barclamp (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    parent_id INTEGER NOT NULL,
    version TEXT NOT NULL,
    build_version TEXT NOT NULL,
    source_url TEXT NOT NULL,
    source_path TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    build_on TEXT NOT NULL,
    cfg_data TEXT NOT NULL
) STRICT;

CREATE TABLE jig (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    class_name TEXT NOT NULL,
    "order" INTEGER NOT NULL,
    active INTEGER NOT NULL,
    inactive_reason TEXT NOT NULL,
    client_role_name TEXT NOT NULL,
    server TEXT NOT NULL,
    client_name TEXT NOT NULL,
    key TEXT NOT NULL
) STRICT;

CREATE TABLE hammer_kind (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    klass TEXT NOT NULL,
    priority INTEGER NOT NULL
) STRICT;

CREATE TABLE role (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    class_name TEXT NOT NULL,
    jig_name TEXT NOT NULL,
    barclamp_id INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    hooks INTEGER NOT NULL,
    cohort INTEGER NOT NULL,
    requires TEXT NOT NULL,
    wants TEXT NOT NULL,
    provides TEXT NOT NULL,
    conflicts TEXT NOT NULL,
    announces TEXT NOT NULL,
    template TEXT NOT NULL,
    notes TEXT NOT NULL
) STRICT;

CREATE TABLE attrib (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    barclamp_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    writable INTEGER NOT NULL,
    "order" INTEGER NOT NULL,
    map TEXT NOT NULL,
    ui_renderer TEXT NOT NULL,
    schema TEXT NOT NULL,
    default_value TEXT NOT NULL
) STRICT;

CREATE TABLE deployment (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    parent_id INTEGER NOT NULL,
    system INTEGER NOT NULL,
    head_id INTEGER NOT NULL,
    phantom_id INTEGER NOT NULL
) STRICT;

CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    deployment_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    "order" INTEGER NOT NULL,
    predecessor_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    since INTEGER NOT NULL,
    committed_at INTEGER NOT NULL,
    archived_at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    counts TEXT NOT NULL
) STRICT;

CREATE TABLE deployment_role (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    deployment_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    proposed INTEGER NOT NULL,
    proposed_data TEXT NOT NULL,
    committed_data TEXT NOT NULL,
    wall TEXT NOT NULL,
    notes TEXT NOT NULL,
    data_from INTEGER NOT NULL
) STRICT;

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    admin INTEGER NOT NULL,
    system INTEGER NOT NULL,
    deployment_id INTEGER NOT NULL,
    target_role_id INTEGER NOT NULL,
    allocated INTEGER NOT NULL,
    alive INTEGER NOT NULL,
    available INTEGER NOT NULL,
    stopped INTEGER NOT NULL,
    alive_since INTEGER NOT NULL,
    available_since INTEGER NOT NULL,
    bootenv TEXT NOT NULL,
    "order" INTEGER NOT NULL,
    quirks TEXT NOT NULL,
    discovery TEXT NOT NULL,
    hint TEXT NOT NULL,
    notes TEXT NOT NULL
) STRICT;

-- A role on a node: the thing that is brought to life.
CREATE TABLE noderole (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    deployment_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    since INTEGER NOT NULL,
    cohort INTEGER NOT NULL,
    run_count INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    "order" INTEGER NOT NULL,
    unavailable INTEGER NOT NULL,
    rerun INTEGER NOT NULL,
    removing INTEGER NOT NULL,
    hook_failed INTEGER NOT NULL,
    member_from INTEGER NOT NULL,
    data_from INTEGER NOT NULL,
    status TEXT NOT NULL,
    runlog TEXT NOT NULL,
    proposed_data TEXT NOT NULL,
    committed_data TEXT NOT NULL,
    sysdata TEXT NOT NULL,
    wall TEXT NOT NULL,
    notes TEXT NOT NULL
) STRICT;

-- Work that is queued, under way, parked or being stopped.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    noderole_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    frozen INTEGER NOT NULL,
    begun INTEGER NOT NULL,
    committed INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    park_left_ms INTEGER NOT NULL,
    job TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;

CREATE TABLE hammer (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    hammer_kind_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    username TEXT NOT NULL,
    authenticator TEXT NOT NULL
) STRICT;

CREATE TABLE "group" (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    category TEXT NOT NULL,
    "order" INTEGER NOT NULL
) STRICT;

CREATE TABLE "user" (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    username TEXT NOT NULL,
    email TEXT NOT NULL,
    is_admin INTEGER NOT NULL,
    is_locked INTEGER NOT NULL,
    password_hash TEXT NOT NULL,
    digest_ha1 TEXT NOT NULL,
    settings TEXT NOT NULL
) STRICT;

-- What scripts show instead of a password; hash is a hex SHA-256.
CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- What the world must be told or asked, until it answered.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    hook INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    object TEXT NOT NULL,
    object_id INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- Which noderole waits for which.
CREATE TABLE edge (
    parent_id INTEGER NOT NULL,
    child_id INTEGER NOT NULL,
    PRIMARY KEY (parent_id, child_id)
) STRICT, WITHOUT ROWID;

-- Which ancestor supplies which wanted attrib.
CREATE TABLE link (
    parent_id INTEGER NOT NULL,
    child_id INTEGER NOT NULL,
    attrib_id INTEGER NOT NULL,
    PRIMARY KEY (parent_id, child_id, attrib_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE membership (
    group_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    PRIMARY KEY (group_id, node_id)
) STRICT, WITHOUT ROWID;

-- Closed intervals of membership: in force for from_seq <= seq < to_seq.
CREATE TABLE old_member (
    deployment_id INTEGER NOT NULL,
    noderole_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    PRIMARY KEY (deployment_id, noderole_id, role_id, node_id, from_seq, to_seq)
) STRICT, WITHOUT ROWID;

-- Closed intervals of committed user data; node_id 0 is the deployment role's own.
CREATE TABLE old_data (
    deployment_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (deployment_id, role_id, node_id, from_seq, to_seq)
) STRICT, WITHOUT ROWID;

-- What happened; append only.
CREATE TABLE event (
    turn INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    object TEXT NOT NULL,
    object_id INTEGER NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (turn, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX noderole_role_node ON noderole (role_id, node_id);
