#include "sim/world/world_gen.h"

#include <stdio.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/world/operator.h"

/* Generates the barclamps of a world and sets it up step by step. Each step depends on the records
 * that exist, so lost or refused commands are repeated. The documents are inputs of the engine and
 * part of the transcript hash. */

/* ---- barclamps ---- */

static const char machinery[] =
    "{\"barclamp\":{\"name\":\"machinery\",\"source_path\":\"/opt/machinery\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},"
    "{\"name\":\"native\",\"class\":\"native\"},"
    "{\"name\":\"test\",\"class\":\"test\"},"
    "{\"name\":\"script\",\"class\":\"script\"},"
    "{\"name\":\"provided\",\"class\":\"role-provided\"},"
    "{\"name\":\"solo\",\"class\":\"chef-solo\",\"implementor\":\"gallery-client\"},"
    "{\"name\":\"future\",\"class\":\"not-invented-yet\"}],"
    "\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\",\"priority\":0},"
    "{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":10},"
    "{\"name\":\"wol\",\"type\":\"wol\",\"priority\":5}],"
    "\"attribs\":[{\"name\":\"serial\",\"map\":\"dmi/serial\",\"default\":\"none\"},"
    "{\"name\":\"shelf\",\"map\":\"rack/shelf\",\"schema\":{\"type\":\"int\"},\"default\":0},"
    "{\"name\":\"stay_on\",\"map\":\"stay_on\",\"writable\":true},"
    "{\"name\":\"hint-admin-macs\",\"map\":\"admin_macs\",\"writable\":true},"
    "{\"name\":\"hint-admin-v4addr\",\"map\":\"admin-v4addr\",\"writable\":true}]}";

/* Providers: y and q provide x, which is abstract; m is a cluster that requires x; k requires m,
 * and q requires k, so a member of m on the node of a q would be its own ancestor. */
