/* grant_world.h - a machine that is to be installed, for the tests of grants.
 *
 * The role `os` is bound to n1; its run is parked and has set the environment, as
 * provisioner-os-install does. n1 has the MACs N1_MAC and N1_OTHER_MAC, n2 has N2_MAC.
 */
#pragma once

#include "tests/world/world.h"

#define TICKET_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TICKET_B "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

#define N1_MAC       "52:54:00:00:00:01"
#define N1_OTHER_MAC "52:54:00:00:01:01"
#define N2_MAC       "52:54:00:00:00:02"
#define UNKNOWN_MAC  "52:54:00:00:00:99"

/* A node that is alive and available, with these MACs in its hint: "'A','B'". */
static inline int64_t node_with_macs(struct world *w, const char *name, const char *macs)
{
    struct command command = cmd_node(w, name);
    command.node_create.deployment_id = SYSTEM;
    command.node_create.alive = true;
    command.node_create.available = true;
    command.node_create.hint = world_json(
        w,
        str_z(&w->arena, STR_CONCAT(&w->arena, STR("{'admin_macs':["), str_from(macs), STR("]}"))));
    DONE(w, command);
    return the_node(w, name);
}

static inline int64_t park_install(struct world *w)
{
    if (read_noderole(w, "os@n1").state == NODEROLE_PROPOSED) {
        world_bring(w, "os@n1", "transition");
    } else {
        world_alive(w, "n1", true);
        world_deliver(w);
        world_anneal(w);
    }
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    return world_run(w, "os@n1", RUN_PARKED);
}

static inline struct command cmd_install(struct world *w, int64_t run)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
               .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
               .bootenv = STR("debian-install"), .parked_run = run);
}

static inline struct world *install_world(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}]}"));
    world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
    world_role(w, "os", "'flags':['destructive']");
    node_with_macs(w, "n1", "'" N1_MAC "','" N1_OTHER_MAC "'");
    node_with_macs(w, "n2", "'" N2_MAC "'");
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "found@n1");
    world_bring(w, "found@n1", "active");
    world_bind(w, "os@n1");
    DONE(w, cmd_install(w, park_install(w)));
    return w;
}

/* A machine that booted from `mac` asks for the installer of n1. */
static inline struct command cmd_use_from(struct world *w, const char *mac, int64_t generation,
                                          const char *ticket)
{
    return CMD(GRANT_USE, grant_use, .node_id = the_node(w, "n1"), .generation = generation,
               .ticket = str_from(ticket), .mac = str_from(mac));
}

static inline struct command cmd_use(struct world *w, int64_t generation, const char *ticket)
{
    return cmd_use_from(w, N1_MAC, generation, ticket);
}

/* The answer to a question, which must be done: "granted". */
static inline const char *answer_of(struct world *w, struct command question)
{
    DONE(w, question);
    return str_eq(w->out.doc, grant_answer_doc(GRANT_GRANTED)) ? "granted"
           : str_eq(w->out.doc, grant_answer_doc(GRANT_LOCAL)) ? "local"
           : str_eq(w->out.doc, grant_answer_doc(GRANT_STALE)) ? "stale"
                                                               : "nothing";
}

#define ANSWER(w, generation, ticket, wanted)                                                      \
    EXPECT_STR(answer_of((w), cmd_use((w), (generation), (ticket))), (wanted))
#define ANSWER_FROM(w, mac, generation, ticket, wanted)                                            \
    EXPECT_STR(answer_of((w), cmd_use_from((w), (mac), (generation), (ticket))), (wanted))

static inline struct grant grant_of(struct world *w, const char *node)
{
    struct grant grant;
    CHECK(core_grant(w->core, the_node(w, node), &grant));
    return grant;
}
