/* Goal: in small worlds where machines, databases, boot servers and operators do anything in any
 * order, no machine counts as served that is not, no machine boots before, and everything is
 * published in the end.
 * Method: random commands from a seed, refused ones included. Databases are copies to which the
 * staged data of runs are applied as a whole, or in part if a run fails; a boot server has a copy
 * of the view of each turn that it acknowledged. After each step the answers of the core are
 * compared with the copies. */
#include "tests/unit/core/serve_world.h"

#include "base/prng.h"

enum { IDS_MAX = 96, TURNS_KEPT = 512, DATABASES = 3, SEEDS = 60 };

#define PICK(r, list) (list)[prng_below((r), sizeof(list) / sizeof *(list))]

static const char *const databases[DATABASES] = {"dhcp@d1", "dns@d2", "dhcp@d2"};
static const char *const machines[] = {"n1", "n2", "n3", "n4", "n5", "n6"};
static const char *const environments[] = {"local", "sledgehammer", "rescue", "debian-install"};
static const char *const roles[] = {
    SERVE_IMPORT(DHCP_PUBLISHES),
    SERVE_IMPORT("{'name':'dhcp','jig':'native','flags':['serves-boot']}"),
    SERVE_IMPORT("{'name':'dhcp','jig':'noop','flags':['serves-boot']}"),
    SERVE_IMPORT("{'name':'dhcp','jig':'script'}"),
    SERVE_IMPORT("{'name':'dhcp','jig':'script','flags':['serves-boot'],'attempts':2,'backoff':1}"),
};

/* What a database has, and which version of each entry it published with success. */
struct database {
    int64_t id; /* of its noderole; another one is another database */
    uint64_t known[IDS_MAX];
    uint32_t confirmed[IDS_MAX];
    uint32_t staged[IDS_MAX]; /* version that the run in flight publishes; 0: none */
    int64_t run;              /* whose staged data that is */
    uint32_t attempt;
};

struct play {
    struct world *w;
    struct prng r;
    uint64_t view[IDS_MAX];    /* now */
    uint32_t version[IDS_MAX]; /* increased with each change of the entry */
    struct database databases[DATABASES];
    uint64_t turns[TURNS_KEPT][IDS_MAX]; /* the view as of each turn */
    int64_t first_turn;                  /* that is known since the last load */
    int64_t last_node;                   /* the highest id of a machine */
};

/* ---- the model ---- */

static void play_note_view(struct play *p)
{
    for (int64_t id = 1; id < IDS_MAX; id++) {
        const uint64_t now = hash_in_view(p->w, id);
        p->version[id] += now != p->view[id];
        p->view[id] = now;
    }
}

static struct database *play_database(struct play *p, uint32_t i)
{
    struct database *d = &p->databases[i];
    const int64_t id = world_bound(p->w, databases[i]);
    if (id != d->id)
        *d = (struct database){.id = id};
    return id ? d : NULL;
}

/* A run has started: what it is staged with, with the versions of now. */
static void play_note_starts(struct play *p)
{
    for (uint32_t i = 0; i < DATABASES; i++) {
        struct database *d = play_database(p, i);
        const struct start *start = d ? world_start(p->w, databases[i]) : NULL;
        if (!start || (start->run == d->run && start->attempt == d->attempt))
            continue;
        d->run = start->run;
        d->attempt = start->attempt;
        memset(d->staged, 0, sizeof d->staged);
        const struct json *boot = json_get(doc_tree(&p->w->arena, start->data), STR("boot"));
        if (!boot)
            continue;
        for (const struct json *e = json_get(boot, STR("due"))->first; e; e = e->next)
            d->staged[strtoll(str_z(&p->w->arena, e->key), NULL, 10)] = 1;
        if (json_get(boot, STR("part")))
            for (int64_t id = 1; id < IDS_MAX; id++)
                d->staged[id] = 1;
        for (int64_t id = 1; id < IDS_MAX; id++)
            d->staged[id] = d->staged[id] ? p->version[id] + 1 : 0;
    }
}

