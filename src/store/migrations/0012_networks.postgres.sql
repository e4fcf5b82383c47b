-- Networks: sets of address ranges, and which interfaces of machines carry them.
CREATE TABLE network (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    deployment_id BIGINT NOT NULL,
    "order" BIGINT NOT NULL,
    vlan BIGINT NOT NULL,
    use_vlan BOOLEAN NOT NULL,
    use_bridge BOOLEAN NOT NULL,
    team_mode BIGINT NOT NULL,
    use_team BOOLEAN NOT NULL,
    v6prefix TEXT NOT NULL,
    conduit TEXT NOT NULL,
    configure BOOLEAN NOT NULL,
    category TEXT NOT NULL,
    "group" TEXT NOT NULL,
    pbr TEXT NOT NULL
);

-- Ranges of addresses. own: mask of the interface settings that the range does not inherit.
CREATE TABLE network_range (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    own BIGINT NOT NULL,
    conduit TEXT NOT NULL,
    vlan BIGINT NOT NULL,
    use_vlan BOOLEAN NOT NULL,
    use_bridge BOOLEAN NOT NULL,
    team_mode BIGINT NOT NULL,
    use_team BOOLEAN NOT NULL,
    overlap BOOLEAN NOT NULL
);

CREATE TABLE network_router (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    address TEXT NOT NULL,
    pref BIGINT NOT NULL
);

-- Addresses of nodes.
CREATE TABLE network_allocation (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    network_range_id BIGINT NOT NULL,
    address TEXT NOT NULL
);

-- Addresses of clients that are not nodes, and addresses that are not given to others for a time.
CREATE TABLE lease (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    network_range_id BIGINT NOT NULL,
    address TEXT NOT NULL,
    mac BIGINT NOT NULL,
    state BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    left_ms BIGINT NOT NULL
);

-- Interfaces of nodes. mac: as a number.
CREATE TABLE nic (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    mac BIGINT NOT NULL,
    name TEXT NOT NULL,
    bus TEXT NOT NULL,
    driver TEXT NOT NULL,
    speed_max BIGINT NOT NULL,
    hinted BOOLEAN NOT NULL,
    discovered BOOLEAN NOT NULL,
    link BOOLEAN NOT NULL
);

-- Rules that give DNS names to allocations, and the names.
CREATE TABLE dns_name_filter (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    name TEXT NOT NULL,
    matcher TEXT NOT NULL,
    priority BIGINT NOT NULL,
    service TEXT NOT NULL,
    template TEXT NOT NULL
);

CREATE TABLE dns_name_entry (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    network_allocation_id BIGINT NOT NULL,
    dns_name_filter_id BIGINT NOT NULL,
    name TEXT NOT NULL
);

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
ALTER TABLE settings ADD COLUMN nics_made BOOLEAN NOT NULL DEFAULT false;

-- Roles that a barclamp defines once for each network.
ALTER TABLE role ADD COLUMN network_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN per_name TEXT NOT NULL DEFAULT '';
ALTER TABLE role ADD COLUMN lists_services TEXT NOT NULL DEFAULT '';

-- The digest covers more tables and columns.
UPDATE leadership SET digest = '';
