#include "sim/world/operator.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "model/limits.h"
#include "sim/world/actors.h"
#include "sim/world/world_gen.h"

/* Actions of operators on settings, content, nodes, groups, hammers, users and attribs. */

/* ---- settings and content ---- */

void action_settings(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_SETTINGS_UPDATE};
    struct settings_update_command *update = &command.settings_update;
    update->given = (uint32_t)prng_below(&w->rng, 32) |
                    (prng_chance(&w->rng, 500) ? GIVEN_SETTINGS_BARRIER : 0);
    update->barrier_s = (uint32_t)prng_below(&w->rng, 3) * 60;
    update->given |= prng_chance(&w->rng, 500) ? GIVEN_SETTINGS_INSTALL_WAIT : 0;
    update->install_wait_s = (uint32_t)prng_below(&w->rng, 4) * 600;
    update->pool_normal = (uint32_t)prng_between(&w->rng, 1, 12);
    update->pool_high = (uint32_t)prng_between(&w->rng, 1, 4);
    update->max_depth = prng_chance(&w->rng, 500) ? 0 : 2;
    update->test_jig = prng_chance(&w->rng, 500);
    update->keep_runs = 1 + update->pool_normal % 5;
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        update->pool_normal = 0;
    operator_send_command(w, &command);
}

void action_import(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp =
        prng_chance(&w->rng, 50)
            ? operator_document(w)
            : world_gen_barclamp(w, (enum barclamp_kind)prng_below(&w->rng, BARCLAMP_KINDS));
    operator_send_command(w, &command);
}

void action_jig_create(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_JIG_CREATE};
    command.jig_create.name = operator_dubious_name(w, "jig-%u");
    command.jig_create.class_name = prng_chance(&w->rng, 700) ? STR("script") : STR("quantum");
    command.jig_create.active = prng_chance(&w->rng, 500);
    operator_send_command(w, &command);
}

void action_jig_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_JIG_UPDATE};
    command.jig_update.id = operator_pick(w, core, TABLE_JIG);
    command.jig_update.given = (uint32_t)prng_below(&w->rng, 32);
    command.jig_update.active = prng_chance(&w->rng, 700);
    command.jig_update.description = operator_format(w, "worker %u", prng_below(&w->rng, 3));
    command.jig_update.server = STR("http://jig.sim.local");
    operator_send_command(w, &command);
}

void action_role_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_ROLE_UPDATE};
    command.role_update.id = operator_pick(w, core, TABLE_ROLE);
    command.role_update.given = (uint32_t)prng_below(&w->rng, 4);
    command.role_update.description = STR("does what it can");
    command.role_update.template = operator_document(w);
    operator_send_command(w, &command);
}

/* ---- attribs ---- */

void action_attrib_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_ATTRIB_CREATE};
    struct attrib_create_command *create = &command.attrib_create;
    create->name = operator_dubious_name(w, "attrib-%u");
    create->barclamp_id = operator_pick(w, core, TABLE_BARCLAMP);
    create->role_id = prng_chance(&w->rng, 500) ? operator_pick(w, core, TABLE_ROLE) : 0;
    create->writable = prng_chance(&w->rng, 700);
    create->map = STR("app/wish");
    if (prng_chance(&w->rng, 300))
        create->schema = STR("{\"type\":\"int\"}");
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        create->schema = STR("{\"kind\":\"int\"}");
    create->default_value = STR("{\"value\":1}");
    operator_send_command(w, &command);
}

void action_attrib_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_ATTRIB_DELETE};
    command.attrib_delete.id = operator_pick(w, core, TABLE_ATTRIB);
    operator_send_command(w, &command);
}

void action_attrib_set(struct world *w, const struct core *core)
{
    static const enum table targets[] = {TABLE_NODE, TABLE_DEPLOYMENT, TABLE_DEPLOYMENT_ROLE,
                                         TABLE_NODEROLE, TABLE_ROLE};
    struct command command = {.kind = COMMAND_ATTRIB_SET};
    struct attrib_set_command *set = &command.attrib_set;
    set->target = targets[prng_below(&w->rng, 5)];
    set->id = operator_pick(w, core, (enum table)set->target);
    set->attrib_id = operator_pick(w, core, TABLE_ATTRIB);
    set->bucket = prng_chance(&w->rng, 800) ? BUCKET_USER : BUCKET_NOTE;
    set->value = operator_format(w, "%u", prng_below(&w->rng, 5));
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        set->bucket = (uint32_t)prng_below(&w->rng, BUCKET_COUNT + 1);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        set->value = prng_chance(&w->rng, 800) ? STR("\"text\"") : STR("{");
    operator_send_command(w, &command);
}

