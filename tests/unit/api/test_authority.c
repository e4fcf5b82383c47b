/* Goal: no caller can execute a command without the right to. Method: every kind of command as
 * every kind of caller, compared with a table written by hand: what each caller may do inside a
 * deployment (lab), outside of it, everywhere, and to which user. */
#include "tests/unit/api/api_world.h"

#include "api/call/authorize.h"
#include "api/call/call.h"

/* ---- setup ---- */

/* lab is below system, bench below lab, yard beside lab; each has a node with a noderole. */
struct rights_world {
    struct front *f;
    struct world *w;
    int64_t lab, bench, yard;
    int64_t node[4], noderole[4], drole[4], hammer[4]; /* of system, lab, bench, yard */
    int64_t run;                                       /* in lab */
    int64_t group;
    int64_t range[3], allocation[4];           /* ranges of networks; of the nodes */
    int64_t network_role[2], network_drole[2]; /* of network `top`, bound in lab and yard */
    int64_t admin, oper, viewer, granted;      /* users; the last is operator in lab */
    int64_t admin_token, node_token, other_node_token;
};

enum { IN_SYSTEM, IN_LAB, IN_BENCH, IN_YARD };

static const char barclamp[] = "{'barclamp':{'name':'house','source_path':'/house'},"
                               "'jigs':[{'name':'script','class':'script'}],"
                               "'hammers':[{'name':'ssh','type':'ssh','priority':0},"
                               "{'name':'here','type':'local','priority':0}],"
                               "'attribs':[{'name':'hint','map':'ip'}],"
                               "'roles':[{'name':'r','jig':'script',"
                               "'attribs':[{'name':'size','map':'r/size'}]},"
                               "{'name':'s','jig':'script'},"
                               "{'name':'serves','jig':'script','flags':['service']},"
                               "{'name':'on-{name}','per':'network','jig':'script','attribs':["
                               "{'name':'{name}-addresses','map':'{name}/addresses'}]}]}";

static int64_t make_user(struct rights_world *h, const char *name, bool is_admin,
                         enum access access, const char *grants)
{
    return DONE(h->w,
                CMD(USER_CREATE, user_create, .username = str_from(name), .is_admin = is_admin,
                    .access = access, .grants = world_json(h->w, grants)));
}

static int64_t make_token(struct rights_world *h, struct token_create_command p)
{
    p.name = STR("t");
    p.hash = credentials_token_hash(&h->w->arena, credentials_token_new(&h->w->arena));
    return DONE(h->w, ((struct command){.kind = COMMAND_TOKEN_CREATE, .token_create = p}));
}

static void populate_deployment(struct rights_world *h, int where, int64_t deployment,
                                const char *node)
{
    struct world *w = h->w;
    uint32_t count;
    h->node[where] = DONE(w, CMD(NODE_CREATE, node_create, .name = str_from(node),
                                 .deployment_id = deployment, .alive = true, .available = true));
    h->noderole[where] = DONE(w, CMD(NODEROLE_BIND, noderole_bind, .node_id = h->node[where],
                                     .role_id = the_role(w, "r")));
    h->drole[where] = core_deployment_role(w->core, deployment, the_role(w, "r"));
    CHECK(h->drole[where] != 0);
    h->hammer[where] = core_hammers_of(w->core, h->node[where], &w->arena, &count)[0];
}

/* Network `top` of system, `own` of lab, and `loose` of lab without configure. Each node has an
 * address in the first one. */
static void make_networks(struct rights_world *h)
{
    struct world *w = h->w;
    static const char *const names[] = {"top", "own", "loose"};
    static const char *const ranges[] = {
        "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]",
        "[{'name':'host','first':'10.2.0.10/24','last':'10.2.0.99/24'}]",
        "[{'name':'host','first':'0.0.0.1/0','last':'223.0.0.1/0','overlap':true}]"};
    struct record record;
    for (int i = 0; i < 3; i++) {
        const int64_t network = DONE(
            w, CMD(NETWORK_CREATE, network_create, .name = str_from(names[i]),
                   .deployment_id = i ? h->lab : SYSTEM,
                   .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CONFIGURE, .conduit = STR("1g0"),
                   .configure = i < 2, .ranges = world_json(w, ranges[i])));
        h->range[i] = core_next_id(w->core, TABLE_NETWORK_RANGE, i ? h->range[i - 1] : 0);
        CHECK(core_record(w->core, TABLE_NETWORK_RANGE, h->range[i], &record));
        CHECK(record.network_range.network_id == network);
    }
    /* The first address of a node binds the role of the network, in the deployment of the node. */
    for (int i = 0; i < 4; i++)
        h->allocation[i] = DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = h->node[i],
                                       .range_id = h->range[0]));
    for (int i = 0; i < 2; i++) {
        const char *label = i ? "on-top@y" : "on-top@l";
        h->network_role[i] = world_bound(w, label);
        h->network_drole[i] =
            core_deployment_role(w->core, i ? h->yard : h->lab, the_role(w, "on-top"));
        CHECK(h->network_role[i] && h->network_drole[i]);
    }
}