/* The run of the database ends; share: see copy_apply(). */
static void play_apply(struct play *p, struct database *d, uint32_t share, bool is_ok)
{
    const struct start *start = p->w->starts;
    while (start && (start->run != d->run || start->attempt != d->attempt))
        start = start->earlier;
    const struct json *boot =
        start ? json_get(doc_tree(&p->w->arena, start->data), STR("boot")) : NULL;
    if (!boot)
        return;
    static struct copy copy;
    memcpy(copy.known, d->known, sizeof d->known);
    copy_apply(p->w, &copy, boot, share);
    memcpy(d->known, copy.known, sizeof d->known);
    for (int64_t id = 1; id < IDS_MAX && is_ok; id++)
        if (d->staged[id])
            d->confirmed[id] = d->staged[id];
}

static bool play_has_node(struct play *p, const char *name)
{
    return core_find(p->w->core, TABLE_NODE,
                     STR_CONCAT(&p->w->arena, str_from(name), STR(".example.com"))) != 0;
}

/* ---- checks ---- */

/* The noderole, if the role publishes now and it is committed. */
static bool play_publishes(struct play *p, uint32_t i)
{
    const struct database *d = play_database(p, i);
    return d && boot_service_is_published(p->w->core, noderole_by_id(p->w->core, d->id));
}

static void play_check_database(struct play *p, uint32_t i)
{
    struct database *d = play_database(p, i);
    if (!d)
        return;
    const noderole_ix nr = noderole_by_id(p->w->core, d->id);
    for (int64_t id = 1; id < IDS_MAX; id++) {
        const bool has_row = core_boot_next_due(p->w->core, d->id, id - 1) == id;
        if (!play_publishes(p, i)) {
            CHECK(!has_row);
            continue;
        }
        const bool is_due = boot_due_has(p->w->core, nr, id);
        CHECK(is_due || !has_row);
        if (!is_due && d->known[id] != p->view[id])
            world_fail(HERE, "%s counts as having published node %" PRId64 ", and is not",
                       databases[i], id);
        if (has_row && d->confirmed[id] == p->version[id] + 1)
            world_fail(HERE, "%s has a row for node %" PRId64 ", which it has published",
                       databases[i], id);
    }
}

static uint32_t play_database_of(struct play *p, int64_t noderole)
{
    for (uint32_t i = 0; i < DATABASES; i++)
        if (play_database(p, i) && p->databases[i].id == noderole)
            return i;
    world_fail(HERE, "noderole %" PRId64 " is none of this world", noderole);
    return 0;
}

/* All that serve the machine have its entry, if it has one. */
static void play_check_served(struct play *p, int64_t node)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(p->w->core, node, &p->w->arena, &all);
    for (uint32_t i = 0; i < count; i++) {
        const struct boot_serving *s = &all[i];
        if (!s->is_served || !p->view[node] ||
            (s->is_native && !core_settings(p->w->core)->boot_server))
            continue;
        if (!s->is_native) {
            CHECK(p->databases[play_database_of(p, s->noderole_id)].known[node] == p->view[node]);
            continue;
        }
        CHECK(s->is_connected && s->taken >= p->first_turn && s->taken <= p->w->turn);
        CHECK(p->turns[s->taken % TURNS_KEPT][node] == p->view[node]);
    }
}

/* A machine was booted: then nothing may be late. */
static void play_check_orders(struct play *p)
{
    for (const struct effect *e = p->w->fx.first; e; e = e->next) {
        struct record record;
        struct boot_serving *all;
        if (e->kind != EFFECT_OUTBOX || !core_record(p->w->core, TABLE_OUTBOX, e->id, &record) ||
            record.outbox.kind != OUTBOX_POWER || !str_eq(record.outbox.detail, STR("reset")))
            continue;
        const int64_t node = record.outbox.object_id;
        const uint32_t count = core_boot_servings(p->w->core, node, &p->w->arena, &all);
        struct record row;
        CHECK(core_record(p->w->core, TABLE_NODE, node, &row));
        for (uint32_t i = 0; i < count && row.node.boot_generation; i++)
            CHECK(all[i].is_served);
    }
}