/* ---- nodes ---- */

void action_node_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    struct node_create_command *create = &command.node_create;
    create->name = operator_dubious_name(w, "d%u.sim.local");
    create->deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    create->alive = prng_chance(&w->rng, 300);
    create->available = prng_chance(&w->rng, 500);
    create->admin = prng_chance(&w->rng, 100);
    create->automatic = prng_chance(&w->rng, 50);
    create->hint = prng_chance(&w->rng, 200) ? operator_document(w) : STR("");
    if (prng_chance(&w->rng, 300))
        create->hint = STR("{\"admin_macs\":[\"52:54:00:00:00:0a\"]}");
    if (prng_chance(&w->rng, 600))
        create->mac = operator_mac(w);
    operator_send_command(w, &command);
    if (prng_chance(&w->rng, 100))
        operator_send_command(w, &command); /* a machine that registers twice (ADR 0049) */
}

void action_node_update(struct world *w, const struct core *core)
{
    static const char *const environments[] = {"local", "sledgehammer", "debian-install"};
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct node_update_command *update = &command.node_update;
    update->id = operator_pick(w, core, TABLE_NODE);
    update->given = (uint32_t)prng_below(&w->rng, 1024) &
                    (GIVEN_DESCRIPTION | GIVEN_NODE_ALLOCATED | GIVEN_NODE_AVAILABLE |
                     GIVEN_NODE_BOOTENV | GIVEN_NODE_QUIRKS);
    if (prng_chance(&w->rng, 50))
        update->given |= GIVEN_NAME;
    if (prng_chance(&w->rng, 150))
        update->given |= GIVEN_NODE_ALIVE;
    update->name = operator_dubious_name(w, "d%u.sim.local");
    update->description = operator_format(w, "shelf %u", prng_below(&w->rng, 4));
    update->allocated = prng_chance(&w->rng, 500);
    update->alive = prng_chance(&w->rng, 700);
    update->available = prng_chance(&w->rng, 800);
    update->bootenv = str_from(environments[prng_below(&w->rng, 3)]);
    update->quirks = prng_chance(&w->rng, 500) ? STR("[\"loud\"]") : STR("[\"loud\",\"hot\"]");
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        update->quirks = STR("{\"not\":\"a list\"}");
    if (prng_chance(&w->rng, 100)) {
        update->given |= GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION;
        update->environment = str_from(environments[prng_below(&w->rng, 3)]);
        update->boot_generation = (int64_t)prng_below(&w->rng, 4);
    }
    operator_send_command(w, &command);
}

void action_node_move(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct node_update_command *update = &command.node_update;
    update->id = operator_pick(w, core, TABLE_NODE);
    update->given = GIVEN_NODE_DEPLOYMENT;
    update->deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    if (prng_chance(&w->rng, 300)) {
        update->given |= GIVEN_NODE_OLD_DEPLOYMENT;
        update->old_deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    }
    operator_send_command(w, &command);
}

/* Set the target of a node to one of its roles or to a milestone, or clear it. */
void action_node_target(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct record noderole;
    const int64_t id = operator_pick(w, core, TABLE_NODEROLE);
    const int64_t milestone = core_find(core, TABLE_ROLE, STR("gallery-found"));
    command.node_update.given = GIVEN_NODE_TARGET;
    command.node_update.id = operator_pick(w, core, TABLE_NODE);
    if (prng_chance(&w->rng, 400) && core_record(core, TABLE_NODEROLE, id, &noderole)) {
        command.node_update.id = noderole.noderole.node_id;
        command.node_update.target_role_id = noderole.noderole.role_id;
    }
    if (prng_chance(&w->rng, 300))
        command.node_update.target_role_id = milestone;
    operator_send_command(w, &command);
}

void action_node_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_DELETE};
    command.node_delete.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_node_propose(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_PROPOSE};
    command.node_propose.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_node_commit(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_COMMIT};
    command.node_commit.id = operator_pick(w, core, TABLE_NODE);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        command.node_commit.consent = STALE_HASH;
    operator_send_command(w, &command);
}

void action_node_redeploy(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_REDEPLOY};
    command.node_redeploy.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_node_debug(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_DEBUG};
    command.node_debug.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_node_undebug(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_UNDEBUG};
    command.node_undebug.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_node_power(struct world *w, const struct core *core)
{
    static const char *const actions[] = {"on", "off", "reset", "reboot", "status", "explode"};
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = operator_pick(w, core, TABLE_NODE);
    command.node_power.action = str_from(actions[prng_below(&w->rng, 6)]);
    operator_send_command(w, &command);
}

/* Set the environment of a machine that has a hammer, and restart it: that waits until the
 * environment is served. */
