BEGIN TRANSACTION;
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
INSERT INTO "attrib" VALUES(1,1795043204252,1795043204252,2,'base-text','',1,1,0,10000,'base/text','attribs/default','','');
INSERT INTO "attrib" VALUES(2,1795043204252,1795043204252,2,'web-workers','',1,2,1,10000,'web/workers','attribs/default','{"type":"int"}','{"value":4}');
INSERT INTO "attrib" VALUES(3,1795043206438,1795043206438,45,'names-list','',2,9,0,10000,'names/list','attribs/default','','{"value":["system"]}');
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
INSERT INTO "barclamp" VALUES(1,1795043204252,1795043204252,2,'upgrade','Upgrade',1,'0.0','0.0','','/var/lib/halligan/barclamps/upgrade','unknown','unknown','{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}');
INSERT INTO "barclamp" VALUES(2,1795043206438,1795043206438,45,'upgrade_names','Upgrade Names',2,'0.0','0.0','','/var/lib/halligan/uploads/upgrade_names','unknown','unknown','{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}');
INSERT INTO "barclamp" VALUES(3,1795043206457,1795043206457,48,'upgrade_bootenvs','Upgrade Bootenvs',3,'0.0','0.0','','/var/lib/halligan/uploads/upgrade_bootenvs','unknown','unknown','{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}');
CREATE TABLE bootenv (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    kernel TEXT NOT NULL,
    initrd TEXT NOT NULL,
    args TEXT NOT NULL,
    method TEXT NOT NULL,
    os TEXT NOT NULL,
    available INTEGER NOT NULL,
    barclamp_id INTEGER NOT NULL
) STRICT;
INSERT INTO "bootenv" VALUES(1,1795043206457,1795043206457,48,'upgrade-install','upgrade/linux','["upgrade/initrd"]','quiet','installer','upgrade',0,3);
CREATE TABLE counter (
    id TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "counter" VALUES('attrib',1795043204123,1795043206438,45,3);
INSERT INTO "counter" VALUES('barclamp',1795043204123,1795043206457,48,3);
INSERT INTO "counter" VALUES('bootenv',1795043204123,1795043206457,48,1);
INSERT INTO "counter" VALUES('counter',1795043204123,1795043204123,1,0);
INSERT INTO "counter" VALUES('deployment',1795043204123,1795043204422,6,2);
INSERT INTO "counter" VALUES('deployment_role',1795043204123,1795043206950,69,9);
INSERT INTO "counter" VALUES('dns_name_entry',1795043204123,1795043206461,53,3);
INSERT INTO "counter" VALUES('dns_name_filter',1795043204123,1795043206458,49,1);
INSERT INTO "counter" VALUES('group',1795043204123,1795043204428,10,2);
INSERT INTO "counter" VALUES('hammer',1795043204123,1795043206459,50,5);
INSERT INTO "counter" VALUES('hammer_kind',1795043204123,1795043204252,2,2);
INSERT INTO "counter" VALUES('host_key',1795043204123,1795043205012,24,1);
INSERT INTO "counter" VALUES('jig',1795043204123,1795043204252,2,2);
INSERT INTO "counter" VALUES('lease',1795043204123,1795043206462,54,1);
INSERT INTO "counter" VALUES('network',1795043204123,1795043206458,49,1);
INSERT INTO "counter" VALUES('network_allocation',1795043204123,1795043206461,53,3);
INSERT INTO "counter" VALUES('network_range',1795043204123,1795043206458,49,1);
INSERT INTO "counter" VALUES('network_router',1795043204123,1795043206458,49,1);
INSERT INTO "counter" VALUES('nic',1795043204123,1795043206459,50,1);
INSERT INTO "counter" VALUES('node',1795043204123,1795043206459,50,6);
INSERT INTO "counter" VALUES('noderole',1795043204123,1795043206950,69,10);
INSERT INTO "counter" VALUES('outbox',1795043204123,1795043204894,23,3);
INSERT INTO "counter" VALUES('role',1795043204123,1795043206438,45,9);
INSERT INTO "counter" VALUES('run',1795043204123,1795043206947,68,7);
INSERT INTO "counter" VALUES('settings',1795043204123,1795043204123,1,1);
INSERT INTO "counter" VALUES('snapshot',1795043204123,1795043206678,60,6);
INSERT INTO "counter" VALUES('token',1795043204123,1795043204806,18,3);
INSERT INTO "counter" VALUES('user',1795043204123,1795043204783,15,4);
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
, rerunning INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "deployment" VALUES(1,1795043204123,1795043204123,1,'system','discovery and bootstrap',0,1,1,1,0);
INSERT INTO "deployment" VALUES(2,1795043204422,1795043206678,60,'lab','quote '' double " backslash \ zwölf
second line',1,0,6,3,0);
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
INSERT INTO "deployment_role" VALUES(1,1795043205041,1795043205041,27,2,1,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(2,1795043205041,1795043206138,42,2,2,0,'','{"web":{"workers":16}}','','',3);
INSERT INTO "deployment_role" VALUES(3,1795043205054,1795043205054,28,2,8,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(4,1795043206443,1795043206443,46,1,9,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(5,1795043206463,1795043206463,55,2,3,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(6,1795043206673,1795043206673,59,2,4,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(7,1795043206682,1795043206682,61,1,7,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(8,1795043206946,1795043206946,67,1,5,0,'','','','',0);
INSERT INTO "deployment_role" VALUES(9,1795043206950,1795043206950,69,1,6,0,'','','','',0);
CREATE TABLE dns_name_entry (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_allocation_id INTEGER NOT NULL,
    dns_name_filter_id INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;
INSERT INTO "dns_name_entry" VALUES(1,1795043206460,1795043206460,51,1,1,'n1');
INSERT INTO "dns_name_entry" VALUES(3,1795043206461,1795043206461,53,3,1,'n3');
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
, deleting INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "dns_name_filter" VALUES(1,1795043206458,1795043206458,49,'default','net.category == "admin"',50,'system','{{node.name}}',0);
CREATE TABLE edge (
    parent_id INTEGER NOT NULL,
    child_id INTEGER NOT NULL,
    PRIMARY KEY (parent_id, child_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "edge" VALUES(1,2);
INSERT INTO "edge" VALUES(5,6);
CREATE TABLE event (
    turn INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    object TEXT NOT NULL,
    object_id INTEGER NOT NULL,
    changes TEXT NOT NULL, address TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (turn, n)
) STRICT, WITHOUT ROWID;
INSERT INTO "event" VALUES(1,0,1795043204250,'daemon','user_create','user',1,'{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"admin"]}','');
INSERT INTO "event" VALUES(2,0,1795043204252,'daemon','import','barclamp',1,'{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade","source_path":"/var/lib/halligan/barclamps/upgrade"},"hammers":[{"name":"ssh","priority":0,"type":"ssh"},{"name":"redfish","priority":5,"type":"redfish"}],"jigs":[{"class":"noop","name":"noop"},{"class":"script","name":"script"}],"roles":[{"attribs":[{"map":"base/text","name":"base-text"}],"flags":["implicit"],"jig":"script","name":"base"},{"attribs":[{"default":4,"map":"web/workers","name":"web-workers","schema":{"type":"int"}}],"jig":"script","name":"web","requires":["base"],"wants-attribs":["base-text"]},{"jig":"script","name":"broken"},{"jig":"script","name":"behind-broken","requires":["broken"]},{"jig":"script","name":"slow"},{"jig":"script","name":"next"},{"jig":"script","name":"later"},{"flags":["milestone"],"jig":"noop","name":"goal"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade"],"name":[null,"upgrade"],"parent_id":[null,1],"source_path":[null,"/var/lib/halligan/barclamps/upgrade"],"version":[null,"0.0"]}','');
INSERT INTO "event" VALUES(3,0,1795043204255,'daemon','node_create','node',2,'{"admin":[null,true],"alive":[null,true],"alive_since":[null,1795043204255],"automatic":[null,true],"available_since":[null,1795043204255],"bootenv":[null,"local"],"deployment_id":[null,1],"description":[null,"the host of this installation"],"hint":[null,{"admin-v4addr":"192.0.2.1/32"}],"name":[null,"admin.example.com"],"order":[null,10000]}','');
INSERT INTO "event" VALUES(4,0,1795043204257,'engine','anneal','',0,'{"outbox":{"count":1,"ids":[1]}}','');
INSERT INTO "event" VALUES(5,0,1795043204417,'user admin','token_create','token',1,'{"hash":[null,"(secret)"],"name":[null,"tests/runs"],"user_id":[null,1]}','127.0.0.1');
INSERT INTO "event" VALUES(6,0,1795043204422,'user admin','deployment_create','deployment',2,'{"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"head_id":[null,2],"name":[null,"lab"],"parent_id":[null,1],"phantom_id":[null,3]}','127.0.0.1');
INSERT INTO "event" VALUES(7,0,1795043204426,'user admin','node_update','node',2,'{"available":[false,true],"available_since":[1795043204255,1795043204426],"description":["the host of this installation","quote '' double \" backslash \\ zwölf\nsecond line"]}','127.0.0.1');
INSERT INTO "event" VALUES(8,0,1795043204426,'user admin','node_create','node',4,'{"alive_since":[null,1795043204426],"available":[null,true],"available_since":[null,1795043204426],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"name":[null,"n1.example.com"],"order":[null,10000]}','127.0.0.1');
INSERT INTO "event" VALUES(9,0,1795043204427,'user admin','node_create','node',5,'{"alive_since":[null,1795043204427],"available":[null,true],"available_since":[null,1795043204427],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"name":[null,"n2.example.com"],"order":[null,10000]}','127.0.0.1');
INSERT INTO "event" VALUES(10,0,1795043204428,'user admin','group_create','group',2,'{"category":[null,"rack"],"name":[null,"r7"],"order":[null,10000]}','127.0.0.1');
INSERT INTO "event" VALUES(11,0,1795043204428,'user admin','group_add','group',2,'{"node_id":[null,4]}','127.0.0.1');
INSERT INTO "event" VALUES(12,0,1795043204429,'user admin','group_add','group',2,'{"node_id":[null,5]}','127.0.0.1');
INSERT INTO "event" VALUES(13,0,1795043204520,'user admin','user_create','user',2,'{"access":[null,"operator"],"digest_ha1":[null,"(secret)"],"email":[null,"olga@example.com"],"password_hash":[null,"(secret)"],"username":[null,"olga"]}','127.0.0.1');
INSERT INTO "event" VALUES(14,0,1795043204635,'user admin','user_create','user',3,'{"access":[null,"viewer"],"grants":[null,{"2":"operator"}],"password_hash":[null,"(secret)"],"username":[null,"grantee"]}','127.0.0.1');
INSERT INTO "event" VALUES(15,0,1795043204783,'user admin','user_create','user',4,'{"access":[null,"operator"],"is_admin":[null,true],"password_hash":[null,"(secret)"],"username":[null,"locked"]}','127.0.0.1');
INSERT INTO "event" VALUES(16,0,1795043204792,'user admin','user_update','user',4,'{"is_locked":[false,true]}','127.0.0.1');
INSERT INTO "event" VALUES(17,0,1795043204805,'user admin','token_create','token',2,'{"access":[null,"viewer"],"deployment_id":[null,2],"expires_at":[null,2051222400000],"hash":[null,"(secret)"],"name":[null,"limited"],"user_id":[null,1]}','127.0.0.1');
INSERT INTO "event" VALUES(18,0,1795043204806,'user admin','token_create','token',3,'{"hash":[null,"(secret)"],"name":[null,"node"],"node_id":[null,4]}','127.0.0.1');
INSERT INTO "event" VALUES(19,0,1795043204821,'user admin','hammer_create','hammer',4,'{"authenticator":[null,"(secret)"],"endpoint":[null,"https://127.0.0.1:44503"],"extra":[null,{"ca":"/var/lib/halligan/service.pem"}],"hammer_kind_id":[null,2],"name":[null,"redfish"],"node_id":[null,4],"priority":[null,5],"username":[null,"root"]}','127.0.0.1');
INSERT INTO "event" VALUES(20,0,1795043204826,'user admin','node_power','node',4,'{"action":[null,"on"]}','127.0.0.1');
INSERT INTO "event" VALUES(21,0,1795043204832,'daemon','node_power_done','node',4,'{"action":[null,"on"],"order":[null,2],"power_driver":["","redfish"],"power_state":["unknown","on"],"result":[null,"done"],"text":[null,"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"]}','');
INSERT INTO "event" VALUES(22,0,1795043204882,'user admin','hammer_update','hammer',2,'{"endpoint":["","127.0.0.1:53915"]}','127.0.0.1');
INSERT INTO "event" VALUES(23,0,1795043204894,'user admin','node_update','node',4,'{"alive":[false,true],"alive_since":[1795043204426,1795043204894]}','127.0.0.1');
INSERT INTO "event" VALUES(24,0,1795043205012,'daemon','node_pin_keys','node',4,'{"host_keys":[null,["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOnrMuFehhDQ9GGpu6H+Fj/UNZ72f4t5NktMHyQpTyJw"]]}','');
INSERT INTO "event" VALUES(25,0,1795043205025,'user admin','node_update','node',4,'{"deployment_id":[1,2]}','127.0.0.1');
INSERT INTO "event" VALUES(26,0,1795043205031,'engine','anneal','',0,'{"outbox":{"count":1,"ids":[3]}}','');
INSERT INTO "event" VALUES(27,0,1795043205041,'user admin','noderole_bind','noderole',2,'{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,2],"since":[null,1795043205041]}','127.0.0.1');
INSERT INTO "event" VALUES(28,0,1795043205054,'user admin','noderole_bind','noderole',3,'{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,8],"since":[null,1795043205054]}','127.0.0.1');
INSERT INTO "event" VALUES(29,0,1795043205058,'user admin','deployment_commit','deployment',2,'{}','127.0.0.1');
INSERT INTO "event" VALUES(29,1,1795043205058,'engine','anneal','',0,'{"node":{"count":1,"ids":[3]},"noderole":{"count":3,"ids":[1,3,2]},"run":{"count":1,"ids":[1]},"snapshot":{"count":1,"ids":[2]}}','');
INSERT INTO "event" VALUES(30,0,1795043205129,'engine','anneal','',0,'{"run":{"count":1,"ids":[1]}}','');
INSERT INTO "event" VALUES(31,0,1795043205619,'engine','anneal','',0,'{"noderole":{"count":3,"ids":[1,2,3]},"run":{"count":2,"ids":[1,2]}}','');
INSERT INTO "event" VALUES(32,0,1795043205640,'engine','anneal','',0,'{"run":{"count":1,"ids":[2]}}','');
INSERT INTO "event" VALUES(33,0,1795043205863,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[2]}}','');
INSERT INTO "event" VALUES(34,0,1795043205872,'user admin','deployment_propose','deployment',2,'{"head_id":[2,3]}','127.0.0.1');
INSERT INTO "event" VALUES(35,0,1795043205873,'user admin','attrib_set','deployment',2,'{}','127.0.0.1');
INSERT INTO "event" VALUES(36,0,1795043205877,'user admin','deployment_commit','deployment',2,'{}','127.0.0.1');
INSERT INTO "event" VALUES(36,1,1795043205877,'engine','anneal','',0,'{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]},"snapshot":{"count":1,"ids":[3]}}','');
INSERT INTO "event" VALUES(37,0,1795043205903,'engine','anneal','',0,'{"run":{"count":1,"ids":[3]}}','');
INSERT INTO "event" VALUES(38,0,1795043206107,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[3]}}','');
INSERT INTO "event" VALUES(39,0,1795043206117,'user admin','deployment_propose','deployment',2,'{"head_id":[3,4]}','127.0.0.1');
INSERT INTO "event" VALUES(40,0,1795043206122,'user admin','attrib_set','deployment',2,'{}','127.0.0.1');
INSERT INTO "event" VALUES(41,0,1795043206126,'user admin','noderole_delete','noderole',3,'{"data_from":[1,null],"deployment_id":[2,null],"member_from":[1,null],"node_id":[4,null],"order":[10000,null],"role_id":[8,null],"run_count":[1,null],"since":[1795043205619,null],"state":["active",null]}','127.0.0.1');
INSERT INTO "event" VALUES(42,0,1795043206138,'user admin','deployment_commit','deployment',2,'{}','127.0.0.1');
INSERT INTO "event" VALUES(42,1,1795043206138,'engine','anneal','',0,'{"deployment_role":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[4]}}','');
INSERT INTO "event" VALUES(43,0,1795043206166,'engine','anneal','',0,'{"run":{"count":1,"ids":[4]}}','');
INSERT INTO "event" VALUES(44,0,1795043206416,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[2]},"run":{"count":1,"ids":[4]}}','');
INSERT INTO "event" VALUES(45,0,1795043206438,'user admin','import','barclamp',2,'{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_names","source_path":"/var/lib/halligan/uploads/upgrade_names"},"roles":[{"attribs":[{"default":["system"],"map":"names/list","name":"names-list"}],"jig":"noop","lists-services":"names-list","name":"names"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Names"],"name":[null,"upgrade_names"],"parent_id":[null,2],"source_path":[null,"/var/lib/halligan/uploads/upgrade_names"],"version":[null,"0.0"]}','127.0.0.1');
INSERT INTO "event" VALUES(46,0,1795043206443,'user admin','noderole_bind','noderole',4,'{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,9],"since":[null,1795043206443]}','127.0.0.1');
INSERT INTO "event" VALUES(47,0,1795043206446,'user admin','noderole_commit','noderole',4,'{"data_from":[0,2],"member_from":[0,2],"since":[1795043206443,1795043206446],"state":["proposed","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(47,1,1795043206446,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[4]},"snapshot":{"count":1,"ids":[1]}}','');
INSERT INTO "event" VALUES(48,0,1795043206457,'user admin','import','barclamp',3,'{"build_on":[null,"unknown"],"build_version":[null,"0.0"],"cfg_data":[null,{"barclamp":{"name":"upgrade_bootenvs","source_path":"/var/lib/halligan/uploads/upgrade_bootenvs"},"bootenvs":[{"args":"quiet","initrd":["upgrade/initrd"],"kernel":"upgrade/linux","method":"installer","name":"upgrade-install","os":"upgrade"}]}],"commit":[null,"unknown"],"description":[null,"Upgrade Bootenvs"],"name":[null,"upgrade_bootenvs"],"parent_id":[null,3],"source_path":[null,"/var/lib/halligan/uploads/upgrade_bootenvs"],"version":[null,"0.0"]}','127.0.0.1');
INSERT INTO "event" VALUES(49,0,1795043206458,'user admin','network_create','network',1,'{"category":[null,"admin"],"conduit":[null,"1g0"],"configure":[null,true],"deployment_id":[null,1],"description":[null,"quote '' double \" backslash \\ zwölf\nsecond line"],"group":[null,"default"],"name":[null,"racks"],"order":[null,1000],"team_mode":[null,5]}','127.0.0.1');
INSERT INTO "event" VALUES(50,0,1795043206459,'user admin','node_create','node',6,'{"alive_since":[null,1795043206459],"available_since":[null,1795043206459],"bootenv":[null,"sledgehammer"],"deployment_id":[null,1],"hint":[null,{"admin_macs":["52:54:00:12:34:56"]}],"name":[null,"n3.example.com"],"order":[null,10000]}','127.0.0.1');
INSERT INTO "event" VALUES(51,0,1795043206460,'user admin','network_allocate','network_allocation',1,'{"address":[null,"198.51.100.10/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,4]}','127.0.0.1');
INSERT INTO "event" VALUES(52,0,1795043206461,'user admin','network_allocate','network_allocation',2,'{"address":[null,"198.51.100.11/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,5]}','127.0.0.1');
INSERT INTO "event" VALUES(53,0,1795043206461,'user admin','network_allocate','network_allocation',3,'{"address":[null,"198.51.100.12/24"],"network_id":[null,1],"network_range_id":[null,1],"node_id":[null,6]}','127.0.0.1');
INSERT INTO "event" VALUES(54,0,1795043206462,'user admin','network_deallocate','network_allocation',2,'{"address":["198.51.100.11/24",null],"network_id":[1,null],"network_range_id":[1,null],"node_id":[5,null]}','127.0.0.1');
INSERT INTO "event" VALUES(55,0,1795043206463,'user admin','noderole_bind','noderole',5,'{"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,3],"since":[null,1795043206463]}','127.0.0.1');
INSERT INTO "event" VALUES(56,0,1795043206464,'user admin','noderole_commit','noderole',5,'{"data_from":[0,4],"member_from":[0,4],"since":[1795043206463,1795043206464],"state":["proposed","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(56,1,1795043206464,'engine','anneal','',0,'{"deployment":{"count":1,"ids":[2]},"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[5]},"snapshot":{"count":2,"ids":[5,4]}}','');
INSERT INTO "event" VALUES(57,0,1795043206485,'engine','anneal','',0,'{"run":{"count":1,"ids":[5]}}','');
INSERT INTO "event" VALUES(58,0,1795043206667,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[5]}}','');
INSERT INTO "event" VALUES(59,0,1795043206673,'user admin','noderole_bind','noderole',6,'{"cohort":[null,1],"deployment_id":[null,2],"node_id":[null,4],"order":[null,10000],"role_id":[null,4],"since":[null,1795043206673]}','127.0.0.1');
INSERT INTO "event" VALUES(60,0,1795043206678,'user admin','noderole_commit','noderole',6,'{"data_from":[0,5],"member_from":[0,5],"since":[1795043206673,1795043206678],"state":["proposed","blocked"]}','127.0.0.1');
INSERT INTO "event" VALUES(61,0,1795043206682,'user admin','noderole_bind','noderole',7,'{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,7],"since":[null,1795043206682]}','127.0.0.1');
INSERT INTO "event" VALUES(62,0,1795043206690,'user admin','noderole_bind','noderole',8,'{"deployment_id":[null,1],"node_id":[null,5],"order":[null,10000],"role_id":[null,7],"since":[null,1795043206690]}','127.0.0.1');
INSERT INTO "event" VALUES(63,0,1795043206691,'user admin','noderole_commit','noderole',8,'{"data_from":[0,3],"member_from":[0,3],"since":[1795043206690,1795043206691],"state":["proposed","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(64,0,1795043206691,'user admin','noderole_retry','noderole',5,'{"since":[1795043206667,1795043206691],"state":["error","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(64,1,1795043206691,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[6]}}','');
INSERT INTO "event" VALUES(65,0,1795043206712,'engine','anneal','',0,'{"run":{"count":1,"ids":[6]}}','');
INSERT INTO "event" VALUES(66,0,1795043206941,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[5]},"run":{"count":1,"ids":[6]}}','');
INSERT INTO "event" VALUES(67,0,1795043206946,'user admin','noderole_bind','noderole',9,'{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,5],"since":[null,1795043206946]}','127.0.0.1');
INSERT INTO "event" VALUES(68,0,1795043206947,'user admin','noderole_commit','noderole',9,'{"data_from":[0,4],"member_from":[0,4],"since":[1795043206946,1795043206947],"state":["proposed","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(68,1,1795043206947,'engine','anneal','',0,'{"noderole":{"count":1,"ids":[9]},"run":{"count":1,"ids":[7]},"snapshot":{"count":1,"ids":[1]}}','');
INSERT INTO "event" VALUES(69,0,1795043206950,'user admin','noderole_bind','noderole',10,'{"deployment_id":[null,1],"node_id":[null,2],"order":[null,10000],"role_id":[null,6],"since":[null,1795043206950]}','127.0.0.1');
INSERT INTO "event" VALUES(70,0,1795043206950,'user admin','noderole_commit','noderole',10,'{"data_from":[0,5],"member_from":[0,5],"state":["proposed","todo"]}','127.0.0.1');
INSERT INTO "event" VALUES(71,0,1795043206969,'engine','anneal','',0,'{"run":{"count":1,"ids":[7]}}','');
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
INSERT INTO "group" VALUES(1,1795043204123,1795043204123,1,'not_set','nodes in no other group','ui',10000);
INSERT INTO "group" VALUES(2,1795043204428,1795043204428,10,'r7','','rack',10000);
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
, extra TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "hammer" VALUES(1,1795043204255,1795043204255,3,2,1,0,'ssh','','root','','');
INSERT INTO "hammer" VALUES(2,1795043204426,1795043204882,22,4,1,0,'ssh','127.0.0.1:53915','root','','');
INSERT INTO "hammer" VALUES(3,1795043204427,1795043204427,9,5,1,0,'ssh','','root','','');
INSERT INTO "hammer" VALUES(4,1795043204821,1795043204821,19,4,2,5,'redfish','https://127.0.0.1:44503','root','calvin','{"ca":"/var/lib/halligan/service.pem"}');
INSERT INTO "hammer" VALUES(5,1795043206459,1795043206459,50,6,1,0,'ssh','','root','','');
CREATE TABLE hammer_kind (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    name TEXT NOT NULL,
    klass TEXT NOT NULL,
    priority INTEGER NOT NULL
) STRICT;
INSERT INTO "hammer_kind" VALUES(1,1795043204252,1795043204252,2,'ssh','ssh',0);
INSERT INTO "hammer_kind" VALUES(2,1795043204252,1795043204252,2,'redfish','redfish',5);
CREATE TABLE host_key (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    boot INTEGER NOT NULL
) STRICT;
INSERT INTO "host_key" VALUES(1,1795043205012,1795043205012,24,4,'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOnrMuFehhDQ9GGpu6H+Fj/UNZ72f4t5NktMHyQpTyJw',1795043205012,0);
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
INSERT INTO "jig" VALUES(1,1795043204252,1795043204252,2,'noop','','noop',100,1,'','','','','');
INSERT INTO "jig" VALUES(2,1795043204252,1795043204252,2,'script','','script',100,1,'','','','','');
CREATE TABLE leadership (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    now_ms INTEGER NOT NULL,
    digest TEXT NOT NULL, -- of all loaded tables, 32 hex digits; empty: not known
    holder TEXT NOT NULL, -- for people
    claim TEXT NOT NULL   -- tells our own lost answer from somebody else
) STRICT;
INSERT INTO "leadership" VALUES(1,1,71,1795043206969,'','host.example.com 1','7af46282b0808d23493dc4b2e18bf8fb');
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
INSERT INTO "lease" VALUES(1,1795043206462,1795043206462,54,1,'198.51.100.11/24',0,2,5,3600000);
CREATE TABLE link (
    parent_id INTEGER NOT NULL,
    child_id INTEGER NOT NULL,
    attrib_id INTEGER NOT NULL,
    PRIMARY KEY (parent_id, child_id, attrib_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "link" VALUES(1,2,1);
CREATE TABLE membership (
    group_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    PRIMARY KEY (group_id, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "membership" VALUES(1,2);
INSERT INTO "membership" VALUES(1,3);
INSERT INTO "membership" VALUES(1,6);
INSERT INTO "membership" VALUES(2,4);
INSERT INTO "membership" VALUES(2,5);
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
, deleting INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "network" VALUES(1,1795043206458,1795043206458,49,'racks','quote '' double " backslash \ zwölf
second line',1,1000,0,0,0,5,0,'','1g0',1,'admin','default','',0);
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
INSERT INTO "network_allocation" VALUES(1,1795043206460,1795043206460,51,4,1,1,'198.51.100.10/24');
INSERT INTO "network_allocation" VALUES(3,1795043206461,1795043206461,53,6,1,1,'198.51.100.12/24');
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
INSERT INTO "network_range" VALUES(1,1795043206458,1795043206458,49,1,'host','198.51.100.10/24','198.51.100.99/24',0,'',0,0,0,0,0,0);
CREATE TABLE network_router (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    network_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    pref INTEGER NOT NULL
) STRICT;
INSERT INTO "network_router" VALUES(1,1795043206458,1795043206458,49,1,'198.51.100.1/24',65536);
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
INSERT INTO "nic" VALUES(1,1795043206459,1795043206459,50,6,90520731923542,'','','',0,1,0,0);
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
, boot_generation INTEGER NOT NULL DEFAULT 0, boot_seen TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT '', boot_id TEXT NOT NULL DEFAULT '', old_boots TEXT NOT NULL DEFAULT '', reason INTEGER NOT NULL DEFAULT 0, reason_subject TEXT NOT NULL DEFAULT '', automatic INTEGER NOT NULL DEFAULT 0, power_state INTEGER NOT NULL DEFAULT 0, power_read_at INTEGER NOT NULL DEFAULT 0, power_driver TEXT NOT NULL DEFAULT '', power_reason INTEGER NOT NULL DEFAULT 0, power_error TEXT NOT NULL DEFAULT '', power_order INTEGER NOT NULL DEFAULT 0, power_results TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "node" VALUES(1,1795043204123,1795043204123,1,'system-phantom.internal.local','',0,1,1,0,0,1,0,0,1795043204123,1795043204123,'local',10000,'','','','',0,'','','','',0,'',0,0,0,'',0,'',0,'');
INSERT INTO "node" VALUES(2,1795043204255,1795043204426,7,'admin.example.com','quote '' double " backslash \ zwölf
second line',1,0,1,0,0,1,1,0,1795043204255,1795043204426,'local',10000,'','','{"admin-v4addr":"192.0.2.1/32"}','',0,'','','','',0,'',1,0,0,'',0,'',0,'');
INSERT INTO "node" VALUES(3,1795043204422,1795043205058,29,'lab-phantom.internal.local','',0,1,2,0,0,1,1,0,1795043204422,1795043205058,'local',10000,'','','','',0,'','','','',0,'',0,0,0,'',0,'',0,'');
INSERT INTO "node" VALUES(4,1795043204426,1795043205025,25,'n1.example.com','quote '' double " backslash \ zwölf
second line',0,0,2,0,0,1,1,0,1795043204894,1795043204426,'sledgehammer',10000,'','','','',0,'','','','',0,'',0,1,1795043204832,'redfish',0,'',2,'[{"action":"on","at_ms":1795043204832,"driver":"redfish","failed":false,"order":2,"reason":null,"text":"on of node \"n1.example.com\" by hammer \"redfish\" done: node \"n1.example.com\" is on"}]');
INSERT INTO "node" VALUES(5,1795043204427,1795043204427,9,'n2.example.com','',0,0,1,0,0,0,1,0,1795043204427,1795043204427,'sledgehammer',10000,'','','','',0,'','','','',0,'',0,0,0,'',0,'',0,'');
INSERT INTO "node" VALUES(6,1795043206459,1795043206459,50,'n3.example.com','',0,0,1,0,0,0,0,0,1795043206459,1795043206459,'sledgehammer',10000,'','','{"admin_macs":["52:54:00:12:34:56"]}','',0,'','','','',0,'',0,0,0,'',0,'',0,'');
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
, computed TEXT NOT NULL DEFAULT '', defaults INTEGER NOT NULL DEFAULT 0, reason INTEGER NOT NULL DEFAULT 0, reason_subject TEXT NOT NULL DEFAULT '', reason_text TEXT NOT NULL DEFAULT '', status_hook INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "noderole" VALUES(1,1795043205041,1795043205619,31,2,1,4,4,1795043205619,0,1,1,10000,0,0,0,0,1,1,'','','','','','{"base":{"text":"it is \"here\""}}','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(2,1795043205041,1795043206416,44,2,2,4,4,1795043206416,1,3,3,10000,0,0,0,0,1,1,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(4,1795043206443,1795043206446,47,1,9,2,4,1795043206446,0,1,0,10000,0,0,0,0,2,2,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(5,1795043206463,1795043206941,66,2,3,4,5,1795043206941,0,0,2,10000,0,0,0,0,4,4,'run failed','== 10.sh
broken fails
a script of role broken ended with status 3','','','','','','',0,1,'3','a script of role broken ended with status 3',0);
INSERT INTO "noderole" VALUES(6,1795043206673,1795043206678,60,2,4,4,1,1795043206678,1,0,0,10000,0,0,0,0,5,5,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(7,1795043206682,1795043206682,61,1,7,2,0,1795043206682,0,0,0,10000,0,0,0,0,0,0,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(8,1795043206690,1795043206691,63,1,7,5,2,1795043206691,0,0,0,10000,0,0,0,0,3,3,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(9,1795043206946,1795043206947,68,1,5,2,3,1795043206947,0,0,1,10000,0,0,0,0,4,4,'','','','','','','','',0,0,'','',0);
INSERT INTO "noderole" VALUES(10,1795043206950,1795043206950,70,1,6,2,2,1795043206950,0,0,0,10000,0,0,0,0,5,5,'','','','','','','','',0,0,'','',0);
CREATE TABLE old_data (
    deployment_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (deployment_id, role_id, node_id, from_seq, to_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "old_data" VALUES(2,2,0,2,3,'{"web":{"workers":8}}');
INSERT INTO "old_data" VALUES(2,8,4,1,3,'');
CREATE TABLE old_member (
    deployment_id INTEGER NOT NULL,
    noderole_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    PRIMARY KEY (deployment_id, noderole_id, role_id, node_id, from_seq, to_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "old_member" VALUES(2,3,8,4,1,3);
CREATE TABLE old_run (
    noderole_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    result INTEGER NOT NULL,
    runlog TEXT NOT NULL, reason INTEGER NOT NULL DEFAULT 0, reason_subject TEXT NOT NULL DEFAULT '', reason_text TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (noderole_id, attempt)
) STRICT, WITHOUT ROWID;
INSERT INTO "old_run" VALUES(1,1,1,4,1,1795043205058,1795043205619,0,'== 10.sh
',0,'','');
INSERT INTO "old_run" VALUES(2,1,2,4,2,1795043205619,1795043205863,0,'== 10.sh
web runs
',0,'','');
INSERT INTO "old_run" VALUES(2,2,3,4,2,1795043205877,1795043206107,0,'== 10.sh
web runs
',0,'','');
INSERT INTO "old_run" VALUES(2,3,4,4,2,1795043206138,1795043206416,0,'== 10.sh
web runs
',0,'','');
INSERT INTO "old_run" VALUES(5,1,5,4,3,1795043206464,1795043206667,1,'== 10.sh
broken fails
a script of role broken ended with status 3',1,'3','a script of role broken ended with status 3');
INSERT INTO "old_run" VALUES(5,2,6,4,3,1795043206691,1795043206941,1,'== 10.sh
broken fails
a script of role broken ended with status 3',1,'3','a script of role broken ended with status 3');
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
, generation INTEGER NOT NULL DEFAULT 0, left_ms INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL DEFAULT 0) STRICT;
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
, attempts INTEGER NOT NULL DEFAULT 0, backoff_s INTEGER NOT NULL DEFAULT 0, deadline_s INTEGER NOT NULL DEFAULT 0, defaults INTEGER NOT NULL DEFAULT 0, network_id INTEGER NOT NULL DEFAULT 0, per_name TEXT NOT NULL DEFAULT '', lists_services TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "role" VALUES(1,1795043204252,1795043204252,2,'base','Base','Role','script',1,2,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(2,1795043204252,1795043204252,2,'web','Web','Role','script',1,0,0,1,'["base"]','[{"at":"","name":"base-text"}]','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(3,1795043204252,1795043204252,2,'broken','Broken','Role','script',1,0,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(4,1795043204252,1795043204252,2,'behind-broken','Behind Broken','Role','script',1,0,0,1,'["broken"]','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(5,1795043204252,1795043204252,2,'slow','Slow','Role','script',1,0,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(6,1795043204252,1795043204252,2,'next','Next','Role','script',1,0,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(7,1795043204252,1795043204252,2,'later','Later','Role','script',1,0,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(8,1795043204252,1795043204252,2,'goal','Goal','Role','noop',1,128,0,0,'','','','','','','',0,0,0,0,0,'','');
INSERT INTO "role" VALUES(9,1795043206438,1795043206438,45,'names','Names','Role','noop',2,0,0,0,'','','','','','','',0,0,0,0,0,'','names-list');
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
, tries INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "run" VALUES(7,1795043206947,1795043206969,71,2,9,1,0,1,0,1,1,1795043206947,0,'pid 15629','{"hints":{"admin-v4addr":"192.0.2.1/32"},"quirks":[]}',0);
CREATE TABLE schema_migration (
    name TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;
INSERT INTO "schema_migration" VALUES('0001_initial','cd2bcc7d2b970172d3fa2ae6ee6d80597b90a36eaeebfda1c5eece6b7b1622c9',1795043203000);
INSERT INTO "schema_migration" VALUES('0002_computed','9852ba9c3d7ef981879993739bd7e25e069c44c255f76b4bdc063522157e3b00',1795043203000);
INSERT INTO "schema_migration" VALUES('0003_runs','2a00acc6a7bc8f70503915646cffe1f4996b7206b718eb81e2ce779129fa33c6',1795043203000);
INSERT INTO "schema_migration" VALUES('0004_people','c518ce1ee9c0c897061ee6f449212560aea35fb17a0f25e72c865e371d1be8e9',1795043203000);
INSERT INTO "schema_migration" VALUES('0005_defaults','076b59e38a2515307ef183b91c7d03db5c267bf0fbb44559b0cd76e9ba10ca7e',1795043203000);
INSERT INTO "schema_migration" VALUES('0006_reasons','608e9eb1f65054a1d0b269c0ff2dbf0ab6ba6107c9b8ed103aa86348daa054af',1795043204000);
INSERT INTO "schema_migration" VALUES('0007_automatic','ee2322767f15e05097dc398dac5fef3cb89919638fe1cd8e59ef85243af257d9',1795043204000);
INSERT INTO "schema_migration" VALUES('0008_host_keys','39a8a48699525d5919eb3fc842776e72386327021a7d08da8d2f7fadcfa80e57',1795043204000);
INSERT INTO "schema_migration" VALUES('0009_power','3756e2efdd255e9fdadc310afae267c04dde9e5019ca96b515eacaadbd4a34db',1795043204000);
INSERT INTO "schema_migration" VALUES('0010_event_address','b8b98cb31d6b2530e3ef41c1f5d028a60048d6182d81a9d9dfa6680332a14eeb',1795043204000);
INSERT INTO "schema_migration" VALUES('0011_status_hook','20e59f038bd151d9e13495dad781db3277a3cbe0cc0009d1977429ebbae2de40',1795043204000);
INSERT INTO "schema_migration" VALUES('0012_networks','2c7d0aa7b16a5973fdff9834c88446e23a7491251a89ed4494879aab46a3aaaa',1795043204000);
INSERT INTO "schema_migration" VALUES('0013_deleting','a69f7fb3157346ac974e93dd67b4215b2269e5d57dce0d62b34da70a986f308b',1795043204000);
INSERT INTO "schema_migration" VALUES('0014_bootenv','0d36de5c171627d1cb21d37a2eb5b8a551690fec7e776372287a6525adf29c87',1795043204000);
CREATE TABLE settings (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    pool_normal INTEGER NOT NULL,
    pool_high INTEGER NOT NULL,
    max_depth INTEGER NOT NULL,
    test_jig INTEGER NOT NULL
, keep_runs INTEGER NOT NULL DEFAULT 10, run_deadline_s INTEGER NOT NULL DEFAULT 14400, barrier_s INTEGER NOT NULL DEFAULT 600, host_keys_imported INTEGER NOT NULL DEFAULT 0, nics_made INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "settings" VALUES(1,1795043204123,1795043204123,1,10,2,0,0,10,14400,600,1,1);
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
INSERT INTO "snapshot" VALUES(1,1795043204123,1795043206950,70,1,5,'system','',1000,0,1,1795043204123,1795043204123,0,'founding','');
INSERT INTO "snapshot" VALUES(2,1795043204422,1795043205872,34,2,1,'lab','',1000,0,2,1795043205872,1795043205058,1795043205872,'user admin','{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO "snapshot" VALUES(3,1795043205872,1795043206117,39,2,2,'lab','',1001,2,2,1795043206117,1795043205877,1795043206117,'user admin','{"active":3,"blocked":0,"error":0,"proposed":0,"todo":0,"transition":0}');
INSERT INTO "snapshot" VALUES(4,1795043206117,1795043206464,56,2,3,'lab','',1002,3,2,1795043206464,1795043206138,1795043206464,'user admin','{"active":2,"blocked":0,"error":0,"proposed":1,"todo":0,"transition":0}');
INSERT INTO "snapshot" VALUES(5,1795043206464,1795043206678,60,2,4,'lab','',1003,4,2,1795043206678,1795043206464,1795043206678,'user admin','{"active":2,"blocked":0,"error":1,"proposed":1,"todo":0,"transition":0}');
INSERT INTO "snapshot" VALUES(6,1795043206678,1795043206678,60,2,5,'lab','',1004,5,1,1795043206678,1795043206678,0,'user admin','');
CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    expires_at INTEGER NOT NULL
, access INTEGER NOT NULL DEFAULT 0, deployment_id INTEGER NOT NULL DEFAULT 0, node_id INTEGER NOT NULL DEFAULT 0, kind INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "token" VALUES(1,1795043204417,1795043204417,5,1,'tests/runs','140071a7893f330cf15b372360fadbaa46a24a0e64361aab9702f0569753ed9e',0,0,0,0,0);
INSERT INTO "token" VALUES(2,1795043204805,1795043204805,17,1,'limited','0cdcef4bcc1cbe40fce0c08959ed2efee67676d52ec6ec36efac8052d7757f1d',2051222400000,1,2,0,0);
INSERT INTO "token" VALUES(3,1795043204806,1795043204806,18,0,'node','7bca2fb4270995a12c681d2da453caff91ec95e5080c5dfd9266dd077bfd89fb',0,0,0,4,0);
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
, access INTEGER NOT NULL DEFAULT 2, grants TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "user" VALUES(1,1795043204250,1795043204250,1,'admin','',1,0,'$argon2id$v=19$m=65536,t=2,p=1$cjf+C4aojY7Ja3zgHFOHEg$kBPqtK9FtEKc9ZVCQ+MJL7ZjrZWHmqM2uU9J6AVvn0c','','',2,'');
INSERT INTO "user" VALUES(2,1795043204520,1795043204520,13,'olga','olga@example.com',0,0,'$argon2id$v=19$m=65536,t=2,p=1$rIk3NIAAbBpHUTej4w1q4g$g2t1sE/Ck98FQlYIQEvxCW8TCkWFHQbIjziG2orzn00','2884c5684c2a45e5effd962be248d287','',2,'');
INSERT INTO "user" VALUES(3,1795043204635,1795043204635,14,'grantee','',0,0,'$argon2id$v=19$m=65536,t=2,p=1$ja/zarqz32OwHVPt3rnmow$GsY5yJb9cV8M1h6enZMkLw4km6oh4ni7EvQIuAc05GI','','',1,'{"2":"operator"}');
INSERT INTO "user" VALUES(4,1795043204783,1795043204792,16,'locked','',1,1,'$argon2id$v=19$m=65536,t=2,p=1$e0r58/s8h4vWFkLxy3SsZQ$M18OBbRxLnSlwqKC0Voa4iSHXLfKHrUo58xerVleiYE','','',2,'');
CREATE UNIQUE INDEX noderole_role_node ON noderole (role_id, node_id);
CREATE INDEX old_run_ended_at ON old_run (ended_at);
COMMIT;