static const char gallery[] =
    "{\"barclamp\":{\"name\":\"gallery\",\"source_path\":\"/opt/gallery\"},\"roles\":["
    "{\"name\":\"gallery-x\",\"jig\":\"noop\",\"flags\":[\"abstract\"]},"
    "{\"name\":\"gallery-y\",\"jig\":\"noop\",\"provides\":[\"gallery-x\"]},"
    "{\"name\":\"gallery-m\",\"jig\":\"script\",\"flags\":[\"cluster\"],"
    "\"requires\":[\"gallery-x\"]},"
    "{\"name\":\"gallery-k\",\"jig\":\"script\",\"requires\":[\"gallery-m\"],"
    "\"hooks\":[\"on_blocked\",\"on_todo\"]},"
    "{\"name\":\"gallery-q\",\"jig\":\"noop\",\"provides\":[\"gallery-x\"],"
    "\"requires\":[\"gallery-k\"]},"
    "{\"name\":\"gallery-a0\",\"jig\":\"noop\"},"
    "{\"name\":\"gallery-a1\",\"jig\":\"noop\",\"requires\":[\"gallery-a0\"]},"
    "{\"name\":\"gallery-a2\",\"jig\":\"noop\",\"requires\":[\"gallery-a1\"],"
    "\"provides\":[\"gallery-a0\"]},"
    "{\"name\":\"gallery-c1\",\"jig\":\"script\",\"conflicts\":[\"gallery-c2\"]},"
    "{\"name\":\"gallery-c2\",\"jig\":\"script\"},"
    "{\"name\":\"gallery-p0\",\"jig\":\"noop\"},"
    "{\"name\":\"gallery-p1\",\"jig\":\"noop\",\"provides\":[\"gallery-p0\"]},"
    "{\"name\":\"gallery-orphan\",\"jig\":\"noop\",\"requires\":[\"late-parent\"]},"
    "{\"name\":\"gallery-curious\",\"jig\":\"noop\",\"wants-attribs\":[\"nobody-has-this\"]},"
    "{\"name\":\"gallery-future\",\"jig\":\"future\"},"
    "{\"name\":\"gallery-client\",\"jig\":\"noop\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"gallery-solo\",\"jig\":\"solo\"},"
    "{\"name\":\"gallery-wipe\",\"jig\":\"script\",\"flags\":[\"destructive\"],"
    "\"announces\":[\"wipe\",\"boot\"],\"hooks\":[\"on_todo\",\"on_active\",\"on_transition\"]},"
    "{\"name\":\"gallery-after\",\"jig\":\"script\",\"requires\":[\"gallery-wipe\"]},"
    "{\"name\":\"gallery-sleep\",\"jig\":\"noop\",\"flags\":[\"powersave\",\"milestone\"]},"
    "{\"name\":\"gallery-found\",\"jig\":\"noop\",\"flags\":[\"discovery\",\"milestone\","
    "\"implicit\"]},"
    "{\"name\":\"gallery-lease\",\"jig\":\"script\",\"flags\":[\"serves-boot\"],"
    "\"wants-attribs\":[\"shelf\"],\"hooks\":[\"on_node_change\",\"on_active\"]},"
    "{\"name\":\"gallery-zone\",\"jig\":\"provided\",\"flags\":[\"serves-boot\"],"
    "\"attempts\":3,\"backoff\":60},"
    "{\"name\":\"gallery-dhcp\",\"jig\":\"native\",\"flags\":[\"serves-boot\",\"server\"],"
    "\"hooks\":[\"on_error\"]},"
    "{\"name\":\"gallery-menu\",\"jig\":\"noop\",\"flags\":[\"serves-boot\",\"server\"],"
    "\"hooks\":[\"on_node_change\"]},"
    "{\"name\":\"gallery-net-{name}\",\"per\":\"network\",\"jig\":\"script\","
    "\"flags\":[\"implicit\"],\"attribs\":[{\"name\":\"gallery-{name}-order\","
    "\"map\":\"net/{name}/order\",\"default\":1}]},"
    "{\"name\":\"gallery-names\",\"jig\":\"noop\",\"flags\":[\"implicit\"],"
    "\"lists-services\":\"gallery-names-list\",\"attribs\":[{\"name\":"
    "\"gallery-names-list\",\"map\":\"names/list\",\"default\":[{\"name\":\"system\"}]}]},"
    "{\"name\":\"gallery-watch\",\"jig\":\"noop\",\"hooks\":[\"on_network_create\","
    "\"on_network_change\",\"on_network_delete\",\"on_network_allocation_create\","
    "\"on_network_allocation_delete\"]},"
    "{\"name\":\"gallery-boot\",\"jig\":\"script\",\"flags\":[\"bootstrap\"]},"
    "{\"name\":\"gallery-stone\",\"jig\":\"noop\",\"flags\":[\"milestone\"],"
    "\"requires\":[\"gallery-found\"]},"
    "{\"name\":\"gallery-service\",\"jig\":\"provided\",\"flags\":[\"service\",\"server\"],"
    "\"attribs\":[{\"name\":\"service-address\",\"map\":\"service/address\",\"default\":\"-\"}],"
    "\"hooks\":[\"on_node_create\",\"on_node_change\",\"on_node_delete\","
    "\"on_deployment_create\",\"on_deployment_delete\",\"sysdata\",\"template\"]},"
    "{\"name\":\"gallery-user\",\"jig\":\"script\",\"wants-attribs\":[\"service-address\","
    "{\"name\":\"serial\",\"at\":\"machine/serial\"}],\"hooks\":[\"on_proposed\",\"on_commit\","
    "\"on_node_bind\",\"on_error\"]}],\"attribs\":[{\"name\":\"hint-{name}-v4addr\","
    "\"per\":\"network\",\"map\":\"{name}-v4addr\",\"writable\":true}],"
    "\"bootenvs\":[{\"name\":\"sledgehammer\",\"kernel\":\"sledgehammer/vmlinuz\","
    "\"method\":\"discovery\"}]}";

static const char late[] =
    "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"/opt/late\"},\"roles\":["
    "{\"name\":\"late-parent\",\"jig\":\"noop\"}]}";

static const char cycle[] =
    "{\"barclamp\":{\"name\":\"cycle\",\"source_path\":\"/opt/cycle\"},\"roles\":["
    "{\"name\":\"cycle-a\",\"jig\":\"noop\",\"requires\":[\"cycle-c\"]},"
    "{\"name\":\"cycle-b\",\"jig\":\"noop\",\"requires\":[\"cycle-a\"]},"
    "{\"name\":\"cycle-c\",\"jig\":\"noop\",\"requires\":[\"cycle-b\"]}]}";

static const char thief[] = "{\"barclamp\":{\"name\":\"thief\",\"source_path\":\"/opt/thief\"},"
                            "\"attribs\":[{\"name\":\"serial\",\"map\":\"mine\"}]}";