static void play_step(struct play *p, struct command command)
{
    world_step(p->w, command);
    play_note_view(p);
    play_note_starts(p);
    for (uint32_t i = 0; i < DATABASES; i++)
        play_check_database(p, i);
    for (int64_t id = 1; id < IDS_MAX; id++)
        play_check_served(p, id);
    play_check_orders(p);
}

static void play_collect(struct play *p)
{
    world_collect(p->w);
    memcpy(p->turns[p->w->turn % TURNS_KEPT], p->view, sizeof p->view);
}

static void play_reload(struct play *p)
{
    uint32_t count;
    world_reload(p->w);
    core_boot_changes(p->w->core, &count, &p->first_turn);
    for (int64_t turn = p->first_turn; turn <= p->w->turn; turn++)
        memcpy(p->turns[turn % TURNS_KEPT], p->view, sizeof p->view);
}

/* ---- random steps ---- */

/* dies: of 1,000 nodes, that many are lost with the end of the run. */
static void play_end_run(struct play *p, uint32_t result, uint32_t dies)
{
    const uint32_t i = (uint32_t)prng_below(&p->r, DATABASES);
    struct database *d = play_database(p, i);
    struct record run;
    if (!d || !d->run || !core_record(p->w->core, TABLE_RUN, d->run, &run) ||
        run.run.attempt != d->attempt ||
        (run.run.state != RUN_RUNNING && run.run.state != RUN_STOPPING))
        return;
    const bool is_ok = result == RESULT_OK && run.run.state == RUN_RUNNING;
    const uint32_t share = is_ok ? 16 : (uint32_t)prng_below(&p->r, 17);
    play_apply(p, d, share, is_ok);
    play_step(p, CMD(RUN_DONE, run_done, .run_id = d->run, .attempt = d->attempt, .result = result,
                     .park_ms = result == RESULT_PARKED ? 2000 : 0,
                     .node_dead = prng_chance(&p->r, dies)));
}

static void play_machine_step(struct play *p)
{
    struct world *w = p->w;
    const char *name = PICK(&p->r, machines);
    char found[32];
    snprintf(found, sizeof found, "found@%s", name);
    if (!play_has_node(p, name)) {
        if (p->last_node < IDS_MAX - 2) {
            play_step(p, cmd_node(w, name));
            p->last_node = the_node(w, name);
            DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, name),
                        .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("ipmi")),
                        .username = STR("root")));
        }
        return;
    }
    switch (prng_below(&p->r, 9)) {
    case 0:
        if (prng_chance(&p->r, 300))
            play_step(p, CMD(NODE_DELETE, node_delete, .id = the_node(w, name)));
        return;
    case 1:
    case 2:
        if (!world_bound(w, found))
            play_step(p, cmd_bind(w, found, NULL));
        else
            play_step(p, read_noderole(w, found).state == NODEROLE_PROPOSED
                             ? cmd_commit(w, found)
                             : cmd_propose(w, found));
        return;
    case 3:
    case 4:
        play_step(p, CMD(NODE_POWER, node_power, .id = the_node(w, name),
                         .action = prng_chance(&p->r, 800) ? STR("reset") : STR("off")));
        return;
    default: play_step(p, cmd_environment(w, name, PICK(&p->r, environments))); return;
    }
}

