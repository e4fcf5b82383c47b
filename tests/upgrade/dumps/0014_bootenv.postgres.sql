CREATE TABLE public.attrib (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    barclamp_id bigint NOT NULL,
    role_id bigint NOT NULL,
    writable boolean NOT NULL,
    "order" bigint NOT NULL,
    map text NOT NULL,
    ui_renderer text NOT NULL,
    schema text NOT NULL,
    default_value text NOT NULL
);
CREATE TABLE public.barclamp (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    parent_id bigint NOT NULL,
    version text NOT NULL,
    build_version text NOT NULL,
    source_url text NOT NULL,
    source_path text NOT NULL,
    commit text NOT NULL,
    build_on text NOT NULL,
    cfg_data text NOT NULL
);
CREATE TABLE public.bootenv (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    kernel text NOT NULL,
    initrd text NOT NULL,
    args text NOT NULL,
    method text NOT NULL,
    os text NOT NULL,
    available boolean NOT NULL,
    barclamp_id bigint NOT NULL
);
CREATE TABLE public.counter (
    id text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    last bigint NOT NULL
);
CREATE TABLE public.deployment (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    parent_id bigint NOT NULL,
    system boolean NOT NULL,
    head_id bigint NOT NULL,
    phantom_id bigint NOT NULL,
    rerunning boolean DEFAULT false NOT NULL
);
CREATE TABLE public.deployment_role (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    deployment_id bigint NOT NULL,
    role_id bigint NOT NULL,
    proposed boolean NOT NULL,
    proposed_data text NOT NULL,
    committed_data text NOT NULL,
    wall text NOT NULL,
    notes text NOT NULL,
    data_from bigint NOT NULL
);
CREATE TABLE public.dns_name_entry (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    network_allocation_id bigint NOT NULL,
    dns_name_filter_id bigint NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.dns_name_filter (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    matcher text NOT NULL,
    priority bigint NOT NULL,
    service text NOT NULL,
    template text NOT NULL,
    deleting boolean DEFAULT false NOT NULL
);
CREATE TABLE public.edge (
    parent_id bigint NOT NULL,
    child_id bigint NOT NULL
);
CREATE TABLE public.event (
    turn bigint NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    verb text NOT NULL,
    object text NOT NULL,
    object_id bigint NOT NULL,
    changes text NOT NULL,
    address text DEFAULT ''::text NOT NULL
);
CREATE TABLE public."group" (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    category text NOT NULL,
    "order" bigint NOT NULL
);
CREATE TABLE public.hammer (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    node_id bigint NOT NULL,
    hammer_kind_id bigint NOT NULL,
    priority bigint NOT NULL,
    name text NOT NULL,
    endpoint text NOT NULL,
    username text NOT NULL,
    authenticator text NOT NULL,
    extra text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.hammer_kind (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    klass text NOT NULL,
    priority bigint NOT NULL
);
CREATE TABLE public.host_key (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    node_id bigint NOT NULL,
    key text NOT NULL,
    since_ms bigint NOT NULL,
    boot bigint NOT NULL
);
CREATE TABLE public.jig (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    class_name text NOT NULL,
    "order" bigint NOT NULL,
    active boolean NOT NULL,
    inactive_reason text NOT NULL,
    client_role_name text NOT NULL,
    server text NOT NULL,
    client_name text NOT NULL,
    key text NOT NULL
);
CREATE TABLE public.leadership (
    one bigint NOT NULL,
    epoch bigint NOT NULL,
    turn bigint NOT NULL,
    now_ms bigint NOT NULL,
    digest text NOT NULL,
    holder text NOT NULL,
    claim text NOT NULL,
    CONSTRAINT leadership_one_check CHECK ((one = 1))
);
CREATE TABLE public.lease (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    network_range_id bigint NOT NULL,
    address text NOT NULL,
    mac bigint NOT NULL,
    state bigint NOT NULL,
    node_id bigint NOT NULL,
    left_ms bigint NOT NULL
);
CREATE TABLE public.link (
    parent_id bigint NOT NULL,
    child_id bigint NOT NULL,
    attrib_id bigint NOT NULL
);
CREATE TABLE public.membership (
    group_id bigint NOT NULL,
    node_id bigint NOT NULL
);
CREATE TABLE public.network (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    deployment_id bigint NOT NULL,
    "order" bigint NOT NULL,
    vlan bigint NOT NULL,
    use_vlan boolean NOT NULL,
    use_bridge boolean NOT NULL,
    team_mode bigint NOT NULL,
    use_team boolean NOT NULL,
    v6prefix text NOT NULL,
    conduit text NOT NULL,
    configure boolean NOT NULL,
    category text NOT NULL,
    "group" text NOT NULL,
    pbr text NOT NULL,
    deleting boolean DEFAULT false NOT NULL
);
CREATE TABLE public.network_allocation (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    node_id bigint NOT NULL,
    network_id bigint NOT NULL,
    network_range_id bigint NOT NULL,
    address text NOT NULL
);
CREATE TABLE public.network_range (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    network_id bigint NOT NULL,
    name text NOT NULL,
    first text NOT NULL,
    last text NOT NULL,
    own bigint NOT NULL,
    conduit text NOT NULL,
    vlan bigint NOT NULL,
    use_vlan boolean NOT NULL,
    use_bridge boolean NOT NULL,
    team_mode bigint NOT NULL,
    use_team boolean NOT NULL,
    overlap boolean NOT NULL
);
CREATE TABLE public.network_router (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    network_id bigint NOT NULL,
    address text NOT NULL,
    pref bigint NOT NULL
);
CREATE TABLE public.nic (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    node_id bigint NOT NULL,
    mac bigint NOT NULL,
    name text NOT NULL,
    bus text NOT NULL,
    driver text NOT NULL,
    speed_max bigint NOT NULL,
    hinted boolean NOT NULL,
    discovered boolean NOT NULL,
    link boolean NOT NULL
);
CREATE TABLE public.node (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    admin boolean NOT NULL,
    system boolean NOT NULL,
    deployment_id bigint NOT NULL,
    target_role_id bigint NOT NULL,
    allocated boolean NOT NULL,
    alive boolean NOT NULL,
    available boolean NOT NULL,
    stopped boolean NOT NULL,
    alive_since bigint NOT NULL,
    available_since bigint NOT NULL,
    bootenv text NOT NULL,
    "order" bigint NOT NULL,
    quirks text NOT NULL,
    discovery text NOT NULL,
    hint text NOT NULL,
    notes text NOT NULL,
    boot_generation bigint DEFAULT 0 NOT NULL,
    boot_seen text DEFAULT ''::text NOT NULL,
    status text DEFAULT ''::text NOT NULL,
    boot_id text DEFAULT ''::text NOT NULL,
    old_boots text DEFAULT ''::text NOT NULL,
    reason bigint DEFAULT 0 NOT NULL,
    reason_subject text DEFAULT ''::text NOT NULL,
    automatic boolean DEFAULT false NOT NULL,
    power_state bigint DEFAULT 0 NOT NULL,
    power_read_at bigint DEFAULT 0 NOT NULL,
    power_driver text DEFAULT ''::text NOT NULL,
    power_reason bigint DEFAULT 0 NOT NULL,
    power_error text DEFAULT ''::text NOT NULL,
    power_order bigint DEFAULT 0 NOT NULL,
    power_results text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.noderole (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    deployment_id bigint NOT NULL,
    role_id bigint NOT NULL,
    node_id bigint NOT NULL,
    state bigint NOT NULL,
    since bigint NOT NULL,
    cohort bigint NOT NULL,
    run_count bigint NOT NULL,
    attempt bigint NOT NULL,
    "order" bigint NOT NULL,
    unavailable boolean NOT NULL,
    rerun boolean NOT NULL,
    removing boolean NOT NULL,
    hook_failed boolean NOT NULL,
    member_from bigint NOT NULL,
    data_from bigint NOT NULL,
    status text NOT NULL,
    runlog text NOT NULL,
    proposed_data text NOT NULL,
    committed_data text NOT NULL,
    sysdata text NOT NULL,
    wall text NOT NULL,
    notes text NOT NULL,
    computed text DEFAULT ''::text NOT NULL,
    defaults bigint DEFAULT 0 NOT NULL,
    reason bigint DEFAULT 0 NOT NULL,
    reason_subject text DEFAULT ''::text NOT NULL,
    reason_text text DEFAULT ''::text NOT NULL,
    status_hook bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.old_data (
    deployment_id bigint NOT NULL,
    role_id bigint NOT NULL,
    node_id bigint NOT NULL,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL,
    data text NOT NULL
);
CREATE TABLE public.old_member (
    deployment_id bigint NOT NULL,
    noderole_id bigint NOT NULL,
    role_id bigint NOT NULL,
    node_id bigint NOT NULL,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL
);
CREATE TABLE public.old_run (
    noderole_id bigint NOT NULL,
    attempt bigint NOT NULL,
    run_id bigint NOT NULL,
    node_id bigint NOT NULL,
    role_id bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    result bigint NOT NULL,
    runlog text NOT NULL,
    reason bigint DEFAULT 0 NOT NULL,
    reason_subject text DEFAULT ''::text NOT NULL,
    reason_text text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.outbox (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    kind bigint NOT NULL,
    hook bigint NOT NULL,
    role_id bigint NOT NULL,
    object text NOT NULL,
    object_id bigint NOT NULL,
    depth bigint NOT NULL,
    detail text NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    left_ms bigint DEFAULT 0 NOT NULL,
    begun boolean DEFAULT false NOT NULL
);
CREATE TABLE public.role (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    class_name text NOT NULL,
    jig_name text NOT NULL,
    barclamp_id bigint NOT NULL,
    flags bigint NOT NULL,
    hooks bigint NOT NULL,
    cohort bigint NOT NULL,
    requires text NOT NULL,
    wants text NOT NULL,
    provides text NOT NULL,
    conflicts text NOT NULL,
    announces text NOT NULL,
    template text NOT NULL,
    notes text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    backoff_s bigint DEFAULT 0 NOT NULL,
    deadline_s bigint DEFAULT 0 NOT NULL,
    defaults bigint DEFAULT 0 NOT NULL,
    network_id bigint DEFAULT 0 NOT NULL,
    per_name text DEFAULT ''::text NOT NULL,
    lists_services text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.run (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    node_id bigint NOT NULL,
    noderole_id bigint NOT NULL,
    state bigint NOT NULL,
    queue bigint NOT NULL,
    attempt bigint NOT NULL,
    frozen boolean NOT NULL,
    begun boolean NOT NULL,
    committed boolean NOT NULL,
    started_at bigint NOT NULL,
    park_left_ms bigint NOT NULL,
    job text NOT NULL,
    data text NOT NULL,
    tries bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.schema_migration (
    name text NOT NULL,
    hash text NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE public.settings (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    pool_normal bigint NOT NULL,
    pool_high bigint NOT NULL,
    max_depth bigint NOT NULL,
    test_jig boolean NOT NULL,
    keep_runs bigint DEFAULT 10 NOT NULL,
    run_deadline_s bigint DEFAULT 14400 NOT NULL,
    barrier_s bigint DEFAULT 600 NOT NULL,
    host_keys_imported boolean DEFAULT false NOT NULL,
    nics_made boolean DEFAULT false NOT NULL
);
CREATE TABLE public.snapshot (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    deployment_id bigint NOT NULL,
    seq bigint NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    "order" bigint NOT NULL,
    predecessor_id bigint NOT NULL,
    state bigint NOT NULL,
    since bigint NOT NULL,
    committed_at bigint NOT NULL,
    archived_at bigint NOT NULL,
    actor text NOT NULL,
    counts text NOT NULL
);
CREATE TABLE public.token (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    expires_at bigint NOT NULL,
    access bigint DEFAULT 0 NOT NULL,
    deployment_id bigint DEFAULT 0 NOT NULL,
    node_id bigint DEFAULT 0 NOT NULL,
    kind bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public."user" (
    id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    turn bigint NOT NULL,
    username text NOT NULL,
    email text NOT NULL,
    is_admin boolean NOT NULL,
    is_locked boolean NOT NULL,
    password_hash text NOT NULL,
    digest_ha1 text NOT NULL,
    settings text NOT NULL,
    access bigint DEFAULT 2 NOT NULL,
    grants text DEFAULT ''::text NOT NULL
);
INSERT INTO public.attrib VALUES (1, 1795043204252, 1795043204252, 2, 'base-text', '', 1, 1, false, 10000, 'base/text', 'attribs/default', '', '');
INSERT INTO public.attrib VALUES (2, 1795043204252, 1795043204252, 2, 'web-workers', '', 1, 2, true, 10000, 'web/workers', 'attribs/default', '{"type":"int"}', '{"value":4}');
INSERT INTO public.attrib VALUES (3, 1795043206438, 1795043206438, 45, 'names-list', '', 2, 9, false, 10000, 'names/list', 'attribs/default', '', '{"value":["system"]}');
INSERT INTO public.barclamp VALUES (1, 1795043204252, 1795043204252, 2, 'upgrade', 'Upgrade', 1, '0.0', '0.0', '', '/var/lib/halligan/barclamps/upgrade', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}');
INSERT INTO public.barclamp VALUES (2, 1795043206438, 1795043206438, 45, 'upgrade_names', 'Upgrade Names', 2, '0.0', '0.0', '', '/var/lib/halligan/uploads/upgrade_names', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}');
INSERT INTO public.barclamp VALUES (3, 1795043206457, 1795043206457, 48, 'upgrade_bootenvs', 'Upgrade Bootenvs', 3, '0.0', '0.0', '', '/var/lib/halligan/uploads/upgrade_bootenvs', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}');
INSERT INTO public.bootenv VALUES (1, 1795043206457, 1795043206457, 48, 'upgrade-install', 'upgrade/linux', '["upgrade/initrd"]', 'quiet', 'installer', 'upgrade', false, 3);
INSERT INTO public.counter VALUES ('attrib', 1795043204123, 1795043206438, 45, 3);
INSERT INTO public.counter VALUES ('barclamp', 1795043204123, 1795043206457, 48, 3);
INSERT INTO public.counter VALUES ('bootenv', 1795043204123, 1795043206457, 48, 1);
INSERT INTO public.counter VALUES ('counter', 1795043204123, 1795043204123, 1, 0);
INSERT INTO public.counter VALUES ('deployment', 1795043204123, 1795043204422, 6, 2);
INSERT INTO public.counter VALUES ('deployment_role', 1795043204123, 1795043206950, 69, 9);
INSERT INTO public.counter VALUES ('dns_name_entry', 1795043204123, 1795043206461, 53, 3);
INSERT INTO public.counter VALUES ('dns_name_filter', 1795043204123, 1795043206458, 49, 1);
INSERT INTO public.counter VALUES ('group', 1795043204123, 1795043204428, 10, 2);
INSERT INTO public.counter VALUES ('hammer', 1795043204123, 1795043206459, 50, 5);
INSERT INTO public.counter VALUES ('hammer_kind', 1795043204123, 1795043204252, 2, 2);
INSERT INTO public.counter VALUES ('host_key', 1795043204123, 1795043205012, 24, 1);
INSERT INTO public.counter VALUES ('jig', 1795043204123, 1795043204252, 2, 2);
INSERT INTO public.counter VALUES ('lease', 1795043204123, 1795043206462, 54, 1);
INSERT INTO public.counter VALUES ('network', 1795043204123, 1795043206458, 49, 1);
INSERT INTO public.counter VALUES ('network_allocation', 1795043204123, 1795043206461, 53, 3);
INSERT INTO public.counter VALUES ('network_range', 1795043204123, 1795043206458, 49, 1);
INSERT INTO public.counter VALUES ('network_router', 1795043204123, 1795043206458, 49, 1);
INSERT INTO public.counter VALUES ('nic', 1795043204123, 1795043206459, 50, 1);
INSERT INTO public.counter VALUES ('node', 1795043204123, 1795043206459, 50, 6);
INSERT INTO public.counter VALUES ('noderole', 1795043204123, 1795043206950, 69, 10);
INSERT INTO public.counter VALUES ('outbox', 1795043204123, 1795043204894, 23, 3);
INSERT INTO public.counter VALUES ('role', 1795043204123, 1795043206438, 45, 9);
INSERT INTO public.counter VALUES ('run', 1795043204123, 1795043206947, 68, 7);
INSERT INTO public.counter VALUES ('settings', 1795043204123, 1795043204123, 1, 1);
INSERT INTO public.counter VALUES ('snapshot', 1795043204123, 1795043206678, 60, 6);
INSERT INTO public.counter VALUES ('token', 1795043204123, 1795043204806, 18, 3);
INSERT INTO public.counter VALUES ('user', 1795043204123, 1795043204783, 15, 4);
INSERT INTO public.deployment VALUES (1, 1795043204123, 1795043204123, 1, 'system', 'discovery and bootstrap', 0, true, 1, 1, false);
INSERT INTO public.deployment VALUES (2, 1795043204422, 1795043206678, 60, 'lab', 'quote '' double " backslash \ zwölf
second line', 1, false, 6, 3, false);
INSERT INTO public.deployment_role VALUES (1, 1795043205041, 1795043205041, 27, 2, 1, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (2, 1795043205041, 1795043206138, 42, 2, 2, false, '', '{"web":{"workers":16}}', '', '', 3);
INSERT INTO public.deployment_role VALUES (3, 1795043205054, 1795043205054, 28, 2, 8, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (4, 1795043206443, 1795043206443, 46, 1, 9, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (5, 1795043206463, 1795043206463, 55, 2, 3, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (6, 1795043206673, 1795043206673, 59, 2, 4, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (7, 1795043206682, 1795043206682, 61, 1, 7, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (8, 1795043206946, 1795043206946, 67, 1, 5, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (9, 1795043206950, 1795043206950, 69, 1, 6, false, '', '', '', '', 0);
INSERT INTO public.dns_name_entry VALUES (1, 1795043206460, 1795043206460, 51, 1, 1, 'n1');
INSERT INTO public.dns_name_entry VALUES (3, 1795043206461, 1795043206461, 53, 3, 1, 'n3');
INSERT INTO public.dns_name_filter VALUES (1, 1795043206458, 1795043206458, 49, 'default', 'net.category == "admin"', 50, 'system', '{{node.name}}', false);
INSERT INTO public.edge VALUES (1, 2);
INSERT INTO public.edge VALUES (5, 6);
INSERT INTO public.event VALUES (1, 0, 1795043204250, 'daemon', 'user_create', 'user', 1, '{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"admin"]}', '');
INSERT INTO public.event VALUES (2, 0, 1795043204252, 'daemon', 'import', 'barclamp', 1, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade"],"name":[null,"upgrade"],"parent_id":[null,1],"source_path":[null,"/var/lib/halligan/barclamps/upgrade"],"version":[null,"0.0"]}', '');
INSERT INTO public.event VALUES (3, 0, 1795043204255, 'daemon', 'node_create', 'node', 2, '{"admin":[null,true],"alive":[null,true],"alive_since":[null,1795043204255],"automatic":[null,true],"available_since":[null,1795043204255],"bootenv":[null,"local"],"deployment_id":[null,1],"description":[null,"the host of this installation"],"hint":[null,{"admin-v4addr":"192.0.2.1/32"}],"name":[null,"admin.example.com"],"order":[null,10000]}', '');
INSERT INTO public.event VALUES (4, 0, 1795043204257, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (5, 0, 1795043204417, 'user admin', 'token_create', 'token', 1, '{"hash":[null,"(secret)"],"name":[null,"tests/runs"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (6, 0, 1795043204422, 'user admin', 'deployment_create', 'deployment', 2, '{"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"head_id":[null,2],"name":[null,"lab"],"parent_id":[null,1],"phantom_id":[null,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (7, 0, 1795043204426, 'user admin', 'node_update', 'node', 2, '{"available":[false,true],"available_since":[1795043204255,1795043204426],"description":["the host of this installation","quote '' double \" backslash \\ zwölf\nsecond line"]}', '127.0.0.1');
INSERT INTO public.event VALUES (8, 0, 1795043204426, 'user admin', 'node_create', 'node', 4, '{"alive_since":[null,1795043204426],"available":[null,true],"available_since":[null,1795043204426],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"name":[null,"n1.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (9, 0, 1795043204427, 'user admin', 'node_create', 'node', 5, '{"alive_since":[null,1795043204427],"available":[null,true],"available_since":[null,1795043204427],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"name":[null,"n2.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (10, 0, 1795043204428, 'user admin', 'group_create', 'group', 2, '{"category":[null,"rack"],"name":[null,"r7"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (11, 0, 1795043204428, 'user admin', 'group_add', 'group', 2, '{"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (12, 0, 1795043204429, 'user admin', 'group_add', 'group', 2, '{"node_id":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (13, 0, 1795043204520, 'user admin', 'user_create', 'user', 2, '{"access":[null,"operator"],"digest_ha1":[null,"(secret)"],"email":[null,"olga@example.com"],"password_hash":[null,"(secret)"],"username":[null,"olga"]}', '127.0.0.1');
INSERT INTO public.event VALUES (14, 0, 1795043204635, 'user admin', 'user_create', 'user', 3, '{"access":[null,"viewer"],"grants":[null,{"2":"operator"}],"password_hash":[null,"(secret)"],"username":[null,"grantee"]}', '127.0.0.1');
INSERT INTO public.event VALUES (15, 0, 1795043204783, 'user admin', 'user_create', 'user', 4, '{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"locked"]}', '127.0.0.1');
INSERT INTO public.event VALUES (16, 0, 1795043204792, 'user admin', 'user_update', 'user', 4, '{"is_locked":[false,true]}', '127.0.0.1');
INSERT INTO public.event VALUES (17, 0, 1795043204805, 'user admin', 'token_create', 'token', 2, '{"access":[null,"viewer"],"deployment_id":[null,2],"expires_at":[null,2051222400000],"hash":[null,"(secret)"],"name":[null,"limited"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (18, 0, 1795043204806, 'user admin', 'token_create', 'token', 3, '{"hash":[null,"(secret)"],"name":[null,"node"],"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (19, 0, 1795043204821, 'user admin', 'hammer_create', 'hammer', 4, '{"authenticator":[null,"(secret)"],"endpoint":[null,"https://127.0.0.1:44503"],"extra":[null,{"ca":"/var/lib/halligan/service.pem"}],"hammer_kind_id":[null,2],"name":[null,"redfish"],"node_id":[null,4],"priority":[null,5],"username":[null,"root"]}', '127.0.0.1');
INSERT INTO public.event VALUES (20, 0, 1795043204826, 'user admin', 'node_power', 'node', 4, '{"action":[null,"on"]}', '127.0.0.1');
INSERT INTO public.event VALUES (21, 0, 1795043204832, 'daemon', 'node_power_done', 'node', 4, '{"action":[null,"on"],"order":[null,2],"power_driver":["","redfish"],"power_state":["unknown","on"],"result":[null,"done"],"text":[null,"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"]}', '');
INSERT INTO public.event VALUES (22, 0, 1795043204882, 'user admin', 'hammer_update', 'hammer', 2, '{"endpoint":["","127.0.0.1:53915"]}', '127.0.0.1');
INSERT INTO public.event VALUES (23, 0, 1795043204894, 'user admin', 'node_update', 'node', 4, '{"alive":[false,true],"alive_since":[1795043204426,1795043204894]}', '127.0.0.1');
INSERT INTO public.event VALUES (24, 0, 1795043205012, 'daemon', 'node_pin_keys', 'node', 4, '{"host_keys":[null,["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOnrMuFehhDQ9GGpu6H+Fj/UNZ72f4t5NktMHyQpTyJw"]]}', '');
INSERT INTO public.event VALUES (25, 0, 1795043205025, 'user admin', 'node_update', 'node', 4, '{"deployment_id":[1,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (26, 0, 1795043205031, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (27, 0, 1795043205041, 'user admin', 'noderole_bind', 'noderole', 2, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,2],"since":[null,1795043205041]}', '127.0.0.1');
INSERT INTO public.event VALUES (28, 0, 1795043205054, 'user admin', 'noderole_bind', 'noderole', 3, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,8],"since":[null,1795043205054]}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 0, 1795043205058, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 1, 1795043205058, 'engine', 'anneal', '', 0, '{"node":{"count":1,"ids":[3]},"noderole":{"count":3,"ids":[1,3,2]},"run":{"count":1,"ids":[1]},"snapshot":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (30, 0, 1795043205129, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (31, 0, 1795043205619, 'engine', 'anneal', '', 0, '{"noderole":{"count":3,"ids":[1,2,3]},"run":{"count":2,"ids":[1,2]}}', '');
INSERT INTO public.event VALUES (32, 0, 1795043205640, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (33, 0, 1795043205863, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (34, 0, 1795043205872, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[2,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (35, 0, 1795043205873, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 0, 1795043205877, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 1, 1795043205877, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]},"snapshot":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (37, 0, 1795043205903, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (38, 0, 1795043206107, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (39, 0, 1795043206117, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[3,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (40, 0, 1795043206122, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (41, 0, 1795043206126, 'user admin', 'noderole_delete', 'noderole', 3, '{"data_from":[1,null],"deployment_id":[2,null],"member_from":[1,null],"node_id":[4,null],"order":[10000,null],"role_id":[8,null],"run_count":[1,null],"since":[1795043205619,null],"state":["active",null]}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 0, 1795043206138, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 1, 1795043206138, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (43, 0, 1795043206166, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (44, 0, 1795043206416, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (45, 0, 1795043206438, 'user admin', 'import', 'barclamp', 2, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Names"],"name":[null,"upgrade_names"],"parent_id":[null,2],"source_path":[null,"/var/lib/halligan/uploads/upgrade_names"],"version":[null,"0.0"]}', '127.0.0.1');
INSERT INTO public.event VALUES (46, 0, 1795043206443, 'user admin', 'noderole_bind', 'noderole', 4, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,9],"since":[null,1795043206443]}', '127.0.0.1');
INSERT INTO public.event VALUES (47, 0, 1795043206446, 'user admin', 'noderole_commit', 'noderole', 4, '{"data_from":[0,2],"member_from":[0,2],"since":[1795043206443,1795043206446],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (47, 1, 1795043206446, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (48, 0, 1795043206457, 'user admin', 'import', 'barclamp', 3, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Bootenvs"],"name":[null,"upgrade_bootenvs"],"parent_id":[null,3],"source_path":[null,"/var/lib/halligan/uploads/upgrade_bootenvs"],"version":[null,"0.0"]}', '127.0.0.1');
INSERT INTO public.event VALUES (49, 0, 1795043206458, 'user admin', 'network_create', 'network', 1, '{"category":[null,"admin"],"conduit":[null,"1g0"],"configure":[null,true],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"group":[null,"default"],"name":[null,"racks"],"order":[null,1000],"team_mode":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (50, 0, 1795043206459, 'user admin', 'node_create', 'node', 6, '{"alive_since":[null,1795043206459],"available_since":[null,1795043206459],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:12:34:56"]}],"name":[null,"n3.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (51, 0, 1795043206460, 'user admin', 'network_allocate', 'network_allocation', 1, '{"address":[null,"198.51.100.10/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (52, 0, 1795043206461, 'user admin', 'network_allocate', 'network_allocation', 2, '{"address":[null,"198.51.100.11/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (53, 0, 1795043206461, 'user admin', 'network_allocate', 'network_allocation', 3, '{"address":[null,"198.51.100.12/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,6]}', '127.0.0.1');
INSERT INTO public.event VALUES (54, 0, 1795043206462, 'user admin', 'network_deallocate', 'network_allocation', 2, '{"address":["198.51.100.11/24",null],"network_id":[1,null],"network_range_id":[1,null],"node_id":[5,null]}', '127.0.0.1');
INSERT INTO public.event VALUES (55, 0, 1795043206463, 'user admin', 'noderole_bind', 'noderole', 5, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,3],"since":[null,1795043206463]}', '127.0.0.1');
INSERT INTO public.event VALUES (56, 0, 1795043206464, 'user admin', 'noderole_commit', 'noderole', 5, '{"data_from":[0,4],"member_from":[0,4],"since":[1795043206463,1795043206464],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (56, 1, 1795043206464, 'engine', 'anneal', '', 0, '{"deployment":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[5]},"snapshot":{"count":2,"ids":[5,4]}}', '');
INSERT INTO public.event VALUES (57, 0, 1795043206485, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (58, 0, 1795043206667, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (59, 0, 1795043206673, 'user admin', 'noderole_bind', 'noderole', 6, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,4],"since":[null,1795043206673]}', '127.0.0.1');
INSERT INTO public.event VALUES (60, 0, 1795043206678, 'user admin', 'noderole_commit', 'noderole', 6, '{"data_from":[0,5],"member_from":[0,5],"since":[1795043206673,1795043206678],"state":["proposed","blocked"]}', '127.0.0.1');
INSERT INTO public.event VALUES (61, 0, 1795043206682, 'user admin', 'noderole_bind', 'noderole', 7, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,7],"since":[null,1795043206682]}', '127.0.0.1');
INSERT INTO public.event VALUES (62, 0, 1795043206690, 'user admin', 'noderole_bind', 'noderole', 8, '{"deployment_id":[null,1],"node_id":[null,5],"order":[null,10000],"role_id":[null,7],"since":[null,1795043206690]}', '127.0.0.1');
INSERT INTO public.event VALUES (63, 0, 1795043206691, 'user admin', 'noderole_commit', 'noderole', 8, '{"data_from":[0,3],"member_from":[0,3],"since":[1795043206690,1795043206691],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (64, 0, 1795043206691, 'user admin', 'noderole_retry', 'noderole', 5, '{"since":[1795043206667,1795043206691],"state":["error","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (64, 1, 1795043206691, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (65, 0, 1795043206712, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (66, 0, 1795043206941, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (67, 0, 1795043206946, 'user admin', 'noderole_bind', 'noderole', 9, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,5],"since":[null,1795043206946]}', '127.0.0.1');
INSERT INTO public.event VALUES (68, 0, 1795043206947, 'user admin', 'noderole_commit', 'noderole', 9, '{"data_from":[0,4],"member_from":[0,4],"since":[1795043206946,1795043206947],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (68, 1, 1795043206947, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[9]},"run":{"count":1,"ids":[7]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (69, 0, 1795043206950, 'user admin', 'noderole_bind', 'noderole', 10, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,6],"since":[null,1795043206950]}', '127.0.0.1');
INSERT INTO public.event VALUES (70, 0, 1795043206950, 'user admin', 'noderole_commit', 'noderole', 10, '{"data_from":[0,5],"member_from":[0,5],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (71, 0, 1795043206969, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[7]}}', '');
INSERT INTO public."group" VALUES (1, 1795043204123, 1795043204123, 1, 'not_set', 'nodes in no other group', 'ui', 10000);
INSERT INTO public."group" VALUES (2, 1795043204428, 1795043204428, 10, 'r7', '', 'rack', 10000);
INSERT INTO public.hammer VALUES (1, 1795043204255, 1795043204255, 3, 2, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (2, 1795043204426, 1795043204882, 22, 4, 1, 0, 'ssh', '127.0.0.1:53915', 'root', '', '');
INSERT INTO public.hammer VALUES (3, 1795043204427, 1795043204427, 9, 5, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (4, 1795043204821, 1795043204821, 19, 4, 2, 5, 'redfish', 'https://127.0.0.1:44503', 'root', 'calvin', '{"ca":"/var/lib/halligan/service.pem"}');
INSERT INTO public.hammer VALUES (5, 1795043206459, 1795043206459, 50, 6, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer_kind VALUES (1, 1795043204252, 1795043204252, 2, 'ssh', 'ssh', 0);
INSERT INTO public.hammer_kind VALUES (2, 1795043204252, 1795043204252, 2, 'redfish', 'redfish', 5);
INSERT INTO public.host_key VALUES (1, 1795043205012, 1795043205012, 24, 4, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOnrMuFehhDQ9GGpu6H+Fj/UNZ72f4t5NktMHyQpTyJw', 1795043205012, 0);
INSERT INTO public.jig VALUES (1, 1795043204252, 1795043204252, 2, 'noop', '', 'noop', 100, true, '', '', '', '', '');
INSERT INTO public.jig VALUES (2, 1795043204252, 1795043204252, 2, 'script', '', 'script', 100, true, '', '', '', '', '');
INSERT INTO public.leadership VALUES (1, 7352496978661376, 71, 1795043206969, '', 'host.example.com 1', '');
INSERT INTO public.lease VALUES (1, 1795043206462, 1795043206462, 54, 1, '198.51.100.11/24', 0, 2, 5, 3600000);
INSERT INTO public.link VALUES (1, 2, 1);
INSERT INTO public.membership VALUES (1, 2);
INSERT INTO public.membership VALUES (1, 3);
INSERT INTO public.membership VALUES (1, 6);
INSERT INTO public.membership VALUES (2, 4);
INSERT INTO public.membership VALUES (2, 5);
INSERT INTO public.network VALUES (1, 1795043206458, 1795043206458, 49, 'racks', 'quote '' double " backslash \ zwölf
second line', 1, 1000, 0, false, false, 5, false, '', '1g0', true, 'admin', 'default', '', false);
INSERT INTO public.network_allocation VALUES (1, 1795043206460, 1795043206460, 51, 4, 1, 1, '198.51.100.10/24');
INSERT INTO public.network_allocation VALUES (3, 1795043206461, 1795043206461, 53, 6, 1, 1, '198.51.100.12/24');
INSERT INTO public.network_range VALUES (1, 1795043206458, 1795043206458, 49, 1, 'host', '198.51.100.10/24', '198.51.100.99/24', 0, '', 0, false, false, 0, false, false);
INSERT INTO public.network_router VALUES (1, 1795043206458, 1795043206458, 49, 1, '198.51.100.1/24', 65536);
INSERT INTO public.nic VALUES (1, 1795043206459, 1795043206459, 50, 6, 90520731923542, '', '', '', 0, true, false, false);
INSERT INTO public.node VALUES (1, 1795043204123, 1795043204123, 1, 'system-phantom.internal.local', '', false, true, 1, 0, false, true, false, false, 1795043204123, 1795043204123, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (2, 1795043204255, 1795043204426, 7, 'admin.example.com', 'quote '' double " backslash \ zwölf
second line', true, false, 1, 0, false, true, true, false, 1795043204255, 1795043204426, 'local', 10000, '', '', '{"admin-v4addr":"192.0.2.1/32"}', '', 0, '', '', '', '', 0, '', true, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (3, 1795043204422, 1795043205058, 29, 'lab-phantom.internal.local', '', false, true, 2, 0, false, true, true, false, 1795043204422, 1795043205058, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (4, 1795043204426, 1795043205025, 25, 'n1.example.com', 'quote '' double " backslash \ zwölf
second line', false, false, 2, 0, false, true, true, false, 1795043204894, 1795043204426, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 1, 1795043204832, 'redfish', 0, '', 2, '[{"action":"on","at_ms":1795043204832,"driver":"redfish","failed":false,"order":2,"reason":null,"text":"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"}]');
INSERT INTO public.node VALUES (5, 1795043204427, 1795043204427, 9, 'n2.example.com', '', false, false, 1, 0, false, false, true, false, 1795043204427, 1795043204427, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (6, 1795043206459, 1795043206459, 50, 'n3.example.com', '', false, false, 1, 0, false, false, false, false, 1795043206459, 1795043206459, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:12:34:56"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.noderole VALUES (1, 1795043205041, 1795043205619, 31, 2, 1, 4, 4, 1795043205619, 0, 1, 1, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '{"base":{"text":"it is \"here\""}}', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (2, 1795043205041, 1795043206416, 44, 2, 2, 4, 4, 1795043206416, 1, 3, 3, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (4, 1795043206443, 1795043206446, 47, 1, 9, 2, 4, 1795043206446, 0, 1, 0, 10000, false, false, false, false, 2, 2, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (5, 1795043206463, 1795043206941, 66, 2, 3, 4, 5, 1795043206941, 0, 0, 2, 10000, false, false, false, false, 4, 4, 'run failed', '== 10.sh
broken fails
a script of role broken ended with status 3', '', '', '', '', '', '', 0, 1, '3', 'a script of role broken ended with status 3', 0);
INSERT INTO public.noderole VALUES (6, 1795043206673, 1795043206678, 60, 2, 4, 4, 1, 1795043206678, 1, 0, 0, 10000, false, false, false, false, 5, 5, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (7, 1795043206682, 1795043206682, 61, 1, 7, 2, 0, 1795043206682, 0, 0, 0, 10000, false, false, false, false, 0, 0, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (8, 1795043206690, 1795043206691, 63, 1, 7, 5, 2, 1795043206691, 0, 0, 0, 10000, false, false, false, false, 3, 3, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (9, 1795043206946, 1795043206947, 68, 1, 5, 2, 3, 1795043206947, 0, 0, 1, 10000, false, false, false, false, 4, 4, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.noderole VALUES (10, 1795043206950, 1795043206950, 70, 1, 6, 2, 2, 1795043206950, 0, 0, 0, 10000, false, false, false, false, 5, 5, '', '', '', '', '', '', '', '', 0, 0, '', '', 0);
INSERT INTO public.old_data VALUES (2, 2, 0, 2, 3, '{"web":{"workers":8}}');
INSERT INTO public.old_data VALUES (2, 8, 4, 1, 3, '');
INSERT INTO public.old_member VALUES (2, 3, 8, 4, 1, 3);
INSERT INTO public.old_run VALUES (1, 1, 1, 4, 1, 1795043205058, 1795043205619, 0, '== 10.sh
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 1, 2, 4, 2, 1795043205619, 1795043205863, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 2, 3, 4, 2, 1795043205877, 1795043206107, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 3, 4, 4, 2, 1795043206138, 1795043206416, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (5, 1, 5, 4, 3, 1795043206464, 1795043206667, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.old_run VALUES (5, 2, 6, 4, 3, 1795043206691, 1795043206941, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.role VALUES (1, 1795043204252, 1795043204252, 2, 'base', 'Base', 'Role', 'script', 1, 2, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (2, 1795043204252, 1795043204252, 2, 'web', 'Web', 'Role', 'script', 1, 0, 0, 1, '["base"]', '[{"at":"","name":"base-text"}]', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (3, 1795043204252, 1795043204252, 2, 'broken', 'Broken', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (4, 1795043204252, 1795043204252, 2, 'behind-broken', 'Behind Broken', 'Role', 'script', 1, 0, 0, 1, '["broken"]', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (5, 1795043204252, 1795043204252, 2, 'slow', 'Slow', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (6, 1795043204252, 1795043204252, 2, 'next', 'Next', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (7, 1795043204252, 1795043204252, 2, 'later', 'Later', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (8, 1795043204252, 1795043204252, 2, 'goal', 'Goal', 'Role', 'noop', 1, 128, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (9, 1795043206438, 1795043206438, 45, 'names', 'Names', 'Role', 'noop', 2, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', 'names-list');
INSERT INTO public.run VALUES (7, 1795043206947, 1795043206969, 71, 2, 9, 1, 0, 1, false, true, true, 1795043206947, 0, 'pid 15629', '{"hints":{"admin-v4addr":"192.0.2.1/32"},"quirks":[]}', 0);
INSERT INTO public.schema_migration VALUES ('0001_initial', '9ddac6ca6cd390ccc2b2c11422008474d1c8c804f3a70b13d3f90ff249696999', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0002_computed', '9852ba9c3d7ef981879993739bd7e25e069c44c255f76b4bdc063522157e3b00', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0003_runs', '8308227d776543cbeef9b3bccc313ee918bfc160c21d6c713865a14a48e201e5', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0004_people', '9342be9fadeacb20cca42d69ff13924a904ddcdde758e11105be8a57e47fae88', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0005_defaults', '8618c445e0e43fc588ba727c506d0a60ab8fcc3fdc7c6f5f7f5506e2e8fc1cf6', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0006_reasons', '159034760e43eeffa3f280e73dcd4d97c08fb0dde01ca491baedac9dd4bf4aba', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0007_automatic', 'cb916a7ac0b1562801ae49097440b5001f2dfc5d5c20c0f9e7158b8c88ecac9e', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0008_host_keys', '7e00734567d0f29885b2a875f59a7608edf12b6484344871629805abfab313ee', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0009_power', '9990da757a5be5960019d5014ea95c55a455ce45a29fe2ed7927bfa36527a886', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0010_event_address', 'b8b98cb31d6b2530e3ef41c1f5d028a60048d6182d81a9d9dfa6680332a14eeb', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0011_status_hook', '295608380fb109410529497026bed2f2f7bbfbdcbd45fee2f5e0c8905e7a553e', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0012_networks', '948528fae176b3a044dd71db1e57b29b510955d3561cd1a0b6138ea3cfd7ce21', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0013_deleting', '1b1287be62064a3f51b2834cae9681dcd71ed8628db25fb4ddfc6e708b5e95c3', 1795043207000);
INSERT INTO public.schema_migration VALUES ('0014_bootenv', '48afbae015f98714b86ffec582611975f3bd9c1dff999ca6bd013587a482b907', 1795043207000);
INSERT INTO public.settings VALUES (1, 1795043204123, 1795043204123, 1, 10, 2, 0, false, 10, 14400, 600, true, true);
INSERT INTO public.snapshot VALUES (1, 1795043204123, 1795043206950, 70, 1, 5, 'system', '', 1000, 0, 1, 1795043204123, 1795043204123, 0, 'founding', '');
INSERT INTO public.snapshot VALUES (2, 1795043204422, 1795043205872, 34, 2, 1, 'lab', '', 1000, 0, 2, 1795043205872, 1795043205058, 1795043205872, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (3, 1795043205872, 1795043206117, 39, 2, 2, 'lab', '', 1001, 2, 2, 1795043206117, 1795043205877, 1795043206117, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (4, 1795043206117, 1795043206464, 56, 2, 3, 'lab', '', 1002, 3, 2, 1795043206464, 1795043206138, 1795043206464, 'user admin', '{"active":2,"blocked":0,"error":0,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (5, 1795043206464, 1795043206678, 60, 2, 4, 'lab', '', 1003, 4, 2, 1795043206678, 1795043206464, 1795043206678, 'user admin', '{"active":2,"blocked":0,"error":1,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (6, 1795043206678, 1795043206678, 60, 2, 5, 'lab', '', 1004, 5, 1, 1795043206678, 1795043206678, 0, 'user admin', '');
INSERT INTO public.token VALUES (1, 1795043204417, 1795043204417, 5, 1, 'tests/runs', '140071a7893f330cf15b372360fadbaa46a24a0e64361aab9702f0569753ed9e', 0, 0, 0, 0, 0);
INSERT INTO public.token VALUES (2, 1795043204805, 1795043204805, 17, 1, 'limited', '0cdcef4bcc1cbe40fce0c08959ed2efee67676d52ec6ec36efac8052d7757f1d', 2051222400000, 1, 2, 0, 0);
INSERT INTO public.token VALUES (3, 1795043204806, 1795043204806, 18, 0, 'node', '7bca2fb4270995a12c681d2da453caff91ec95e5080c5dfd9266dd077bfd89fb', 0, 0, 0, 4, 0);
INSERT INTO public."user" VALUES (1, 1795043204250, 1795043204250, 1, 'admin', '', true, false, '$argon2id$v=19$m=65536,t=2,p=1$cjf+C4aojY7Ja3zgHFOHEg$kBPqtK9FtEKc9ZVCQ+MJL7ZjrZWHmqM2uU9J6AVvn0c', '', '', 2, '');
INSERT INTO public."user" VALUES (2, 1795043204520, 1795043204520, 13, 'olga', 'olga@example.com', false, false, '$argon2id$v=19$m=65536,t=2,p=1$rIk3NIAAbBpHUTej4w1q4g$g2t1sE/Ck98FQlYIQEvxCW8TCkWFHQbIjziG2orzn00', '2884c5684c2a45e5effd962be248d287', '', 2, '');
INSERT INTO public."user" VALUES (3, 1795043204635, 1795043204635, 14, 'grantee', '', false, false, '$argon2id$v=19$m=65536,t=2,p=1$ja/zarqz32OwHVPt3rnmow$GsY5yJb9cV8M1h6enZMkLw4km6oh4ni7EvQIuAc05GI', '', '', 1, '{"2":"operator"}');
INSERT INTO public."user" VALUES (4, 1795043204783, 1795043204792, 16, 'locked', '', true, true, '$argon2id$v=19$m=65536,t=2,p=1$e0r58/s8h4vWFkLxy3SsZQ$M18OBbRxLnSlwqKC0Voa4iSHXLfKHrUo58xerVleiYE', '', '', 2, '');
ALTER TABLE ONLY public.attrib
    ADD CONSTRAINT attrib_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.barclamp
    ADD CONSTRAINT barclamp_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bootenv
    ADD CONSTRAINT bootenv_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deployment_role
    ADD CONSTRAINT deployment_role_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dns_name_entry
    ADD CONSTRAINT dns_name_entry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dns_name_filter
    ADD CONSTRAINT dns_name_filter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.edge
    ADD CONSTRAINT edge_pkey PRIMARY KEY (parent_id, child_id);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (turn, n);
ALTER TABLE ONLY public."group"
    ADD CONSTRAINT group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hammer_kind
    ADD CONSTRAINT hammer_kind_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hammer
    ADD CONSTRAINT hammer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.host_key
    ADD CONSTRAINT host_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.jig
    ADD CONSTRAINT jig_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.leadership
    ADD CONSTRAINT leadership_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_pkey PRIMARY KEY (parent_id, child_id, attrib_id);
ALTER TABLE ONLY public.membership
    ADD CONSTRAINT membership_pkey PRIMARY KEY (group_id, node_id);
ALTER TABLE ONLY public.network_allocation
    ADD CONSTRAINT network_allocation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.network
    ADD CONSTRAINT network_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.network_range
    ADD CONSTRAINT network_range_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.network_router
    ADD CONSTRAINT network_router_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nic
    ADD CONSTRAINT nic_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.noderole
    ADD CONSTRAINT noderole_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.old_data
    ADD CONSTRAINT old_data_pkey PRIMARY KEY (deployment_id, role_id, node_id, from_seq, to_seq);
ALTER TABLE ONLY public.old_member
    ADD CONSTRAINT old_member_pkey PRIMARY KEY (deployment_id, noderole_id, role_id, node_id, from_seq, to_seq);
ALTER TABLE ONLY public.old_run
    ADD CONSTRAINT old_run_pkey PRIMARY KEY (noderole_id, attempt);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.role
    ADD CONSTRAINT role_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.snapshot
    ADD CONSTRAINT snapshot_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT user_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX noderole_role_node ON public.noderole USING btree (role_id, node_id);
CREATE INDEX old_run_ended_at ON public.old_run USING btree (ended_at);