static struct rights_world rights_world_open(void)
{
    struct rights_world h = {.f = front_open()};
    struct world *w = h.w = h.f->w;
    char grants[64];
    DONE(w, cmd_import(w, barclamp));
    h.lab = DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("lab")));
    h.bench = DONE(
        w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("bench"), .parent_id = h.lab));
    h.yard = DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("yard")));
    populate_deployment(&h, IN_SYSTEM, SYSTEM, "s.example.com");
    populate_deployment(&h, IN_LAB, h.lab, "l.example.com");
    populate_deployment(&h, IN_BENCH, h.bench, "b.example.com");
    populate_deployment(&h, IN_YARD, h.yard, "y.example.com");
    DONE(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = h.lab));
    world_anneal(w);
    h.run = core_next_id(w->core, TABLE_RUN, 0);
    CHECK(h.run != 0);
    h.group = DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("g")));
    make_networks(&h);
    h.admin = 1;
    h.oper = make_user(&h, "op", false, ACCESS_OPERATOR, "{}");
    h.viewer = make_user(&h, "view", false, ACCESS_VIEWER, "{}");
    snprintf(grants, sizeof grants, "{'%lld':'operator'}", (long long)h.lab);
    h.granted = make_user(&h, "grant", false, ACCESS_VIEWER, grants);
    h.admin_token = make_token(&h, (struct token_create_command){.user_id = h.admin});
    h.node_token = make_token(&h, (struct token_create_command){.node_id = h.node[IN_LAB]});
    h.other_node_token = make_token(&h, (struct token_create_command){.node_id = h.node[IN_YARD]});
    return h;
}

/* ---- commands ---- */

/* Where a command acts. `OWN`: on the caller itself or its token; `ELSE`: on another user. */
enum where_at { LAB, BENCH, YARD, TOP, ANYWHERE, OWN, ELSE, BOTH, WHERE_COUNT };

struct hook_command {
    enum where_at where;
    struct command command;
};

enum { WISHES_MAX = 400 };

struct hook_commands {
    struct hook_command list[WISHES_MAX];
    uint32_t count;
    bool seen[COMMAND_COUNT];
};

static void add(struct hook_commands *all, enum where_at where, struct command command)
{
    CHECK(all->count < WISHES_MAX);
    all->list[all->count++] = (struct hook_command){where, command};
    all->seen[command.kind] = true;
}

#define WISH(where, upper, lower, ...) add(all, where, CMD(upper, lower, __VA_ARGS__))

static void add_deployment_commands(struct hook_commands *all, enum where_at where, int64_t id)
{
    WISH(where, DEPLOYMENT_CREATE, deployment_create, .name = STR("new"), .parent_id = id);
    WISH(where, DEPLOYMENT_UPDATE, deployment_update, .id = id);
    WISH(where, DEPLOYMENT_DELETE, deployment_delete, .id = id);
    WISH(where, DEPLOYMENT_COMMIT, deployment_commit, .id = id);
    WISH(where, DEPLOYMENT_PROPOSE, deployment_propose, .id = id);
    WISH(where, DEPLOYMENT_RECALL, deployment_recall, .id = id);
    WISH(where, DEPLOYMENT_REVERT, deployment_revert, .id = id);
    WISH(where, DEPLOYMENT_ROLE_CREATE, deployment_role_create, .deployment_id = id);
    WISH(TOP, NODE_CREATE, node_create, .name = STR("n.example.com"), .deployment_id = id);
    WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_DEPLOYMENT, .id = id);
}