void action_boot_environment(struct world *w, const struct core *core)
{
    static const char *const environments[] = {"local", "sledgehammer", "debian-install"};
    static const char *const actions[] = {"on", "reset", "reboot"};
    struct record hammer;
    const int64_t id = operator_pick(w, core, TABLE_HAMMER);
    struct command update = {.kind = COMMAND_NODE_UPDATE}, power = {.kind = COMMAND_NODE_POWER};
    if (!core_record(core, TABLE_HAMMER, id, &hammer)) {
        action_hammer_create(w, core);
        return;
    }
    update.node_update.id = power.node_power.id = hammer.hammer.node_id;
    update.node_update.given = GIVEN_NODE_BOOTENV;
    update.node_update.bootenv = str_from(environments[prng_below(&w->rng, 3)]);
    power.node_power.action = str_from(actions[prng_below(&w->rng, 3)]);
    operator_send_command(w, &update);
    operator_send_command(w, &power);
}

/* A reading of the power state from an operator, which must be refused, or from the daemon with a
 * state that may be out of range. */
void action_power_read(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_POWER_READ, .actor = STR("daemon")};
    command.node_power_read.id = operator_pick(w, core, TABLE_NODE);
    command.node_power_read.state = (uint32_t)prng_below(&w->rng, POWER_STATE_COUNT + 2);
    if (prng_chance(&w->rng, 500))
        operator_send_command(w, &command);
    else
        world_send(w, 1, &command);
}

/* ---- groups ---- */

static struct str objects_draw_category(struct world *w)
{
    static const char *const known[] = {"ui", "rack", "tag", "class"};
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return STR("colour");
    return str_from(known[prng_below(&w->rng, 4)]);
}

void action_group_create(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_GROUP_CREATE};
    command.group_create.name = operator_dubious_name(w, "group_%u");
    command.group_create.category = objects_draw_category(w);
    command.group_create.order = 7;
    operator_send_command(w, &command);
}

void action_group_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_GROUP_UPDATE};
    command.group_update.id = operator_pick(w, core, TABLE_GROUP);
    command.group_update.given = (uint32_t)prng_below(&w->rng, 16);
    command.group_update.name = operator_dubious_name(w, "group_%u");
    command.group_update.category = objects_draw_category(w);
    operator_send_command(w, &command);
}

void action_group_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_GROUP_DELETE};
    command.group_delete.id = operator_pick(w, core, TABLE_GROUP);
    operator_send_command(w, &command);
}

void action_group_add(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_GROUP_ADD};
    command.group_add.id = operator_pick(w, core, TABLE_GROUP);
    command.group_add.node_id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

void action_group_remove(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_GROUP_REMOVE};
    command.group_remove.id = operator_pick(w, core, TABLE_GROUP);
    command.group_remove.node_id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

/* ---- hammers ---- */

void action_hammer_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_HAMMER_CREATE};
    struct hammer_create_command *create = &command.hammer_create;
    create->node_id = operator_pick(w, core, TABLE_NODE);
    create->hammer_kind_id = operator_pick(w, core, TABLE_HAMMER_KIND);
    create->endpoint = STR("10.0.0.7");
    create->username = world_fault(w, FAULT_OPERATOR_WRONG) ? STR("") : STR("root");
    create->priority = (uint32_t)prng_below(&w->rng, 20);
    operator_send_command(w, &command);
}

void action_hammer_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_HAMMER_UPDATE};
    struct hammer_update_command *update = &command.hammer_update;
    update->id = operator_pick(w, core, TABLE_HAMMER);
    update->given = (uint32_t)prng_below(&w->rng, 16);
    update->priority = (uint32_t)prng_below(&w->rng, 20);
    update->endpoint = STR("10.0.0.8");
    update->username = prng_chance(&w->rng, 900) ? STR("admin") : STR("");
    operator_send_command(w, &command);
}

void action_hammer_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_HAMMER_DELETE};
    command.hammer_delete.id = operator_pick(w, core, TABLE_HAMMER);
    operator_send_command(w, &command);
}

/* ---- host keys ---- */

/* The outbox row of the probe of the node; sometimes that of another node. */
static int64_t objects_find_probe(struct world *w, const struct core *core, int64_t node_id)
{
    struct record row;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;)
        if (core_record(core, TABLE_OUTBOX, id, &row) && row.outbox.kind == OUTBOX_PROBE &&
            (row.outbox.object_id == node_id || prng_chance(&w->rng, 20)))
            return id;
    return 0;
}

/* Pin the keys of one of 24 machines: another node may have pinned them already, or this node may
 * have pinned others. The second key has another type. */
