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
CREATE TABLE public.link (
    parent_id bigint NOT NULL,
    child_id bigint NOT NULL,
    attrib_id bigint NOT NULL
);
CREATE TABLE public.membership (
    group_id bigint NOT NULL,
    node_id bigint NOT NULL
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
    reason_text text DEFAULT ''::text NOT NULL
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
    defaults bigint DEFAULT 0 NOT NULL
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
    host_keys_imported boolean DEFAULT false NOT NULL
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
INSERT INTO public.attrib VALUES (1, 1794925571259, 1794925571259, 2, 'base-text', '', 1, 1, false, 10000, 'base/text', 'attribs/default', '', '');
INSERT INTO public.attrib VALUES (2, 1794925571259, 1794925571259, 2, 'web-workers', '', 1, 2, true, 10000, 'web/workers', 'attribs/default', '{"type":"int"}', '{"value":4}');
INSERT INTO public.barclamp VALUES (1, 1794925571259, 1794925571259, 2, 'upgrade', 'Upgrade', 1, '0.0', '0.0', '', '/var/lib/halligan/barclamps/upgrade', 'unknown', 'unknown', '{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}');
INSERT INTO public.counter VALUES ('attrib', 1794925571072, 1794925571259, 2, 2);
INSERT INTO public.counter VALUES ('barclamp', 1794925571072, 1794925571259, 2, 1);
INSERT INTO public.counter VALUES ('counter', 1794925571072, 1794925571072, 1, 0);
INSERT INTO public.counter VALUES ('deployment', 1794925571072, 1794925571620, 6, 2);
INSERT INTO public.counter VALUES ('deployment_role', 1794925571072, 1794925574440, 59, 8);
INSERT INTO public.counter VALUES ('group', 1794925571072, 1794925571633, 10, 2);
INSERT INTO public.counter VALUES ('hammer', 1794925571072, 1794925572038, 19, 4);
INSERT INTO public.counter VALUES ('hammer_kind', 1794925571072, 1794925571259, 2, 2);
INSERT INTO public.counter VALUES ('host_key', 1794925571072, 1794925572240, 24, 1);
INSERT INTO public.counter VALUES ('jig', 1794925571072, 1794925571259, 2, 2);
INSERT INTO public.counter VALUES ('node', 1794925571072, 1794925571631, 9, 5);
INSERT INTO public.counter VALUES ('noderole', 1794925571072, 1794925574440, 59, 9);
INSERT INTO public.counter VALUES ('outbox', 1794925571072, 1794925572105, 23, 3);
INSERT INTO public.counter VALUES ('role', 1794925571072, 1794925571259, 2, 8);
INSERT INTO public.counter VALUES ('run', 1794925571072, 1794925574438, 58, 7);
INSERT INTO public.counter VALUES ('settings', 1794925571072, 1794925571072, 1, 1);
INSERT INTO public.counter VALUES ('snapshot', 1794925571072, 1794925574150, 50, 6);
INSERT INTO public.counter VALUES ('token', 1794925571072, 1794925572015, 18, 3);
INSERT INTO public.counter VALUES ('user', 1794925571072, 1794925572010, 15, 4);
INSERT INTO public.deployment VALUES (1, 1794925571072, 1794925571072, 1, 'system', 'discovery and bootstrap', 0, true, 1, 1, false);
INSERT INTO public.deployment VALUES (2, 1794925571620, 1794925574150, 50, 'lab', 'quote '' double " backslash \ zwölf
second line', 1, false, 6, 3, false);
INSERT INTO public.deployment_role VALUES (1, 1794925572265, 1794925572265, 27, 2, 1, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (2, 1794925572265, 1794925573641, 42, 2, 2, false, '', '{"web":{"workers":16}}', '', '', 3);
INSERT INTO public.deployment_role VALUES (3, 1794925572274, 1794925572274, 28, 2, 8, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (4, 1794925573888, 1794925573888, 45, 2, 3, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (5, 1794925574141, 1794925574141, 49, 2, 4, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (6, 1794925574163, 1794925574163, 51, 1, 7, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (7, 1794925574435, 1794925574435, 57, 1, 5, false, '', '', '', '', 0);
INSERT INTO public.deployment_role VALUES (8, 1794925574440, 1794925574440, 59, 1, 6, false, '', '', '', '', 0);
INSERT INTO public.edge VALUES (1, 2);
INSERT INTO public.edge VALUES (4, 5);
INSERT INTO public.event VALUES (1, 0, 1794925571257, 'daemon', 'user_create', 'user', 1, '{"access":[null,2],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"admin"]}', '');
INSERT INTO public.event VALUES (2, 0, 1794925571259, 'daemon', 'import', 'barclamp', 1, '{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade"],"name":[null,"upgrade"],"parent_id":[null,1],"source_path":[null,"/var/lib/halligan/barclamps/upgrade"],"version":[null,"0.0"]}', '');
INSERT INTO public.event VALUES (3, 0, 1794925571263, 'daemon', 'node_create', 'node', 2, '{"admin":[null,true],"alive":[null,true],"alive_since":[null,1794925571263],"automatic":[null,true],"available_since":[null,1794925571263],"bootenv":[null,"local"],"deployment_id":[null,1],"description":[null,"the host of this installation"],"hint":[null,{"admin-v4addr":"192.0.2.1/32"}],"name":[null,"admin.example.com"],"order":[null,10000]}', '');
INSERT INTO public.event VALUES (4, 0, 1794925571265, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (5, 0, 1794925571617, 'user admin', 'token_create', 'token', 1, '{"hash":[null,"(secret)"],"name":[null,"tests/runs"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (6, 0, 1794925571620, 'user admin', 'deployment_create', 'deployment', 2, '{"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"head_id":[null,2],"name":[null,"lab"],"parent_id":[null,1],"phantom_id":[null,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (7, 0, 1794925571622, 'user admin', 'node_update', 'node', 2, '{"available":[false,true],"available_since":[1794925571263,1794925571622],"description":["the host of this installation","quote '' double \" backslash \\ zwölf\nsecond line"]}', '127.0.0.1');
INSERT INTO public.event VALUES (8, 0, 1794925571628, 'user admin', 'node_create', 'node', 4, '{"alive_since":[null,1794925571628],"available":[null,true],"available_since":[null,1794925571628],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"name":[null,"n1.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (9, 0, 1794925571631, 'user admin', 'node_create', 'node', 5, '{"alive_since":[null,1794925571631],"available":[null,true],"available_since":[null,1794925571631],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"name":[null,"n2.example.com"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (10, 0, 1794925571633, 'user admin', 'group_create', 'group', 2, '{"category":[null,"rack"],"name":[null,"r7"],"order":[null,10000]}', '127.0.0.1');
INSERT INTO public.event VALUES (11, 0, 1794925571635, 'user admin', 'group_add', 'group', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (12, 0, 1794925571655, 'user admin', 'group_add', 'group', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (13, 0, 1794925571755, 'user admin', 'user_create', 'user', 2, '{"access":[null,2],"digest_ha1":[null,"(secret)"],"email":[null,"olga@example.com"],"password_hash":[null,"(secret)"],"username":[null,"olga"]}', '127.0.0.1');
INSERT INTO public.event VALUES (14, 0, 1794925571851, 'user admin', 'user_create', 'user', 3, '{"access":[null,1],"grants":[null,{"2":"operator"}],"password_hash":[null,"(secret)"],"username":[null,"grantee"]}', '127.0.0.1');
INSERT INTO public.event VALUES (15, 0, 1794925572010, 'user admin', 'user_create', 'user', 4, '{"access":[null,2],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"locked"]}', '127.0.0.1');
INSERT INTO public.event VALUES (16, 0, 1794925572012, 'user admin', 'user_update', 'user', 4, '{"is_locked":[false,true]}', '127.0.0.1');
INSERT INTO public.event VALUES (17, 0, 1794925572014, 'user admin', 'token_create', 'token', 2, '{"access":[null,1],"deployment_id":[null,2],"expires_at":[null,2051222400000],"hash":[null,"(secret)"],"name":[null,"limited"],"user_id":[null,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (18, 0, 1794925572015, 'user admin', 'token_create', 'token', 3, '{"hash":[null,"(secret)"],"name":[null,"node"],"node_id":[null,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (19, 0, 1794925572038, 'user admin', 'hammer_create', 'hammer', 4, '{"authenticator":[null,"(secret)"],"endpoint":[null,"https://127.0.0.1:45985"],"extra":[null,{"ca":"/var/lib/halligan/service.pem"}],"hammer_kind_id":[null,2],"name":[null,"redfish"],"node_id":[null,4],"priority":[null,5],"username":[null,"root"]}', '127.0.0.1');
INSERT INTO public.event VALUES (20, 0, 1794925572043, 'user admin', 'node_power', 'node', 4, '{"action":[null,"on"]}', '127.0.0.1');
INSERT INTO public.event VALUES (21, 0, 1794925572074, 'daemon', 'node_power_done', 'node', 4, '{"action":[null,"on"],"order":[null,2],"power_driver":["","redfish"],"power_state":[0,1],"result":[null,"done"],"text":[null,"on of node \"n1.example.com\" by its hammer \"redfish\": node \"n1.example.com\" is on"]}', '');
INSERT INTO public.event VALUES (22, 0, 1794925572102, 'user admin', 'hammer_update', 'hammer', 2, '{"endpoint":["","127.0.0.1:56313"]}', '127.0.0.1');
INSERT INTO public.event VALUES (23, 0, 1794925572105, 'user admin', 'node_update', 'node', 4, '{"alive":[false,true],"alive_since":[1794925571628,1794925572105]}', '127.0.0.1');
INSERT INTO public.event VALUES (24, 0, 1794925572240, 'daemon', 'node_pin_keys', 'node', 4, '{}', '');
INSERT INTO public.event VALUES (25, 0, 1794925572243, 'engine', 'anneal', '', 0, '{"outbox":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (26, 0, 1794925572263, 'user admin', 'node_update', 'node', 4, '{"deployment_id":[1,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (27, 0, 1794925572265, 'user admin', 'noderole_bind', 'noderole', 2, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,2],"since":[null,1794925572265]}', '127.0.0.1');
INSERT INTO public.event VALUES (28, 0, 1794925572274, 'user admin', 'noderole_bind', 'noderole', 3, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,8],"since":[null,1794925572274]}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 0, 1794925572275, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (29, 1, 1794925572275, 'engine', 'anneal', '', 0, '{"node":{"count":1,"ids":[3]},"noderole":{"count":3,"ids":[1,3,2]},"run":{"count":1,"ids":[1]},"snapshot":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (30, 0, 1794925572327, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (31, 0, 1794925572919, 'engine', 'anneal', '', 0, '{"noderole":{"count":3,"ids":[1,2,3]},"run":{"count":2,"ids":[1,2]}}', '');
INSERT INTO public.event VALUES (32, 0, 1794925572943, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (33, 0, 1794925573319, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[2]}}', '');
INSERT INTO public.event VALUES (34, 0, 1794925573326, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[2,3]}', '127.0.0.1');
INSERT INTO public.event VALUES (35, 0, 1794925573330, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 0, 1794925573331, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (36, 1, 1794925573331, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]},"snapshot":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (37, 0, 1794925573354, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (38, 0, 1794925573610, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]}}', '');
INSERT INTO public.event VALUES (39, 0, 1794925573635, 'user admin', 'deployment_propose', 'deployment', 2, '{"head_id":[3,4]}', '127.0.0.1');
INSERT INTO public.event VALUES (40, 0, 1794925573637, 'user admin', 'attrib_set', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (41, 0, 1794925573638, 'user admin', 'noderole_delete', 'noderole', 3, '{"data_from":[1,null],"deployment_id":[2,null],"member_from":[1,null],"node_id":[4,null],"order":[10000,null],"role_id":[8,null],"run_count":[1,null],"since":[1794925572919,null],"state":[4,null]}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 0, 1794925573641, 'user admin', 'deployment_commit', 'deployment', 2, '{}', '127.0.0.1');
INSERT INTO public.event VALUES (42, 1, 1794925573641, 'engine', 'anneal', '', 0, '{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (43, 0, 1794925573667, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (44, 0, 1794925573875, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]}}', '');
INSERT INTO public.event VALUES (45, 0, 1794925573888, 'user admin', 'noderole_bind', 'noderole', 4, '{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,3],"since":[null,1794925573888]}', '127.0.0.1');
INSERT INTO public.event VALUES (46, 0, 1794925573889, 'user admin', 'noderole_commit', 'noderole', 4, '{"data_from":[0,4],"member_from":[0,4],"since":[1794925573888,1794925573889],"state":[0,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (46, 1, 1794925573889, 'engine', 'anneal', '', 0, '{"deployment":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[4]},"run":{"count":1,"ids":[5]},"snapshot":{"count":2,"ids":[5,4]}}', '');
INSERT INTO public.event VALUES (47, 0, 1794925573911, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (48, 0, 1794925574123, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[4]},"run":{"count":1,"ids":[5]}}', '');
INSERT INTO public.event VALUES (49, 0, 1794925574141, 'user admin', 'noderole_bind', 'noderole', 5, '{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,4],"since":[null,1794925574141]}', '127.0.0.1');
INSERT INTO public.event VALUES (50, 0, 1794925574150, 'user admin', 'noderole_commit', 'noderole', 5, '{"data_from":[0,5],"member_from":[0,5],"since":[1794925574141,1794925574150],"state":[0,1]}', '127.0.0.1');
INSERT INTO public.event VALUES (51, 0, 1794925574163, 'user admin', 'noderole_bind', 'noderole', 6, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,7],"since":[null,1794925574163]}', '127.0.0.1');
INSERT INTO public.event VALUES (52, 0, 1794925574180, 'user admin', 'noderole_bind', 'noderole', 7, '{"deployment_id":[null,1],"node_id":[null,5],"order":[null,10000],"role_id":[null,7],"since":[null,1794925574180]}', '127.0.0.1');
INSERT INTO public.event VALUES (53, 0, 1794925574183, 'user admin', 'noderole_commit', 'noderole', 7, '{"data_from":[0,2],"member_from":[0,2],"since":[1794925574180,1794925574183],"state":[0,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (54, 0, 1794925574184, 'user admin', 'noderole_retry', 'noderole', 4, '{"since":[1794925574123,1794925574184],"state":[5,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (54, 1, 1794925574184, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[4]},"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (55, 0, 1794925574206, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (56, 0, 1794925574412, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[4]},"run":{"count":1,"ids":[6]}}', '');
INSERT INTO public.event VALUES (57, 0, 1794925574435, 'user admin', 'noderole_bind', 'noderole', 8, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,5],"since":[null,1794925574435]}', '127.0.0.1');
INSERT INTO public.event VALUES (58, 0, 1794925574438, 'user admin', 'noderole_commit', 'noderole', 8, '{"data_from":[0,3],"member_from":[0,3],"since":[1794925574435,1794925574438],"state":[0,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (58, 1, 1794925574438, 'engine', 'anneal', '', 0, '{"noderole":{"count":1,"ids":[8]},"run":{"count":1,"ids":[7]},"snapshot":{"count":1,"ids":[1]}}', '');
INSERT INTO public.event VALUES (59, 0, 1794925574440, 'user admin', 'noderole_bind', 'noderole', 9, '{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,6],"since":[null,1794925574440]}', '127.0.0.1');
INSERT INTO public.event VALUES (60, 0, 1794925574441, 'user admin', 'noderole_commit', 'noderole', 9, '{"data_from":[0,4],"member_from":[0,4],"since":[1794925574440,1794925574441],"state":[0,2]}', '127.0.0.1');
INSERT INTO public.event VALUES (61, 0, 1794925574465, 'engine', 'anneal', '', 0, '{"run":{"count":1,"ids":[7]}}', '');
INSERT INTO public."group" VALUES (1, 1794925571072, 1794925571072, 1, 'not_set', 'nodes in no other group', 'ui', 10000);
INSERT INTO public."group" VALUES (2, 1794925571633, 1794925571633, 10, 'r7', '', 'rack', 10000);
INSERT INTO public.hammer VALUES (1, 1794925571263, 1794925571263, 3, 2, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (2, 1794925571628, 1794925572102, 22, 4, 1, 0, 'ssh', '127.0.0.1:56313', 'root', '', '');
INSERT INTO public.hammer VALUES (3, 1794925571631, 1794925571631, 9, 5, 1, 0, 'ssh', '', 'root', '', '');
INSERT INTO public.hammer VALUES (4, 1794925572038, 1794925572038, 19, 4, 2, 5, 'redfish', 'https://127.0.0.1:45985', 'root', 'calvin', '{"ca":"/var/lib/halligan/service.pem"}');
INSERT INTO public.hammer_kind VALUES (1, 1794925571259, 1794925571259, 2, 'ssh', 'ssh', 0);
INSERT INTO public.hammer_kind VALUES (2, 1794925571259, 1794925571259, 2, 'redfish', 'redfish', 5);
INSERT INTO public.host_key VALUES (1, 1794925572240, 1794925572240, 24, 4, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBpj85yjyfX9HeHmNYp5AnSaMhxTr0dnlG+lsAZKX2Mu', 1794925572240, 0);
INSERT INTO public.jig VALUES (1, 1794925571259, 1794925571259, 2, 'noop', '', 'noop', 100, true, '', '', '', '', '');
INSERT INTO public.jig VALUES (2, 1794925571259, 1794925571259, 2, 'script', '', 'script', 100, true, '', '', '', '', '');
INSERT INTO public.leadership VALUES (1, 7352015155191808, 61, 1794925574465, '', 'host.example.com 1', '');
INSERT INTO public.link VALUES (1, 2, 1);
INSERT INTO public.membership VALUES (1, 2);
INSERT INTO public.membership VALUES (1, 3);
INSERT INTO public.membership VALUES (2, 4);
INSERT INTO public.membership VALUES (2, 5);
INSERT INTO public.node VALUES (1, 1794925571072, 1794925571072, 1, 'system-phantom.internal.local', '', false, true, 1, 0, false, true, false, false, 1794925571072, 1794925571072, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (2, 1794925571263, 1794925571622, 7, 'admin.example.com', 'quote '' double " backslash \ zwölf
second line', true, false, 1, 0, false, true, true, false, 1794925571263, 1794925571622, 'local', 10000, '', '', '{"admin-v4addr":"192.0.2.1/32"}', '', 0, '', '', '', '', 0, '', true, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (3, 1794925571620, 1794925572275, 29, 'lab-phantom.internal.local', '', false, true, 2, 0, false, true, true, false, 1794925571620, 1794925572275, 'local', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.node VALUES (4, 1794925571628, 1794925572263, 26, 'n1.example.com', 'quote '' double " backslash \ zwölf
second line', false, false, 2, 0, false, true, true, false, 1794925572105, 1794925571628, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 1, 1794925572074, 'redfish', 0, '', 2, '[{"action":"on","at_ms":1794925572074,"driver":"redfish","failed":false,"order":2,"reason":null,"text":"on of node \"n1.example.com\" by its hammer \"redfish\": node \"n1.example.com\" is on"}]');
INSERT INTO public.node VALUES (5, 1794925571631, 1794925571631, 9, 'n2.example.com', '', false, false, 1, 0, false, false, true, false, 1794925571631, 1794925571631, 'sledgehammer', 10000, '', '', '', '', 0, '', '', '', '', 0, '', false, 0, 0, '', 0, '', 0, '');
INSERT INTO public.noderole VALUES (1, 1794925572265, 1794925572919, 31, 2, 1, 4, 4, 1794925572919, 0, 1, 1, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '{"base":{"text":"it is \"here\""}}', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (2, 1794925572265, 1794925573875, 44, 2, 2, 4, 4, 1794925573875, 1, 3, 3, 10000, false, false, false, false, 1, 1, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (4, 1794925573888, 1794925574412, 56, 2, 3, 4, 5, 1794925574412, 0, 0, 2, 10000, false, false, false, false, 4, 4, 'run failed', '== 10.sh
broken fails
a script of role broken ended with status 3', '', '', '', '', '', '', 0, 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.noderole VALUES (5, 1794925574141, 1794925574150, 50, 2, 4, 4, 1, 1794925574150, 1, 0, 0, 10000, false, false, false, false, 5, 5, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (6, 1794925574163, 1794925574163, 51, 1, 7, 2, 0, 1794925574163, 0, 0, 0, 10000, false, false, false, false, 0, 0, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (7, 1794925574180, 1794925574183, 53, 1, 7, 5, 2, 1794925574183, 0, 0, 0, 10000, false, false, false, false, 2, 2, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (8, 1794925574435, 1794925574438, 58, 1, 5, 2, 3, 1794925574438, 0, 0, 1, 10000, false, false, false, false, 3, 3, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.noderole VALUES (9, 1794925574440, 1794925574441, 60, 1, 6, 2, 2, 1794925574441, 0, 0, 0, 10000, false, false, false, false, 4, 4, '', '', '', '', '', '', '', '', 0, 0, '', '');
INSERT INTO public.old_data VALUES (2, 2, 0, 2, 3, '{"web":{"workers":8}}');
INSERT INTO public.old_data VALUES (2, 8, 4, 1, 3, '');
INSERT INTO public.old_member VALUES (2, 3, 8, 4, 1, 3);
INSERT INTO public.old_run VALUES (1, 1, 1, 4, 1, 1794925572275, 1794925572919, 0, '== 10.sh
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 1, 2, 4, 2, 1794925572919, 1794925573319, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 2, 3, 4, 2, 1794925573331, 1794925573610, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (2, 3, 4, 4, 2, 1794925573641, 1794925573875, 0, '== 10.sh
web runs
', 0, '', '');
INSERT INTO public.old_run VALUES (4, 1, 5, 4, 3, 1794925573889, 1794925574123, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.old_run VALUES (4, 2, 6, 4, 3, 1794925574184, 1794925574412, 1, '== 10.sh
broken fails
a script of role broken ended with status 3', 1, '3', 'a script of role broken ended with status 3');
INSERT INTO public.role VALUES (1, 1794925571259, 1794925571259, 2, 'base', 'Base', 'Role', 'script', 1, 2, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (2, 1794925571259, 1794925571259, 2, 'web', 'Web', 'Role', 'script', 1, 0, 0, 1, '["base"]', '[{"at":"","name":"base-text"}]', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (3, 1794925571259, 1794925571259, 2, 'broken', 'Broken', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (4, 1794925571259, 1794925571259, 2, 'behind-broken', 'Behind Broken', 'Role', 'script', 1, 0, 0, 1, '["broken"]', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (5, 1794925571259, 1794925571259, 2, 'slow', 'Slow', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (6, 1794925571259, 1794925571259, 2, 'next', 'Next', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (7, 1794925571259, 1794925571259, 2, 'later', 'Later', 'Role', 'script', 1, 0, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.role VALUES (8, 1794925571259, 1794925571259, 2, 'goal', 'Goal', 'Role', 'noop', 1, 128, 0, 0, '', '', '', '', '', '', '', 0, 0, 0, 0);
INSERT INTO public.run VALUES (7, 1794925574438, 1794925574465, 61, 2, 8, 1, 0, 1, false, true, true, 1794925574438, 0, 'pid 18224', '{"hints":{"admin-v4addr":"192.0.2.1/32"},"quirks":[]}', 0);
INSERT INTO public.schema_migration VALUES ('0001_initial', '9ddac6ca6cd390ccc2b2c11422008474d1c8c804f3a70b13d3f90ff249696999', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0002_computed', '9852ba9c3d7ef981879993739bd7e25e069c44c255f76b4bdc063522157e3b00', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0003_runs', '8308227d776543cbeef9b3bccc313ee918bfc160c21d6c713865a14a48e201e5', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0004_people', '9342be9fadeacb20cca42d69ff13924a904ddcdde758e11105be8a57e47fae88', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0005_defaults', '8618c445e0e43fc588ba727c506d0a60ab8fcc3fdc7c6f5f7f5506e2e8fc1cf6', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0006_reasons', '159034760e43eeffa3f280e73dcd4d97c08fb0dde01ca491baedac9dd4bf4aba', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0007_automatic', 'cb916a7ac0b1562801ae49097440b5001f2dfc5d5c20c0f9e7158b8c88ecac9e', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0008_host_keys', '7e00734567d0f29885b2a875f59a7608edf12b6484344871629805abfab313ee', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0009_power', '9990da757a5be5960019d5014ea95c55a455ce45a29fe2ed7927bfa36527a886', 1794925574000);
INSERT INTO public.schema_migration VALUES ('0010_event_address', 'b8b98cb31d6b2530e3ef41c1f5d028a60048d6182d81a9d9dfa6680332a14eeb', 1794925574000);
INSERT INTO public.settings VALUES (1, 1794925571072, 1794925571072, 1, 10, 2, 0, false, 10, 14400, 600, true);
INSERT INTO public.snapshot VALUES (1, 1794925571072, 1794925574441, 60, 1, 4, 'system', '', 1000, 0, 1, 1794925571072, 1794925571072, 0, 'founding', '');
INSERT INTO public.snapshot VALUES (2, 1794925571620, 1794925573326, 34, 2, 1, 'lab', '', 1000, 0, 2, 1794925573326, 1794925572275, 1794925573326, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (3, 1794925573326, 1794925573635, 39, 2, 2, 'lab', '', 1001, 2, 2, 1794925573635, 1794925573331, 1794925573635, 'user admin', '{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (4, 1794925573635, 1794925573889, 46, 2, 3, 'lab', '', 1002, 3, 2, 1794925573889, 1794925573641, 1794925573889, 'user admin', '{"active":2,"blocked":0,"error":0,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (5, 1794925573889, 1794925574150, 50, 2, 4, 'lab', '', 1003, 4, 2, 1794925574150, 1794925573889, 1794925574150, 'user admin', '{"active":2,"blocked":0,"error":1,"proposed":1,"todo":0,"transition":0}');
INSERT INTO public.snapshot VALUES (6, 1794925574150, 1794925574150, 50, 2, 5, 'lab', '', 1004, 5, 1, 1794925574150, 1794925574150, 0, 'user admin', '');
INSERT INTO public.token VALUES (1, 1794925571617, 1794925571617, 5, 1, 'tests/runs', 'c8cb547d28b4e98619ca6f02a84a80fa9fffcc47da955ea2dcbbe3a579938eff', 0, 0, 0, 0, 0);
INSERT INTO public.token VALUES (2, 1794925572014, 1794925572014, 17, 1, 'limited', '7a91ec1d1da92dbc8b5dabf398acfb7eca2e6370fd756118a8601e314cb69531', 2051222400000, 1, 2, 0, 0);
INSERT INTO public.token VALUES (3, 1794925572015, 1794925572015, 18, 0, 'node', '62a80684dc18ea06a2afde18a771e5d6b4c31a0f28016fc9234bb8bdb8651318', 0, 0, 0, 4, 0);
INSERT INTO public."user" VALUES (1, 1794925571257, 1794925571257, 1, 'admin', '', true, false, '$argon2id$v=19$m=65536,t=2,p=1$Aq1y0vRykR+IghPQ2m1emA$se603WXrHHR9306DaxEW8cTMQm2/29mfhMCDiKpTCGk', '', '', 2, '');
INSERT INTO public."user" VALUES (2, 1794925571755, 1794925571755, 13, 'olga', 'olga@example.com', false, false, '$argon2id$v=19$m=65536,t=2,p=1$iE785zGpDFnBF5Zp/WgCAA$Qz+VSRTxq7xakJVWqc2ffkVL5JlRb4/jM2aUHFqnfAs', '2884c5684c2a45e5effd962be248d287', '', 2, '');
INSERT INTO public."user" VALUES (3, 1794925571851, 1794925571851, 14, 'grantee', '', false, false, '$argon2id$v=19$m=65536,t=2,p=1$haCrhsfPIVzMlZsu88YqnQ$DWXkmCxGVEwq+iNjhdqItCBe7zQl8d3XCjzGLHh/TyM', '', '', 1, '{"2":"operator"}');
INSERT INTO public."user" VALUES (4, 1794925572010, 1794925572012, 16, 'locked', '', true, true, '$argon2id$v=19$m=65536,t=2,p=1$qBD5sKsqGfISxMVfSXERaQ$oi+WsVHTRhsG/VtJBsF3YK/0VIaO/p3jS008rbvankU', '', '', 2, '');
ALTER TABLE ONLY public.attrib
    ADD CONSTRAINT attrib_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.barclamp
    ADD CONSTRAINT barclamp_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deployment_role
    ADD CONSTRAINT deployment_role_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_pkey PRIMARY KEY (parent_id, child_id, attrib_id);
ALTER TABLE ONLY public.membership
    ADD CONSTRAINT membership_pkey PRIMARY KEY (group_id, node_id);
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