static void add_node_commands(struct hook_commands *all, enum where_at where,
                              const struct rights_world *h, int at)
{
    const int64_t node = h->node[at], noderole = h->noderole[at], drole = h->drole[at];
    WISH(where, NODE_UPDATE, node_update, .id = node, .given = GIVEN_DESCRIPTION);
    WISH(TOP, NODE_UPDATE, node_update, .id = node, .given = GIVEN_NAME,
         .name = STR("x.example.com"));
    WISH(where, NODE_UPDATE, node_update, .id = node, .given = GIVEN_NODE_BOOTENV,
         .bootenv = STR("local"));
    WISH(where, NODE_DELETE, node_delete, .id = node);
    WISH(where, NODE_PROPOSE, node_propose, .id = node);
    WISH(where, NODE_COMMIT, node_commit, .id = node);
    WISH(where, NODE_REDEPLOY, node_redeploy, .id = node);
    WISH(where, NODE_DEBUG, node_debug, .id = node);
    WISH(where, NODE_UNDEBUG, node_undebug, .id = node);
    WISH(where, NODE_POWER, node_power, .id = node, .action = STR("on"));
    WISH(TOP, ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = node,
         .attrib_id = the_attrib(h->w, "hint"));
    WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = node,
         .attrib_id = the_attrib(h->w, "hint"), .bucket = BUCKET_NOTE);
    WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = node,
         .attrib_id = the_attrib(h->w, "size"));
    WISH(where, NODEROLE_BIND, noderole_bind, .node_id = node);
    WISH(where, NODEROLE_DELETE, noderole_delete, .id = noderole);
    WISH(where, NODEROLE_PROPOSE, noderole_propose, .id = noderole);
    WISH(where, NODEROLE_COMMIT, noderole_commit, .id = noderole);
    WISH(where, NODEROLE_RETRY, noderole_retry, .id = noderole);
    WISH(where, NODEROLE_DATA, noderole_data, .id = noderole);
    WISH(where, NODEROLE_ENQUEUE, noderole_enqueue, .id = noderole);
    WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE, .id = noderole);
    WISH(TOP, HAMMER_CREATE, hammer_create, .node_id = node);
    WISH(TOP, NODE_FORGET_KEY, node_forget_key, .id = node);
    WISH(TOP, HAMMER_UPDATE, hammer_update, .id = h->hammer[at]);
    WISH(TOP, HAMMER_DELETE, hammer_delete, .id = h->hammer[at]);
    WISH(where, DEPLOYMENT_ROLE_DELETE, deployment_role_delete, .id = drole);
    WISH(where, DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose, .id = drole);
    WISH(where, DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = drole);
    WISH(where, DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = drole);
    WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_DEPLOYMENT_ROLE, .id = drole);
    WISH(where, TOKEN_CREATE, token_create, .node_id = node);
}

static void add_two_deployment_commands(struct hook_commands *all, const struct rights_world *h)
{
    WISH(BOTH, NODE_UPDATE, node_update, .id = h->node[IN_LAB], .given = GIVEN_NODE_DEPLOYMENT,
         .deployment_id = h->yard);
    WISH(BOTH, NODE_UPDATE, node_update, .id = h->node[IN_YARD], .given = GIVEN_NODE_DEPLOYMENT,
         .deployment_id = h->lab);
    WISH(BOTH, NODEROLE_BIND, noderole_bind, .node_id = h->node[IN_LAB], .deployment_id = h->yard);
    WISH(BOTH, NODEROLE_BIND, noderole_bind, .node_id = h->node[IN_YARD], .deployment_id = h->lab);
}

/* Commands without a deployment: those for operators, then those for admins. */
static void add_global_commands(struct hook_commands *all, const struct rights_world *h)
{
    WISH(ANYWHERE, GROUP_CREATE, group_create, .name = STR("x"));
    WISH(ANYWHERE, GROUP_UPDATE, group_update, .id = h->group);
    WISH(ANYWHERE, GROUP_DELETE, group_delete, .id = h->group);
    WISH(ANYWHERE, GROUP_ADD, group_add, .id = h->group, .node_id = h->node[IN_LAB]);
    WISH(ANYWHERE, GROUP_REMOVE, group_remove, .id = h->group, .node_id = h->node[IN_LAB]);
    /* deleted, or never created */
    WISH(ANYWHERE, NODE_DELETE, node_delete, .id = 99999);
    WISH(ANYWHERE, NODEROLE_RETRY, noderole_retry, .id = 99999);
    WISH(ANYWHERE, RUN_CANCEL, run_cancel, .run_id = 99999);
    WISH(ELSE, SETTINGS_UPDATE, settings_update, .given = 0);
    WISH(ELSE, IMPORT, import, .barclamp = STR("{}"));
    WISH(ELSE, JIG_CREATE, jig_create, .name = STR("j"));
    WISH(ELSE, JIG_UPDATE, jig_update, .id = 1);
    WISH(ELSE, ROLE_UPDATE, role_update, .id = the_role(h->w, "r"));
    WISH(ELSE, ATTRIB_CREATE, attrib_create, .name = STR("a"));
    WISH(ELSE, ATTRIB_DELETE, attrib_delete, .id = 1);
    WISH(ELSE, ATTRIB_SET, attrib_set, .target = TABLE_ROLE, .id = the_role(h->w, "r"));
    WISH(ELSE, USER_CREATE, user_create, .username = STR("u"));
    WISH(ELSE, USER_DELETE, user_delete, .id = h->admin);
    WISH(ELSE, TOKEN_DELETE, token_delete, .id = 99999);
}

