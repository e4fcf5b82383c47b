-- Networks: sets of address ranges, and which interfaces of machines carry them.
CREATE TABLE network (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    deployment_id INTEGER NOT NULL,
    "order" INTEGER NOT NULL,
    vlan INTEGER NOT NULL,
    use_vlan INTEGER NOT NULL,
    use_bridge INTEGER NOT NULL,
    team_mode INTEGER NOT NULL,
    use_team INTEGER NOT NULL,
    v6prefix TEXT NOT NULL,
    conduit TEXT NOT NULL,
    configure INTEGER NOT NULL,
    category TEXT NOT NULL,
    "group" TEXT NOT NULL,
    pbr TEXT NOT NULL
) STRICT;

-- Ranges of addresses. own: mask of the interface settings that the range does not inherit.
CREATE TABLE network_range (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    own INTEGER NOT NULL,
    conduit TEXT NOT NULL,
    vlan INTEGER NOT NULL,
    use_vlan INTEGER NOT NULL,
    use_bridge INTEGER NOT NULL,
    team_mode INTEGER NOT NULL,
    use_team INTEGER NOT NULL,
    overlap INTEGER NOT NULL
) STRICT;

CREATE TABLE network_router (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    pref INTEGER NOT NULL
) STRICT;

-- Addresses of nodes.
CREATE TABLE network_allocation (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    network_id INTEGER NOT NULL,
    network_range_id INTEGER NOT NULL,
    address TEXT NOT NULL
) STRICT;

-- Addresses of clients that are not nodes, and addresses that are not given to others for a time.
CREATE TABLE lease (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_range_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    mac INTEGER NOT NULL,
    state INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    left_ms INTEGER NOT NULL
) STRICT;

-- Interfaces of nodes. mac: as a number.
CREATE TABLE nic (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    mac INTEGER NOT NULL,
    name TEXT NOT NULL,
    bus TEXT NOT NULL,
    driver TEXT NOT NULL,
    speed_max INTEGER NOT NULL,
    hinted INTEGER NOT NULL,
    discovered INTEGER NOT NULL,
    link INTEGER NOT NULL
) STRICT;

-- Rules that give DNS names to allocations, and the names.
CREATE TABLE dns_name_filter (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    matcher TEXT NOT NULL,
    priority INTEGER NOT NULL,
    service TEXT NOT NULL,
    template TEXT NOT NULL
) STRICT;

CREATE TABLE dns_name_entry (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_allocation_id INTEGER NOT NULL,
    dns_name_filter_id INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;

-- An empty store gets its counters when it is founded.
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'network', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'network_range', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'network_router', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'network_allocation', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'lease', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'nic', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'dns_name_filter', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';
INSERT INTO counter (id, created_at, updated_at, turn, last)
    SELECT 'dns_name_entry', created_at, updated_at, turn, 0 FROM counter WHERE id = 'outbox';

-- Rows of nic are made of hints and discoveries by the first start (command NICS_MAKE).
ALTER TABLE settings ADD COLUMN nics_made INTEGER NOT NULL DEFAULT 0;

-- Roles that a barclamp defines once for each network.
ALTER TABLE role ADD COLUMN network_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN per_name TEXT NOT NULL DEFAULT '';
ALTER TABLE role ADD COLUMN lists_services TEXT NOT NULL DEFAULT '';

-- The digest covers more tables and columns.
UPDATE leadership SET digest = '';
