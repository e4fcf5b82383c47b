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
    power_results text DEFAULT ''::text NOT NULL,
    grant_noderole bigint DEFAULT 0 NOT NULL,
    grant_ticket text DEFAULT ''::text NOT NULL,
    grant_at bigint DEFAULT 0 NOT NULL,
    grant_void bigint DEFAULT 0 NOT NULL,
    stamp_generation bigint DEFAULT 0 NOT NULL
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
    status_hook bigint DEFAULT 0 NOT NULL,
    grant_barred bigint DEFAULT 0 NOT NULL
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
    nics_made boolean DEFAULT false NOT NULL,
    install_wait_s bigint DEFAULT 3600 NOT NULL
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
INSERT INTO public.attrib VALUES (1, 1795104507392, 1795104507392, 2, 'base-text', '', 1, 1, false, 10000, 'base/text', 'attribs/default', '', '');
INSERT INTO public.attrib VALUES (2, 1795104507392, 1795104507392, 2, 'web-workers', '', 1, 2, true, 10000, 'web/workers', 'attribs/default', '{"type":"int"}', '{"value":4}');
INSERT INTO public.attrib VALUES (3, 1795104510687, 1795104510687, 45, 'names-list', '', 2, 11, false, 10000, 'names/list', 'attribs/default', '', '{"value":["system"]}');
INSERT INTO public.barclamp VALUES (1, 1795104507392, 1795104507392, 2, 'upgrade', 'Upgrade', 1, '0.0', '0.0', '', '/var/lib/halligan/barclamps/upgrade', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"},{"flags":["discovery","milestone"],"jig":"noop","name":"managed"},{"flags":["serves-boot"],"hooks":["on_active"],"jig":"script","name":"boots"}]}');
INSERT INTO public.barclamp VALUES (2, 1795104510687, 1795104510687, 45, 'upgrade_names', 'Upgrade Names', 2, '0.0', '0.0', '', '/var/lib/halligan/uploads/upgrade_names', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}');
INSERT INTO public.barclamp VALUES (3, 1795104510723, 1795104510723, 48, 'upgrade_bootenvs', 'Upgrade Bootenvs', 3, '0.0', '0.0', '', '/var/lib/halligan/uploads/upgrade_bootenvs', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}');
INSERT INTO public.bootenv VALUES (1, 1795104510723, 1795104510723, 48, 'upgrade-install', 'upgrade/linux', '["upgrade/initrd"]', 'quiet', 'installer', 'upgrade', false, 3);
INSERT INTO public.counter VALUES ('attrib', 1795104506980, 1795104510687, 45, 3);
INSERT INTO public.counter VALUES ('barclamp', 1795104506980, 1795104510723, 48, 3);
INSERT INTO public.counter VALUES ('bootenv', 1795104506980, 1795104510723, 48, 1);
INSERT INTO public.counter VALUES ('counter', 1795104506980, 1795104506980, 1, 0);
INSERT INTO public.counter VALUES ('deployment', 1795104506980, 1795104507716, 6, 2);
INSERT INTO public.counter VALUES ('deployment_role', 1795104506980, 1795104513969, 347, 11);
INSERT INTO public.counter VALUES ('dns_name_entry', 1795104506980, 1795104512954, 324, 53);
INSERT INTO public.counter VALUES ('dns_name_filter', 1795104506980, 1795104510729, 49, 1);
INSERT INTO public.counter VALUES ('group', 1795104506980, 1795104507755, 10, 2);
INSERT INTO public.counter VALUES ('hammer', 1795104506980, 1795104512944, 323, 55);
INSERT INTO public.counter VALUES ('hammer_kind', 1795104506980, 1795104507392, 2, 2);
INSERT INTO public.counter VALUES ('host_key', 1795104506980, 1795104508760, 24, 1);
INSERT INTO public.counter VALUES ('jig', 1795104506980, 1795104507392, 2, 2);
INSERT INTO public.counter VALUES ('lease', 1795104506980, 1795104510784, 54, 1);
INSERT INTO public.counter VALUES ('network', 1795104506980, 1795104510729, 49, 1);
INSERT INTO public.counter VALUES ('network_allocation', 1795104506980, 1795104512954, 324, 53);
INSERT INTO public.counter VALUES ('network_range', 1795104506980, 1795104510729, 49, 1);
INSERT INTO public.counter VALUES ('network_router', 1795104506980, 1795104510729, 49, 1);
INSERT INTO public.counter VALUES ('nic', 1795104506980, 1795104512944, 323, 51);
INSERT INTO public.counter VALUES ('node', 1795104506980, 1795104512944, 323, 56);
INSERT INTO public.counter VALUES ('noderole', 1795104506980, 1795104513969, 347, 61);
INSERT INTO public.counter VALUES ('outbox', 1795104506980, 1795104513151, 331, 4);
INSERT INTO public.counter VALUES ('role', 1795104506980, 1795104510687, 45, 11);
INSERT INTO public.counter VALUES ('run', 1795104506980, 1795104513963, 346, 8);
INSERT INTO public.counter VALUES ('settings', 1795104506980, 1795104506980, 1, 1);
INSERT INTO public.counter VALUES ('snapshot', 1795104506980, 1795104513625, 338, 6);
INSERT INTO public.counter VALUES ('token', 1795104506980, 1795104508435, 18, 3);
INSERT INTO public.counter VALUES ('user', 1795104506980, 1795104508410, 15, 4);
INSERT INTO public.deployment VALUES (1, 1795104506980, 1795104506980, 1, 'system', 'discovery and bootstrap', 0, true, 1, 1, false);
INSERT INTO public.deployment VALUES (2, 1795104507716, 1795104513625, 338, 'lab', 'quote '' double " backslash \ zwölf
second line', 1, false, 6, 3, false);
INSERT INTO public.deployment_role VALUES (1, 1795104508770, 1795104508770, 27, 2, 1, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (2, 1795104508770, 1795104510443, 42, 2, 2, false, '', '{"web":{"workers":16}}', '', '', 3);
INSERT INTO public.deployment_role VALUES (3, 1795104508775, 1795104508775, 28, 2, 8, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (4, 1795104510703, 1795104510703, 46, 1, 11, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (5, 1795104510811, 1795104510811, 57, 1, 9, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (6, 1795104512983, 1795104512983, 328, 1, 10, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (7, 1795104513170, 1795104513170, 333, 2, 3, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (8, 1795104513618, 1795104513618, 337, 2, 4, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (9, 1795104513631, 1795104513631, 339, 1, 7, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (10, 1795104513957, 1795104513957, 345, 1, 5, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (11, 1795104513969, 1795104513969, 347, 1, 6, false, '', '', '', '', 0);
INSERT INTO public.dns_name_entry VALUES (1, 1795104510750, 1795104510750, 51, 1, 1, 'n1');
INSERT INTO public.dns_name_entry VALUES (3, 1795104510766, 1795104510766, 53, 3, 1, 'n3');
INSERT INTO public.dns_name_entry VALUES (4, 1795104510807, 1795104510807, 56, 4, 1, 'm0');
INSERT INTO public.dns_name_entry VALUES (5, 1795104510839, 1795104510839, 60, 5, 1, 'm1');
INSERT INTO public.dns_name_entry VALUES (6, 1795104510882, 1795104510882, 65, 6, 1, 'm2');
INSERT INTO public.dns_name_entry VALUES (7, 1795104510957, 1795104510957, 71, 7, 1, 'm3');
INSERT INTO public.dns_name_entry VALUES (8, 1795104511039, 1795104511039, 78, 8, 1, 'm4');
INSERT INTO public.dns_name_entry VALUES (9, 1795104511065, 1795104511065, 82, 9, 1, 'm5');
INSERT INTO public.dns_name_entry VALUES (10, 1795104511118, 1795104511118, 87, 10, 1, 'm6');
INSERT INTO public.dns_name_entry VALUES (11, 1795104511172, 1795104511172, 93, 11, 1, 'm7');
INSERT INTO public.dns_name_entry VALUES (12, 1795104511251, 1795104511251, 100, 12, 1, 'm8');
INSERT INTO public.dns_name_entry VALUES (13, 1795104511307, 1795104511307, 104, 13, 1, 'm9');
INSERT INTO public.dns_name_entry VALUES (14, 1795104511351, 1795104511351, 109, 14, 1, 'm10');
INSERT INTO public.dns_name_entry VALUES (15, 1795104511405, 1795104511405, 115, 15, 1, 'm11');
INSERT INTO public.dns_name_entry VALUES (16, 1795104511456, 1795104511456, 122, 16, 1, 'm12');
INSERT INTO public.dns_name_entry VALUES (17, 1795104511496, 1795104511496, 126, 17, 1, 'm13');
INSERT INTO public.dns_name_entry VALUES (18, 1795104511547, 1795104511547, 131, 18, 1, 'm14');
INSERT INTO public.dns_name_entry VALUES (19, 1795104511603, 1795104511603, 137, 19, 1, 'm15');
INSERT INTO public.dns_name_entry VALUES (20, 1795104511668, 1795104511668, 144, 20, 1, 'm16');
INSERT INTO public.dns_name_entry VALUES (21, 1795104511710, 1795104511710, 148, 21, 1, 'm17');
INSERT INTO public.dns_name_entry VALUES (22, 1795104511774, 1795104511774, 153, 22, 1, 'm18');
INSERT INTO public.dns_name_entry VALUES (23, 1795104511831, 1795104511831, 159, 23, 1, 'm19');
INSERT INTO public.dns_name_entry VALUES (24, 1795104511854, 1795104511854, 166, 24, 1, 'm20');
INSERT INTO public.dns_name_entry VALUES (25, 1795104511869, 1795104511869, 170, 25, 1, 'm21');
INSERT INTO public.dns_name_entry VALUES (26, 1795104511891, 1795104511891, 175, 26, 1, 'm22');
INSERT INTO public.dns_name_entry VALUES (27, 1795104511947, 1795104511947, 181, 27, 1, 'm23');
INSERT INTO public.dns_name_entry VALUES (28, 1795104511998, 1795104511998, 188, 28, 1, 'm24');
INSERT INTO public.dns_name_entry VALUES (29, 1795104512022, 1795104512022, 192, 29, 1, 'm25');
INSERT INTO public.dns_name_entry VALUES (30, 1795104512067, 1795104512067, 197, 30, 1, 'm26');
INSERT INTO public.dns_name_entry VALUES (31, 1795104512119, 1795104512119, 203, 31, 1, 'm27');
INSERT INTO public.dns_name_entry VALUES (32, 1795104512207, 1795104512207, 210, 32, 1, 'm28');
INSERT INTO public.dns_name_entry VALUES (33, 1795104512238, 1795104512238, 214, 33, 1, 'm29');
INSERT INTO public.dns_name_entry VALUES (34, 1795104512287, 1795104512287, 219, 34, 1, 'm30');
INSERT INTO public.dns_name_entry VALUES (35, 1795104512358, 1795104512358, 225, 35, 1, 'm31');
INSERT INTO public.dns_name_entry VALUES (36, 1795104512429, 1795104512429, 232, 36, 1, 'm32');
INSERT INTO public.dns_name_entry VALUES (37, 1795104512483, 1795104512483, 236, 37, 1, 'm33');
INSERT INTO public.dns_name_entry VALUES (38, 1795104512511, 1795104512511, 241, 38, 1, 'm34');
INSERT INTO public.dns_name_entry VALUES (39, 1795104512537, 1795104512537, 247, 39, 1, 'm35');
INSERT INTO public.dns_name_entry VALUES (40, 1795104512559, 1795104512559, 254, 40, 1, 'm36');
INSERT INTO public.dns_name_entry VALUES (41, 1795104512571, 1795104512571, 258, 41, 1, 'm37');
INSERT INTO public.dns_name_entry VALUES (42, 1795104512583, 1795104512583, 263, 42, 1, 'm38');
INSERT INTO public.dns_name_entry VALUES (43, 1795104512615, 1795104512615, 269, 43, 1, 'm39');
INSERT INTO public.dns_name_entry VALUES (44, 1795104512657, 1795104512657, 276, 44, 1, 'm40');
INSERT INTO public.dns_name_entry VALUES (45, 1795104512675, 1795104512675, 280, 45, 1, 'm41');
INSERT INTO public.dns_name_entry VALUES (46, 1795104512707, 1795104512707, 285, 46, 1, 'm42');
INSERT INTO public.dns_name_entry VALUES (47, 1795104512745, 1795104512745, 291, 47, 1, 'm43');
INSERT INTO public.dns_name_entry VALUES (48, 1795104512785, 1795104512785, 298, 48, 1, 'm44');
INSERT INTO public.dns_name_entry VALUES (49, 1795104512805, 1795104512805, 302, 49, 1, 'm45');
INSERT INTO public.dns_name_entry VALUES (50, 1795104512835, 1795104512835, 307, 50, 1, 'm46');
INSERT INTO public.dns_name_entry VALUES (51, 1795104512875, 1795104512875, 313, 51, 1, 'm47');
INSERT INTO public.dns_name_entry VALUES (52, 1795104512926, 1795104512926, 320, 52, 1, 'm48');
INSERT INTO public.dns_name_entry VALUES (53, 1795104512954, 1795104512954, 324, 53, 1, 'm49');
INSERT INTO public.dns_name_filter VALUES (1, 1795104510729, 1795104510729, 49, 'default', 'net.category == "admin"', 50, 'system', '{{node.name}}', false);
INSERT INTO public.edge VALUES (1, 2);
INSERT INTO public.edge VALUES (56, 57);
INSERT INTO public.event VALUES (1, 0, 1795104507388, 'daemon', 'user_create', 'user', 1, '{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"admin"]}', '');
INSERT INTO public.event VALUES (2, 0, 1795104507392, 'daemon', 'import', 'barclamp', 1, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"},{"flags":["discovery","milestone"],"jig":"noop","name":"managed"},{"flags":["serves-boot"],"hooks":["on_active"],"jig":"script","name":"boots"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade"],"name":[null,"upgrade"],"parent_id":[null,1],"source_path":[null,"/var/lib/halligan/barclamps/upgrade"],"version":[null,"0.0"]}', '');
INSERT INTO public.event VALUES (3, 0, 1795104507395, 'daemon', 'node_create', 'node', 2, '{"admin":[null,true],"alive":[null,true],"alive_since":[null,1795104507395],"automatic":[null,true],"available_since":[null,1795104507395],"bootenv":[null,"local"],"deployment_id":[null,1],"description":[null,"the host of this installation"],"hint":[null,{"admin-v4addr":"192.0.2.1/32"}],"name":[null,"admin.example.com"],"order":[null,10000]}', '');
INSERT INTO public.event VALUES (4, 0, 1795104507396, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (5, 0, 1795104507710, 'user admin', 'token_create', 'token', 1, '{"hash":[null,"(secret)"],"name":[null,"tests/runs"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (6, 0, 1795104507716, 'user admin', 'deployment_create', 'deployment', 2, '{"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"head_id":[null,2],"name":[null,"lab"],"parent_id":[null,1],"phantom_id":[null,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (7, 0, 1795104507720, 'user admin', 'node_update', 'node', 2, '{"available":[false,true],"available_since":[1795104507395,1795104507720],"description":["the host of this installation","quote '' double \" backslash \\ zwölf\nsecond line"]}', '127.0.0.1');
INSERT INTO public.event VALUES (8, 0, 1795104507735, 'user admin', 'node_create', 'node', 4, '{"alive_since":[null,1795104507735],"available":[null,true],"available_since":[null,1795104507735],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"name":[null,"n1.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (9, 0, 1795104507747, 'user admin', 'node_create', 'node', 5, '{"alive_since":[null,1795104507747],"available":[null,true],"available_since":[null,1795104507747],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"name":[null,"n2.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (10, 0, 1795104507755, 'user admin', 'group_create', 'group', 2, '{"category":[null,"rack"],"name":[null,"r7"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (11, 0, 1795104507771, 'user admin', 'group_add', 'group', 2, '{"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (12, 0, 1795104507779, 'user admin', 'group_add', 'group', 2, '{"node_id":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (13, 0, 1795104507975, 'user admin', 'user_create', 'user', 2, '{"access":[null,"operator"],"digest_ha1":[null,"(secret)"],"email":[null,"olga@example.com"],"password_hash":[null,"(secret)"],"username":[null,"olga"]}', '127.0.0.1');
INSERT INTO public.event VALUES (14, 0, 1795104508207, 'user admin', 'user_create', 'user', 3, '{"access":[null,"viewer"],"grants":[null,{"2":"operator"}],"password_hash":[null,"(secret)"],"username":[null,"grantee"]}', '127.0.0.1');
INSERT INTO public.event VALUES (15, 0, 1795104508410, 'user admin', 'user_create', 'user', 4, '{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"locked"]}', '127.0.0.1');
INSERT INTO public.event VALUES (16, 0, 1795104508420, 'user admin', 'user_update', 'user', 4, '{"is_locked":[false,true]}', '127.0.0.1');
INSERT INTO public.event VALUES (17, 0, 1795104508427, 'user admin', 'token_create', 'token', 2, '{"access":[null,"viewer"],"deployment_id":[null,2],"expires_at":[null,2051222400000],"hash":[null,"(secret)"],"name":[null,"limited"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (18, 0, 1795104508435, 'user admin', 'token_create', 'token', 3, '{"hash":[null,"(secret)"],"name":[null,"node"],"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (19, 0, 1795104508471, 'user admin', 'hammer_create', 'hammer', 4, '{"authenticator":[null,"(secret)"],"endpoint":[null,"https://127.0.0.1:35387"],"extra":[null,{"ca":"/var/lib/halligan/service.pem"}],"hammer_kind_id":[null,2],"name":[null,"redfish"],"node_id":[null,4],"priority":[null,5],"username":[null,"root"]}', '127.0.0.1');
INSERT INTO public.event VALUES (20, 0, 1795104508485, 'user admin', 'node_power', 'node', 4, '{"action":[null,"on"]}', '127.0.0.1');
INSERT INTO public.event VALUES (21, 0, 1795104508518, 'daemon', 'node_power_done', 'node', 4, '{"action":[null,"on"],"order":[null,2],"power_driver":["","redfish"],"power_state":["unknown","on"],"result":[null,"done"],"text":[null,"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"]}', '');
INSERT INTO public.event VALUES (22, 0, 1795104508581, 'user admin', 'hammer_update', 'hammer', 2, '{"endpoint":["","127.0.0.1:40757"]}', '127.0.0.1');
INSERT INTO public.event VALUES (23, 0, 1795104508583, 'user admin', 'node_update', 'node', 4, '{"alive":[false,true],"alive_since":[1795104507735,1795104508583]}', '127.0.0.1');
INSERT INTO public.event VALUES (24, 0, 1795104508760, 'daemon', 'node_pin_keys', 'node', 4, '{"host_keys":[null,["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIQVnEWmL8MLIwTBJCJsAvkgKQkEjtJLUZgSlE7ON030"]]}', '');
INSERT INTO public.event VALUES (25, 0, 1795104508764, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (26, 0, 1795104508767, 'user admin', 'node_update', 'node', 4, '{"deployment_id":[1,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (27, 0, 1795104508770, 'user admin', 'noderole_bind', 'noderole', 2, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,2],"since":[null,1795104508770]}', '127.0.0.1');
INSERT INTO public.event VALUES (28, 0, 1795104508775, 'user admin', 'noderole_bind', 'noderole', 3, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,8],"since":[null,1795104508775]}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 0, 1795104508776, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 1, 1795104508776, 'engine', 'anneal', '', 0, '{"node":{"count":1,"ids":[3]},"noderole":{"count":3,"ids":[1,3,2]},"run":{"count":1,"ids":[1]},"snapshot":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (30, 0, 1795104508835, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (31, 0, 1795104509655, 'engine', 'anneal', '', 0, '{"noderole":{"count":3,"ids":[1,2,3]},"run":{"count":2,"ids":[1,2]}}', '');
INSERT INTO public.event VALUES (32, 0, 1795104509691, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (33, 0, 1795104510025, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (34, 0, 1795104510035, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[2,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (35, 0, 1795104510038, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 0, 1795104510043, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 1, 1795104510043, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]},"snapshot":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (37, 0, 1795104510080, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (38, 0, 1795104510395, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (39, 0, 1795104510416, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[3,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (40, 0, 1795104510421, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (41, 0, 1795104510427, 'user admin', 'noderole_delete', 'noderole', 3, '{"data_from":[1,null],"deployment_id":[2,null],"member_from":[1,null],"node_id":[4,null],"order":[10000,null],"role_id":[8,null],"run_count":[1,null],"since":[1795104509655,null],"state":["active",null]}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 0, 1795104510443, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 1, 1795104510443, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (43, 0, 1795104510477, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (44, 0, 1795104510673, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (45, 0, 1795104510687, 'user admin', 'import', 'barclamp', 2, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Names"],"name":[null,"upgrade_names"],"parent_id":[null,2],"source_path":[null,"/var/lib/halligan/uploads/upgrade_names"],"version":[null,"0.0"]}', '127.0.0.1');
INSERT INTO public.event VALUES (46, 0, 1795104510703, 'user admin', 'noderole_bind', 'noderole', 4, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,11],"since":[null,1795104510703]}', '127.0.0.1');
INSERT INTO public.event VALUES (47, 0, 1795104510711, 'user admin', 'noderole_commit', 'noderole', 4, '{"data_from":[0,2],"member_from":[0,2],"since":[1795104510703,1795104510711],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (47, 1, 1795104510711, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (48, 0, 1795104510723, 'user admin', 'import', 'barclamp', 3, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Bootenvs"],"name":[null,"upgrade_bootenvs"],"parent_id":[null,3],"source_path":[null,"/var/lib/halligan/uploads/upgrade_bootenvs"],"version":[null,"0.0"]}', '127.0.0.1');
INSERT INTO public.event VALUES (49, 0, 1795104510729, 'user admin', 'network_create', 'network', 1, '{"category":[null,"admin"],"conduit":[null,"1g0"],"configure":[null,true],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"group":[null,"default"],"name":[null,"racks"],"order":[null,1000],"team_mode":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (50, 0, 1795104510731, 'user admin', 'node_create', 'node', 6, '{"alive_since":[null,1795104510731],"available_since":[null,1795104510731],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:12:34:56"]}],"name":[null,"n3.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (51, 0, 1795104510750, 'user admin', 'network_allocate', 'network_allocation', 1, '{"address":[null,"198.51.100.10/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (52, 0, 1795104510765, 'user admin', 'network_allocate', 'network_allocation', 2, '{"address":[null,"198.51.100.11/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,5]}', '127.0.0.1');
INSERT INTO public.event VALUES (53, 0, 1795104510766, 'user admin', 'network_allocate', 'network_allocation', 3, '{"address":[null,"198.51.100.12/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,6]}', '127.0.0.1');
INSERT INTO public.event VALUES (54, 0, 1795104510784, 'user admin', 'network_deallocate', 'network_allocation', 2, '{"address":["198.51.100.11/24",null],"network_id":[1,null],"network_range_id":[1,null],"node_id":[5,null]}', '127.0.0.1');
INSERT INTO public.event VALUES (55, 0, 1795104510795, 'user admin', 'node_create', 'node', 7, '{"alive_since":[null,1795104510795],"available_since":[null,1795104510795],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:00"]}],"name":[null,"m0.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (56, 0, 1795104510807, 'user admin', 'network_allocate', 'network_allocation', 4, '{"address":[null,"198.51.100.13/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,7]}', '127.0.0.1');
INSERT INTO public.event VALUES (57, 0, 1795104510811, 'user admin', 'noderole_bind', 'noderole', 5, '{"deployment_id":[null,1],"node_id":[null,7],"order":[null,10000],"role_id":[null,9],"since":[null,1795104510811]}', '127.0.0.1');
INSERT INTO public.event VALUES (58, 0, 1795104510823, 'user admin', 'noderole_commit', 'noderole', 5, '{"data_from":[0,3],"member_from":[0,3],"since":[1795104510811,1795104510823],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (59, 0, 1795104510831, 'user admin', 'node_create', 'node', 8, '{"alive_since":[null,1795104510831],"available_since":[null,1795104510831],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:01"]}],"name":[null,"m1.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (60, 0, 1795104510839, 'user admin', 'network_allocate', 'network_allocation', 5, '{"address":[null,"198.51.100.14/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,8]}', '127.0.0.1');
INSERT INTO public.event VALUES (61, 0, 1795104510851, 'user admin', 'noderole_bind', 'noderole', 6, '{"deployment_id":[null,1],"node_id":[null,8],"order":[null,10000],"role_id":[null,9],"since":[null,1795104510851]}', '127.0.0.1');
INSERT INTO public.event VALUES (62, 0, 1795104510859, 'user admin', 'noderole_commit', 'noderole', 6, '{"data_from":[0,4],"member_from":[0,4],"since":[1795104510851,1795104510859],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (63, 0, 1795104510863, 'user admin', 'node_update', 'node', 8, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (64, 0, 1795104510871, 'user admin', 'node_create', 'node', 9, '{"alive_since":[null,1795104510871],"available_since":[null,1795104510871],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:02"]}],"name":[null,"m2.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (65, 0, 1795104510882, 'user admin', 'network_allocate', 'network_allocation', 6, '{"address":[null,"198.51.100.15/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,9]}', '127.0.0.1');
INSERT INTO public.event VALUES (66, 0, 1795104510899, 'user admin', 'noderole_bind', 'noderole', 7, '{"deployment_id":[null,1],"node_id":[null,9],"order":[null,10000],"role_id":[null,9],"since":[null,1795104510899]}', '127.0.0.1');
INSERT INTO public.event VALUES (67, 0, 1795104510910, 'user admin', 'noderole_commit', 'noderole', 7, '{"data_from":[0,5],"member_from":[0,5],"since":[1795104510899,1795104510910],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (68, 0, 1795104510927, 'user admin', 'node_update', 'node', 9, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (69, 0, 1795104510931, 'user admin', 'node_update', 'node', 9, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (70, 0, 1795104510935, 'user admin', 'node_create', 'node', 10, '{"alive_since":[null,1795104510935],"available_since":[null,1795104510935],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:03"]}],"name":[null,"m3.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (71, 0, 1795104510957, 'user admin', 'network_allocate', 'network_allocation', 7, '{"address":[null,"198.51.100.16/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,10]}', '127.0.0.1');
INSERT INTO public.event VALUES (72, 0, 1795104510971, 'user admin', 'noderole_bind', 'noderole', 8, '{"deployment_id":[null,1],"node_id":[null,10],"order":[null,10000],"role_id":[null,9],"since":[null,1795104510971]}', '127.0.0.1');
INSERT INTO public.event VALUES (73, 0, 1795104510979, 'user admin', 'noderole_commit', 'noderole', 8, '{"data_from":[0,6],"member_from":[0,6],"since":[1795104510971,1795104510979],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (74, 0, 1795104510996, 'user admin', 'node_update', 'node', 10, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (75, 0, 1795104510999, 'user admin', 'node_update', 'node', 10, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (76, 0, 1795104511011, 'user admin', 'node_update', 'node', 10, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (77, 0, 1795104511030, 'user admin', 'node_create', 'node', 11, '{"alive_since":[null,1795104511030],"available_since":[null,1795104511030],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:04"]}],"name":[null,"m4.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (78, 0, 1795104511039, 'user admin', 'network_allocate', 'network_allocation', 8, '{"address":[null,"198.51.100.17/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,11]}', '127.0.0.1');
INSERT INTO public.event VALUES (79, 0, 1795104511047, 'user admin', 'noderole_bind', 'noderole', 9, '{"deployment_id":[null,1],"node_id":[null,11],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511047]}', '127.0.0.1');
INSERT INTO public.event VALUES (80, 0, 1795104511055, 'user admin', 'noderole_commit', 'noderole', 9, '{"data_from":[0,7],"member_from":[0,7],"since":[1795104511047,1795104511055],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (81, 0, 1795104511056, 'user admin', 'node_create', 'node', 12, '{"alive_since":[null,1795104511056],"available_since":[null,1795104511056],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:05"]}],"name":[null,"m5.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (82, 0, 1795104511065, 'user admin', 'network_allocate', 'network_allocation', 9, '{"address":[null,"198.51.100.18/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,12]}', '127.0.0.1');
INSERT INTO public.event VALUES (83, 0, 1795104511079, 'user admin', 'noderole_bind', 'noderole', 10, '{"deployment_id":[null,1],"node_id":[null,12],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511079]}', '127.0.0.1');
INSERT INTO public.event VALUES (84, 0, 1795104511087, 'user admin', 'noderole_commit', 'noderole', 10, '{"data_from":[0,8],"member_from":[0,8],"since":[1795104511079,1795104511087],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (85, 0, 1795104511092, 'user admin', 'node_update', 'node', 12, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (86, 0, 1795104511095, 'user admin', 'node_create', 'node', 13, '{"alive_since":[null,1795104511095],"available_since":[null,1795104511095],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:06"]}],"name":[null,"m6.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (87, 0, 1795104511118, 'user admin', 'network_allocate', 'network_allocation', 10, '{"address":[null,"198.51.100.19/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,13]}', '127.0.0.1');
INSERT INTO public.event VALUES (88, 0, 1795104511119, 'user admin', 'noderole_bind', 'noderole', 11, '{"deployment_id":[null,1],"node_id":[null,13],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511119]}', '127.0.0.1');
INSERT INTO public.event VALUES (89, 0, 1795104511131, 'user admin', 'noderole_commit', 'noderole', 11, '{"data_from":[0,9],"member_from":[0,9],"since":[1795104511119,1795104511131],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (90, 0, 1795104511138, 'user admin', 'node_update', 'node', 13, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (91, 0, 1795104511151, 'user admin', 'node_update', 'node', 13, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (92, 0, 1795104511161, 'user admin', 'node_create', 'node', 14, '{"alive_since":[null,1795104511161],"available_since":[null,1795104511161],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:07"]}],"name":[null,"m7.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (93, 0, 1795104511172, 'user admin', 'network_allocate', 'network_allocation', 11, '{"address":[null,"198.51.100.20/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,14]}', '127.0.0.1');
INSERT INTO public.event VALUES (94, 0, 1795104511175, 'user admin', 'noderole_bind', 'noderole', 12, '{"deployment_id":[null,1],"node_id":[null,14],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511175]}', '127.0.0.1');
INSERT INTO public.event VALUES (95, 0, 1795104511187, 'user admin', 'noderole_commit', 'noderole', 12, '{"data_from":[0,10],"member_from":[0,10],"since":[1795104511175,1795104511187],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (96, 0, 1795104511198, 'user admin', 'node_update', 'node', 14, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (97, 0, 1795104511211, 'user admin', 'node_update', 'node', 14, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (98, 0, 1795104511226, 'user admin', 'node_update', 'node', 14, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (99, 0, 1795104511239, 'user admin', 'node_create', 'node', 15, '{"alive_since":[null,1795104511239],"available_since":[null,1795104511239],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:08"]}],"name":[null,"m8.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (100, 0, 1795104511251, 'user admin', 'network_allocate', 'network_allocation', 12, '{"address":[null,"198.51.100.21/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,15]}', '127.0.0.1');
INSERT INTO public.event VALUES (101, 0, 1795104511258, 'user admin', 'noderole_bind', 'noderole', 13, '{"deployment_id":[null,1],"node_id":[null,15],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511258]}', '127.0.0.1');
INSERT INTO public.event VALUES (102, 0, 1795104511267, 'user admin', 'noderole_commit', 'noderole', 13, '{"data_from":[0,11],"member_from":[0,11],"since":[1795104511258,1795104511267],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (103, 0, 1795104511282, 'user admin', 'node_create', 'node', 16, '{"alive_since":[null,1795104511282],"available_since":[null,1795104511282],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:09"]}],"name":[null,"m9.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (104, 0, 1795104511307, 'user admin', 'network_allocate', 'network_allocation', 13, '{"address":[null,"198.51.100.22/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,16]}', '127.0.0.1');
INSERT INTO public.event VALUES (105, 0, 1795104511331, 'user admin', 'noderole_bind', 'noderole', 14, '{"deployment_id":[null,1],"node_id":[null,16],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511331]}', '127.0.0.1');
INSERT INTO public.event VALUES (106, 0, 1795104511332, 'user admin', 'noderole_commit', 'noderole', 14, '{"data_from":[0,12],"member_from":[0,12],"since":[1795104511331,1795104511332],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (107, 0, 1795104511333, 'user admin', 'node_update', 'node', 16, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (108, 0, 1795104511339, 'user admin', 'node_create', 'node', 17, '{"alive_since":[null,1795104511339],"available_since":[null,1795104511339],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0a"]}],"name":[null,"m10.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (109, 0, 1795104511351, 'user admin', 'network_allocate', 'network_allocation', 14, '{"address":[null,"198.51.100.23/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,17]}', '127.0.0.1');
INSERT INTO public.event VALUES (110, 0, 1795104511363, 'user admin', 'noderole_bind', 'noderole', 15, '{"deployment_id":[null,1],"node_id":[null,17],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511363]}', '127.0.0.1');
INSERT INTO public.event VALUES (111, 0, 1795104511380, 'user admin', 'noderole_commit', 'noderole', 15, '{"data_from":[0,13],"member_from":[0,13],"since":[1795104511363,1795104511380],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (112, 0, 1795104511391, 'user admin', 'node_update', 'node', 17, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (113, 0, 1795104511392, 'user admin', 'node_update', 'node', 17, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (114, 0, 1795104511395, 'user admin', 'node_create', 'node', 18, '{"alive_since":[null,1795104511395],"available_since":[null,1795104511395],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0b"]}],"name":[null,"m11.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (115, 0, 1795104511405, 'user admin', 'network_allocate', 'network_allocation', 15, '{"address":[null,"198.51.100.24/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,18]}', '127.0.0.1');
INSERT INTO public.event VALUES (116, 0, 1795104511415, 'user admin', 'noderole_bind', 'noderole', 16, '{"deployment_id":[null,1],"node_id":[null,18],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511415]}', '127.0.0.1');
INSERT INTO public.event VALUES (117, 0, 1795104511416, 'user admin', 'noderole_commit', 'noderole', 16, '{"data_from":[0,14],"member_from":[0,14],"since":[1795104511415,1795104511416],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (118, 0, 1795104511425, 'user admin', 'node_update', 'node', 18, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (119, 0, 1795104511427, 'user admin', 'node_update', 'node', 18, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (120, 0, 1795104511443, 'user admin', 'node_update', 'node', 18, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (121, 0, 1795104511447, 'user admin', 'node_create', 'node', 19, '{"alive_since":[null,1795104511447],"available_since":[null,1795104511447],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0c"]}],"name":[null,"m12.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (122, 0, 1795104511456, 'user admin', 'network_allocate', 'network_allocation', 16, '{"address":[null,"198.51.100.25/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,19]}', '127.0.0.1');
INSERT INTO public.event VALUES (123, 0, 1795104511463, 'user admin', 'noderole_bind', 'noderole', 17, '{"deployment_id":[null,1],"node_id":[null,19],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511463]}', '127.0.0.1');
INSERT INTO public.event VALUES (124, 0, 1795104511479, 'user admin', 'noderole_commit', 'noderole', 17, '{"data_from":[0,15],"member_from":[0,15],"since":[1795104511463,1795104511479],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (125, 0, 1795104511491, 'user admin', 'node_create', 'node', 20, '{"alive_since":[null,1795104511491],"available_since":[null,1795104511491],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0d"]}],"name":[null,"m13.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (126, 0, 1795104511496, 'user admin', 'network_allocate', 'network_allocation', 17, '{"address":[null,"198.51.100.26/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,20]}', '127.0.0.1');
INSERT INTO public.event VALUES (127, 0, 1795104511499, 'user admin', 'noderole_bind', 'noderole', 18, '{"deployment_id":[null,1],"node_id":[null,20],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511499]}', '127.0.0.1');
INSERT INTO public.event VALUES (128, 0, 1795104511520, 'user admin', 'noderole_commit', 'noderole', 18, '{"data_from":[0,16],"member_from":[0,16],"since":[1795104511499,1795104511520],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (129, 0, 1795104511521, 'user admin', 'node_update', 'node', 20, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (130, 0, 1795104511530, 'user admin', 'node_create', 'node', 21, '{"alive_since":[null,1795104511530],"available_since":[null,1795104511530],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0e"]}],"name":[null,"m14.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (131, 0, 1795104511547, 'user admin', 'network_allocate', 'network_allocation', 18, '{"address":[null,"198.51.100.27/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,21]}', '127.0.0.1');
INSERT INTO public.event VALUES (132, 0, 1795104511548, 'user admin', 'noderole_bind', 'noderole', 19, '{"deployment_id":[null,1],"node_id":[null,21],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511548]}', '127.0.0.1');
INSERT INTO public.event VALUES (133, 0, 1795104511549, 'user admin', 'noderole_commit', 'noderole', 19, '{"data_from":[0,17],"member_from":[0,17],"since":[1795104511548,1795104511549],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (134, 0, 1795104511569, 'user admin', 'node_update', 'node', 21, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (135, 0, 1795104511571, 'user admin', 'node_update', 'node', 21, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (136, 0, 1795104511595, 'user admin', 'node_create', 'node', 22, '{"alive_since":[null,1795104511595],"available_since":[null,1795104511595],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:0f"]}],"name":[null,"m15.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (137, 0, 1795104511603, 'user admin', 'network_allocate', 'network_allocation', 19, '{"address":[null,"198.51.100.28/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,22]}', '127.0.0.1');
INSERT INTO public.event VALUES (138, 0, 1795104511611, 'user admin', 'noderole_bind', 'noderole', 20, '{"deployment_id":[null,1],"node_id":[null,22],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511611]}', '127.0.0.1');
INSERT INTO public.event VALUES (139, 0, 1795104511625, 'user admin', 'noderole_commit', 'noderole', 20, '{"data_from":[0,18],"member_from":[0,18],"since":[1795104511611,1795104511625],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (140, 0, 1795104511635, 'user admin', 'node_update', 'node', 22, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (141, 0, 1795104511643, 'user admin', 'node_update', 'node', 22, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (142, 0, 1795104511651, 'user admin', 'node_update', 'node', 22, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (143, 0, 1795104511667, 'user admin', 'node_create', 'node', 23, '{"alive_since":[null,1795104511667],"available_since":[null,1795104511667],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:10"]}],"name":[null,"m16.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (144, 0, 1795104511668, 'user admin', 'network_allocate', 'network_allocation', 20, '{"address":[null,"198.51.100.29/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,23]}', '127.0.0.1');
INSERT INTO public.event VALUES (145, 0, 1795104511684, 'user admin', 'noderole_bind', 'noderole', 21, '{"deployment_id":[null,1],"node_id":[null,23],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511684]}', '127.0.0.1');
INSERT INTO public.event VALUES (146, 0, 1795104511688, 'user admin', 'noderole_commit', 'noderole', 21, '{"data_from":[0,19],"member_from":[0,19],"since":[1795104511684,1795104511688],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (147, 0, 1795104511691, 'user admin', 'node_create', 'node', 24, '{"alive_since":[null,1795104511691],"available_since":[null,1795104511691],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:11"]}],"name":[null,"m17.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (148, 0, 1795104511710, 'user admin', 'network_allocate', 'network_allocation', 21, '{"address":[null,"198.51.100.30/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,24]}', '127.0.0.1');
INSERT INTO public.event VALUES (149, 0, 1795104511720, 'user admin', 'noderole_bind', 'noderole', 22, '{"deployment_id":[null,1],"node_id":[null,24],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511720]}', '127.0.0.1');
INSERT INTO public.event VALUES (150, 0, 1795104511739, 'user admin', 'noderole_commit', 'noderole', 22, '{"data_from":[0,20],"member_from":[0,20],"since":[1795104511720,1795104511739],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (151, 0, 1795104511752, 'user admin', 'node_update', 'node', 24, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (152, 0, 1795104511759, 'user admin', 'node_create', 'node', 25, '{"alive_since":[null,1795104511759],"available_since":[null,1795104511759],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:12"]}],"name":[null,"m18.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (153, 0, 1795104511774, 'user admin', 'network_allocate', 'network_allocation', 22, '{"address":[null,"198.51.100.31/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,25]}', '127.0.0.1');
INSERT INTO public.event VALUES (154, 0, 1795104511779, 'user admin', 'noderole_bind', 'noderole', 23, '{"deployment_id":[null,1],"node_id":[null,25],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511779]}', '127.0.0.1');
INSERT INTO public.event VALUES (155, 0, 1795104511791, 'user admin', 'noderole_commit', 'noderole', 23, '{"data_from":[0,21],"member_from":[0,21],"since":[1795104511779,1795104511791],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (156, 0, 1795104511808, 'user admin', 'node_update', 'node', 25, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (157, 0, 1795104511815, 'user admin', 'node_update', 'node', 25, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (158, 0, 1795104511827, 'user admin', 'node_create', 'node', 26, '{"alive_since":[null,1795104511827],"available_since":[null,1795104511827],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:13"]}],"name":[null,"m19.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (159, 0, 1795104511831, 'user admin', 'network_allocate', 'network_allocation', 23, '{"address":[null,"198.51.100.32/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,26]}', '127.0.0.1');
INSERT INTO public.event VALUES (160, 0, 1795104511843, 'user admin', 'noderole_bind', 'noderole', 24, '{"deployment_id":[null,1],"node_id":[null,26],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511843]}', '127.0.0.1');
INSERT INTO public.event VALUES (161, 0, 1795104511850, 'user admin', 'noderole_commit', 'noderole', 24, '{"data_from":[0,22],"member_from":[0,22],"since":[1795104511843,1795104511850],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (162, 0, 1795104511851, 'user admin', 'node_update', 'node', 26, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (163, 0, 1795104511852, 'user admin', 'node_update', 'node', 26, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (164, 0, 1795104511853, 'user admin', 'node_update', 'node', 26, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (165, 0, 1795104511853, 'user admin', 'node_create', 'node', 27, '{"alive_since":[null,1795104511853],"available_since":[null,1795104511853],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:14"]}],"name":[null,"m20.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (166, 0, 1795104511854, 'user admin', 'network_allocate', 'network_allocation', 24, '{"address":[null,"198.51.100.33/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,27]}', '127.0.0.1');
INSERT INTO public.event VALUES (167, 0, 1795104511860, 'user admin', 'noderole_bind', 'noderole', 25, '{"deployment_id":[null,1],"node_id":[null,27],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511860]}', '127.0.0.1');
INSERT INTO public.event VALUES (168, 0, 1795104511867, 'user admin', 'noderole_commit', 'noderole', 25, '{"data_from":[0,23],"member_from":[0,23],"since":[1795104511860,1795104511867],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (203, 0, 1795104512119, 'user admin', 'network_allocate', 'network_allocation', 31, '{"address":[null,"198.51.100.40/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,34]}', '127.0.0.1');
INSERT INTO public.event VALUES (169, 0, 1795104511868, 'user admin', 'node_create', 'node', 28, '{"alive_since":[null,1795104511868],"available_since":[null,1795104511868],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:15"]}],"name":[null,"m21.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (170, 0, 1795104511869, 'user admin', 'network_allocate', 'network_allocation', 25, '{"address":[null,"198.51.100.34/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,28]}', '127.0.0.1');
INSERT INTO public.event VALUES (171, 0, 1795104511869, 'user admin', 'noderole_bind', 'noderole', 26, '{"deployment_id":[null,1],"node_id":[null,28],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511869]}', '127.0.0.1');
INSERT INTO public.event VALUES (172, 0, 1795104511870, 'user admin', 'noderole_commit', 'noderole', 26, '{"data_from":[0,24],"member_from":[0,24],"since":[1795104511869,1795104511870],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (173, 0, 1795104511871, 'user admin', 'node_update', 'node', 28, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (174, 0, 1795104511879, 'user admin', 'node_create', 'node', 29, '{"alive_since":[null,1795104511879],"available_since":[null,1795104511879],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:16"]}],"name":[null,"m22.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (175, 0, 1795104511891, 'user admin', 'network_allocate', 'network_allocation', 26, '{"address":[null,"198.51.100.35/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,29]}', '127.0.0.1');
INSERT INTO public.event VALUES (176, 0, 1795104511895, 'user admin', 'noderole_bind', 'noderole', 27, '{"deployment_id":[null,1],"node_id":[null,29],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511895]}', '127.0.0.1');
INSERT INTO public.event VALUES (177, 0, 1795104511906, 'user admin', 'noderole_commit', 'noderole', 27, '{"data_from":[0,25],"member_from":[0,25],"since":[1795104511895,1795104511906],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (178, 0, 1795104511915, 'user admin', 'node_update', 'node', 29, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (179, 0, 1795104511924, 'user admin', 'node_update', 'node', 29, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (180, 0, 1795104511931, 'user admin', 'node_create', 'node', 30, '{"alive_since":[null,1795104511931],"available_since":[null,1795104511931],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:17"]}],"name":[null,"m23.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (181, 0, 1795104511947, 'user admin', 'network_allocate', 'network_allocation', 27, '{"address":[null,"198.51.100.36/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,30]}', '127.0.0.1');
INSERT INTO public.event VALUES (182, 0, 1795104511951, 'user admin', 'noderole_bind', 'noderole', 28, '{"deployment_id":[null,1],"node_id":[null,30],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511951]}', '127.0.0.1');
INSERT INTO public.event VALUES (183, 0, 1795104511966, 'user admin', 'noderole_commit', 'noderole', 28, '{"data_from":[0,26],"member_from":[0,26],"since":[1795104511951,1795104511966],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (184, 0, 1795104511967, 'user admin', 'node_update', 'node', 30, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (185, 0, 1795104511973, 'user admin', 'node_update', 'node', 30, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (186, 0, 1795104511978, 'user admin', 'node_update', 'node', 30, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (187, 0, 1795104511997, 'user admin', 'node_create', 'node', 31, '{"alive_since":[null,1795104511997],"available_since":[null,1795104511997],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:18"]}],"name":[null,"m24.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (188, 0, 1795104511998, 'user admin', 'network_allocate', 'network_allocation', 28, '{"address":[null,"198.51.100.37/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,31]}', '127.0.0.1');
INSERT INTO public.event VALUES (189, 0, 1795104511999, 'user admin', 'noderole_bind', 'noderole', 29, '{"deployment_id":[null,1],"node_id":[null,31],"order":[null,10000],"role_id":[null,9],"since":[null,1795104511999]}', '127.0.0.1');
INSERT INTO public.event VALUES (190, 0, 1795104512001, 'user admin', 'noderole_commit', 'noderole', 29, '{"data_from":[0,27],"member_from":[0,27],"since":[1795104511999,1795104512001],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (191, 0, 1795104512011, 'user admin', 'node_create', 'node', 32, '{"alive_since":[null,1795104512011],"available_since":[null,1795104512011],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:19"]}],"name":[null,"m25.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (192, 0, 1795104512022, 'user admin', 'network_allocate', 'network_allocation', 29, '{"address":[null,"198.51.100.38/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,32]}', '127.0.0.1');
INSERT INTO public.event VALUES (193, 0, 1795104512039, 'user admin', 'noderole_bind', 'noderole', 30, '{"deployment_id":[null,1],"node_id":[null,32],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512039]}', '127.0.0.1');
INSERT INTO public.event VALUES (194, 0, 1795104512044, 'user admin', 'noderole_commit', 'noderole', 30, '{"data_from":[0,28],"member_from":[0,28],"since":[1795104512039,1795104512044],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (195, 0, 1795104512048, 'user admin', 'node_update', 'node', 32, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (196, 0, 1795104512058, 'user admin', 'node_create', 'node', 33, '{"alive_since":[null,1795104512058],"available_since":[null,1795104512058],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1a"]}],"name":[null,"m26.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (197, 0, 1795104512067, 'user admin', 'network_allocate', 'network_allocation', 30, '{"address":[null,"198.51.100.39/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,33]}', '127.0.0.1');
INSERT INTO public.event VALUES (198, 0, 1795104512068, 'user admin', 'noderole_bind', 'noderole', 31, '{"deployment_id":[null,1],"node_id":[null,33],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512068]}', '127.0.0.1');
INSERT INTO public.event VALUES (199, 0, 1795104512091, 'user admin', 'noderole_commit', 'noderole', 31, '{"data_from":[0,29],"member_from":[0,29],"since":[1795104512068,1795104512091],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (200, 0, 1795104512103, 'user admin', 'node_update', 'node', 33, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (201, 0, 1795104512105, 'user admin', 'node_update', 'node', 33, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (202, 0, 1795104512109, 'user admin', 'node_create', 'node', 34, '{"alive_since":[null,1795104512109],"available_since":[null,1795104512109],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1b"]}],"name":[null,"m27.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (239, 0, 1795104512507, 'user admin', 'node_update', 'node', 40, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (204, 0, 1795104512131, 'user admin', 'noderole_bind', 'noderole', 32, '{"deployment_id":[null,1],"node_id":[null,34],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512131]}', '127.0.0.1');
INSERT INTO public.event VALUES (205, 0, 1795104512145, 'user admin', 'noderole_commit', 'noderole', 32, '{"data_from":[0,30],"member_from":[0,30],"since":[1795104512131,1795104512145],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (206, 0, 1795104512163, 'user admin', 'node_update', 'node', 34, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (207, 0, 1795104512172, 'user admin', 'node_update', 'node', 34, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (208, 0, 1795104512183, 'user admin', 'node_update', 'node', 34, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (209, 0, 1795104512199, 'user admin', 'node_create', 'node', 35, '{"alive_since":[null,1795104512199],"available_since":[null,1795104512199],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1c"]}],"name":[null,"m28.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (210, 0, 1795104512207, 'user admin', 'network_allocate', 'network_allocation', 32, '{"address":[null,"198.51.100.41/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,35]}', '127.0.0.1');
INSERT INTO public.event VALUES (211, 0, 1795104512223, 'user admin', 'noderole_bind', 'noderole', 33, '{"deployment_id":[null,1],"node_id":[null,35],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512223]}', '127.0.0.1');
INSERT INTO public.event VALUES (212, 0, 1795104512224, 'user admin', 'noderole_commit', 'noderole', 33, '{"data_from":[0,31],"member_from":[0,31],"since":[1795104512223,1795104512224],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (213, 0, 1795104512235, 'user admin', 'node_create', 'node', 36, '{"alive_since":[null,1795104512235],"available_since":[null,1795104512235],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1d"]}],"name":[null,"m29.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (214, 0, 1795104512238, 'user admin', 'network_allocate', 'network_allocation', 33, '{"address":[null,"198.51.100.42/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,36]}', '127.0.0.1');
INSERT INTO public.event VALUES (215, 0, 1795104512251, 'user admin', 'noderole_bind', 'noderole', 34, '{"deployment_id":[null,1],"node_id":[null,36],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512251]}', '127.0.0.1');
INSERT INTO public.event VALUES (216, 0, 1795104512263, 'user admin', 'noderole_commit', 'noderole', 34, '{"data_from":[0,32],"member_from":[0,32],"since":[1795104512251,1795104512263],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (217, 0, 1795104512278, 'user admin', 'node_update', 'node', 36, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (218, 0, 1795104512287, 'user admin', 'node_create', 'node', 37, '{"alive_since":[null,1795104512287],"available_since":[null,1795104512287],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1e"]}],"name":[null,"m30.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (219, 0, 1795104512287, 'user admin', 'network_allocate', 'network_allocation', 34, '{"address":[null,"198.51.100.43/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,37]}', '127.0.0.1');
INSERT INTO public.event VALUES (220, 0, 1795104512297, 'user admin', 'noderole_bind', 'noderole', 35, '{"deployment_id":[null,1],"node_id":[null,37],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512297]}', '127.0.0.1');
INSERT INTO public.event VALUES (221, 0, 1795104512311, 'user admin', 'noderole_commit', 'noderole', 35, '{"data_from":[0,33],"member_from":[0,33],"since":[1795104512297,1795104512311],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (222, 0, 1795104512335, 'user admin', 'node_update', 'node', 37, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (223, 0, 1795104512355, 'user admin', 'node_update', 'node', 37, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (224, 0, 1795104512357, 'user admin', 'node_create', 'node', 38, '{"alive_since":[null,1795104512357],"available_since":[null,1795104512357],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:1f"]}],"name":[null,"m31.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (225, 0, 1795104512358, 'user admin', 'network_allocate', 'network_allocation', 35, '{"address":[null,"198.51.100.44/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,38]}', '127.0.0.1');
INSERT INTO public.event VALUES (226, 0, 1795104512360, 'user admin', 'noderole_bind', 'noderole', 36, '{"deployment_id":[null,1],"node_id":[null,38],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512360]}', '127.0.0.1');
INSERT INTO public.event VALUES (227, 0, 1795104512371, 'user admin', 'noderole_commit', 'noderole', 36, '{"data_from":[0,34],"member_from":[0,34],"since":[1795104512360,1795104512371],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (228, 0, 1795104512387, 'user admin', 'node_update', 'node', 38, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (229, 0, 1795104512395, 'user admin', 'node_update', 'node', 38, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (230, 0, 1795104512403, 'user admin', 'node_update', 'node', 38, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (231, 0, 1795104512412, 'user admin', 'node_create', 'node', 39, '{"alive_since":[null,1795104512412],"available_since":[null,1795104512412],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:20"]}],"name":[null,"m32.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (232, 0, 1795104512429, 'user admin', 'network_allocate', 'network_allocation', 36, '{"address":[null,"198.51.100.45/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,39]}', '127.0.0.1');
INSERT INTO public.event VALUES (233, 0, 1795104512447, 'user admin', 'noderole_bind', 'noderole', 37, '{"deployment_id":[null,1],"node_id":[null,39],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512447]}', '127.0.0.1');
INSERT INTO public.event VALUES (234, 0, 1795104512451, 'user admin', 'noderole_commit', 'noderole', 37, '{"data_from":[0,35],"member_from":[0,35],"since":[1795104512447,1795104512451],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (235, 0, 1795104512471, 'user admin', 'node_create', 'node', 40, '{"alive_since":[null,1795104512471],"available_since":[null,1795104512471],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:21"]}],"name":[null,"m33.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (236, 0, 1795104512483, 'user admin', 'network_allocate', 'network_allocation', 37, '{"address":[null,"198.51.100.46/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,40]}', '127.0.0.1');
INSERT INTO public.event VALUES (237, 0, 1795104512487, 'user admin', 'noderole_bind', 'noderole', 38, '{"deployment_id":[null,1],"node_id":[null,40],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512487]}', '127.0.0.1');
INSERT INTO public.event VALUES (238, 0, 1795104512503, 'user admin', 'noderole_commit', 'noderole', 38, '{"data_from":[0,36],"member_from":[0,36],"since":[1795104512487,1795104512503],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (240, 0, 1795104512510, 'user admin', 'node_create', 'node', 41, '{"alive_since":[null,1795104512510],"available_since":[null,1795104512510],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:22"]}],"name":[null,"m34.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (241, 0, 1795104512511, 'user admin', 'network_allocate', 'network_allocation', 38, '{"address":[null,"198.51.100.47/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,41]}', '127.0.0.1');
INSERT INTO public.event VALUES (242, 0, 1795104512515, 'user admin', 'noderole_bind', 'noderole', 39, '{"deployment_id":[null,1],"node_id":[null,41],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512515]}', '127.0.0.1');
INSERT INTO public.event VALUES (243, 0, 1795104512516, 'user admin', 'noderole_commit', 'noderole', 39, '{"data_from":[0,37],"member_from":[0,37],"since":[1795104512515,1795104512516],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (244, 0, 1795104512523, 'user admin', 'node_update', 'node', 41, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (245, 0, 1795104512530, 'user admin', 'node_update', 'node', 41, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (246, 0, 1795104512532, 'user admin', 'node_create', 'node', 42, '{"alive_since":[null,1795104512532],"available_since":[null,1795104512532],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:23"]}],"name":[null,"m35.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (247, 0, 1795104512537, 'user admin', 'network_allocate', 'network_allocation', 39, '{"address":[null,"198.51.100.48/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,42]}', '127.0.0.1');
INSERT INTO public.event VALUES (248, 0, 1795104512539, 'user admin', 'noderole_bind', 'noderole', 40, '{"deployment_id":[null,1],"node_id":[null,42],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512539]}', '127.0.0.1');
INSERT INTO public.event VALUES (249, 0, 1795104512543, 'user admin', 'noderole_commit', 'noderole', 40, '{"data_from":[0,38],"member_from":[0,38],"since":[1795104512539,1795104512543],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (250, 0, 1795104512547, 'user admin', 'node_update', 'node', 42, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (251, 0, 1795104512549, 'user admin', 'node_update', 'node', 42, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (252, 0, 1795104512555, 'user admin', 'node_update', 'node', 42, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (253, 0, 1795104512557, 'user admin', 'node_create', 'node', 43, '{"alive_since":[null,1795104512557],"available_since":[null,1795104512557],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:24"]}],"name":[null,"m36.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (254, 0, 1795104512559, 'user admin', 'network_allocate', 'network_allocation', 40, '{"address":[null,"198.51.100.49/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,43]}', '127.0.0.1');
INSERT INTO public.event VALUES (255, 0, 1795104512561, 'user admin', 'noderole_bind', 'noderole', 41, '{"deployment_id":[null,1],"node_id":[null,43],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512561]}', '127.0.0.1');
INSERT INTO public.event VALUES (256, 0, 1795104512563, 'user admin', 'noderole_commit', 'noderole', 41, '{"data_from":[0,39],"member_from":[0,39],"since":[1795104512561,1795104512563],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (257, 0, 1795104512565, 'user admin', 'node_create', 'node', 44, '{"alive_since":[null,1795104512565],"available_since":[null,1795104512565],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:25"]}],"name":[null,"m37.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (258, 0, 1795104512571, 'user admin', 'network_allocate', 'network_allocation', 41, '{"address":[null,"198.51.100.50/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,44]}', '127.0.0.1');
INSERT INTO public.event VALUES (259, 0, 1795104512573, 'user admin', 'noderole_bind', 'noderole', 42, '{"deployment_id":[null,1],"node_id":[null,44],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512573]}', '127.0.0.1');
INSERT INTO public.event VALUES (260, 0, 1795104512575, 'user admin', 'noderole_commit', 'noderole', 42, '{"data_from":[0,40],"member_from":[0,40],"since":[1795104512573,1795104512575],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (261, 0, 1795104512579, 'user admin', 'node_update', 'node', 44, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (262, 0, 1795104512581, 'user admin', 'node_create', 'node', 45, '{"alive_since":[null,1795104512581],"available_since":[null,1795104512581],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:26"]}],"name":[null,"m38.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (263, 0, 1795104512583, 'user admin', 'network_allocate', 'network_allocation', 42, '{"address":[null,"198.51.100.51/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,45]}', '127.0.0.1');
INSERT INTO public.event VALUES (264, 0, 1795104512587, 'user admin', 'noderole_bind', 'noderole', 43, '{"deployment_id":[null,1],"node_id":[null,45],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512587]}', '127.0.0.1');
INSERT INTO public.event VALUES (265, 0, 1795104512595, 'user admin', 'noderole_commit', 'noderole', 43, '{"data_from":[0,41],"member_from":[0,41],"since":[1795104512587,1795104512595],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (266, 0, 1795104512602, 'user admin', 'node_update', 'node', 45, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (267, 0, 1795104512611, 'user admin', 'node_update', 'node', 45, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (268, 0, 1795104512614, 'user admin', 'node_create', 'node', 46, '{"alive_since":[null,1795104512614],"available_since":[null,1795104512614],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:27"]}],"name":[null,"m39.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (269, 0, 1795104512615, 'user admin', 'network_allocate', 'network_allocation', 43, '{"address":[null,"198.51.100.52/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,46]}', '127.0.0.1');
INSERT INTO public.event VALUES (270, 0, 1795104512618, 'user admin', 'noderole_bind', 'noderole', 44, '{"deployment_id":[null,1],"node_id":[null,46],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512618]}', '127.0.0.1');
INSERT INTO public.event VALUES (271, 0, 1795104512621, 'user admin', 'noderole_commit', 'noderole', 44, '{"data_from":[0,42],"member_from":[0,42],"since":[1795104512618,1795104512621],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (272, 0, 1795104512631, 'user admin', 'node_update', 'node', 46, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (273, 0, 1795104512639, 'user admin', 'node_update', 'node', 46, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (274, 0, 1795104512647, 'user admin', 'node_update', 'node', 46, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (275, 0, 1795104512651, 'user admin', 'node_create', 'node', 47, '{"alive_since":[null,1795104512651],"available_since":[null,1795104512651],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:28"]}],"name":[null,"m40.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (276, 0, 1795104512657, 'user admin', 'network_allocate', 'network_allocation', 44, '{"address":[null,"198.51.100.53/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,47]}', '127.0.0.1');
INSERT INTO public.event VALUES (277, 0, 1795104512663, 'user admin', 'noderole_bind', 'noderole', 45, '{"deployment_id":[null,1],"node_id":[null,47],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512663]}', '127.0.0.1');
INSERT INTO public.event VALUES (278, 0, 1795104512664, 'user admin', 'noderole_commit', 'noderole', 45, '{"data_from":[0,43],"member_from":[0,43],"since":[1795104512663,1795104512664],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (279, 0, 1795104512664, 'user admin', 'node_create', 'node', 48, '{"alive_since":[null,1795104512664],"available_since":[null,1795104512664],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:29"]}],"name":[null,"m41.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (280, 0, 1795104512675, 'user admin', 'network_allocate', 'network_allocation', 45, '{"address":[null,"198.51.100.54/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,48]}', '127.0.0.1');
INSERT INTO public.event VALUES (281, 0, 1795104512679, 'user admin', 'noderole_bind', 'noderole', 46, '{"deployment_id":[null,1],"node_id":[null,48],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512679]}', '127.0.0.1');
INSERT INTO public.event VALUES (282, 0, 1795104512686, 'user admin', 'noderole_commit', 'noderole', 46, '{"data_from":[0,44],"member_from":[0,44],"since":[1795104512679,1795104512686],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (283, 0, 1795104512689, 'user admin', 'node_update', 'node', 48, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (284, 0, 1795104512702, 'user admin', 'node_create', 'node', 49, '{"alive_since":[null,1795104512702],"available_since":[null,1795104512702],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2a"]}],"name":[null,"m42.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (285, 0, 1795104512707, 'user admin', 'network_allocate', 'network_allocation', 46, '{"address":[null,"198.51.100.55/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,49]}', '127.0.0.1');
INSERT INTO public.event VALUES (286, 0, 1795104512709, 'user admin', 'noderole_bind', 'noderole', 47, '{"deployment_id":[null,1],"node_id":[null,49],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512709]}', '127.0.0.1');
INSERT INTO public.event VALUES (287, 0, 1795104512719, 'user admin', 'noderole_commit', 'noderole', 47, '{"data_from":[0,45],"member_from":[0,45],"since":[1795104512709,1795104512719],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (288, 0, 1795104512722, 'user admin', 'node_update', 'node', 49, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (289, 0, 1795104512731, 'user admin', 'node_update', 'node', 49, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (290, 0, 1795104512735, 'user admin', 'node_create', 'node', 50, '{"alive_since":[null,1795104512735],"available_since":[null,1795104512735],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2b"]}],"name":[null,"m43.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (291, 0, 1795104512745, 'user admin', 'network_allocate', 'network_allocation', 47, '{"address":[null,"198.51.100.56/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,50]}', '127.0.0.1');
INSERT INTO public.event VALUES (292, 0, 1795104512747, 'user admin', 'noderole_bind', 'noderole', 48, '{"deployment_id":[null,1],"node_id":[null,50],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512747]}', '127.0.0.1');
INSERT INTO public.event VALUES (293, 0, 1795104512759, 'user admin', 'noderole_commit', 'noderole', 48, '{"data_from":[0,46],"member_from":[0,46],"since":[1795104512747,1795104512759],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (294, 0, 1795104512761, 'user admin', 'node_update', 'node', 50, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (295, 0, 1795104512765, 'user admin', 'node_update', 'node', 50, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (296, 0, 1795104512767, 'user admin', 'node_update', 'node', 50, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (297, 0, 1795104512779, 'user admin', 'node_create', 'node', 51, '{"alive_since":[null,1795104512779],"available_since":[null,1795104512779],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2c"]}],"name":[null,"m44.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (298, 0, 1795104512785, 'user admin', 'network_allocate', 'network_allocation', 48, '{"address":[null,"198.51.100.57/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,51]}', '127.0.0.1');
INSERT INTO public.event VALUES (299, 0, 1795104512787, 'user admin', 'noderole_bind', 'noderole', 49, '{"deployment_id":[null,1],"node_id":[null,51],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512787]}', '127.0.0.1');
INSERT INTO public.event VALUES (300, 0, 1795104512789, 'user admin', 'noderole_commit', 'noderole', 49, '{"data_from":[0,47],"member_from":[0,47],"since":[1795104512787,1795104512789],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (301, 0, 1795104512791, 'user admin', 'node_create', 'node', 52, '{"alive_since":[null,1795104512791],"available_since":[null,1795104512791],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2d"]}],"name":[null,"m45.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (302, 0, 1795104512805, 'user admin', 'network_allocate', 'network_allocation', 49, '{"address":[null,"198.51.100.58/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,52]}', '127.0.0.1');
INSERT INTO public.event VALUES (303, 0, 1795104512809, 'user admin', 'noderole_bind', 'noderole', 50, '{"deployment_id":[null,1],"node_id":[null,52],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512809]}', '127.0.0.1');
INSERT INTO public.event VALUES (304, 0, 1795104512815, 'user admin', 'noderole_commit', 'noderole', 50, '{"data_from":[0,48],"member_from":[0,48],"since":[1795104512809,1795104512815],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (305, 0, 1795104512821, 'user admin', 'node_update', 'node', 52, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (306, 0, 1795104512827, 'user admin', 'node_create', 'node', 53, '{"alive_since":[null,1795104512827],"available_since":[null,1795104512827],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2e"]}],"name":[null,"m46.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (307, 0, 1795104512835, 'user admin', 'network_allocate', 'network_allocation', 50, '{"address":[null,"198.51.100.59/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,53]}', '127.0.0.1');
INSERT INTO public.event VALUES (308, 0, 1795104512843, 'user admin', 'noderole_bind', 'noderole', 51, '{"deployment_id":[null,1],"node_id":[null,53],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512843]}', '127.0.0.1');
INSERT INTO public.event VALUES (309, 0, 1795104512849, 'user admin', 'noderole_commit', 'noderole', 51, '{"data_from":[0,49],"member_from":[0,49],"since":[1795104512843,1795104512849],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (310, 0, 1795104512859, 'user admin', 'node_update', 'node', 53, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (311, 0, 1795104512869, 'user admin', 'node_update', 'node', 53, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (312, 0, 1795104512871, 'user admin', 'node_create', 'node', 54, '{"alive_since":[null,1795104512871],"available_since":[null,1795104512871],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:2f"]}],"name":[null,"m47.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (313, 0, 1795104512875, 'user admin', 'network_allocate', 'network_allocation', 51, '{"address":[null,"198.51.100.60/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,54]}', '127.0.0.1');
INSERT INTO public.event VALUES (314, 0, 1795104512883, 'user admin', 'noderole_bind', 'noderole', 52, '{"deployment_id":[null,1],"node_id":[null,54],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512883]}', '127.0.0.1');
INSERT INTO public.event VALUES (315, 0, 1795104512891, 'user admin', 'noderole_commit', 'noderole', 52, '{"data_from":[0,50],"member_from":[0,50],"since":[1795104512883,1795104512891],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (316, 0, 1795104512904, 'user admin', 'node_update', 'node', 54, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (317, 0, 1795104512905, 'user admin', 'node_update', 'node', 54, '{"boot_generation":[1,2],"bootenv":["local","upgrade-install"]}', '127.0.0.1');
INSERT INTO public.event VALUES (318, 0, 1795104512911, 'user admin', 'node_update', 'node', 54, '{"boot_generation":[2,3],"bootenv":["upgrade-install","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (319, 0, 1795104512917, 'user admin', 'node_create', 'node', 55, '{"alive_since":[null,1795104512917],"available_since":[null,1795104512917],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:30"]}],"name":[null,"m48.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (320, 0, 1795104512926, 'user admin', 'network_allocate', 'network_allocation', 52, '{"address":[null,"198.51.100.61/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,55]}', '127.0.0.1');
INSERT INTO public.event VALUES (321, 0, 1795104512935, 'user admin', 'noderole_bind', 'noderole', 53, '{"deployment_id":[null,1],"node_id":[null,55],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512935]}', '127.0.0.1');
INSERT INTO public.event VALUES (322, 0, 1795104512939, 'user admin', 'noderole_commit', 'noderole', 53, '{"data_from":[0,51],"member_from":[0,51],"since":[1795104512935,1795104512939],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (323, 0, 1795104512944, 'user admin', 'node_create', 'node', 56, '{"alive_since":[null,1795104512944],"available_since":[null,1795104512944],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:00:00:31"]}],"name":[null,"m49.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (324, 0, 1795104512954, 'user admin', 'network_allocate', 'network_allocation', 53, '{"address":[null,"198.51.100.62/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,56]}', '127.0.0.1');
INSERT INTO public.event VALUES (325, 0, 1795104512967, 'user admin', 'noderole_bind', 'noderole', 54, '{"deployment_id":[null,1],"node_id":[null,56],"order":[null,10000],"role_id":[null,9],"since":[null,1795104512967]}', '127.0.0.1');
INSERT INTO public.event VALUES (326, 0, 1795104512968, 'user admin', 'noderole_commit', 'noderole', 54, '{"data_from":[0,52],"member_from":[0,52],"since":[1795104512967,1795104512968],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (327, 0, 1795104512975, 'user admin', 'node_update', 'node', 56, '{"boot_generation":[0,1],"bootenv":["sledgehammer","local"]}', '127.0.0.1');
INSERT INTO public.event VALUES (328, 0, 1795104512983, 'user admin', 'noderole_bind', 'noderole', 55, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,10],"since":[null,1795104512983]}', '127.0.0.1');
INSERT INTO public.event VALUES (329, 0, 1795104512995, 'user admin', 'noderole_commit', 'noderole', 55, '{"data_from":[0,53],"member_from":[0,53],"since":[1795104512983,1795104512995],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (329, 1, 1795104512995, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[55]},"run":{"count":1,"ids":[5]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (330, 0, 1795104513027, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (331, 0, 1795104513151, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[55]},"outbox":{"count":1,"ids":[4]},"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (332, 0, 1795104513155, 'engine', 'anneal', '', 0, '{"node":{"count":37,"ids":[8,9,10,12,13,14,16,17,18,20,21,22,24,25,26,28,29,30,32,33,34,36,37,38,40,41,42,44,45,46,48,49,50,52,53,54,56]},"outbox":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (333, 0, 1795104513170, 'user admin', 'noderole_bind', 'noderole', 56, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,3],"since":[null,1795104513170]}', '127.0.0.1');
INSERT INTO public.event VALUES (334, 0, 1795104513175, 'user admin', 'noderole_commit', 'noderole', 56, '{"data_from":[0,4],"member_from":[0,4],"since":[1795104513170,1795104513175],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (334, 1, 1795104513175, 'engine', 'anneal', '', 0, '{"deployment":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[56]},"run":{"count":1,"ids":[6]},"snapshot":{"count":2,"ids":[5,4]}}', '');
INSERT INTO public.event VALUES (335, 0, 1795104513214, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (336, 0, 1795104513603, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[56]},"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (337, 0, 1795104513618, 'user admin', 'noderole_bind', 'noderole', 57, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,4],"since":[null,1795104513618]}', '127.0.0.1');
INSERT INTO public.event VALUES (338, 0, 1795104513625, 'user admin', 'noderole_commit', 'noderole', 57, '{"data_from":[0,5],"member_from":[0,5],"since":[1795104513618,1795104513625],"state":["proposed","blocked"]}', '127.0.0.1');
INSERT INTO public.event VALUES (339, 0, 1795104513631, 'user admin', 'noderole_bind', 'noderole', 58, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,7],"since":[null,1795104513631]}', '127.0.0.1');
INSERT INTO public.event VALUES (340, 0, 1795104513635, 'user admin', 'noderole_bind', 'noderole', 59, '{"deployment_id":[null,1],"node_id":[null,5],"order":[null,10000],"role_id":[null,7],"since":[null,1795104513635]}', '127.0.0.1');
INSERT INTO public.event VALUES (341, 0, 1795104513639, 'user admin', 'noderole_commit', 'noderole', 59, '{"data_from":[0,54],"member_from":[0,54],"since":[1795104513635,1795104513639],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (342, 0, 1795104513644, 'user admin', 'noderole_retry', 'noderole', 56, '{"since":[1795104513603,1795104513644],"state":["error","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (342, 1, 1795104513644, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[56]},"run":{"count":1,"ids":[7]}}', '');
INSERT INTO public.event VALUES (343, 0, 1795104513678, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[7]}}', '');
INSERT INTO public.event VALUES (344, 0, 1795104513934, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[56]},"run":{"count":1,"ids":[7]}}', '');
INSERT INTO public.event VALUES (345, 0, 1795104513957, 'user admin', 'noderole_bind', 'noderole', 60, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,5],"since":[null,1795104513957]}', '127.0.0.1');
INSERT INTO public.event VALUES (346, 0, 1795104513963, 'user admin', 'noderole_commit', 'noderole', 60, '{"data_from":[0,55],"member_from":[0,55],"since":[1795104513957,1795104513963],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (346, 1, 1795104513963, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[60]},"run":{"count":1,"ids":[8]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (347, 0, 1795104513969, 'user admin', 'noderole_bind', 'noderole', 61, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,6],"since":[null,1795104513969]}', '127.0.0.1');
INSERT INTO public.event VALUES (348, 0, 1795104513970, 'user admin', 'noderole_commit', 'noderole', 61, '{"data_from":[0,56],"member_from":[0,56],"since":[1795104513969,1795104513970],"state":["proposed","todo"]}', '127.0.0.1');
INSERT INTO public.event VALUES (349, 0, 1795104513996, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[8]}}', '');
INSERT INTO public."group" VALUES (1, 1795104506980, 1795104506980, 1, 'not_set', 'nodes in no other group', 'ui', 10000);
INSERT INTO public."group" VALUES (2, 1795104507755, 1795104507755, 10, 'r7', '', 'rack', 10000);
INSERT INTO public.hammer VALUES (1, 1795104507395, 1795104507395, 3, 2, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (2, 1795104507735, 1795104508581, 22, 4, 1, 0, 'ssh', '127.0.0.1:40757', 'root', '', '');
INSERT INTO public.hammer VALUES (3, 1795104507747, 1795104507747, 9, 5, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (4, 1795104508471, 1795104508471, 19, 4, 2, 5, 'redfish', 'https://127.0.0.1:35387', 'root', 'calvin', '{"ca":"/var/lib/halligan/service.pem"}');
INSERT INTO public.hammer VALUES (5, 1795104510731, 1795104510731, 50, 6, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (6, 1795104510795, 1795104510795, 55, 7, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (7, 1795104510831, 1795104510831, 59, 8, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (8, 1795104510871, 1795104510871, 64, 9, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (9, 1795104510935, 1795104510935, 70, 10, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (10, 1795104511030, 1795104511030, 77, 11, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (11, 1795104511056, 1795104511056, 81, 12, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (12, 1795104511095, 1795104511095, 86, 13, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (13, 1795104511161, 1795104511161, 92, 14, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (14, 1795104511239, 1795104511239, 99, 15, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (15, 1795104511282, 1795104511282, 103, 16, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (16, 1795104511339, 1795104511339, 108, 17, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (17, 1795104511395, 1795104511395, 114, 18, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (18, 1795104511447, 1795104511447, 121, 19, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (19, 1795104511491, 1795104511491, 125, 20, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (20, 1795104511530, 1795104511530, 130, 21, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (21, 1795104511595, 1795104511595, 136, 22, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (22, 1795104511667, 1795104511667, 143, 23, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (23, 1795104511691, 1795104511691, 147, 24, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (24, 1795104511759, 1795104511759, 152, 25, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (25, 1795104511827, 1795104511827, 158, 26, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (26, 1795104511853, 1795104511853, 165, 27, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (27, 1795104511868, 1795104511868, 169, 28, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (28, 1795104511879, 1795104511879, 174, 29, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (29, 1795104511931, 1795104511931, 180, 30, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (30, 1795104511997, 1795104511997, 187, 31, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (31, 1795104512011, 1795104512011, 191, 32, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (32, 1795104512058, 1795104512058, 196, 33, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (33, 1795104512109, 1795104512109, 202, 34, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (34, 1795104512199, 1795104512199, 209, 35, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (35, 1795104512235, 1795104512235, 213, 36, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (36, 1795104512287, 1795104512287, 218, 37, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (37, 1795104512357, 1795104512357, 224, 38, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (38, 1795104512412, 1795104512412, 231, 39, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (39, 1795104512471, 1795104512471, 235, 40, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (40, 1795104512510, 1795104512510, 240, 41, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (41, 1795104512532, 1795104512532, 246, 42, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (42, 1795104512557, 1795104512557, 253, 43, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (43, 1795104512565, 1795104512565, 257, 44, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (44, 1795104512581, 1795104512581, 262, 45, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (45, 1795104512614, 1795104512614, 268, 46, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (46, 1795104512651, 1795104512651, 275, 47, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (47, 1795104512664, 1795104512664, 279, 48, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (48, 1795104512702, 1795104512702, 284, 49, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (49, 1795104512735, 1795104512735, 290, 50, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (50, 1795104512779, 1795104512779, 297, 51, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (51, 1795104512791, 1795104512791, 301, 52, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (52, 1795104512827, 1795104512827, 306, 53, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (53, 1795104512871, 1795104512871, 312, 54, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (54, 1795104512917, 1795104512917, 319, 55, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (55, 1795104512944, 1795104512944, 323, 56, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer_kind VALUES (1, 1795104507392, 1795104507392, 2, 'ssh', 'ssh', 0);
INSERT INTO public.hammer_kind VALUES (2, 1795104507392, 1795104507392, 2, 'redfish', 'redfish', 5);
INSERT INTO public.host_key VALUES (1, 1795104508760, 1795104508760, 24, 4, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIQVnEWmL8MLIwTBJCJsAvkgKQkEjtJLUZgSlE7ON030', 1795104508760, 0);
INSERT INTO public.jig VALUES (1, 1795104507392, 1795104507392, 2, 'noop', '', 'noop', 100, true, '', '', '', '', '');
INSERT INTO public.jig VALUES (2, 1795104507392, 1795104507392, 2, 'script', '', 'script', 100, true, '', '', '', '', '');
INSERT INTO public.leadership VALUES (1, 7352748094181376, 349, 1795104513996, '', 'host.example.com 1', '');
INSERT INTO public.lease VALUES (1, 1795104510784, 1795104510784, 54, 1, '198.51.100.11/24', 0, 2, 5, 3600000);
INSERT INTO public.link VALUES (1, 2, 1);
INSERT INTO public.membership VALUES (1, 2);
INSERT INTO public.membership VALUES (1, 3);
INSERT INTO public.membership VALUES (1, 6);
INSERT INTO public.membership VALUES (1, 7);
INSERT INTO public.membership VALUES (1, 8);
INSERT INTO public.membership VALUES (1, 9);
INSERT INTO public.membership VALUES (1, 10);
INSERT INTO public.membership VALUES (1, 11);
INSERT INTO public.membership VALUES (1, 12);
INSERT INTO public.membership VALUES (1, 13);
INSERT INTO public.membership VALUES (1, 14);
INSERT INTO public.membership VALUES (1, 15);
INSERT INTO public.membership VALUES (1, 16);
INSERT INTO public.membership VALUES (1, 17);
INSERT INTO public.membership VALUES (1, 18);
INSERT INTO public.membership VALUES (1, 19);
INSERT INTO public.membership VALUES (1, 20);
INSERT INTO public.membership VALUES (1, 21);
INSERT INTO public.membership VALUES (1, 22);
INSERT INTO public.membership VALUES (1, 23);
INSERT INTO public.membership VALUES (1, 24);
INSERT INTO public.membership VALUES (1, 25);
INSERT INTO public.membership VALUES (1, 26);
INSERT INTO public.membership VALUES (1, 27);
INSERT INTO public.membership VALUES (1, 28);
INSERT INTO public.membership VALUES (1, 29);
INSERT INTO public.membership VALUES (1, 30);
INSERT INTO public.membership VALUES (1, 31);
INSERT INTO public.membership VALUES (1, 32);
INSERT INTO public.membership VALUES (1, 33);
INSERT INTO public.membership VALUES (1, 34);
INSERT INTO public.membership VALUES (1, 35);
INSERT INTO public.membership VALUES (1, 36);
INSERT INTO public.membership VALUES (1, 37);
INSERT INTO public.membership VALUES (1, 38);
INSERT INTO public.membership VALUES (1, 39);
INSERT INTO public.membership VALUES (1, 40);
INSERT INTO public.membership VALUES (1, 41);
INSERT INTO public.membership VALUES (1, 42);
INSERT INTO public.membership VALUES (1, 43);
INSERT INTO public.membership VALUES (1, 44);
INSERT INTO public.membership VALUES (1, 45);
INSERT INTO public.membership VALUES (1, 46);
INSERT INTO public.membership VALUES (1, 47);
INSERT INTO public.membership VALUES (1, 48);
INSERT INTO public.membership VALUES (1, 49);
INSERT INTO public.membership VALUES (1, 50);
INSERT INTO public.membership VALUES (1, 51);
INSERT INTO public.membership VALUES (1, 52);
INSERT INTO public.membership VALUES (1, 53);
INSERT INTO public.membership VALUES (1, 54);
INSERT INTO public.membership VALUES (1, 55);
INSERT INTO public.membership VALUES (1, 56);
INSERT INTO public.membership VALUES (2, 4);
INSERT INTO public.membership VALUES (2, 5);
INSERT INTO public.network VALUES (1, 1795104510729, 1795104510729, 49, 'racks', 'quote '' double " backslash \ zwölf
second line', 1, 1000, 0, false, false, 5, false, '', '1g0', true, 'admin', 'default', '', false);
INSERT INTO public.network_allocation VALUES (1, 1795104510750, 1795104510750, 51, 4, 1, 1, '198.51.100.10/24');
INSERT INTO public.network_allocation VALUES (3, 1795104510766, 1795104510766, 53, 6, 1, 1, '198.51.100.12/24');
INSERT INTO public.network_allocation VALUES (4, 1795104510807, 1795104510807, 56, 7, 1, 1, '198.51.100.13/24');
INSERT INTO public.network_allocation VALUES (5, 1795104510839, 1795104510839, 60, 8, 1, 1, '198.51.100.14/24');
INSERT INTO public.network_allocation VALUES (6, 1795104510882, 1795104510882, 65, 9, 1, 1, '198.51.100.15/24');
INSERT INTO public.network_allocation VALUES (7, 1795104510957, 1795104510957, 71, 10, 1, 1, '198.51.100.16/24');
INSERT INTO public.network_allocation VALUES (8, 1795104511039, 1795104511039, 78, 11, 1, 1, '198.51.100.17/24');
INSERT INTO public.network_allocation VALUES (9, 1795104511065, 1795104511065, 82, 12, 1, 1, '198.51.100.18/24');
INSERT INTO public.network_allocation VALUES (10, 1795104511118, 1795104511118, 87, 13, 1, 1, '198.51.100.19/24');
INSERT INTO public.network_allocation VALUES (11, 1795104511172, 1795104511172, 93, 14, 1, 1, '198.51.100.20/24');
INSERT INTO public.network_allocation VALUES (12, 1795104511251, 1795104511251, 100, 15, 1, 1, '198.51.100.21/24');
INSERT INTO public.network_allocation VALUES (13, 1795104511307, 1795104511307, 104, 16, 1, 1, '198.51.100.22/24');
INSERT INTO public.network_allocation VALUES (14, 1795104511351, 1795104511351, 109, 17, 1, 1, '198.51.100.23/24');
INSERT INTO public.network_allocation VALUES (15, 1795104511405, 1795104511405, 115, 18, 1, 1, '198.51.100.24/24');
INSERT INTO public.network_allocation VALUES (16, 1795104511456, 1795104511456, 122, 19, 1, 1, '198.51.100.25/24');
INSERT INTO public.network_allocation VALUES (17, 1795104511496, 1795104511496, 126, 20, 1, 1, '198.51.100.26/24');
INSERT INTO public.network_allocation VALUES (18, 1795104511547, 1795104511547, 131, 21, 1, 1, '198.51.100.27/24');
INSERT INTO public.network_allocation VALUES (19, 1795104511603, 1795104511603, 137, 22, 1, 1, '198.51.100.28/24');
INSERT INTO public.network_allocation VALUES (20, 1795104511668, 1795104511668, 144, 23, 1, 1, '198.51.100.29/24');
INSERT INTO public.network_allocation VALUES (21, 1795104511710, 1795104511710, 148, 24, 1, 1, '198.51.100.30/24');
INSERT INTO public.network_allocation VALUES (22, 1795104511774, 1795104511774, 153, 25, 1, 1, '198.51.100.31/24');
INSERT INTO public.network_allocation VALUES (23, 1795104511831, 1795104511831, 159, 26, 1, 1, '198.51.100.32/24');
INSERT INTO public.network_allocation VALUES (24, 1795104511854, 1795104511854, 166, 27, 1, 1, '198.51.100.33/24');
INSERT INTO public.network_allocation VALUES (25, 1795104511869, 1795104511869, 170, 28, 1, 1, '198.51.100.34/24');
INSERT INTO public.network_allocation VALUES (26, 1795104511891, 1795104511891, 175, 29, 1, 1, '198.51.100.35/24');
INSERT INTO public.network_allocation VALUES (27, 1795104511947, 1795104511947, 181, 30, 1, 1, '198.51.100.36/24');
INSERT INTO public.network_allocation VALUES (28, 1795104511998, 1795104511998, 188, 31, 1, 1, '198.51.100.37/24');
INSERT INTO public.network_allocation VALUES (29, 1795104512022, 1795104512022, 192, 32, 1, 1, '198.51.100.38/24');
INSERT INTO public.network_allocation VALUES (30, 1795104512067, 1795104512067, 197, 33, 1, 1, '198.51.100.39/24');
INSERT INTO public.network_allocation VALUES (31, 1795104512119, 1795104512119, 203, 34, 1, 1, '198.51.100.40/24');
INSERT INTO public.network_allocation VALUES (32, 1795104512207, 1795104512207, 210, 35, 1, 1, '198.51.100.41/24');
INSERT INTO public.network_allocation VALUES (33, 1795104512238, 1795104512238, 214, 36, 1, 1, '198.51.100.42/24');
INSERT INTO public.network_allocation VALUES (34, 1795104512287, 1795104512287, 219, 37, 1, 1, '198.51.100.43/24');
INSERT INTO public.network_allocation VALUES (35, 1795104512358, 1795104512358, 225, 38, 1, 1, '198.51.100.44/24');
INSERT INTO public.network_allocation VALUES (36, 1795104512429, 1795104512429, 232, 39, 1, 1, '198.51.100.45/24');
INSERT INTO public.network_allocation VALUES (37, 1795104512483, 1795104512483, 236, 40, 1, 1, '198.51.100.46/24');
INSERT INTO public.network_allocation VALUES (38, 1795104512511, 1795104512511, 241, 41, 1, 1, '198.51.100.47/24');
INSERT INTO public.network_allocation VALUES (39, 1795104512537, 1795104512537, 247, 42, 1, 1, '198.51.100.48/24');
INSERT INTO public.network_allocation VALUES (40, 1795104512559, 1795104512559, 254, 43, 1, 1, '198.51.100.49/24');
INSERT INTO public.network_allocation VALUES (41, 1795104512571, 1795104512571, 258, 44, 1, 1, '198.51.100.50/24');
INSERT INTO public.network_allocation VALUES (42, 1795104512583, 1795104512583, 263, 45, 1, 1, '198.51.100.51/24');
INSERT INTO public.network_allocation VALUES (43, 1795104512615, 1795104512615, 269, 46, 1, 1, '198.51.100.52/24');
INSERT INTO public.network_allocation VALUES (44, 1795104512657, 1795104512657, 276, 47, 1, 1, '198.51.100.53/24');
INSERT INTO public.network_allocation VALUES (45, 1795104512675, 1795104512675, 280, 48, 1, 1, '198.51.100.54/24');
INSERT INTO public.network_allocation VALUES (46, 1795104512707, 1795104512707, 285, 49, 1, 1, '198.51.100.55/24');
INSERT INTO public.network_allocation VALUES (47, 1795104512745, 1795104512745, 291, 50, 1, 1, '198.51.100.56/24');
INSERT INTO public.network_allocation VALUES (48, 1795104512785, 1795104512785, 298, 51, 1, 1, '198.51.100.57/24');
INSERT INTO public.network_allocation VALUES (49, 1795104512805, 1795104512805, 302, 52, 1, 1, '198.51.100.58/24');
INSERT INTO public.network_allocation VALUES (50, 1795104512835, 1795104512835, 307, 53, 1, 1, '198.51.100.59/24');
INSERT INTO public.network_allocation VALUES (51, 1795104512875, 1795104512875, 313, 54, 1, 1, '198.51.100.60/24');
INSERT INTO public.network_allocation VALUES (52, 1795104512926, 1795104512926, 320, 55, 1, 1, '198.51.100.61/24');
INSERT INTO public.network_allocation VALUES (53, 1795104512954, 1795104512954, 324, 56, 1, 1, '198.51.100.62/24');
INSERT INTO public.network_range VALUES (1, 1795104510729, 1795104510729, 49, 1, 'host', '198.51.100.10/24', '198.51.100.99/24', 0, '', 0, false, false, 0, false, false);
INSERT INTO public.network_router VALUES (1, 1795104510729, 1795104510729, 49, 1, '198.51.100.1/24', 65536);
INSERT INTO public.nic VALUES (1, 1795104510731, 1795104510731, 50, 6, 90520731923542, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (2, 1795104510795, 1795104510795, 55, 7, 90520730730496, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (3, 1795104510831, 1795104510831, 59, 8, 90520730730497, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (4, 1795104510871, 1795104510871, 64, 9, 90520730730498, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (5, 1795104510935, 1795104510935, 70, 10, 90520730730499, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (6, 1795104511030, 1795104511030, 77, 11, 90520730730500, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (7, 1795104511056, 1795104511056, 81, 12, 90520730730501, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (8, 1795104511095, 1795104511095, 86, 13, 90520730730502, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (9, 1795104511161, 1795104511161, 92, 14, 90520730730503, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (10, 1795104511239, 1795104511239, 99, 15, 90520730730504, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (11, 1795104511282, 1795104511282, 103, 16, 90520730730505, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (12, 1795104511339, 1795104511339, 108, 17, 90520730730506, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (13, 1795104511395, 1795104511395, 114, 18, 90520730730507, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (14, 1795104511447, 1795104511447, 121, 19, 90520730730508, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (15, 1795104511491, 1795104511491, 125, 20, 90520730730509, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (16, 1795104511530, 1795104511530, 130, 21, 90520730730510, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (17, 1795104511595, 1795104511595, 136, 22, 90520730730511, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (18, 1795104511667, 1795104511667, 143, 23, 90520730730512, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (19, 1795104511691, 1795104511691, 147, 24, 90520730730513, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (20, 1795104511759, 1795104511759, 152, 25, 90520730730514, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (21, 1795104511827, 1795104511827, 158, 26, 90520730730515, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (22, 1795104511853, 1795104511853, 165, 27, 90520730730516, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (23, 1795104511868, 1795104511868, 169, 28, 90520730730517, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (24, 1795104511879, 1795104511879, 174, 29, 90520730730518, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (25, 1795104511931, 1795104511931, 180, 30, 90520730730519, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (26, 1795104511997, 1795104511997, 187, 31, 90520730730520, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (27, 1795104512011, 1795104512011, 191, 32, 90520730730521, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (28, 1795104512058, 1795104512058, 196, 33, 90520730730522, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (29, 1795104512109, 1795104512109, 202, 34, 90520730730523, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (30, 1795104512199, 1795104512199, 209, 35, 90520730730524, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (31, 1795104512235, 1795104512235, 213, 36, 90520730730525, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (32, 1795104512287, 1795104512287, 218, 37, 90520730730526, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (33, 1795104512357, 1795104512357, 224, 38, 90520730730527, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (34, 1795104512412, 1795104512412, 231, 39, 90520730730528, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (35, 1795104512471, 1795104512471, 235, 40, 90520730730529, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (36, 1795104512510, 1795104512510, 240, 41, 90520730730530, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (37, 1795104512532, 1795104512532, 246, 42, 90520730730531, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (38, 1795104512557, 1795104512557, 253, 43, 90520730730532, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (39, 1795104512565, 1795104512565, 257, 44, 90520730730533, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (40, 1795104512581, 1795104512581, 262, 45, 90520730730534, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (41, 1795104512614, 1795104512614, 268, 46, 90520730730535, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (42, 1795104512651, 1795104512651, 275, 47, 90520730730536, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (43, 1795104512664, 1795104512664, 279, 48, 90520730730537, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (44, 1795104512702, 1795104512702, 284, 49, 90520730730538, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (45, 1795104512735, 1795104512735, 290, 50, 90520730730539, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (46, 1795104512779, 1795104512779, 297, 51, 90520730730540, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (47, 1795104512791, 1795104512791, 301, 52, 90520730730541, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (48, 1795104512827, 1795104512827, 306, 53, 90520730730542, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (49, 1795104512871, 1795104512871, 312, 54, 90520730730543, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (50, 1795104512917, 1795104512917, 319, 55, 90520730730544, '', '', '', 0, true, false, false);
INSERT INTO public.nic VALUES (51, 1795104512944, 1795104512944, 323, 56, 90520730730545, '', '', '', 0, true, false, false);
INSERT INTO public.node VALUES (1, 1795104506980, 1795104506980, 1, 'system-phantom.internal.local', '', false, true, 1, 0, false, true, false, false, 1795104506980, 1795104506980, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (2, 1795104507395, 1795104507720, 7, 'admin.example.com', 'quote '' double " backslash \ zwölf
second line', true, false, 1, 0, false, true, true, false, 1795104507395, 1795104507720, 'local', 10000, '', '', '{"admin-v4addr":"192.0.2.1/32"}', '', 0, '', '', '', '', 0, '', true, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (3, 1795104507716, 1795104508776, 29, 'lab-phantom.internal.local', '', false, true, 2, 0, false, true, true, false, 1795104507716, 1795104508776, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (4, 1795104507735, 1795104508767, 26, 'n1.example.com', 'quote '' double " backslash \ zwölf
second line', false, false, 2, 0, false, true, true, false, 1795104508583, 1795104507735, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 1, 1795104508518, 'redfish', 0, '', 2, '[{"action":"on","at_ms":1795104508518,"driver":"redfish","failed":false,"order":2,"reason":null,"text":"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"}]', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (5, 1795104507747, 1795104507747, 9, 'n2.example.com', '', false, false, 1, 0, false, false, true, false, 1795104507747, 1795104507747, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (6, 1795104510731, 1795104510731, 50, 'n3.example.com', '', false, false, 1, 0, false, false, false, false, 1795104510731, 1795104510731, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:12:34:56"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (7, 1795104510795, 1795104510795, 55, 'm0.example.com', '', false, false, 1, 0, false, false, false, false, 1795104510795, 1795104510795, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:00"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (8, 1795104510831, 1795104513155, 332, 'm1.example.com', '', false, false, 1, 0, false, false, false, false, 1795104510831, 1795104510831, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:01"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (9, 1795104510871, 1795104513155, 332, 'm2.example.com', '', false, false, 1, 0, false, false, false, false, 1795104510871, 1795104510871, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:02"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (10, 1795104510935, 1795104513155, 332, 'm3.example.com', '', false, false, 1, 0, false, false, false, false, 1795104510935, 1795104510935, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:03"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (11, 1795104511030, 1795104511030, 77, 'm4.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511030, 1795104511030, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:04"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (12, 1795104511056, 1795104513155, 332, 'm5.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511056, 1795104511056, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:05"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (13, 1795104511095, 1795104513155, 332, 'm6.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511095, 1795104511095, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:06"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (14, 1795104511161, 1795104513155, 332, 'm7.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511161, 1795104511161, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:07"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (15, 1795104511239, 1795104511239, 99, 'm8.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511239, 1795104511239, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:08"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (16, 1795104511282, 1795104513155, 332, 'm9.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511282, 1795104511282, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:09"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (17, 1795104511339, 1795104513155, 332, 'm10.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511339, 1795104511339, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0a"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (18, 1795104511395, 1795104513155, 332, 'm11.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511395, 1795104511395, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0b"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (19, 1795104511447, 1795104511447, 121, 'm12.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511447, 1795104511447, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0c"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (20, 1795104511491, 1795104513155, 332, 'm13.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511491, 1795104511491, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0d"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (21, 1795104511530, 1795104513155, 332, 'm14.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511530, 1795104511530, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0e"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (22, 1795104511595, 1795104513155, 332, 'm15.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511595, 1795104511595, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:0f"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (23, 1795104511667, 1795104511667, 143, 'm16.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511667, 1795104511667, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:10"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (24, 1795104511691, 1795104513155, 332, 'm17.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511691, 1795104511691, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:11"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (25, 1795104511759, 1795104513155, 332, 'm18.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511759, 1795104511759, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:12"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (26, 1795104511827, 1795104513155, 332, 'm19.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511827, 1795104511827, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:13"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (27, 1795104511853, 1795104511853, 165, 'm20.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511853, 1795104511853, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:14"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (28, 1795104511868, 1795104513155, 332, 'm21.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511868, 1795104511868, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:15"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (29, 1795104511879, 1795104513155, 332, 'm22.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511879, 1795104511879, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:16"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (30, 1795104511931, 1795104513155, 332, 'm23.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511931, 1795104511931, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:17"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (31, 1795104511997, 1795104511997, 187, 'm24.example.com', '', false, false, 1, 0, false, false, false, false, 1795104511997, 1795104511997, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:18"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (32, 1795104512011, 1795104513155, 332, 'm25.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512011, 1795104512011, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:19"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (33, 1795104512058, 1795104513155, 332, 'm26.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512058, 1795104512058, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1a"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (34, 1795104512109, 1795104513155, 332, 'm27.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512109, 1795104512109, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1b"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (35, 1795104512199, 1795104512199, 209, 'm28.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512199, 1795104512199, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1c"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (36, 1795104512235, 1795104513155, 332, 'm29.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512235, 1795104512235, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1d"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (37, 1795104512287, 1795104513155, 332, 'm30.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512287, 1795104512287, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1e"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (38, 1795104512357, 1795104513155, 332, 'm31.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512357, 1795104512357, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:1f"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (39, 1795104512412, 1795104512412, 231, 'm32.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512412, 1795104512412, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:20"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (40, 1795104512471, 1795104513155, 332, 'm33.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512471, 1795104512471, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:21"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (41, 1795104512510, 1795104513155, 332, 'm34.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512510, 1795104512510, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:22"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (42, 1795104512532, 1795104513155, 332, 'm35.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512532, 1795104512532, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:23"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (43, 1795104512557, 1795104512557, 253, 'm36.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512557, 1795104512557, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:24"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (44, 1795104512565, 1795104513155, 332, 'm37.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512565, 1795104512565, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:25"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (45, 1795104512581, 1795104513155, 332, 'm38.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512581, 1795104512581, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:26"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (46, 1795104512614, 1795104513155, 332, 'm39.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512614, 1795104512614, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:27"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (47, 1795104512651, 1795104512651, 275, 'm40.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512651, 1795104512651, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:28"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (48, 1795104512664, 1795104513155, 332, 'm41.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512664, 1795104512664, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:29"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (49, 1795104512702, 1795104513155, 332, 'm42.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512702, 1795104512702, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2a"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (50, 1795104512735, 1795104513155, 332, 'm43.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512735, 1795104512735, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2b"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (51, 1795104512779, 1795104512779, 297, 'm44.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512779, 1795104512779, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2c"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (52, 1795104512791, 1795104513155, 332, 'm45.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512791, 1795104512791, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2d"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (53, 1795104512827, 1795104513155, 332, 'm46.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512827, 1795104512827, 'upgrade-install', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2e"]}', '', 2, '{"55":2}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (54, 1795104512871, 1795104513155, 332, 'm47.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512871, 1795104512871, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:2f"]}', '', 3, '{"55":3}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (55, 1795104512917, 1795104512917, 319, 'm48.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512917, 1795104512917, 'sledgehammer', 10000, '', '', '{"admin_macs":["52:54:00:00:00:30"]}', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.node VALUES (56, 1795104512944, 1795104513155, 332, 'm49.example.com', '', false, false, 1, 0, false, false, false, false, 1795104512944, 1795104512944, 'local', 10000, '', '', '{"admin_macs":["52:54:00:00:00:31"]}', '', 1, '{"55":1}', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '', 0, '', 0, 0, 0);
INSERT INTO public.noderole VALUES (1, 1795104508770, 1795104509655, 31, 2, 1, 4, 4, 1795104509655, 0, 1, 1, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '{"base":{"text":"it is \"here\""}}', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (2, 1795104508770, 1795104510673, 44, 2, 2, 4, 4, 1795104510673, 1, 3, 3, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (4, 1795104510703, 1795104510711, 47, 1, 11, 2, 4, 1795104510711, 0, 1, 0, 10000, false, false, false, false, 2, 2, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (5, 1795104510811, 1795104510823, 58, 1, 9, 7, 2, 1795104510823, 0, 0, 0, 10000, false, false, false, false, 3, 3, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (6, 1795104510851, 1795104510859, 62, 1, 9, 8, 2, 1795104510859, 0, 0, 0, 10000, false, false, false, false, 4, 4, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (7, 1795104510899, 1795104510910, 67, 1, 9, 9, 2, 1795104510910, 0, 0, 0, 10000, false, false, false, false, 5, 5, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (8, 1795104510971, 1795104510979, 73, 1, 9, 10, 2, 1795104510979, 0, 0, 0, 10000, false, false, false, false, 6, 6, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (9, 1795104511047, 1795104511055, 80, 1, 9, 11, 2, 1795104511055, 0, 0, 0, 10000, false, false, false, false, 7, 7, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (10, 1795104511079, 1795104511087, 84, 1, 9, 12, 2, 1795104511087, 0, 0, 0, 10000, false, false, false, false, 8, 8, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (11, 1795104511119, 1795104511131, 89, 1, 9, 13, 2, 1795104511131, 0, 0, 0, 10000, false, false, false, false, 9, 9, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (12, 1795104511175, 1795104511187, 95, 1, 9, 14, 2, 1795104511187, 0, 0, 0, 10000, false, false, false, false, 10, 10, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (13, 1795104511258, 1795104511267, 102, 1, 9, 15, 2, 1795104511267, 0, 0, 0, 10000, false, false, false, false, 11, 11, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (14, 1795104511331, 1795104511332, 106, 1, 9, 16, 2, 1795104511332, 0, 0, 0, 10000, false, false, false, false, 12, 12, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (15, 1795104511363, 1795104511380, 111, 1, 9, 17, 2, 1795104511380, 0, 0, 0, 10000, false, false, false, false, 13, 13, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (16, 1795104511415, 1795104511416, 117, 1, 9, 18, 2, 1795104511416, 0, 0, 0, 10000, false, false, false, false, 14, 14, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (17, 1795104511463, 1795104511479, 124, 1, 9, 19, 2, 1795104511479, 0, 0, 0, 10000, false, false, false, false, 15, 15, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (18, 1795104511499, 1795104511520, 128, 1, 9, 20, 2, 1795104511520, 0, 0, 0, 10000, false, false, false, false, 16, 16, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (19, 1795104511548, 1795104511549, 133, 1, 9, 21, 2, 1795104511549, 0, 0, 0, 10000, false, false, false, false, 17, 17, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (20, 1795104511611, 1795104511625, 139, 1, 9, 22, 2, 1795104511625, 0, 0, 0, 10000, false, false, false, false, 18, 18, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (21, 1795104511684, 1795104511688, 146, 1, 9, 23, 2, 1795104511688, 0, 0, 0, 10000, false, false, false, false, 19, 19, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (22, 1795104511720, 1795104511739, 150, 1, 9, 24, 2, 1795104511739, 0, 0, 0, 10000, false, false, false, false, 20, 20, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (23, 1795104511779, 1795104511791, 155, 1, 9, 25, 2, 1795104511791, 0, 0, 0, 10000, false, false, false, false, 21, 21, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (24, 1795104511843, 1795104511850, 161, 1, 9, 26, 2, 1795104511850, 0, 0, 0, 10000, false, false, false, false, 22, 22, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (25, 1795104511860, 1795104511867, 168, 1, 9, 27, 2, 1795104511867, 0, 0, 0, 10000, false, false, false, false, 23, 23, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (26, 1795104511869, 1795104511870, 172, 1, 9, 28, 2, 1795104511870, 0, 0, 0, 10000, false, false, false, false, 24, 24, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (27, 1795104511895, 1795104511906, 177, 1, 9, 29, 2, 1795104511906, 0, 0, 0, 10000, false, false, false, false, 25, 25, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (28, 1795104511951, 1795104511966, 183, 1, 9, 30, 2, 1795104511966, 0, 0, 0, 10000, false, false, false, false, 26, 26, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (29, 1795104511999, 1795104512001, 190, 1, 9, 31, 2, 1795104512001, 0, 0, 0, 10000, false, false, false, false, 27, 27, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (30, 1795104512039, 1795104512044, 194, 1, 9, 32, 2, 1795104512044, 0, 0, 0, 10000, false, false, false, false, 28, 28, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (31, 1795104512068, 1795104512091, 199, 1, 9, 33, 2, 1795104512091, 0, 0, 0, 10000, false, false, false, false, 29, 29, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (32, 1795104512131, 1795104512145, 205, 1, 9, 34, 2, 1795104512145, 0, 0, 0, 10000, false, false, false, false, 30, 30, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (33, 1795104512223, 1795104512224, 212, 1, 9, 35, 2, 1795104512224, 0, 0, 0, 10000, false, false, false, false, 31, 31, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (34, 1795104512251, 1795104512263, 216, 1, 9, 36, 2, 1795104512263, 0, 0, 0, 10000, false, false, false, false, 32, 32, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (35, 1795104512297, 1795104512311, 221, 1, 9, 37, 2, 1795104512311, 0, 0, 0, 10000, false, false, false, false, 33, 33, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (36, 1795104512360, 1795104512371, 227, 1, 9, 38, 2, 1795104512371, 0, 0, 0, 10000, false, false, false, false, 34, 34, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (37, 1795104512447, 1795104512451, 234, 1, 9, 39, 2, 1795104512451, 0, 0, 0, 10000, false, false, false, false, 35, 35, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (38, 1795104512487, 1795104512503, 238, 1, 9, 40, 2, 1795104512503, 0, 0, 0, 10000, false, false, false, false, 36, 36, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (39, 1795104512515, 1795104512516, 243, 1, 9, 41, 2, 1795104512516, 0, 0, 0, 10000, false, false, false, false, 37, 37, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (40, 1795104512539, 1795104512543, 249, 1, 9, 42, 2, 1795104512543, 0, 0, 0, 10000, false, false, false, false, 38, 38, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (41, 1795104512561, 1795104512563, 256, 1, 9, 43, 2, 1795104512563, 0, 0, 0, 10000, false, false, false, false, 39, 39, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (42, 1795104512573, 1795104512575, 260, 1, 9, 44, 2, 1795104512575, 0, 0, 0, 10000, false, false, false, false, 40, 40, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (43, 1795104512587, 1795104512595, 265, 1, 9, 45, 2, 1795104512595, 0, 0, 0, 10000, false, false, false, false, 41, 41, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (44, 1795104512618, 1795104512621, 271, 1, 9, 46, 2, 1795104512621, 0, 0, 0, 10000, false, false, false, false, 42, 42, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (45, 1795104512663, 1795104512664, 278, 1, 9, 47, 2, 1795104512664, 0, 0, 0, 10000, false, false, false, false, 43, 43, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (46, 1795104512679, 1795104512686, 282, 1, 9, 48, 2, 1795104512686, 0, 0, 0, 10000, false, false, false, false, 44, 44, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (47, 1795104512709, 1795104512719, 287, 1, 9, 49, 2, 1795104512719, 0, 0, 0, 10000, false, false, false, false, 45, 45, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (48, 1795104512747, 1795104512759, 293, 1, 9, 50, 2, 1795104512759, 0, 0, 0, 10000, false, false, false, false, 46, 46, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (49, 1795104512787, 1795104512789, 300, 1, 9, 51, 2, 1795104512789, 0, 0, 0, 10000, false, false, false, false, 47, 47, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (50, 1795104512809, 1795104512815, 304, 1, 9, 52, 2, 1795104512815, 0, 0, 0, 10000, false, false, false, false, 48, 48, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (51, 1795104512843, 1795104512849, 309, 1, 9, 53, 2, 1795104512849, 0, 0, 0, 10000, false, false, false, false, 49, 49, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (52, 1795104512883, 1795104512891, 315, 1, 9, 54, 2, 1795104512891, 0, 0, 0, 10000, false, false, false, false, 50, 50, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (53, 1795104512935, 1795104512939, 322, 1, 9, 55, 2, 1795104512939, 0, 0, 0, 10000, false, false, false, false, 51, 51, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (54, 1795104512967, 1795104512968, 326, 1, 9, 56, 2, 1795104512968, 0, 0, 0, 10000, false, false, false, false, 52, 52, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (55, 1795104512983, 1795104513151, 331, 1, 10, 2, 4, 1795104513151, 0, 1, 1, 10000, false, false, false, false, 53, 53, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (56, 1795104513170, 1795104513934, 344, 2, 3, 4, 5, 1795104513934, 0, 0, 2, 10000, false, false, false, false, 4, 4, 'run failed', '== 10.sh
broken fails
a script of role broken ended with status 3', '', '', '', '', '', '', 0, 1, '3', 'a script of role broken ended with status 3', 0, 0);
INSERT INTO public.noderole VALUES (57, 1795104513618, 1795104513625, 338, 2, 4, 4, 1, 1795104513625, 1, 0, 0, 10000, false, false, false, false, 5, 5, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (58, 1795104513631, 1795104513631, 339, 1, 7, 2, 0, 1795104513631, 0, 0, 0, 10000, false, false, false, false, 0, 0, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (59, 1795104513635, 1795104513639, 341, 1, 7, 5, 2, 1795104513639, 0, 0, 0, 10000, false, false, false, false, 54, 54, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (60, 1795104513957, 1795104513963, 346, 1, 5, 2, 3, 1795104513963, 0, 0, 1, 10000, false, false, false, false, 55, 55, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.noderole VALUES (61, 1795104513969, 1795104513970, 348, 1, 6, 2, 2, 1795104513970, 0, 0, 0, 10000, false, false, false, false, 56, 56, '', '', '', '', '', '', '', '', 0, 0, '', '', 0, 0);
INSERT INTO public.old_data VALUES (2, 2, 0, 2, 3, '{"web":{"workers":8}}');
INSERT INTO public.old_data VALUES (2, 8, 4, 1, 3, '');
INSERT INTO public.old_member VALUES (2, 3, 8, 4, 1, 3);
INSERT INTO public.old_run VALUES (1, 1, 1, 4, 1, 1795104508776, 1795104509655, 0, '== 10.sh
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 1, 2, 4, 2, 1795104509655, 1795104510025, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 2, 3, 4, 2, 1795104510043, 1795104510395, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 3, 4, 4, 2, 1795104510443, 1795104510673, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (55, 1, 5, 2, 10, 1795104512995, 1795104513151, 0, '== 10.sh
', 0, '', '');
INSERT INTO public.old_run VALUES (56, 1, 6, 4, 3, 1795104513175, 1795104513603, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.old_run VALUES (56, 2, 7, 4, 3, 1795104513644, 1795104513934, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.role VALUES (1, 1795104507392, 1795104507392, 2, 'base', 'Base', 'Role', 'script', 1, 2, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (2, 1795104507392, 1795104507392, 2, 'web', 'Web', 'Role', 'script', 1, 0, 0, 1, '["base"]', '[{"at":"","name":"base-text"}]', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (3, 1795104507392, 1795104507392, 2, 'broken', 'Broken', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (4, 1795104507392, 1795104507392, 2, 'behind-broken', 'Behind Broken', 'Role', 'script', 1, 0, 0, 1, '["broken"]', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (5, 1795104507392, 1795104507392, 2, 'slow', 'Slow', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (6, 1795104507392, 1795104507392, 2, 'next', 'Next', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (7, 1795104507392, 1795104507392, 2, 'later', 'Later', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (8, 1795104507392, 1795104507392, 2, 'goal', 'Goal', 'Role', 'noop', 1, 128, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (9, 1795104507392, 1795104507392, 2, 'managed', 'Managed', 'Role', 'noop', 1, 136, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (10, 1795104507392, 1795104507392, 2, 'boots', 'Boots', 'Role', 'script', 1, 4096, 16, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', '');
INSERT INTO public.role VALUES (11, 1795104510687, 1795104510687, 45, 'names', 'Names', 'Role', 'noop', 2, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0, 0, '', 'names-list');
INSERT INTO public.run VALUES (8, 1795104513963, 1795104513996, 349, 2, 60, 1, 0, 1, false, true, true, 1795104513963, 0, 'pid 9990', '{"hints":{"admin-v4addr":"192.0.2.1/32"},"quirks":[]}', 0);
INSERT INTO public.schema_migration VALUES ('0001_initial', '9ddac6ca6cd390ccc2b2c11422008474d1c8c804f3a70b13d3f90ff249696999', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0002_computed', '9852ba9c3d7ef981879993739bd7e25e069c44c255f76b4bdc063522157e3b00', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0003_runs', '8308227d776543cbeef9b3bccc313ee918bfc160c21d6c713865a14a48e201e5', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0004_people', '9342be9fadeacb20cca42d69ff13924a904ddcdde758e11105be8a57e47fae88', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0005_defaults', '8618c445e0e43fc588ba727c506d0a60ab8fcc3fdc7c6f5f7f5506e2e8fc1cf6', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0006_reasons', '159034760e43eeffa3f280e73dcd4d97c08fb0dde01ca491baedac9dd4bf4aba', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0007_automatic', 'cb916a7ac0b1562801ae49097440b5001f2dfc5d5c20c0f9e7158b8c88ecac9e', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0008_host_keys', '7e00734567d0f29885b2a875f59a7608edf12b6484344871629805abfab313ee', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0009_power', '9990da757a5be5960019d5014ea95c55a455ce45a29fe2ed7927bfa36527a886', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0010_event_address', 'b8b98cb31d6b2530e3ef41c1f5d028a60048d6182d81a9d9dfa6680332a14eeb', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0011_status_hook', '295608380fb109410529497026bed2f2f7bbfbdcbd45fee2f5e0c8905e7a553e', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0012_networks', '948528fae176b3a044dd71db1e57b29b510955d3561cd1a0b6138ea3cfd7ce21', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0013_deleting', '1b1287be62064a3f51b2834cae9681dcd71ed8628db25fb4ddfc6e708b5e95c3', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0014_bootenv', '48afbae015f98714b86ffec582611975f3bd9c1dff999ca6bd013587a482b907', 1795104515000);
INSERT INTO public.schema_migration VALUES ('0015_grants', '687ac3eda325b5bf58ca50dc022899b057246a4525b70ae1a3aa5027170afc6b', 1795104515000);
INSERT INTO public.settings VALUES (1, 1795104506980, 1795104506980, 1, 10, 2, 0, false, 10, 14400, 600, true, true, 3600);
INSERT INTO public.snapshot VALUES (1, 1795104506980, 1795104513970, 348, 1, 56, 'system', '', 1000, 0, 1, 1795104506980, 1795104506980, 0, 'founding', '');
INSERT INTO public.snapshot VALUES (2, 1795104507716, 1795104510035, 34, 2, 1, 'lab', '', 1000, 0, 2, 1795104510035, 1795104508776, 1795104510035, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (3, 1795104510035, 1795104510416, 39, 2, 2, 'lab', '', 1001, 2, 2, 1795104510416, 1795104510043, 1795104510416, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (4, 1795104510416, 1795104513175, 334, 2, 3, 'lab', '', 1002, 3, 2, 1795104513175, 1795104510443, 1795104513175, 'user admin', '{"active":2,"blocked":0,"error":0,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (5, 1795104513175, 1795104513625, 338, 2, 4, 'lab', '', 1003, 4, 2, 1795104513625, 1795104513175, 1795104513625, 'user admin', '{"active":2,"blocked":0,"error":1,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (6, 1795104513625, 1795104513625, 338, 2, 5, 'lab', '', 1004, 5, 1, 1795104513625, 1795104513625, 0, 'user admin', '');
INSERT INTO public.token VALUES (1, 1795104507710, 1795104507710, 5, 1, 'tests/runs', '4f463cfcc8fe366126ac6faec5c80209205e584f22ac4f35ae016fa735ea962b', 0, 0, 0, 0, 0);
INSERT INTO public.token VALUES (2, 1795104508427, 1795104508427, 17, 1, 'limited', 'e952aa46a16560c6b8daae32e4b40715ae5956720793b8e6269c49326b967a87', 2051222400000, 1, 2, 0, 0);
INSERT INTO public.token VALUES (3, 1795104508435, 1795104508435, 18, 0, 'node', '28b85dbf95e439d9ef56ff4a80e6f47159721d83176464ffd351ea88b750aea0', 0, 0, 0, 4, 0);
INSERT INTO public."user" VALUES (1, 1795104507388, 1795104507388, 1, 'admin', '', true, false, '$argon2id$v=19$m=65536,t=2,p=1$V2/Dsnd0SgMPrUpMhC7ctw$gk8AwImFU/BAFI1u4gTHzRrJFOreOOub53Q5zfCMthk', '', '', 2, '');
INSERT INTO public."user" VALUES (2, 1795104507975, 1795104507975, 13, 'olga', 'olga@example.com', false, false, '$argon2id$v=19$m=65536,t=2,p=1$qk1yhnDGlAVqgEV9BW563w$lnFGWNIciApWrUxj1/Rn8TlA7f+b11eFRuPyJKmzgB0', '2884c5684c2a45e5effd962be248d287', '', 2, '');
INSERT INTO public."user" VALUES (3, 1795104508207, 1795104508207, 14, 'grantee', '', false, false, '$argon2id$v=19$m=65536,t=2,p=1$YJGzZzGFZxm1YRV3FZuvfg$RWhOb3aqWpQz6IqFJ16a3g2rQ1RAYTsWQvVGTUZl4CA', '', '', 1, '{"2":"operator"}');
INSERT INTO public."user" VALUES (4, 1795104508410, 1795104508420, 16, 'locked', '', true, true, '$argon2id$v=19$m=65536,t=2,p=1$QQMVXWSrvYhOydJLcz1Z8w$tUecEzCWpeIoMenzHRYrTD47oBHvy5ya+C+l4YEB9x4', '', '', 2, '');
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