static void add_lab_commands(struct hook_commands *all, const struct rights_world *h)
{
    WISH(LAB, SNAPSHOT_UPDATE, snapshot_update, .id = read_head(h->w, "lab").id);
    WISH(YARD, SNAPSHOT_UPDATE, snapshot_update, .id = read_head(h->w, "yard").id);
    WISH(LAB, RUN_CANCEL, run_cancel, .run_id = h->run);
    WISH(LAB, RUN_RESUME, run_resume, .run_id = h->run);
    WISH(LAB, TOKEN_DELETE, token_delete, .id = h->node_token);
    WISH(YARD, TOKEN_DELETE, token_delete, .id = h->other_node_token);
    WISH(TOP, NODE_CREATE, node_create, .name = STR("n.example.com"));
    WISH(TOP, DEPLOYMENT_CREATE, deployment_create, .name = STR("n"));
}

/* Networks belong to operators of system. The next free address needs the level for the node; an
 * address that the caller chooses needs it where the network belongs to as well. */
static void add_network_commands(struct hook_commands *all, const struct rights_world *h)
{
    static const enum where_at places[] = {TOP, LAB, BENCH, YARD};
    WISH(TOP, NETWORK_CREATE, network_create, .name = STR("x"));
    WISH(TOP, NETWORK_CREATE, network_create, .name = STR("x"), .deployment_id = h->lab);
    WISH(TOP, NETWORK_UPDATE, network_update, .id = 1);
    WISH(TOP, NETWORK_UPDATE, network_update, .id = 2);
    WISH(TOP, NETWORK_DELETE, network_delete, .id = 2);
    WISH(TOP, NETWORK_RANGE_CREATE, network_range_create, .network_id = 2);
    WISH(TOP, NETWORK_RANGE_UPDATE, network_range_update, .id = h->range[1]);
    WISH(TOP, NETWORK_ROUTER_CREATE, network_router_create, .network_id = 2);
    WISH(TOP, NETWORK_ROUTER_UPDATE, network_router_update, .id = 1);
    WISH(TOP, NETWORK_ROUTER_DELETE, network_router_delete, .id = 1);
    WISH(TOP, NIC_MOVE, nic_move, .node_id = h->node[IN_LAB]);
    WISH(TOP, DNS_NAME_FILTER_CREATE, dns_name_filter_create, .name = STR("x"));
    WISH(TOP, DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = 1);
    WISH(TOP, DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = 1);
    for (int i = 0; i < 4; i++) {
        WISH(places[i], NETWORK_ALLOCATE, network_allocate, .node_id = h->node[i],
             .range_id = h->range[0]);
        WISH(places[i], NETWORK_ALLOCATE, network_allocate, .node_id = h->node[i], .network_id = 1);
        WISH(places[i], NETWORK_DEALLOCATE, network_deallocate, .id = h->allocation[i]);
        WISH(TOP, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[i],
             .range_id = h->range[0], .address = STR("10.1.0.50"));
        WISH(TOP, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[i], .network_id = 1,
             .suggestion = STR("10.1.0.50"));
    }
    WISH(LAB, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB],
         .range_id = h->range[1], .address = STR("10.2.0.50"));
    WISH(LAB, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB], .network_id = 2,
         .suggestion = STR("10.2.0.50"));
    WISH(BOTH, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_YARD],
         .range_id = h->range[1], .address = STR("10.2.0.50"));
    /* Any address can be chosen there, also one that another deployment relies on. */
    WISH(TOP, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB],
         .range_id = h->range[2], .address = STR("10.1.0.60"));
    WISH(TOP, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB], .network_id = 3,
         .suggestion = STR("10.1.0.60"));
    WISH(LAB, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB],
         .range_id = h->range[2]);
    WISH(ANYWHERE, NETWORK_DEALLOCATE, network_deallocate, .id = 99999);
    /* A network or range that does not exist chooses nothing; the node counts. */
    WISH(LAB, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB], .network_id = 99999,
         .address = STR("10.1.0.50"));
    /* The range counts, whatever network is named beside it. */
    WISH(TOP, NETWORK_ALLOCATE, network_allocate, .node_id = h->node[IN_LAB], .network_id = 2,
         .range_id = h->range[0], .address = STR("10.1.0.50"));
    WISH(TOP, NIC_MOVE, nic_move, .node_id = h->node[IN_YARD]);
    WISH(TOP, NODE_CREATE, node_create, .name = STR("m.example.com"), .deployment_id = h->lab,
         .ip = STR("10.2.0.60"), .mac = STR("52:54:00:00:00:01"));
}

/* The data of the role of a network belong to operators of system, wherever it is bound; its state
 * and its notes belong to those of its deployment. */
