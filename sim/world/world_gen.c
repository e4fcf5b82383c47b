#include "sim/world/world_gen.h"

#include <stdio.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/world/operator.h"

/* ---- barclamps ---- */

static const char machinery[] =
    "{\"barclamp\":{\"name\":\"machinery\",\"source_path\":\"/opt/machinery\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},"
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
    "{\"name\":\"stay_on\",\"map\":\"stay_on\",\"writable\":true}]}";

/* provider stories: y and q provide x, which cannot be bound itself; m is a cluster that needs x;
 * k hangs below m and q below k, so a member of m beside q would wait for itself. */
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
    "\"announces\":[\"wipe\"],\"hooks\":[\"on_todo\",\"on_active\",\"on_transition\"]},"
    "{\"name\":\"gallery-after\",\"jig\":\"script\",\"requires\":[\"gallery-wipe\"]},"
    "{\"name\":\"gallery-sleep\",\"jig\":\"noop\",\"flags\":[\"powersave\",\"milestone\"]},"
    "{\"name\":\"gallery-found\",\"jig\":\"noop\",\"flags\":[\"discovery\",\"milestone\","
    "\"implicit\"]},"
    "{\"name\":\"gallery-lease\",\"jig\":\"script\",\"flags\":[\"serves-boot\"],"
    "\"hooks\":[\"on_node_change\",\"on_active\"]},"
    "{\"name\":\"gallery-menu\",\"jig\":\"noop\",\"flags\":[\"serves-boot\",\"server\"],"
    "\"hooks\":[\"on_node_change\"]},"
    "{\"name\":\"gallery-boot\",\"jig\":\"script\",\"flags\":[\"bootstrap\"]},"
    "{\"name\":\"gallery-stone\",\"jig\":\"noop\",\"flags\":[\"milestone\"],"
    "\"requires\":[\"gallery-found\"]},"
    "{\"name\":\"gallery-service\",\"jig\":\"provided\",\"flags\":[\"service\",\"server\"],"
    "\"attribs\":[{\"name\":\"service-address\",\"map\":\"service/address\",\"default\":\"-\"}],"
    "\"hooks\":[\"on_node_create\",\"on_node_change\",\"on_node_delete\","
    "\"on_deployment_create\",\"on_deployment_delete\",\"sysdata\",\"template\"]},"
    "{\"name\":\"gallery-user\",\"jig\":\"script\",\"wants-attribs\":[\"service-address\","
    "{\"name\":\"serial\",\"at\":\"machine/serial\"}],\"hooks\":[\"on_proposed\",\"on_commit\","
    "\"on_node_bind\",\"on_error\"]}]}";

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

static void put_list(struct buf *b, const char *key, uint32_t first, uint32_t second, bool both)
{
    char text[96];
    snprintf(text, sizeof text,
             both ? ",\"%s\":[\"field-%u\",\"field-%u\"]" : ",\"%s\":[\"field-%u\"]", key, first,
             second);
    buf_put_z(b, text);
}

/* Hooks that a role of the field may bring along. */
static void put_hooks(struct buf *b, struct prng *chance)
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
    buf_put_z(b, sets[prng_below(chance, sizeof sets / sizeof *sets)]);
}

static void put_flags(struct buf *b, struct prng *chance)
{
    static const char *const sets[] = {"",
                                       "",
                                       "",
                                       ",\"flags\":[\"implicit\"]",
                                       ",\"flags\":[\"cluster\"]",
                                       ",\"flags\":[\"destructive\"]",
                                       ",\"flags\":[\"implicit\",\"milestone\"]",
                                       ",\"flags\":[\"server\"]"};
    buf_put_z(b, sets[prng_below(chance, sizeof sets / sizeof *sets)]);
}

static void put_field_role(struct buf *b, struct prng *chance, uint32_t i, uint32_t first)
{
    static const char *const jigs[] = {"noop", "script", "script", "provided"};
    char text[256];
    snprintf(text, sizeof text, "%s{\"name\":\"field-%u\",\"jig\":\"%s\"", i > first ? "," : "", i,
             jigs[prng_below(chance, 4)]);
    buf_put_z(b, text);
    const uint32_t parents = i ? (uint32_t)prng_below(chance, 3) : 0;
    if (parents) {
        const uint32_t one = (uint32_t)prng_below(chance, i);
        const uint32_t other = (uint32_t)prng_below(chance, i);
        put_list(b, "requires", one, other, parents == 2 && one != other);
    }
    put_flags(b, chance);
    put_hooks(b, chance);
    if (prng_chance(chance, 250)) {
        /* One after the other: a call with both would draw them in any order. */
        const uint32_t attempts = 2 + (uint32_t)prng_below(chance, 3);
        const uint32_t backoff = 1 + (uint32_t)prng_below(chance, 600);
        snprintf(text, sizeof text, ",\"attempts\":%u,\"backoff\":%u", attempts, backoff);
        buf_put_z(b, text);
    }
    if (prng_chance(chance, 600)) {
        const char *path = prng_chance(chance, 500) ? "seen" : "wish";
        const char *schema = prng_chance(chance, 500) ? ",\"schema\":{\"type\":\"int\"}" : "";
        snprintf(text, sizeof text,
                 ",\"attribs\":[{\"name\":\"value-%u\",\"map\":\"app/%s\",\"default\":%u%s}]", i,
                 path, i, schema);
        buf_put_z(b, text);
    }
    if (i && prng_chance(chance, 300))
        buf_put_z(b, ",\"wants-attribs\":[\"shelf\"]");
    buf_put_c(b, '}');
}

