/* Goal: a machine is switched once for each row, however often the row arrives and whatever the
 * store does with the result.
 * Method: the real turn over the store of the simulator, which fails on request; real
 * hammers that send magic packets to a socket of the test, where each action is counted. Tests with
 * machines and with crashes of the daemon are in tests/power. */
#include "core/core.h"
#include "power/power_orders.h"
#include "power/ssh_keys.h"
#include "sim/store/memory_store.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"
#include "turn/turn.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[64];
static uv_loop_t loop;
static struct ssh_keys home;
static struct power *power;
static struct power_port port;
static struct memory_store *store;
static struct memory_session session;
static struct turn *turn;
static struct arena arena;
static int64_t now_ms, node_id;
static int wol_socket; /* UDP socket that receives the packets */
static uint32_t wakes;
static int listener = -1;    /* listening socket of a machine that closes every connection */
static uint32_t connections; /* connections to it */
static uint32_t marks;       /* marks that became durable */

/* ---- ports ---- */

static void wake(void *self)
{
    (void)self;
    wakes++;
}

static int64_t clock_now(void *self)
{
    (void)self;
    return now_ms += 100; /* simulated time: no test waits */
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

static void no_hook(void *self, const struct outbox_record *row)
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
    CHECK(outcome->verdict == VERDICT_DONE);
    if (request == 2)
        node_id = outcome->id;
    if (request < 0) {
        marks++;
        power_on_result(power, request, outcome, OK);
    }
}

static void reply_failed(void *self, int64_t request, err why)
{
    (void)self;
    CHECK(why != OK);
    if (request < 0)
        power_on_result(power, request, NULL, why);
}

static void stepped(void *self, const struct command *command, const struct outcome *outcome)
{
    (void)self, (void)command, (void)outcome;
}

static void durable(void *self, const struct batch *batch)
{
    (void)self, (void)batch;
}

/* ---- driving the turn ---- */

static void close_connections(void)
{
    for (int connection = accept(listener, NULL, NULL); connection >= 0;
         connection = accept(listener, NULL, NULL)) {
        CHECK(marks > 0); /* the mark is durable before the action */
        connections++;
        CHECK(close(connection) == 0);
    }
}

static void run_turn_once(void)
{
    close_connections();
    ignore(turn_advance(turn), "the callers check the final state");
    ignore(power_pump(power, turn), "the same");
    CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
}

static uint32_t outbox(void)
{
    const struct core *core = turn_core(turn);
    return core ? core_count(core, TABLE_OUTBOX) : UINT32_MAX;
}

/* Runs until the outbox is empty and that is durable. */
static void settle(void)
{
    do
        run_turn_once();
    while (outbox() != 0 || turn_seen(turn) != turn_durable(turn) || turn_waiting(turn) != 0);
}

static void do_command(struct command command, int64_t request)
{
    command.request = request;
    command.actor = STR("test");
    CHECK(turn_submit(turn, &command) == OK);
}

/* The number of Wake-on-LAN actions since the last call; each sends three packets. */
static uint32_t count_wol_actions(void)
{
    char packet[200];
    uint32_t count = 0;
    while (recv(wol_socket, packet, sizeof packet, MSG_DONTWAIT) == 102)
        count++;
    CHECK(count % 3 == 0);
    return count / 3;
}

/* ---- setup and teardown ---- */

static void open_turn(void)
{
    static struct turn_ports ports;
    memory_session_init(&session, store);
    ports = (struct turn_ports){
        .store = memory_session_port(&session),
        .clock = {NULL, clock_now, clock_now, clock_random},
        .runner = {NULL, no_run, no_run, no_run},
        .hooks = {NULL, no_hook, no_question},
        .power = power_port(power),
        .reply = {NULL, replied, reply_failed},
        .watch = {.stepped = stepped, .durable = durable},
    };
    turn = turn_new(&ports);
    CHECK(turn_start(turn) == TURN_AGAIN);
}