static void add_network_role_commands(struct hook_commands *all, const struct rights_world *h)
{
    const int64_t attrib = the_attrib(h->w, "top-addresses"), role = the_role(h->w, "on-top");
    const struct str data = world_json(h->w, "{'top':{'addresses':['10.1.0.9/24']}}");
    for (int i = 0; i < 2; i++) {
        const enum where_at where = i ? YARD : LAB;
        const int at = i ? IN_YARD : IN_LAB;
        const int64_t nr = h->network_role[i], dr = h->network_drole[i];
        WISH(TOP, NODEROLE_DATA, noderole_data, .id = nr, .data = data);
        WISH(TOP, DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr, .data = data);
        WISH(TOP, NODEROLE_BIND, noderole_bind, .node_id = h->node[at], .role_id = role,
             .data = data);
        WISH(where, NODEROLE_BIND, noderole_bind, .node_id = h->node[at], .role_id = role);
        WISH(TOP, ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = h->node[at],
             .attrib_id = attrib);
        WISH(TOP, ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE, .id = nr, .attrib_id = attrib);
        WISH(TOP, ATTRIB_SET, attrib_set, .target = TABLE_DEPLOYMENT_ROLE, .id = dr,
             .attrib_id = attrib);
        WISH(TOP, ATTRIB_SET, attrib_set, .target = TABLE_DEPLOYMENT, .id = i ? h->yard : h->lab,
             .attrib_id = attrib);
        WISH(where, ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE, .id = nr, .attrib_id = attrib,
             .bucket = BUCKET_NOTE);
        WISH(ELSE, ATTRIB_SET, attrib_set, .target = TABLE_ROLE, .id = role, .attrib_id = attrib);
        WISH(where, NODEROLE_COMMIT, noderole_commit, .id = nr);
        WISH(where, NODEROLE_PROPOSE, noderole_propose, .id = nr);
        WISH(where, NODEROLE_DELETE, noderole_delete, .id = nr);
        WISH(where, DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose, .id = dr);
    }
}

/* Commands about users; `self` is the caller. */
static void add_user_commands(struct hook_commands *all, const struct rights_world *h, int64_t self,
                              int64_t own_token)
{
    static const uint32_t own[] = {GIVEN_USER_EMAIL, GIVEN_USER_PASSWORD_HASH,
                                   GIVEN_USER_DIGEST_HA1, GIVEN_USER_SETTINGS};
    static const uint32_t rank[] = {GIVEN_USER_USERNAME, GIVEN_USER_IS_ADMIN, GIVEN_USER_IS_LOCKED,
                                    GIVEN_USER_ACCESS, GIVEN_USER_GRANTS};
    const int64_t other = self == h->oper ? h->viewer : h->oper;
    for (uint32_t i = 0; i < sizeof own / sizeof *own; i++) {
        WISH(OWN, USER_UPDATE, user_update, .id = self, .given = own[i]);
        WISH(ELSE, USER_UPDATE, user_update, .id = other, .given = own[i]);
    }
    for (uint32_t i = 0; i < sizeof rank / sizeof *rank; i++) {
        WISH(ELSE, USER_UPDATE, user_update, .id = self, .given = rank[i]);
        WISH(ELSE, USER_UPDATE, user_update, .id = self, .given = rank[i] | GIVEN_USER_EMAIL);
    }
    WISH(OWN, TOKEN_CREATE, token_create, .user_id = self);
    WISH(ELSE, TOKEN_CREATE, token_create, .user_id = other);
    if (own_token)
        WISH(OWN, TOKEN_DELETE, token_delete, .id = own_token);
    if (self != h->admin)
        WISH(ELSE, TOKEN_DELETE, token_delete, .id = h->admin_token);
}

/* Internal commands, which are never accepted from clients. */
static const enum command_kind internal_commands[] = {
    COMMAND_NODEROLE_COMPUTED, COMMAND_RUN_BEGUN,    COMMAND_RUN_DONE,      COMMAND_RUN_STOPPED,
    COMMAND_OUTBOX_DONE,       COMMAND_ANNEAL,       COMMAND_TICK,          COMMAND_BOOT_SERVER,
    COMMAND_BOOTENV_REPORT,    COMMAND_OUTBOX_BEGUN, COMMAND_NODE_PIN_KEYS, COMMAND_NODE_POWER_READ,
    COMMAND_LEASE_TAKE,        COMMAND_GRANT_USE,    COMMAND_LEASE_RELEASE, COMMAND_LEASE_DECLINE,
    COMMAND_NICS_MAKE,
};

static void add_all_commands(struct hook_commands *all, const struct rights_world *h, int64_t self,
                             int64_t token)
{
    add_deployment_commands(all, LAB, h->lab);
    add_deployment_commands(all, BENCH, h->bench);
    add_deployment_commands(all, YARD, h->yard);
    add_deployment_commands(all, TOP, SYSTEM);
    add_node_commands(all, LAB, h, IN_LAB);
    add_node_commands(all, BENCH, h, IN_BENCH);
    add_node_commands(all, YARD, h, IN_YARD);
    add_node_commands(all, TOP, h, IN_SYSTEM);
    add_two_deployment_commands(all, h);
    add_lab_commands(all, h);
    add_global_commands(all, h);
    add_network_commands(all, h);
    add_network_role_commands(all, h);
    add_user_commands(all, h, self, token);
}

