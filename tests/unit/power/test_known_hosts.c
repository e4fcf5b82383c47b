/* Goal: the file that ssh reads shows the pins of the store and nothing else, after they are
 * durable; the file of an older version is imported once.
 * Method: the real turn over the store of the simulator, which fails on request; a real
 * directory and loop; the test reads the file. */
#include "core/core.h"
#include "model/limits.h"
#include "port/batch.h"
#include "power/known_hosts.h"
#include "power/ssh_keys.h"
#include "sim/store/memory_store.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"
#include "turn/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST_FIRST = -1000 };

static char folder[64], path[96];
static uv_loop_t loop;
static struct ssh_keys home;
static struct known_hosts hosts;
static struct memory_store *store;
static struct memory_session session;
static struct turn *turn;
static struct arena arena;
static int64_t now_ms, last_id;
static enum verdict last_verdict;
static uint32_t outcomes, wakes;

static void wake(void *self)
{
    (void)self;
    wakes++;
}

static int64_t clock_now(void *self)
{
    (void)self;
    return now_ms += 100;
}

static uint64_t clock_random(void *self)
{
    (void)self;
    return 7;
}

static void no_run(void *self, const struct run_order *order)
{
    (void)self, (void)order;
}

static void no_row(void *self, const struct outbox_record *row)
{
    (void)self, (void)row;
}

static void no_question(void *self, uint64_t token, const struct veto_request *q, uint32_t count)
{
    (void)self, (void)token, (void)q, (void)count;
}

static void replied(void *self, int64_t request, const struct outcome *outcome, int64_t at)
{
    (void)self, (void)at;
    if (request <= REQUEST_FIRST) {
        known_hosts_on_result(&hosts, outcome, OK);
        return;
    }
    outcomes++;
    last_id = outcome->id;
    last_verdict = outcome->verdict;
}

static void reply_failed(void *self, int64_t request, err why)
{
    (void)self;
    CHECK(why != OK && request <= REQUEST_FIRST);
    known_hosts_on_result(&hosts, NULL, why);
}

static void durable(void *self, const struct batch *batch)
{
    (void)self;
    known_hosts_on_durable_batch(&hosts, batch);
}

/* ---- driving the turn ---- */

static void go_round(void)
{
    ignore(turn_advance(turn), "what it is up to is seen in the end");
    ignore(known_hosts_pump(&hosts, turn), "the same");
    CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
}

static void settle(void)
{
    do
        go_round();
    while (!turn_core(turn) || turn_seen(turn) != turn_durable(turn) || turn_waiting(turn) ||
           !known_hosts_is_ready(&hosts) ||
           !known_hosts_is_written(&hosts, known_hosts_changes(&hosts)));
}

static int64_t done(struct command command)
{
    const uint32_t before = outcomes;
    command.request = 1;
    command.actor = STR("test");
    CHECK(turn_submit(turn, &command) == OK);
    while (outcomes == before)
        go_round();
    CHECK(last_verdict == VERDICT_DONE);
    settle();
    return last_id;
}

static int64_t add_node(const char *name)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    command.node_create.name = str_from(name);
    return done(command);
}

static void pin(int64_t node, const char *keys)
{
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS};
    command.node_pin_keys.id = node;
    command.node_pin_keys.keys = str_from(keys);
    done(command);
}

static void forget(int64_t node)
{
    struct command command = {.kind = COMMAND_NODE_FORGET_KEY};
    command.node_forget_key.id = node;
    done(command);
}

/* What ssh reads: the file without its comment. */
static const char *content(void)
{
    struct str text = STR("");
    CHECK(file_read(&arena, path, 1 << 24, &text) == OK);
    CHECK(str_starts(text, STR("# ")));
    return str_z(&arena, str_slice(text, str_find(text, '\n', 0) + 1, text.len));
}

/* ---- setup and teardown ---- */

static void start(void)
{
    static struct turn_ports ports;
    CHECK(uv_loop_init(&loop) == 0);
    home = (struct ssh_keys){.host_key_dir = folder, .known_hosts_path = path};
    hosts = (struct known_hosts){.request_first = REQUEST_FIRST, .wake = wake};
    known_hosts_open(&hosts, &loop, &home);
    memory_session_init(&session, store);
    ports = (struct turn_ports){
        .store = memory_session_port(&session),
        .clock = {NULL, clock_now, clock_now, clock_random},
        .runner = {NULL, no_run, no_run, no_run},
        .hooks = {NULL, no_row, no_question},
        .power = {NULL, no_row, no_row},
        .reply = {NULL, replied, reply_failed},
        .watch = {.durable = durable},
    };
    turn = turn_new(&ports);
    CHECK(turn_start(turn) == TURN_AGAIN);
}