static void play_database_step(struct play *p)
{
    struct world *w = p->w;
    const char *name = PICK(&p->r, databases);
    const int64_t id = world_bound(w, name);
    if (!id) {
        play_step(p, cmd_bind(w, name, NULL));
        return;
    }
    const struct noderole_record row = read_noderole(w, name);
    const int64_t queued = world_run(w, name, RUN_QUEUED);
    switch (prng_below(&p->r, 7)) {
    case 0: play_step(p, cmd_commit(w, name)); return;
    case 1:
        play_step(p, row.state == NODEROLE_PROPOSED || prng_chance(&p->r, 700)
                         ? cmd_commit(w, name)
                         : cmd_propose(w, name));
        return;
    case 2: play_step(p, cmd_enqueue(w, name)); return;
    case 3:
        play_step(p, CMD(RUN_CANCEL, run_cancel,
                         .run_id = queued ? queued : world_run(w, name, RUN_RUNNING)));
        return;
    case 4:
        play_step(p, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, name, RUN_PARKED)));
        return;
    default: play_step(p, cmd_retry(w, name)); return;
    }
}

static void play_server_step(struct play *p)
{
    struct world *w = p->w;
    struct command command =
        CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, prng_chance(&p->r, 500) ? "d1" : "d2"),
            .event = (uint32_t)prng_below(&p->r, BOOT_EVENT_COUNT), .text = STR("it cannot"));
    if (command.boot_server.event == BOOT_EVENT_FAILED && prng_chance(&p->r, 700))
        command.boot_server.event = BOOT_EVENT_TAKEN;
    if (command.boot_server.event == BOOT_EVENT_TAKEN) {
        if (prng_chance(&p->r, 600))
            play_collect(p);
        const int64_t known = w->turn - p->first_turn;
        command.boot_server.turn =
            w->turn -
            (prng_chance(&p->r, 700) ? 0 : (int64_t)prng_below(&p->r, (uint64_t)known + 1));
        if (prng_chance(&p->r, 50))
            command.boot_server.turn = w->turn + 1;
    }
    play_step(p, command);
}

static void play_operator_step(struct play *p)
{
    struct world *w = p->w;
    const char *name = prng_chance(&p->r, 500) ? "d1" : "d2";
    switch (prng_below(&p->r, 6)) {
    case 0: play_step(p, cmd_import(w, PICK(&p->r, roles))); return;
    case 1:
        play_step(p, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG,
                         .test_jig = prng_chance(&p->r, 300)));
        return;
    case 2:
        play_step(p, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BOOT_SERVER,
                         .boot_server = prng_chance(&p->r, 700)));
        return;
    case 3: play_reload(p); return;
    case 4:
        play_step(p, CMD(NODE_UPDATE, node_update, .id = the_node(w, name),
                         .given = GIVEN_NODE_ALIVE, .alive = prng_chance(&p->r, 700)));
        return;
    default:
        play_step(p, CMD(NODE_UPDATE, node_update, .id = the_node(w, name),
                         .given = GIVEN_NODE_AVAILABLE, .available = prng_chance(&p->r, 700)));
        return;
    }
}

static void play_deliver(struct play *p)
{
    struct record record;
    for (int64_t id = 0; (id = core_next_id(p->w->core, TABLE_OUTBOX, id)) != 0;)
        if (core_record(p->w->core, TABLE_OUTBOX, id, &record))
            play_step(p, CMD(OUTBOX_DONE, outbox_done, .outbox_id = id));
}

static void play_random_step(struct play *p)
{
    static const uint32_t results[] = {RESULT_OK,   RESULT_OK,     RESULT_OK,
                                       RESULT_OK,   RESULT_FAILED, RESULT_FAILED,
                                       RESULT_LOST, RESULT_PARKED, RESULT_ASYNC};
    switch (prng_below(&p->r, 16)) {
    case 0:
    case 1:
    case 2:
    case 3: play_machine_step(p); return;
    case 4:
    case 5: play_database_step(p); return;
    case 6:
    case 7: play_server_step(p); return;
    case 8:
        if (prng_chance(&p->r, 300))
            play_operator_step(p);
        return;
    case 9: play_collect(p); return;
    case 10: play_deliver(p); return;
    case 11: play_step(p, CMD(TICK, tick, .unused = 0)); return;
    case 12:
    case 13: play_step(p, CMD(ANNEAL, anneal, .budget = 0)); return;
    default: play_end_run(p, PICK(&p->r, results), 30); return;
    }
}