/* ---- callers ---- */

static bool allows(struct rights_world *h, struct caller caller, const struct command *command)
{
    struct arena arena = {0};
    struct call call = {.arena = &arena, .core = h->w->core, .caller = caller};
    const bool allowed = authorize_command(&call, command);
    CHECK(allowed == (call.reply.status == 0));
    CHECK(allowed || call.reply.status == 403);
    arena_fini(&arena);
    return allowed;
}

/* Checks which commands a caller may execute. A letter for each place: L B Y T A O E 2 as in enum
 * where_at. */
static void check_caller(struct rights_world *h, struct caller caller, const char *may,
                         const char *name)
{
    static const char letters[WHERE_COUNT + 1] = "LBYTAOE2";
    struct hook_commands *all = calloc(1, sizeof *all);
    CHECK(all != NULL);
    add_all_commands(all, h, caller.user_id, caller.token_id);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct hook_command *wish = &all->list[i];
        const bool wanted = strchr(may, letters[wish->where]) != NULL;
        if (allows(h, caller, &wish->command) != wanted)
            world_fail(HERE, "%s: %s (%c) is %s", name, command_name(wish->command.kind),
                       letters[wish->where], wanted ? "refused" : "allowed");
    }
    for (uint32_t i = 0; i < sizeof internal_commands / sizeof *internal_commands; i++) {
        const struct command command = {.kind = internal_commands[i]};
        CHECK(!allows(h, caller, &command));
        all->seen[internal_commands[i]] = true;
    }
    all->seen[COMMAND_BATCH] = true; /* has its own test */
    for (int kind = 0; kind < COMMAND_COUNT; kind++)
        if (!all->seen[kind])
            world_fail(HERE, "no command of kind %s was tested",
                       command_name((enum command_kind)kind));
    free(all);
}

/* ---- expected rights ---- */