static void stop(void)
{
    turn_free(turn);
    known_hosts_close(&hosts);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    memory_session_crash(&session, false);
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    now_ms = 1;
    outcomes = wakes = 0;
    snprintf(folder, sizeof folder, "/tmp/halligan-known-hosts-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/known_hosts", folder);
    store = memory_store_new();
    start();
}

static void end(void)
{
    char line[96];
    stop();
    memory_store_free(store);
    arena_fini(&arena);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK(system(line) == 0);
}

/* A line of the file. */
static const char *line_of(int64_t node, const char *key)
{
    char text[100];
    snprintf(text, sizeof text, "node-%lld %s\n", (long long)node, key);
    return str_z(&arena, str_from(text));
}

/* ---- writing ---- */

TEST(the_file_contains_the_pins_and_is_rewritten_after_changes)
{
    struct stat facts;
    begin();
    CHECK(!known_hosts_is_ready(&hosts));
    settle();
    CHECK(strcmp(content(), "") == 0);
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com");
    pin(a, "ssh-ed25519 AAAA\nssh-rsa BBBB\n");
    const char *first = line_of(a, "ssh-ed25519 AAAA"), *second = line_of(a, "ssh-rsa BBBB");
    CHECK(str_starts(str_from(content()), str_from(first)));
    CHECK(strcmp(content() + strlen(first), second) == 0);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    pin(b, "ssh-ed25519 CCCC\n");
    forget(a);
    CHECK(strcmp(content(), line_of(b, "ssh-ed25519 CCCC")) == 0);
    struct command command = {.kind = COMMAND_NODE_DELETE};
    command.node_delete.id = b;
    done(command);
    CHECK(strcmp(content(), "") == 0);
    end();
}

TEST(the_first_pump_writes_the_pins_of_the_store)
{
    begin();
    const int64_t a = add_node("a.example.com");
    pin(a, "ssh-ed25519 AAAA");
    stop();
    CHECK(file_write(path, STR("node-9 ssh-ed25519 EEEE\n"), 0600) == OK);
    start();
    settle();
    CHECK(strcmp(content(), line_of(a, "ssh-ed25519 AAAA")) == 0);
    end();
}

TEST(the_file_is_not_written_before_the_turn_is_durable)
{
    begin();
    const int64_t a = add_node("a.example.com");
    session.faults = (struct memory_faults){.fate = MEMORY_UNANSWERED_OUT, .lead_fails = 2};
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS, .actor = STR("test")};
    command.request = REQUEST_FIRST; /* known_hosts_on_result() gets its failure */
    hosts.waiting++;
    command.node_pin_keys.id = a;
    command.node_pin_keys.keys = STR("ssh-ed25519 AAAA");
    CHECK(turn_submit(turn, &command) == OK);
    const uint64_t loads = turn_loads(turn);
    while (turn_loads(turn) == loads)
        go_round();
    settle();
    CHECK(core_count(turn_core(turn), TABLE_HOST_KEY) == 0 && strcmp(content(), "") == 0);
    end();
}

TEST(many_pins_are_written_in_slices)
{
    enum { NODES = 1200 };
    begin();
    for (int i = 0; i < NODES; i++) {
        char name[40], keys[400] = "";
        snprintf(name, sizeof name, "n%d.example.com", i);
        const int64_t id = add_node(name);
        for (int k = 0; k < 4; k++)
            snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "ssh-rsa %04d%04d\n", i, k);
        pin(id, keys);
    }
    uint32_t lines = 0;
    for (const char *at = content(); *at; at++)
        lines += *at == '\n';
    CHECK(lines == NODES * 4 && core_count(turn_core(turn), TABLE_HOST_KEY) == NODES * 4);
    end();
}

TEST(a_file_above_the_size_limit_is_truncated_after_a_complete_line)
{
    begin();
    settle();
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com");
    pin(a, "ssh-ed25519 AAAA");
    struct str text = STR("");
    CHECK(file_read(&arena, path, 1000, &text) == OK);
    hosts.size_max = text.len + 10;
    pin(b, "ssh-ed25519 BBBB");
    CHECK(core_count(turn_core(turn), TABLE_HOST_KEY) == 2);
    CHECK(strcmp(content(), line_of(a, "ssh-ed25519 AAAA")) == 0);
    hosts.size_max = 1000;
    forget(a);
    CHECK(strcmp(content(), line_of(b, "ssh-ed25519 BBBB")) == 0);
    end();
}