static const char *listen_for_packets(void)
{
    static char endpoint[32];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    wol_socket = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(wol_socket >= 0 && bind(wol_socket, (struct sockaddr *)&at, size) == 0);
    CHECK(getsockname(wol_socket, (struct sockaddr *)&at, &size) == 0);
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%u", ntohs(at.sin_port));
    return endpoint;
}

static const char *in_folder(const char *name)
{
    return str_z(&arena, STR_CONCAT(&arena, str_from(folder), STR("/"), str_from(name)));
}

static void open_power(void)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-power-XXXXXX");
    CHECK(mkdtemp(folder) && mkdir(in_folder("ssh"), 0700) == 0);
    CHECK(file_write(in_folder("ssh/id_ed25519"), STR("none is needed"), 0600) == OK);
    CHECK(file_write(in_folder("ssh/id_ed25519.pub"), STR("none is needed"), 0600) == OK);
    CHECK(uv_loop_init(&loop) == 0);
    home = (struct ssh_keys){.wake = wake};
    CHECK(ssh_keys_open(&home, &loop, in_folder("ssh")));
    power = power_open(&(struct power_setup){.loop = &loop,
                                             .scratch = in_folder("hammer"),
                                             .ssh = &home,
                                             .wake = wake,
                                             .request_first = -(INT64_C(1) << 41)});
    CHECK(power);
    port = power_port(power);
}

/* A node with a Wake-on-LAN hammer. */
static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    now_ms = 1;
    wakes = connections = marks = 0;
    open_power();
    store = memory_store_new();
    open_turn();
    struct command import = {.kind = COMMAND_IMPORT};
    import.import.barclamp =
        STR("{\"barclamp\":{\"name\":\"b\",\"source_path\":\"/b\"},\"hammers\":["
            "{\"name\":\"wol\",\"type\":\"wol\",\"priority\":1},"
            "{\"name\":\"redfish\",\"type\":\"redfish\",\"priority\":0}]}");
    do_command(import, 1);
    struct command node = {.kind = COMMAND_NODE_CREATE};
    node.node_create.name = STR("n1.example.com");
    do_command(node, 2);
    settle();
    struct command hammer = {.kind = COMMAND_HAMMER_CREATE};
    hammer.hammer_create.node_id = node_id;
    hammer.hammer_create.hammer_kind_id = core_next_id(turn_core(turn), TABLE_HAMMER_KIND, 0);
    hammer.hammer_create.endpoint = str_from(listen_for_packets());
    hammer.hammer_create.username = STR("-");
    hammer.hammer_create.extra = STR("{\"mac\":\"52:54:00:12:34:56\"}");
    do_command(hammer, 3);
    settle();
}

/* Another hammer, for a machine that closes every connection. */
static void begin_with_gate(void)
{
    char endpoint[40];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    begin();
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&at, size) == 0 &&
          listen(listener, 9) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &size) == 0);
    snprintf(endpoint, sizeof endpoint, "https://127.0.0.1:%u", ntohs(at.sin_port));
    struct command hammer = {.kind = COMMAND_HAMMER_CREATE};
    const int64_t first = core_next_id(turn_core(turn), TABLE_HAMMER_KIND, 0);
    hammer.hammer_create.node_id = node_id;
    hammer.hammer_create.hammer_kind_id = core_next_id(turn_core(turn), TABLE_HAMMER_KIND, first);
    hammer.hammer_create.endpoint = str_from(endpoint);
    hammer.hammer_create.username = STR("root");
    hammer.hammer_create.authenticator = STR("calvin");
    hammer.hammer_create.extra = STR("{}");
    do_command(hammer, 6);
    settle();
}

static void end(void)
{
    char line[96];
    turn_free(turn);
    power_close(power);
    ssh_keys_close(&home);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    memory_session_crash(&session, false);
    memory_store_free(store);
    CHECK(close(wol_socket) == 0);
    CHECK(listener < 0 || close(listener) == 0);
    listener = -1;
    arena_fini(&arena);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK(system(line) == 0);
}