static const char bad_schema[] =
    "{\"barclamp\":{\"name\":\"odd\",\"source_path\":\"/opt/odd\"},"
    "\"attribs\":[{\"name\":\"odd\",\"map\":\"odd\",\"schema\":{\"type\":\"seq\"}}]}";

static const char nameless[] = "{\"barclamp\":{\"description\":\"no name, no path\"}}";

static void world_gen_put_list(struct buf *b, const char *key, uint32_t first, uint32_t second,
                               bool both)
{
    char text[96];
    snprintf(text, sizeof text,
             both ? ",\"%s\":[\"field-%u\",\"field-%u\"]" : ",\"%s\":[\"field-%u\"]", key, first,
             second);
    buf_put_z(b, text);
}

/* Hooks of a role of the field. */
static void world_gen_put_hooks(struct buf *b, struct prng *rng)
{
    static const char *const sets[] = {
        "",
        "",
        "",
        ",\"hooks\":[\"on_todo\"]",
        ",\"hooks\":[\"on_active\",\"on_error\"]",
        ",\"hooks\":[\"on_proposed\",\"on_transition\"]",
        ",\"hooks\":[\"on_commit\"]",
        ",\"hooks\":[\"on_node_change\"]",
        ",\"hooks\":[\"on_node_bind\",\"on_deployment_create\",\"on_blocked\"]",
        ",\"hooks\":[\"sysdata\",\"on_todo\"]",
        ",\"hooks\":[\"template\"]",
    };
    buf_put_z(b, sets[prng_below(rng, sizeof sets / sizeof *sets)]);
}

static void world_gen_put_flags(struct buf *b, struct prng *rng)
{
    static const char *const sets[] = {"",
                                       "",
                                       "",
                                       ",\"flags\":[\"implicit\"]",
                                       ",\"flags\":[\"cluster\"]",
                                       ",\"flags\":[\"destructive\"]",
                                       ",\"flags\":[\"implicit\",\"milestone\"]",
                                       ",\"flags\":[\"server\"]"};
    buf_put_z(b, sets[prng_below(rng, sizeof sets / sizeof *sets)]);
}

static void world_gen_put_role(struct buf *b, struct prng *rng, uint32_t i, uint32_t first)
{
    static const char *const jigs[] = {"noop", "script", "script", "provided"};
    char text[256];
    snprintf(text, sizeof text, "%s{\"name\":\"field-%u\",\"jig\":\"%s\"", i > first ? "," : "", i,
             jigs[prng_below(rng, 4)]);
    buf_put_z(b, text);
    const uint32_t parents = i ? (uint32_t)prng_below(rng, 3) : 0;
    if (parents) {
        const uint32_t one = (uint32_t)prng_below(rng, i);
        const uint32_t other = (uint32_t)prng_below(rng, i);
        world_gen_put_list(b, "requires", one, other, parents == 2 && one != other);
    }
    world_gen_put_flags(b, rng);
    world_gen_put_hooks(b, rng);
    if (prng_chance(rng, 250)) {
        /* Two statements: the order of evaluation of arguments is unspecified. */
        const uint32_t attempts = 2 + (uint32_t)prng_below(rng, 3);
        const uint32_t backoff = 1 + (uint32_t)prng_below(rng, 600);
        snprintf(text, sizeof text, ",\"attempts\":%u,\"backoff\":%u", attempts, backoff);
        buf_put_z(b, text);
    }
    if (prng_chance(rng, 600)) {
        const char *path = prng_chance(rng, 500) ? "seen" : "wish";
        const char *schema = prng_chance(rng, 500) ? ",\"schema\":{\"type\":\"int\"}" : "";
        snprintf(text, sizeof text,
                 ",\"attribs\":[{\"name\":\"value-%u\",\"map\":\"app/%s\",\"default\":%u%s}]", i,
                 path, i, schema);
        buf_put_z(b, text);
    }
    if (i && prng_chance(rng, 300))
        buf_put_z(b, ",\"wants-attribs\":[\"shelf\"]");
    buf_put_c(b, '}');
}

/* A generator of its own, so that every call returns the same roles and the import can be
 * repeated. */