/* The same roles whenever it is asked for, so that an import can be repeated. */
static struct str field(struct world *w, const char *name, uint32_t first, uint32_t end)
{
    struct prng chance;
    prng_init(&chance, w->draw.seed + 77 + first);
    struct buf b = buf_in(&w->story);
    char text[128];
    snprintf(text, sizeof text,
             "{\"barclamp\":{\"name\":\"%s\",\"source_path\":\"/opt/%s\"},\"roles\":[", name, name);
    buf_put_z(&b, text);
    for (uint32_t i = first; i < end; i++)
        put_field_role(&b, &chance, i, first);
    buf_put_z(&b, "]}");
    return buf_str(&b);
}

static struct str extra(struct world *w)
{
    char name[32];
    const uint32_t first = w->draw.roles + 3 * w->imported;
    snprintf(name, sizeof name, "extra_%u", w->imported++);
    return field(w, name, first, first + 3);
}

static struct str huge(struct world *w)
{
    struct buf b = buf_in(&w->story);
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
    case BARCLAMP_FIELD: return field(w, "field", 0, w->draw.roles);
    case BARCLAMP_LATE: return str_from(late);
    case BARCLAMP_CYCLE: return str_from(cycle);
    case BARCLAMP_THIEF: return str_from(thief);
    case BARCLAMP_BAD_SCHEMA: return str_from(bad_schema);
    case BARCLAMP_NAMELESS: return str_from(nameless);
    case BARCLAMP_HUGE: return huge(w);
    case BARCLAMP_EXTRA: return extra(w);
    case BARCLAMP_KINDS: break;
    }
    impossible("no such barclamp");
}

/* ---- setting up ---- */

enum { DEPLOYMENTS = 4, BINDS_PER_NODE = 6 };

static void import(struct world *w, enum barclamp_kind kind)
{
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp = world_gen_barclamp(w, kind);
    operator_sends(w, &command);
}

void world_gen_begin(struct world *w)
{
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE};
    settings.settings_update.given = GIVEN_SETTINGS_POOL_NORMAL | GIVEN_SETTINGS_POOL_HIGH |
                                     GIVEN_SETTINGS_TEST_JIG | GIVEN_SETTINGS_KEEP_RUNS;
    settings.settings_update.pool_normal = w->draw.pool_normal;
    settings.settings_update.pool_high = w->draw.pool_high;
    settings.settings_update.test_jig = w->draw.test_jig;
    settings.settings_update.keep_runs = 1 + (uint32_t)(w->draw.seed % 5);
    operator_sends(w, &settings);
    import(w, BARCLAMP_MACHINERY);
}

static void create_deployment(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_CREATE};
    command.deployment_create.name = operator_name(w, "site-%u");
    command.deployment_create.parent_id = operator_picks(w, core, TABLE_DEPLOYMENT);
    operator_sends(w, &command);
}

/* What the first start of a daemon asks for. */
static void create_automatic(struct world *w)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    command.node_create.name = STR("admin.sim.local");
    command.node_create.alive = true;
    command.node_create.bootenv = STR("local");
    command.node_create.automatic = true;
    operator_sends(w, &command);
}

/* Half the worlds begin with the automatic admin node. In half of these it is the only admin node
 * while the world is set up; operators come upon it later. */
static void create_node(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    const bool is_automatic = w->draw.seed % 2 == 0;
    if (is_automatic && core_count(core, TABLE_NODE) == DEPLOYMENTS) {
        create_automatic(w);
        return;
    }
    const bool first = !is_automatic || w->draw.seed % 4 == 0;
    command.node_create.name = operator_name(w, first ? "admin-%u.sim.local" : "d%u.sim.local");
    command.node_create.admin = first;
    command.node_create.deployment_id = operator_picks(w, core, TABLE_DEPLOYMENT);
    command.node_create.available = prng_chance(&w->chance, 700);
    command.node_create.bootenv = prng_chance(&w->chance, 500) ? STR("local") : STR("");
    operator_sends(w, &command);
}

static void commit_all(struct world *w, const struct core *core)
{
    for (int64_t id = 0; (id = core_next_id(core, TABLE_DEPLOYMENT, id)) != 0;) {
        struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
        command.deployment_commit.id = id;
        operator_sends(w, &command);
    }
}

bool world_gen_step(struct world *w)
{
    const struct core *core = world_core(w);
    if (w->set_up || !core)
        return !w->set_up;
    const uint32_t barclamps = core_count(core, TABLE_BARCLAMP);
    if (barclamps < 3)
        import(w, (enum barclamp_kind)barclamps);
    else if (core_count(core, TABLE_DEPLOYMENT) < DEPLOYMENTS)
        create_deployment(w, core);
    else if (core_count(core, TABLE_NODE) < w->draw.nodes + DEPLOYMENTS)
        create_node(w, core);
    else if (core_count(core, TABLE_NODEROLE) < w->draw.nodes * BINDS_PER_NODE &&
             w->operated < 4 * w->draw.nodes * BINDS_PER_NODE)
        operator_binds(w, core, true);
    else {
        commit_all(w, core);
        w->set_up = true;
    }
    return true;
}
