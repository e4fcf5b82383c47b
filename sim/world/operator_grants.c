#include "sim/world/operator.h"

#include "sim/oracle/checks.h"
#include "sim/world/actors.h"

/* Installations: the hook of an installing role that sets the environment while its run is parked,
 * machines that ask for their installer with one of few tickets and the MAC of their node or of
 * another one, and installers that stop at the stamp of an earlier installation. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, TICKETS = 3, ASKS = 4 };

/* A system node is no machine: nothing of it asks. */
static bool install_is_machine(const struct core *core, int64_t node_id)
{
    struct record node;
    return core_record(core, TABLE_NODE, node_id, &node) && !node.node.system;
}

void operator_install(struct world *w, int64_t run_id, int64_t node_id)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE, .actor = STR("hook")};
    command.node_update.id = node_id;
    command.node_update.given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN;
    command.node_update.bootenv = STR("debian-install");
    command.node_update.parked_run = run_id;
    /* After the result of the run, which takes some time to arrive. */
    const int64_t delay_ms = prng_between(&w->rng, SECOND, 2 * MINUTE);
    world_send(w, delay_ms, &command);
    for (uint32_t i = 0; i < ASKS && world_core(w) && install_is_machine(world_core(w), node_id);
         i++)
        world_in(w, delay_ms + prng_between(&w->rng, 1, i ? HOUR : 5 * MINUTE), EVENT_NODE_ASKS,
                 node_id);
}

/* A random parked run of a machine; 0 = there is none. */
static int64_t install_pick_run(struct world *w, const struct core *core, int64_t *out_node_id)
{
    int64_t picked = 0;
    uint64_t seen = 0;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_RUN, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_RUN, id, &record) && record.run.state == RUN_PARKED &&
            install_is_machine(core, record.run.node_id) && prng_below(&w->rng, ++seen) == 0) {
            picked = id;
            *out_node_id = record.run.node_id;
        }
    }
    return picked;
}

/* A random machine with a grant, mostly; otherwise one with a MAC, or any node. */
static int64_t install_pick_node(struct world *w, const struct core *core)
{
    int64_t picked = 0;
    uint64_t seen = 0;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        struct grant grant;
        if (core_grant(core, id, &grant) && grant.noderole_id && install_is_machine(core, id) &&
            prng_below(&w->rng, ++seen) == 0)
            picked = id;
    }
    if (picked && prng_chance(&w->rng, 900))
        return picked;
    struct record nic;
    const int64_t id = operator_pick(w, core, TABLE_NIC);
    return prng_chance(&w->rng, 800) && core_record(core, TABLE_NIC, id, &nic)
               ? nic.nic.node_id
               : operator_pick(w, core, TABLE_NODE);
}

void action_install(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct node_update_command *update = &command.node_update;
    update->parked_run = install_pick_run(w, core, &update->id);
    if (!update->parked_run)
        update->parked_run = operator_pick(w, core, TABLE_RUN);
    if (!update->id || prng_chance(&w->rng, 50))
        update->id = operator_pick(w, core, TABLE_NODE);
    update->given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN;
    update->bootenv = prng_chance(&w->rng, 900) ? STR("debian-install") : STR("sledgehammer");
    if (prng_chance(&w->rng, 300)) {
        /* An operator sets another installer, which no run waits for. */
        update->id = install_pick_node(w, core);
        update->given = GIVEN_NODE_BOOTENV;
        update->bootenv = STR("ubuntu-install");
    }
    operator_send_command(w, &command);
}

/* The MAC of the machine that asks: one of the node, sometimes of another one or of none, and as a
 * fault no MAC. */
static struct str install_draw_mac(struct world *w, const struct core *core, int64_t node_id)
{
    static const char *const bad[] = {"", "52:54:00:cc:00", "52:54:00:cc:00:0g",
                                      "ff:ff:ff:ff:ff:ff", "52:54:00:cc:00:011"};
    const uint64_t which = prng_below(&w->rng, 20);
    const struct str mac = operator_pick_mac(w, core, which ? node_id : 0);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)]);
    return mac.len && which != 1 ? mac : operator_mac(w);
}

static void install_ask(struct world *w, const struct core *core, int64_t node_id)
{
    static const char *const tickets[TICKETS] = {
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"};
    struct grant grant = {0};
    struct command command = {.kind = COMMAND_GRANT_USE};
    struct grant_use_command *use = &command.grant_use;
    use->node_id = node_id;
    if (core_grant(core, use->node_id, &grant))
        use->generation = grant.generation;
    if (prng_chance(&w->rng, 100))
        use->generation += prng_between(&w->rng, -1, 1);
    use->ticket = str_from(tickets[prng_below(&w->rng, TICKETS)]);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        use->ticket = STR("AAAA");
    use->mac = install_draw_mac(w, core, node_id);
    operator_send_command(w, &command);
    grant_oracle_ask(&w->checks->grants, command.request, use);
}

void operator_ask_installer(struct world *w, int64_t node_id)
{
    if (world_core(w) && w->phase == PHASE_SAFETY)
        install_ask(w, world_core(w), node_id);
}

void action_grant_use(struct world *w, const struct core *core)
{
    install_ask(w, core, install_pick_node(w, core));
}

void action_stamp(struct world *w, const struct core *core)
{
    struct grant grant = {0};
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct node_update_command *update = &command.node_update;
    update->id = install_pick_node(w, core);
    ignore(core_grant(core, update->id, &grant), "the command is refused if there is no such node");
    update->given = GIVEN_NODE_STAMP | GIVEN_NODE_BOOT_GENERATION;
    update->boot_generation = grant.generation;
    update->stamp_generation = grant.generation + prng_between(&w->rng, -2, 3);
    operator_send_command(w, &command);
}