static struct str world_gen_field(struct world *w, const char *name, uint32_t first, uint32_t end)
{
    struct prng rng;
    prng_init(&rng, w->scenario.seed + 77 + first);
    struct buf b = buf_in(&w->arena);
    char text[128];
    snprintf(text, sizeof text,
             "{\"barclamp\":{\"name\":\"%s\",\"source_path\":\"/opt/%s\"},\"roles\":[", name, name);
    buf_put_z(&b, text);
    for (uint32_t i = first; i < end; i++)
        world_gen_put_role(&b, &rng, i, first);
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

static struct str world_gen_extra(struct world *w)
{
    char name[32];
    const uint32_t first = w->scenario.roles + 3 * w->imported;
    snprintf(name, sizeof name, "extra_%u", w->imported++);
    return world_gen_field(w, name, first, first + 3);
}

static struct str world_gen_huge(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"huge\",\"source_path\":\"/\"},\"roles\":[{\"name\":"
                  "\"huge\",\"jig\":\"noop\",\"conflicts\":[");
    for (uint32_t i = 0; i < 2000; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s\"h%u\"", i ? "," : "", i);
        buf_put_z(&b, text);
    }
    buf_put_z(&b, "]}]}");
    return buf_str(&b);
}

struct str world_gen_barclamp(struct world *w, enum barclamp_kind kind)
{
    switch (kind) {
    case BARCLAMP_MACHINERY: return str_from(machinery);
    case BARCLAMP_GALLERY: return str_from(gallery);
    case BARCLAMP_FIELD: return world_gen_field(w, "field", 0, w->scenario.roles);
    case BARCLAMP_LATE: return str_from(late);
    case BARCLAMP_CYCLE: return str_from(cycle);
    case BARCLAMP_THIEF: return str_from(thief);
    case BARCLAMP_BAD_SCHEMA: return str_from(bad_schema);
    case BARCLAMP_NAMELESS: return str_from(nameless);
    case BARCLAMP_HUGE: return world_gen_huge(w);
    case BARCLAMP_EXTRA: return world_gen_extra(w);
    case BARCLAMP_KINDS: break;
    }
    impossible("no such barclamp");
}

/* ---- setup ---- */

enum {
    DEPLOYMENTS = 4,
    BINDS_PER_NODE = 6,
    NETWORKS = 4,
    NETWORK_TRIES = 12,
    USER_TRIES = 6,
    SERVICE_TRIES = 3,
    BOOT_TRIES = 4
};

static void world_gen_import(struct world *w, enum barclamp_kind kind)
{
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp = world_gen_barclamp(w, kind);
    operator_send_command(w, &command);
}

void world_gen_begin(struct world *w)
{
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE};
    settings.settings_update.given = GIVEN_SETTINGS_POOL_NORMAL | GIVEN_SETTINGS_POOL_HIGH |
                                     GIVEN_SETTINGS_TEST_JIG | GIVEN_SETTINGS_KEEP_RUNS |
                                     GIVEN_SETTINGS_BARRIER;
    settings.settings_update.pool_normal = w->scenario.pool_normal;
    settings.settings_update.pool_high = w->scenario.pool_high;
    settings.settings_update.test_jig = w->scenario.test_jig;
    static const uint32_t waits_s[] = {600, 4 * 3600, 4 * 3600, 24 * 3600};
    settings.settings_update.barrier_s = waits_s[w->scenario.seed % 4];
    settings.settings_update.keep_runs = 1 + (uint32_t)(w->scenario.seed % 5);
    operator_send_command(w, &settings);
    world_gen_import(w, BARCLAMP_MACHINERY);
}

static void world_gen_create_deployment(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_CREATE};
    command.deployment_create.name = operator_name(w, "site-%u");
    command.deployment_create.parent_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    operator_send_command(w, &command);
}

/* Half of the worlds start with the automatic admin node. In half of these it is the only admin
 * node during the setup; operators may replace it later. */
static void world_gen_create_node(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    const bool is_automatic = w->scenario.seed % 2 == 0;
    if (is_automatic && core_count(core, TABLE_NODE) == DEPLOYMENTS) {
        /* The command that the first start of a daemon sends (ADR 0070). */
        command.node_create.name = STR("admin.sim.local");
        command.node_create.alive = true;
        command.node_create.bootenv = STR("local");
        command.node_create.automatic = true;
        operator_send_command(w, &command);
        return;
    }
    const bool first = !is_automatic || w->scenario.seed % 4 == 0;
    command.node_create.name = operator_name(w, first ? "admin-%u.sim.local" : "d%u.sim.local");
    command.node_create.admin = first;
    command.node_create.deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    command.node_create.available = prng_chance(&w->rng, 700);
    command.node_create.bootenv = prng_chance(&w->rng, 500) ? STR("local") : STR("");
    if (prng_chance(&w->rng, 950))
        command.node_create.mac = operator_mac(w); /* without one, no installer is granted */
    operator_send_command(w, &command);
}