void action_pin_keys(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS};
    struct node_pin_keys_command *pin = &command.node_pin_keys;
    struct record node;
    const uint64_t machine = 1000 + prng_below(&w->rng, 24);
    const bool has_two = prng_chance(&w->rng, 500);
    pin->id = operator_pick(w, core, TABLE_NODE);
    pin->keys = operator_format(
        w, has_two ? "ssh-ed25519 AAAA%u\nssh-rsa AAAAB3Nz%u" : "ssh-ed25519 AAAA%u", machine);
    if (core_record(core, TABLE_NODE, pin->id, &node))
        pin->boot = node.node.boot_generation;
    if (prng_chance(&w->rng, 50))
        pin->boot = HOST_KEY_ANY_BOOT;
    pin->is_own = prng_chance(&w->rng, 50);
    if (prng_chance(&w->rng, 500))
        pin->outbox_id = objects_find_probe(w, core, pin->id);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        pin->keys = prng_chance(&w->rng, 500) ? STR("") : STR("ssh-ed25519 no base64");
    operator_send_command(w, &command);
}

void action_forget_key(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_FORGET_KEY};
    command.node_forget_key.id = operator_pick(w, core, TABLE_NODE);
    operator_send_command(w, &command);
}

/* ---- users ---- */

static uint32_t objects_draw_access(struct world *w)
{
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return (uint32_t)prng_between(&w->rng, ACCESS_ADMIN, 9);
    return (uint32_t)prng_between(&w->rng, ACCESS_NONE, ACCESS_OPERATOR);
}

/* A grant in one deployment, or none. */
static struct str objects_draw_grants(struct world *w, const struct core *core)
{
    if (prng_chance(&w->rng, 500))
        return STR("");
    const int64_t id = operator_pick(w, core, TABLE_DEPLOYMENT);
    const enum access access = prng_chance(&w->rng, 500) ? ACCESS_OPERATOR : ACCESS_VIEWER;
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"");
    buf_put_i64(&b, id);
    buf_put_z(&b, "\":\"");
    buf_put_z(&b, access_name(access));
    buf_put_z(&b, "\"}");
    return buf_str(&b);
}

void action_user_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_USER_CREATE};
    command.user_create.username = operator_dubious_name(w, "user%u");
    command.user_create.email = operator_name(w, "u%u@sim.local");
    command.user_create.is_admin = prng_chance(&w->rng, 300);
    command.user_create.password_hash = STR("$argon2id$sim");
    command.user_create.access = objects_draw_access(w);
    command.user_create.grants = objects_draw_grants(w, core);
    operator_send_command(w, &command);
}

void action_user_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_USER_UPDATE};
    struct user_update_command *update = &command.user_update;
    update->id = operator_pick(w, core, TABLE_USER);
    update->given = (uint32_t)prng_below(&w->rng, 512);
    update->is_admin = prng_chance(&w->rng, 300);
    update->access = objects_draw_access(w);
    update->grants = objects_draw_grants(w, core);
    update->username = operator_dubious_name(w, "user%u");
    update->email = operator_name(w, "u%u@sim.local");
    update->is_locked = prng_chance(&w->rng, 500);
    update->settings = operator_document(w);
    operator_send_command(w, &command);
}

void action_user_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_USER_DELETE};
    command.user_delete.id = operator_pick(w, core, TABLE_USER);
    operator_send_command(w, &command);
}

void action_token_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_TOKEN_CREATE};
    struct token_create_command *create = &command.token_create;
    char hash[TOKEN_HASH_LEN];
    for (uint32_t i = 0; i < sizeof hash; i++)
        hash[i] = "0123456789abcdef"[prng_below(&w->rng, 16)];
    if (prng_chance(&w->rng, 700))
        create->user_id = operator_pick(w, core, TABLE_USER);
    else
        create->node_id = operator_pick(w, core, TABLE_NODE);
    if (create->user_id) {
        create->access = (uint32_t)prng_between(&w->rng, ACCESS_NONE, ACCESS_ADMIN);
        create->kind = (uint32_t)prng_between(&w->rng, TOKEN_BEARER, TOKEN_SESSION);
        if (prng_chance(&w->rng, 300))
            create->deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    }
    if (prng_chance(&w->rng, 300))
        create->expires_at = world_wall_ms(w) + prng_between(&w->rng, 1, 6 * 3600000);
    create->name = STR("script");
    create->hash =
        world_fault(w, FAULT_OPERATOR_WRONG) ? STR("secret") : (struct str){hash, sizeof hash};
    operator_send_command(w, &command);
}

void action_token_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_TOKEN_DELETE};
    command.token_delete.id = operator_pick(w, core, TABLE_TOKEN);
    operator_send_command(w, &command);
}