static void order_power(struct str action)
{
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node_id;
    command.node_power.action = action;
    do_command(command, 4);
}

static void order_on(void)
{
    order_power(STR("on"));
}

/* Runs the turn without the pump until that many rows are in the outbox and were passed on. */
static void deliver(uint32_t rows)
{
    do
        ignore(turn_advance(turn), "it comes with one of them");
    while (outbox() != rows || turn_seen(turn) != turn_durable(turn));
}

/* Runs until the packet was sent. */
static void wait_for_packet(void)
{
    char byte;
    while (recv(wol_socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0)
        run_turn_once();
}

/* ---- tests ---- */

TEST(a_row_is_performed_and_its_result_reported)
{
    begin();
    order_on();
    settle();
    CHECK(count_wol_actions() == 1 && wakes > 0);
    order_on();
    order_on();
    settle();
    CHECK(count_wol_actions() == 2);
    end();
}

/* The row in the outbox. */
static struct outbox_record waiting_row(void)
{
    struct record record;
    const int64_t id = core_next_id(turn_core(turn), TABLE_OUTBOX, 0);
    CHECK(id && core_record(turn_core(turn), TABLE_OUTBOX, id, &record));
    record.outbox.detail = str_copy(&arena, record.outbox.detail);
    return record.outbox;
}

TEST(a_row_that_arrives_again_while_in_progress_is_performed_once)
{
    begin();
    order_on();
    deliver(1);
    const struct outbox_record row = waiting_row();
    port.act(port.self, &row);
    port.act(port.self, &row);
    wait_for_packet();
    port.act(port.self, &row);
    settle();
    CHECK(count_wol_actions() == 1);
    end();
}

TEST(a_result_lost_with_a_batch_is_reported_again_without_repeating_the_action)
{
    static const enum memory_fate fates[] = {MEMORY_REFUSED, MEMORY_REFUSED_LATE,
                                             MEMORY_UNANSWERED_IN, MEMORY_UNANSWERED_OUT};
    for (uint32_t i = 0; i < sizeof fates / sizeof *fates; i++) {
        begin();
        order_on();
        wait_for_packet();
        const uint64_t loads = turn_loads(turn);
        session.faults = (struct memory_faults){.fate = fates[i], .lead_fails = 2, .load_fails = 1};
        settle();
        CHECK(turn_loads(turn) > loads); /* the core was reloaded from the store */
        order_on();                      /* a repetition of the first would have happened by now */
        settle();
        CHECK(count_wol_actions() == 2);
        end();
    }
}

TEST(a_result_waits_while_the_command_queue_is_full)
{
    begin();
    order_on();
    deliver(1);
    struct command filler = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("test")};
    filler.outbox_done.outbox_id = 1 << 30;
    while (turn_submit(turn, &filler) == OK)
        continue;
    char byte;
    while (recv(wol_socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0) {
        CHECK(!power_pump(power, turn));
        CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(!power_pump(power, turn)); /* the command queue is full */
        CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
    }
    CHECK(outbox() == 1);
    settle();
    CHECK(count_wol_actions() == 1);
    end();
}

/* The status of the node. */
static bool status_has(const char *part)
{
    struct record node;
    CHECK(core_record(turn_core(turn), TABLE_NODE, node_id, &node));
    return strstr(str_z(&arena, node.node.status), part) != NULL;
}

TEST(an_action_that_may_not_be_repeated_is_marked_before_its_start)
{
    begin_with_gate();
    order_power(STR("reset"));
    settle();
    CHECK(connections > 0 && marks == 1 && status_has("reset failed"));
    order_on();
    settle();
    CHECK(marks == 1); /* idempotent: no mark */
    end();
}

TEST(a_mark_lost_with_a_batch_is_submitted_again_and_the_action_happens_once)
{
    static const enum memory_fate fates[] = {MEMORY_REFUSED, MEMORY_REFUSED_LATE,
                                             MEMORY_UNANSWERED_IN, MEMORY_UNANSWERED_OUT};
    uint32_t usual = 0;
    for (uint32_t i = 0; i <= sizeof fates / sizeof *fates; i++) {
        begin_with_gate();
        order_power(STR("reset"));
        deliver(1);
        const uint64_t loads = turn_loads(turn);
        if (i > 0)
            session.faults =
                (struct memory_faults){.fate = fates[i - 1], .lead_fails = 2, .load_fails = 1};
        settle();
        CHECK((turn_loads(turn) > loads) == (i > 0));
        CHECK(marks == 1 && status_has("reset failed") && !status_has("not known"));
        usual = i == 0 ? connections : usual;
        CHECK(connections == usual);
        end();
    }
}

TEST(a_mark_waits_while_the_command_queue_is_full)
{
    begin_with_gate();
    order_power(STR("reset"));
    deliver(1);
    struct command filler = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("test")};
    filler.outbox_done.outbox_id = 1 << 30;
    while (turn_submit(turn, &filler) == OK)
        continue;
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(!power_pump(power, turn));
        CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
        close_connections();
    }
    CHECK(connections == 0 && outbox() == 1);
    settle();
    CHECK(connections > 0 && marks == 1);
    end();
}

