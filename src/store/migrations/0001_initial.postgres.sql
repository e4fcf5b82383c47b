-- The schema: a table for each noun, a column for each field, in the order of the records.
-- Texts are UTF-8; documents are canonical JSON text, empty for {}; times are ms since 1970.
-- References are not declared: the core checks them whenever it loads.

-- One row: who leads, and how far the store is. Every batch begins by moving turn on.
CREATE TABLE leadership (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    now_ms BIGINT NOT NULL,
    digest TEXT NOT NULL, -- of all loaded tables, 32 hex digits; empty: not known
    holder TEXT NOT NULL, -- for people
    claim TEXT NOT NULL   -- tells our own lost answer from somebody else
);
INSERT INTO leadership VALUES (1, 0, 0, 0, '', '', '');

-- id 1 only.
CREATE TABLE settings (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    pool_normal BIGINT NOT NULL,
    pool_high BIGINT NOT NULL,
    max_depth BIGINT NOT NULL,
    test_jig BOOLEAN NOT NULL
);

-- The last id handed out in each table; id is its name.
CREATE TABLE counter (
    id TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    last BIGINT NOT NULL
);

CREATE TABLE barclamp (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    parent_id BIGINT NOT NULL,
    version TEXT NOT NULL,
    build_version TEXT NOT NULL,
    source_url TEXT NOT NULL,
    source_path TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    build_on TEXT NOT NULL,
    cfg_data TEXT NOT NULL
);

CREATE TABLE jig (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    class_name TEXT NOT NULL,
    "order" BIGINT NOT NULL,
    active BOOLEAN NOT NULL,
    inactive_reason TEXT NOT NULL,
    client_role_name TEXT NOT NULL,
    server TEXT NOT NULL,
    client_name TEXT NOT NULL,
    key TEXT NOT NULL
);

CREATE TABLE hammer_kind (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    klass TEXT NOT NULL,
    priority BIGINT NOT NULL
);

CREATE TABLE role (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    class_name TEXT NOT NULL,
    jig_name TEXT NOT NULL,
    barclamp_id BIGINT NOT NULL,
    flags BIGINT NOT NULL,
    hooks BIGINT NOT NULL,
    cohort BIGINT NOT NULL,
    requires TEXT NOT NULL,
    wants TEXT NOT NULL,
    provides TEXT NOT NULL,
    conflicts TEXT NOT NULL,
    announces TEXT NOT NULL,
    template TEXT NOT NULL,
    notes TEXT NOT NULL
);

CREATE TABLE attrib (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    barclamp_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    writable BOOLEAN NOT NULL,
    "order" BIGINT NOT NULL,
    map TEXT NOT NULL,
    ui_renderer TEXT NOT NULL,
    schema TEXT NOT NULL,
    default_value TEXT NOT NULL
);

CREATE TABLE deployment (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    parent_id BIGINT NOT NULL,
    system BOOLEAN NOT NULL,
    head_id BIGINT NOT NULL,
    phantom_id BIGINT NOT NULL
);

CREATE TABLE snapshot (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    deployment_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    "order" BIGINT NOT NULL,
    predecessor_id BIGINT NOT NULL,
    state BIGINT NOT NULL,
    since BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    archived_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    counts TEXT NOT NULL
);

CREATE TABLE deployment_role (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    deployment_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    proposed BOOLEAN NOT NULL,
    proposed_data TEXT NOT NULL,
    committed_data TEXT NOT NULL,
    wall TEXT NOT NULL,
    notes TEXT NOT NULL,
    data_from BIGINT NOT NULL
);

CREATE TABLE node (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    admin BOOLEAN NOT NULL,
    system BOOLEAN NOT NULL,
    deployment_id BIGINT NOT NULL,
    target_role_id BIGINT NOT NULL,
    allocated BOOLEAN NOT NULL,
    alive BOOLEAN NOT NULL,
    available BOOLEAN NOT NULL,
    stopped BOOLEAN NOT NULL,
    alive_since BIGINT NOT NULL,
    available_since BIGINT NOT NULL,
    bootenv TEXT NOT NULL,
    "order" BIGINT NOT NULL,
    quirks TEXT NOT NULL,
    discovery TEXT NOT NULL,
    hint TEXT NOT NULL,
    notes TEXT NOT NULL
);