/* ---- rest ---- */

/* Everything works again: all is published and acknowledged, and nothing waits. */
static void play_rest(struct play *p)
{
    struct world *w = p->w;
    play_step(p, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG,
                     .test_jig = false));
    world_alive(w, "d1", true);
    world_alive(w, "d2", true);
    world_available(w, "d1", true);
    world_available(w, "d2", true);
    play_note_view(p);
    for (int round = 0; round < 40; round++) {
        play_deliver(p);
        w->now_ms += 8 * 1000;
        play_step(p, CMD(TICK, tick, .unused = 0));
        for (int i = 0; i < 6; i++)
            play_step(p, CMD(ANNEAL, anneal, .budget = 0));
        for (int i = 0; i < 12; i++)
            play_end_run(p, RESULT_OK, 0);
        for (uint32_t i = 0; i < DATABASES; i++) {
            const struct database *d = play_database(p, i);
            struct record record;
            if (!d || !core_record(w->core, TABLE_NODEROLE, d->id, &record))
                continue;
            /* A run that another system continues ends with a retry. */
            if (record.noderole.state == NODEROLE_ERROR ||
                (record.noderole.state == NODEROLE_TRANSITION &&
                 !world_run(w, databases[i], RUN_RUNNING) &&
                 !world_run(w, databases[i], RUN_PARKED)))
                play_step(p, cmd_retry(w, databases[i]));
        }
    }
    static const char *const servers[] = {"d1", "d2"};
    for (int i = 0; i < 2; i++) {
        play_collect(p);
        play_step(p, CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, servers[i]),
                         .event = BOOT_EVENT_CONNECTED));
        play_collect(p);
        play_step(p, CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, servers[i]),
                         .event = BOOT_EVENT_TAKEN, .turn = w->turn));
    }
    for (uint32_t i = 0; i < DATABASES; i++)
        if (play_publishes(p, i)) {
            const noderole_ix nr = noderole_by_id(w->core, p->databases[i].id);
            if (noderole_at(w->core, nr)->boot_cursor != BOOT_CURSOR_END ||
                core_boot_next_due(w->core, p->databases[i].id, 0))
                world_fail(HERE, "%s must still publish", databases[i]);
            for (int64_t id = 1; id < IDS_MAX; id++)
                CHECK(p->databases[i].known[id] == p->view[id]);
        }
    for (int64_t id = 1; id < IDS_MAX; id++) {
        struct boot_serving *all;
        const uint32_t count = core_boot_servings(w->core, id, &w->arena, &all);
        for (uint32_t i = 0; i < count; i++)
            CHECK(all[i].is_served);
    }
    play_deliver(p);
    CHECK(due_rows(w) == 0);
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &record) && !record.outbox.generation);
    }
}

static void play_world(uint64_t seed)
{
    static struct play p;
    memset(&p, 0, sizeof p);
    p.w = serve_open();
    prng_init(&p.r, seed);
    p.first_turn = 0;
    const bool is_tight = prng_chance(&p.r, 300);
    const uint32_t rows_max = 1 + (uint32_t)prng_below(&p.r, 4);
    play_note_view(&p);
    play_collect(&p);
    for (int i = 0; i < 220; i++) {
        if (is_tight)
            p.w->core->tables[TABLE_BOOT_DUE].pool.max = rows_max;
        play_random_step(&p);
    }
    play_rest(&p);
    p.w->core->tables[TABLE_BOOT_DUE].pool.max = BOOT_DUE_MAX;
    world_close(p.w);
}

TEST(anything_in_any_order)
{
    const char *only = getenv("SERVE_SEED");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (only && strtoull(only, NULL, 10) != seed)
            continue;
        play_world(seed);
    }
}