TEST(a_failed_write_is_retried_and_delays_no_probe)
{
    char place[128];
    begin();
    settle();
    const int64_t a = add_node("a.example.com");
    snprintf(place, sizeof place, "%s.tmp", path);
    CHECK(mkdir(place, 0700) == 0); /* blocks the temporary file */
    pin(a, "ssh-ed25519 AAAA");
    CHECK(strcmp(content(), "") == 0 && uv_is_active((uv_handle_t *)&hosts.retry));
    CHECK(rmdir(place) == 0);
    const uint64_t changes = known_hosts_changes(&hosts);
    hosts.retry.timer_cb(&hosts.retry); /* as if ten seconds had passed */
    CHECK(known_hosts_changes(&hosts) > changes);
    settle();
    CHECK(strcmp(content(), line_of(a, "ssh-ed25519 AAAA")) == 0);
    end();
}

/* ---- import of an old file ---- */

/* The settings as the migration of an older store leaves them. */
static void mark_not_imported(void)
{
    struct command command = {.kind = COMMAND_SETTINGS_UPDATE};
    command.settings_update.given = GIVEN_SETTINGS_HOST_KEYS_IMPORTED;
    done(command);
}

static bool is_imported(void)
{
    struct record settings;
    CHECK(core_record(turn_core(turn), TABLE_SETTINGS, 1, &settings));
    return settings.settings.host_keys_imported;
}

static int64_t boot_of(const char *key)
{
    struct record pin;
    for (int64_t id = 0; (id = core_next_id(turn_core(turn), TABLE_HOST_KEY, id)) != 0;)
        if (core_record(turn_core(turn), TABLE_HOST_KEY, id, &pin) &&
            str_eq(pin.host_key.key, str_from(key)))
            return pin.host_key.boot;
    return -99;
}

TEST(an_old_file_is_imported_once)
{
    begin();
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com");
    mark_not_imported();
    stop();
    char text[1000];
    snprintf(text, sizeof text,
             "# by hand\n"
             "a.example.com ssh-ed25519 AAAA node-%lld-boot-3\n"
             "b.example.com ssh-ed25519 BBBB\n"
             "a.example.com ssh-rsa CCCC node-%lld-boot-3\n"
             "gone.example.com ssh-ed25519 DDDD\n"
             "b.example.com ssh-dss EEEE\n"
             "b.example.com ssh-rsa FFFF node-999-boot-1\n"
             "|1|hash= ssh-ed25519 GGGG",
             (long long)a, (long long)a);
    CHECK(file_write(path, str_from(text), 0600) == OK);
    start();
    settle();
    CHECK(is_imported() && core_count(turn_core(turn), TABLE_HOST_KEY) == 3);
    CHECK(core_host_key_node(turn_core(turn), STR("ssh-ed25519 AAAA")) == a);
    CHECK(core_host_key_node(turn_core(turn), STR("ssh-rsa CCCC")) == a);
    CHECK(core_host_key_node(turn_core(turn), STR("ssh-ed25519 BBBB")) == b);
    CHECK(boot_of("ssh-ed25519 AAAA") == 3 && boot_of("ssh-ed25519 BBBB") == HOST_KEY_ANY_BOOT);
    CHECK(!strstr(content(), "DDDD") && !strstr(content(), "example.com"));
    forget(b);
    stop();
    CHECK(file_write(path, STR("b.example.com ssh-ed25519 BBBB\n"), 0600) == OK);
    start();
    settle();
    CHECK(core_count(turn_core(turn), TABLE_HOST_KEY) == 2 && !strstr(content(), "BBBB"));
    end();
}

TEST(an_import_skips_keys_of_other_nodes_and_of_the_local_machine)
{
    char own[128];
    begin();
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com");
    snprintf(own, sizeof own, "%s/ssh_host_ed25519_key.pub", folder);
    CHECK(file_write(own, STR("ssh-ed25519 OWNK root@here\n"), 0644) == OK);
    add_node("c.example.com");
    mark_not_imported();
    stop();
    CHECK(file_write(path,
                     STR("b.example.com ssh-ed25519 AAAA\na.example.com ssh-ed25519 AAAA\n"
                         "c.example.com ssh-ed25519 OWNK\n"),
                     0600) == OK);
    start();
    settle();
    CHECK(is_imported() && core_count(turn_core(turn), TABLE_HOST_KEY) == 1 && b > a);
    CHECK(core_host_key_node(turn_core(turn), STR("ssh-ed25519 AAAA")) == a);
    end();
}