-- A role on a node: the thing that is brought to life.
CREATE TABLE noderole (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    deployment_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    state BIGINT NOT NULL,
    since BIGINT NOT NULL,
    cohort BIGINT NOT NULL,
    run_count BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    "order" BIGINT NOT NULL,
    unavailable BOOLEAN NOT NULL,
    rerun BOOLEAN NOT NULL,
    removing BOOLEAN NOT NULL,
    hook_failed BOOLEAN NOT NULL,
    member_from BIGINT NOT NULL,
    data_from BIGINT NOT NULL,
    status TEXT NOT NULL,
    runlog TEXT NOT NULL,
    proposed_data TEXT NOT NULL,
    committed_data TEXT NOT NULL,
    sysdata TEXT NOT NULL,
    wall TEXT NOT NULL,
    notes TEXT NOT NULL
) WITH (fillfactor = 50);

-- Work that is queued, under way, parked or being stopped.
CREATE TABLE run (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    noderole_id BIGINT NOT NULL,
    state BIGINT NOT NULL,
    queue BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    frozen BOOLEAN NOT NULL,
    begun BOOLEAN NOT NULL,
    committed BOOLEAN NOT NULL,
    started_at BIGINT NOT NULL,
    park_left_ms BIGINT NOT NULL,
    job TEXT NOT NULL,
    data TEXT NOT NULL
);

CREATE TABLE hammer (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    hammer_kind_id BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    username TEXT NOT NULL,
    authenticator TEXT NOT NULL
);

CREATE TABLE "group" (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    category TEXT NOT NULL,
    "order" BIGINT NOT NULL
);

CREATE TABLE "user" (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    username TEXT NOT NULL,
    email TEXT NOT NULL,
    is_admin BOOLEAN NOT NULL,
    is_locked BOOLEAN NOT NULL,
    password_hash TEXT NOT NULL,
    digest_ha1 TEXT NOT NULL,
    settings TEXT NOT NULL
);

-- What scripts show instead of a password; hash is a hex SHA-256.
CREATE TABLE token (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- What the world must be told or asked, until it answered.
CREATE TABLE outbox (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    hook BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    object TEXT NOT NULL,
    object_id BIGINT NOT NULL,
    depth BIGINT NOT NULL,
    detail TEXT NOT NULL
);

-- Which noderole waits for which.
CREATE TABLE edge (
    parent_id BIGINT NOT NULL,
    child_id BIGINT NOT NULL,
    PRIMARY KEY (parent_id, child_id)
);

-- Which ancestor supplies which wanted attrib.
CREATE TABLE link (
    parent_id BIGINT NOT NULL,
    child_id BIGINT NOT NULL,
    attrib_id BIGINT NOT NULL,
    PRIMARY KEY (parent_id, child_id, attrib_id)
);

CREATE TABLE membership (
    group_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    PRIMARY KEY (group_id, node_id)
);

-- Closed intervals of membership: in force for from_seq <= seq < to_seq.
CREATE TABLE old_member (
    deployment_id BIGINT NOT NULL,
    noderole_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    from_seq BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, noderole_id, role_id, node_id, from_seq, to_seq)
);

-- Closed intervals of committed user data; node_id 0 is the deployment role's own.
CREATE TABLE old_data (
    deployment_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    from_seq BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (deployment_id, role_id, node_id, from_seq, to_seq)
);

-- What happened; append only.
CREATE TABLE event (
    turn BIGINT NOT NULL,
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    object TEXT NOT NULL,
    object_id BIGINT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (turn, n)
);

CREATE UNIQUE INDEX noderole_role_node ON noderole (role_id, node_id);