TEST(users_may_do_what_their_level_allows)
{
    struct rights_world h = rights_world_open();
    const struct {
        int64_t user;
        const char *may, *name;
    } table[] = {
        /* clang-format off */
        {h.admin,    "LBYTAOE2", "admin"},
        {h.oper, "LBYTAO2",  "operator"},
        {h.viewer,   "O",        "viewer"},
        {h.granted,  "LBO",      "viewer who is operator in lab"},
        {0,          "",         "nobody"},
        {99999,      "",         "a deleted user"},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_caller(&h, (struct caller){.user_id = table[i].user}, table[i].may, table[i].name);
    front_close(h.f);
}

TEST(tokens_allow_at_most_their_own_level)
{
    struct rights_world h = rights_world_open();
    const struct {
        int64_t user;
        enum access access;
        bool in_lab;
        const char *may, *name;
    } table[] = {
        /* clang-format off */
        {h.admin,    ACCESS_NONE,     false, "LBYTAOE2", "admin"},
        {h.admin,    ACCESS_ADMIN,    false, "LBYTAOE2", "admin as admin"},
        {h.admin,    ACCESS_OPERATOR, false, "LBYTA2",   "admin as operator"},
        {h.admin,    ACCESS_VIEWER,   false, "",         "admin as viewer"},
        {h.admin,    ACCESS_NONE,     true,  "LB",       "admin in lab"},
        {h.admin,    ACCESS_ADMIN,    true,  "LB",       "admin as admin in lab"},
        {h.admin,    ACCESS_OPERATOR, true,  "LB",       "admin as operator in lab"},
        {h.admin,    ACCESS_VIEWER,   true,  "",         "admin as viewer in lab"},
        {h.oper, ACCESS_NONE,     false, "LBYTAO2",  "operator"},
        {h.oper, ACCESS_ADMIN,    false, "LBYTA2",   "operator as admin"},
        {h.oper, ACCESS_VIEWER,   false, "",         "operator as viewer"},
        {h.oper, ACCESS_NONE,     true,  "LB",       "operator in lab"},
        {h.viewer,   ACCESS_NONE,     false, "O",        "viewer"},
        {h.viewer,   ACCESS_ADMIN,    false, "",         "viewer as admin"},
        {h.viewer,   ACCESS_OPERATOR, true,  "",         "viewer as operator in lab"},
        {h.granted,  ACCESS_NONE,     false, "LBO",      "granted"},
        {h.granted,  ACCESS_OPERATOR, true,  "LB",       "granted as operator in lab"},
        {h.granted,  ACCESS_VIEWER,   false, "",         "granted as viewer"},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const int64_t token = make_token(
            &h, (struct token_create_command){.user_id = table[i].user,
                                              .access = table[i].access,
                                              .deployment_id = table[i].in_lab ? h.lab : 0});
        const struct caller caller = {
            .auth_method = BY_TOKEN, .user_id = table[i].user, .token_id = token};
        check_caller(&h, caller, table[i].may, table[i].name);
    }
    front_close(h.f);
}

TEST(a_session_has_the_rights_of_its_user)
{
    struct rights_world h = rights_world_open();
    const int64_t token =
        make_token(&h, (struct token_create_command){.user_id = h.viewer, .kind = TOKEN_SESSION});
    check_caller(&h,
                 (struct caller){.auth_method = BY_SESSION, .user_id = h.viewer, .token_id = token},
                 "O", "viewer in a browser");
    front_close(h.f);
}

/* ---- tokens of nodes (ADR 0049) ---- */

static struct caller node_caller(const struct rights_world *h)
{
    return (struct caller){
        .auth_method = BY_TOKEN, .node_id = h->node[IN_LAB], .token_id = h->node_token};
}

TEST(a_node_may_send_only_the_update_of_itself)
{
    struct rights_world h = rights_world_open();
    check_caller(&h, node_caller(&h), "", "node");
    front_close(h.f);
}

static bool node_may_report(struct rights_world *h, int where, uint32_t given, const char *bootenv)
{
    const struct command command = CMD(NODE_UPDATE, node_update, .id = h->node[where],
                                       .given = given, .bootenv = str_from(bootenv), .alive = true);
    return allows(h, node_caller(h), &command);
}

TEST(a_node_may_report_only_how_it_boots)
{
    struct rights_world h = rights_world_open();
    const uint32_t own = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOT_ID | GIVEN_NODE_ENVIRONMENT;
    CHECK(node_may_report(&h, IN_LAB, GIVEN_NODE_ALIVE, ""));
    CHECK(node_may_report(&h, IN_LAB, own | GIVEN_NODE_BOOT_GENERATION, ""));
    CHECK(!node_may_report(&h, IN_YARD, GIVEN_NODE_ALIVE, ""));
    for (uint32_t bit = 1; bit <= GIVEN_NODE_BOOT_GENERATION; bit <<= 1) {
        const bool is_own = bit & (own | GIVEN_NODE_BOOT_GENERATION);
        const bool is_bootenv = bit == GIVEN_NODE_BOOTENV;
        if (!is_bootenv && node_may_report(&h, IN_LAB, bit, "") != is_own)
            world_fail(HERE, "a node and the field with bit %u", bit);
        if (!is_bootenv && node_may_report(&h, IN_LAB, bit | GIVEN_NODE_ALIVE, "") != is_own)
            world_fail(HERE, "a node and the field with bit %u beside its own", bit);
    }
    front_close(h.f);
}

TEST(a_node_may_set_its_bootenv_only_to_local_after_an_installation)
{
    struct rights_world h = rights_world_open();
    const uint32_t env = GIVEN_NODE_BOOTENV, generation = GIVEN_NODE_BOOT_GENERATION;
    CHECK(node_may_report(&h, IN_LAB, env, "sledgehammer")); /* unchanged value */
    CHECK(!node_may_report(&h, IN_LAB, env | generation,
                           "local")); /* no installation is in progress */
    CHECK(!node_may_report(&h, IN_LAB, env | generation, "debian-12-install"));
    DONE(h.w, CMD(NODE_UPDATE, node_update, .id = h.node[IN_LAB], .given = env,
                  .bootenv = STR("debian-12-install")));
    CHECK(!node_may_report(&h, IN_LAB, env, "local"));
    CHECK(node_may_report(&h, IN_LAB, env | generation, "local"));
    CHECK(!node_may_report(&h, IN_LAB, env | generation, "sledgehammer"));
    CHECK(!node_may_report(&h, IN_LAB, env, ""));
    CHECK(!node_may_report(&h, IN_YARD, env | generation, "local"));
    front_close(h.f);
}

/* ---- host of the daemon ---- */

/* Runs on a node that is the host of the daemon need more than the rights in the deployment of the
 * node. */
TEST(runs_on_the_host_of_the_daemon_need_an_operator_of_everything)
{
    struct rights_world h = rights_world_open();
    const struct caller granted = {.user_id = h.granted}, oper = {.user_id = h.oper};
    const int64_t here = core_find(h.w->core, TABLE_HAMMER_KIND, STR("here"));
    const int64_t phantom = core_find(h.w->core, TABLE_NODE, STR("lab-phantom.internal.local"));
    CHECK(here != 0 && phantom != 0);
    const struct command brings[] = {
        CMD(NODE_CREATE, node_create, .deployment_id = h.lab, .admin = true),
        CMD(NODE_CREATE, node_create, .deployment_id = h.lab, .system = true),
        CMD(HAMMER_CREATE, hammer_create, .node_id = h.node[IN_LAB], .hammer_kind_id = here),
        CMD(NODEROLE_BIND, noderole_bind, .node_id = phantom, .role_id = the_role(h.w, "r")),
    };
    for (size_t i = 0; i < sizeof brings / sizeof *brings; i++)
        CHECK(allows(&h, oper, &brings[i]) && !allows(&h, granted, &brings[i]));
    const struct command service =
        CMD(NODEROLE_BIND, noderole_bind, .node_id = phantom, .role_id = the_role(h.w, "serves"));
    CHECK(allows(&h, granted, &service));
    front_close(h.f);
}

/* ---- batches ---- */

static struct command batch_of(struct rights_world *h, const struct command *parts, uint32_t count)
{
    struct buf b = buf_in(&h->w->arena);
    for (uint32_t i = 0; i < count; i++)
        command_encode(&parts[i], &b);
    return CMD(BATCH, batch, .commands = buf_str(&b));
}

TEST(a_batch_needs_the_rights_of_each_of_its_parts)
{
    struct rights_world h = rights_world_open();
    const struct caller granted = {.user_id = h.granted}, admin = {.user_id = h.admin};
    const struct command parts[] = {
        CMD(NODE_COMMIT, node_commit, .id = h.node[IN_LAB]),
        CMD(NODE_COMMIT, node_commit, .id = h.node[IN_BENCH]),
        CMD(NODE_COMMIT, node_commit, .id = h.node[IN_YARD]),
    };
    struct command batch = batch_of(&h, parts, 2);
    CHECK(allows(&h, granted, &batch) && allows(&h, admin, &batch));
    CHECK(!allows(&h, node_caller(&h), &batch));
    batch = batch_of(&h, parts, 3);
    CHECK(!allows(&h, granted, &batch) && allows(&h, admin, &batch));
    const struct command tick = {.kind = COMMAND_TICK};
    batch = batch_of(&h, &tick, 1);
    CHECK(!allows(&h, admin, &batch));
    const struct command nested = batch_of(&h, &batch, 1);
    CHECK(!allows(&h, admin, &nested));
    const struct command torn =
        CMD(BATCH, batch, .commands = str_slice(batch.batch.commands, 0, 3));
    CHECK(!allows(&h, admin, &torn));
    front_close(h.f);
}

/* ---- messages ---- */

TEST(a_refusal_names_the_level_and_the_deployment)
{
    struct rights_world h = rights_world_open();
    h.f->bearer = front_token(h.f, h.granted, 0);
    struct asked *a = ask(h.f, HTTP_PUT, "/api/v2/nodes/y.example.com/commit", "");
    PROBLEM(h.f, a, 403, "forbidden", "deployment");
    HAS(at(h.f, a, "message"), "yard");
    STATUS(ask(h.f, HTTP_PUT, "/api/v2/nodes/l.example.com/commit", ""), 200);
    a = ask(h.f, HTTP_PUT, "/api/v2/jigs/test", "{'description':'x'}");
    PROBLEM(h.f, a, 403, "forbidden", "absent");
    front_close(h.f);
}

TEST(a_node_may_read_only_about_itself)
{
    struct rights_world h = rights_world_open();
    struct front *f = h.f;
    const struct str secret = credentials_token_new(&h.w->arena);
    DONE(h.w, CMD(TOKEN_CREATE, token_create, .node_id = h.node[IN_LAB], .name = STR("n"),
                  .hash = credentials_token_hash(&h.w->arena, secret)));
    f->bearer = str_z(&h.w->arena, STR_CONCAT(&h.w->arena, STR("Bearer "), secret));
    static const char *const own[] = {
        "/api/v2/nodes/l.example.com", "/api/v2/nodes/l.example.com/node_roles",
        "/api/v2/nodes/l.example.com/power", "/api/v2/nodes/l.example.com/node_roles/r",
        "/api/v2/nodes/L.example.com?view=full"};
    static const char *const others[] = {"/api/v2/nodes",
                                         "/api/v2/nodes/y.example.com",
                                         "/api/v2/nodes/y.example.com/node_roles",
                                         "/api/v2/nodes/nix.example.com",
                                         "/api/v2/nodes/sample",
                                         "/api/v2/deployments",
                                         "/api/v2/deployments/lab",
                                         "/api/v2/users",
                                         "/api/v2/users/admin",
                                         "/api/v2/tokens",
                                         "/api/v2/session",
                                         "/api/v2/digest",
                                         "/api/openapi.json",
                                         "/api/v2/roles/r"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        STATUS(get(f, own[i]), 200);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        PROBLEM(f, get(f, others[i]), 403, "forbidden", "absent");
    STATUS(ask(f, HTTP_PUT, "/api/v2/nodes/l.example.com", "{'alive':false}"), 200);
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/nodes/l.example.com", "{'alive':true,'name':'x.y.z'}"),
            403, "forbidden", "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, "/api/v2/nodes/l.example.com", "[]"), 403, "forbidden", "absent");
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/nodes/l.example.com", ""), 403, "forbidden", "absent");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes/l.example.com/token", "{}"), 403, "forbidden",
            "absent");
    front_close(f);
}