static uint32_t probes_of(int64_t node)
{
    struct record row;
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(turn_core(turn), TABLE_OUTBOX, id)) != 0;)
        count += core_record(turn_core(turn), TABLE_OUTBOX, id, &row) &&
                 row.outbox.kind == OUTBOX_PROBE && row.outbox.object_id == node;
    return count;
}

static void answer_probes(void)
{
    int64_t id;
    while ((id = core_next_id(turn_core(turn), TABLE_OUTBOX, 0)) != 0) {
        struct command command = {.kind = COMMAND_OUTBOX_DONE};
        command.outbox_done.outbox_id = id;
        done(command);
    }
}

TEST(nodes_alive_without_pins_are_probed_after_an_import)
{
    begin();
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com"),
                  dead = add_node("c.example.com");
    for (int i = 0; i < 2; i++) {
        struct command command = {.kind = COMMAND_NODE_UPDATE};
        command.node_update.id = i ? b : a;
        command.node_update.given = GIVEN_NODE_ALIVE;
        command.node_update.alive = true;
        done(command);
    }
    answer_probes();
    mark_not_imported();
    stop();
    CHECK(file_write(path, STR("a.example.com ssh-ed25519 AAAA\n"), 0600) == OK);
    start();
    settle();
    CHECK(is_imported() && core_count(turn_core(turn), TABLE_HOST_KEY) == 1);
    CHECK(probes_of(a) == 0 && probes_of(b) == 1 && probes_of(dead) == 0);
    end();
}

TEST(an_unreadable_old_file_is_retried_and_not_replaced)
{
    char kept[128];
    struct str text = STR("");
    begin();
    const int64_t a = add_node("a.example.com");
    mark_not_imported();
    stop();
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    start();
    while (!uv_is_active((uv_handle_t *)&hosts.retry))
        go_round();
    for (int i = 0; i < 20; i++)
        go_round();
    CHECK(!is_imported() && !known_hosts_is_ready(&hosts) && hosts.import == IMPORT_NOT_READ);
    CHECK(rmdir(path) == 0);
    CHECK(file_write(path, STR("a.example.com ssh-ed25519 AAAA\n"), 0600) == OK);
    CHECK(uv_timer_stop(&hosts.retry) == 0);
    hosts.retry.timer_cb(&hosts.retry); /* as if ten seconds had passed */
    settle();
    CHECK(is_imported() && core_host_key_node(turn_core(turn), STR("ssh-ed25519 AAAA")) == a);
    CHECK(strcmp(content(), line_of(a, "ssh-ed25519 AAAA")) == 0);
    snprintf(kept, sizeof kept, "%s.old", path);
    CHECK(file_read(&arena, kept, 1000, &text) == OK);
    CHECK(str_eq(text, STR("a.example.com ssh-ed25519 AAAA\n")));
    end();
}

TEST(an_import_lost_with_a_batch_is_repeated)
{
    static const enum memory_fate fates[] = {MEMORY_REFUSED, MEMORY_UNANSWERED_IN,
                                             MEMORY_UNANSWERED_OUT};
    for (uint32_t i = 0; i < sizeof fates / sizeof *fates; i++) {
        begin();
        const int64_t a = add_node("a.example.com");
        mark_not_imported();
        stop();
        CHECK(file_write(path, STR("a.example.com ssh-ed25519 AAAA\n"), 0600) == OK);
        start();
        session.faults = (struct memory_faults){.fate = fates[i], .lead_fails = 1};
        settle();
        CHECK(is_imported());
        CHECK(core_host_key_node(turn_core(turn), STR("ssh-ed25519 AAAA")) == a);
        end();
    }
}

/* ---- queries ---- */

TEST(the_best_key_is_the_type_that_ssh_prefers)
{
    begin();
    const int64_t a = add_node("a.example.com"), b = add_node("b.example.com");
    pin(a, "ssh-rsa AAAA\necdsa-sha2-nistp256 BBBB\nssh-ed25519 CCCC");
    pin(b, "ssh-rsa DDDD\necdsa-sha2-nistp256 EEEE");
    const struct core *core = turn_core(turn);
    CHECK(str_eq(known_hosts_best_key(core, a, &arena), STR("ssh-ed25519 CCCC")));
    CHECK(str_eq(known_hosts_best_key(core, b, &arena), STR("ecdsa-sha2-nistp256 EEEE")));
    CHECK(known_hosts_best_key(core, 999, &arena).len == 0);
    CHECK(known_hosts_has_pins(core, a, 0, &arena) && !known_hosts_has_pins(core, a, 1, &arena));
    CHECK(!known_hosts_has_pins(core, 999, 0, &arena));
    end();
}