/* As after a restart: only the mark at the row is left. */
TEST(a_row_with_the_mark_of_another_process_fails_as_unknown)
{
    begin_with_gate();
    order_power(STR("reset"));
    deliver(1);
    struct outbox_record row = waiting_row();
    row.begun = true;
    power_close(power);
    CHECK(uv_run(&loop, UV_RUN_NOWAIT) >= 0);
    power = power_open(&(struct power_setup){
        .loop = &loop, .scratch = in_folder("hammer"), .ssh = &home, .wake = wake});
    CHECK(power);
    port = power_port(power);
    port.act(port.self, &row);
    settle();
    CHECK(connections == 0 && marks == 0);
    CHECK(status_has("the daemon ended during reset of node \"n1.example.com\": it is unknown "
                     "whether the machine performed it"));
    end();
}

TEST(an_order_for_a_deleted_node_switches_nothing)
{
    const struct outbox_record rows[] = {
        {.id = 1 << 30, .object_id = 1 << 30, .detail = STR("on")},
        {.id = (1 << 30) + 1, .object_id = 1 << 30, .detail = STR("")},
    };
    begin();
    port.act(port.self, &rows[0]);
    port.probe(port.self, &rows[1]);
    CHECK(power_pump(power, turn)); /* the result is known at once */
    settle();
    CHECK(count_wol_actions() == 0 && !power_pump(power, turn));
    end();
}

TEST(with_the_test_jig_enabled_nothing_is_switched)
{
    begin();
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE};
    settings.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    settings.settings_update.test_jig = true;
    do_command(settings, 5);
    order_on();
    settle();
    CHECK(count_wol_actions() == 0);
    end();
}

TEST(closing_during_an_action_frees_everything)
{
    begin();
    order_on();
    order_on();
    deliver(2);
    ignore(power_pump(power, turn), "the first is under way, and the second waits behind it");
    end();
}

TEST(a_directory_accessible_to_other_users_is_refused)
{
    open_power();
    CHECK(mkdir(in_folder("open"), 0755) == 0 && chmod(in_folder("open"), 0755) == 0);
    struct power_setup setup = {.loop = &loop, .ssh = &home, .wake = wake};
    setup.scratch = in_folder("open");
    CHECK(!power_open(&setup));
    setup.scratch = in_folder("ssh/id_ed25519/below a file");
    CHECK(!power_open(&setup));
    power_close(NULL);
    store = memory_store_new();
    open_turn();
    wol_socket = dup(0);
    end();
}