/* Half of the worlds start with one to four networks, of which the first is `admin`. A network
 * whose ranges or conduit clash with those before is refused, so the number of tries is bounded.
 * False: there are enough. */
static bool world_gen_create_network(struct world *w, const struct core *core)
{
    const uint32_t count = core_count(core, TABLE_NETWORK);
    const uint64_t wanted = w->scenario.seed / 2 % 2 ? 1 + w->scenario.seed / 4 % NETWORKS : 0;
    if (count >= wanted || w->network_tries >= NETWORK_TRIES)
        return false;
    w->network_tries++;
    operator_create_network(w, core, count ? operator_name(w, "net-%u") : STR("admin"));
    return true;
}

/* Three of four worlds have roles that serve boots from the start, on admin nodes: one of them a
 * native one only, the others also two that publish. */
static void world_gen_bind_boots(struct world *w, const struct core *core)
{
    static const char *const roles[] = {"gallery-dhcp", "gallery-lease", "gallery-zone",
                                        "gallery-found"};
    uint64_t which = (w->scenario.seed + w->boot_tries) % 4;
    if (w->scenario.seed % 4 == 1 && which < 3)
        which = 0;
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    struct record node;
    command.noderole_bind.node_id = operator_pick(w, core, TABLE_NODE);
    for (int64_t id = 0; which < 3 && (id = core_next_id(core, TABLE_NODE, id)) != 0;)
        if (core_record(core, TABLE_NODE, id, &node) && node.node.admin && !node.node.system)
            command.noderole_bind.node_id = id;
    command.noderole_bind.role_id = core_find(core, TABLE_ROLE, str_from(roles[which]));
    operator_send_command(w, &command);
}

bool world_gen_step(struct world *w)
{
    const struct core *core = world_core(w);
    if (w->set_up || !core)
        return !w->set_up;
    const uint32_t barclamps = core_count(core, TABLE_BARCLAMP);
    if (barclamps < 3)
        world_gen_import(w, (enum barclamp_kind)barclamps);
    else if (core_count(core, TABLE_DEPLOYMENT) < DEPLOYMENTS)
        world_gen_create_deployment(w, core);
    else if (core_count(core, TABLE_USER) < 2 && w->user_tries++ < USER_TRIES) {
        /* For the rights across deployments (I12): an administrator, and an operator of one
         * deployment only. */
        const bool is_first = core_count(core, TABLE_USER) == 0;
        struct command command = {.kind = COMMAND_USER_CREATE};
        command.user_create.username = is_first ? STR("root") : STR("local");
        command.user_create.email = is_first ? STR("root@sim.local") : STR("local@sim.local");
        command.user_create.password_hash = STR("$argon2id$sim");
        command.user_create.is_admin = is_first;
        command.user_create.access = ACCESS_VIEWER;
        command.user_create.grants = operator_format(w, is_first ? "" : "{\"%u\":\"operator\"}",
                                                     2 + prng_below(&w->rng, DEPLOYMENTS - 1));
        operator_send_command(w, &command);
    } else if (world_gen_create_network(w, core))
        ; /* one network was requested */
    else if (core_count(core, TABLE_NODE) < w->scenario.nodes + DEPLOYMENTS)
        world_gen_create_node(w, core);
    else if (!core_count(core, TABLE_NODEROLE) && w->service_tries++ < SERVICE_TRIES) {
        /* The role that lists the DNS services comes first, on any node. */
        struct command command = {.kind = COMMAND_NODEROLE_BIND};
        command.noderole_bind.node_id = operator_pick(w, core, TABLE_NODE);
        command.noderole_bind.role_id = core_find(core, TABLE_ROLE, STR("gallery-names"));
        operator_send_command(w, &command);
    } else if (w->scenario.seed % 4 && w->boot_tries++ < BOOT_TRIES)
        world_gen_bind_boots(w, core);
    else if (core_count(core, TABLE_NODEROLE) < w->scenario.nodes * BINDS_PER_NODE &&
             w->operator_commands < 4 * w->scenario.nodes * BINDS_PER_NODE)
        operator_bind_random(w, core, true);
    else {
        for (int64_t id = 0; (id = core_next_id(core, TABLE_DEPLOYMENT, id)) != 0;) {
            struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
            command.deployment_commit.id = id;
            operator_send_command(w, &command);
        }
        w->set_up = true;
    }
    return true;
}
