/* Goal: orders are queued, started and ended as specified, and leave nothing behind.
 * Method: the module in a real loop; fake programs of this file, or real ones. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "power/hammer/hammer_ops.h"
#include "power/hammer/secret_files.h"
#include "power/hammer/wol_packet.h"
#include "tests/check.h"

enum { RESULTS_MAX = 64, READINGS_DEFAULT = 64, PROGRAMS_MAX = READINGS_DEFAULT + 1 };

struct seen {
    uint64_t key;
    enum hammer_end end;
    bool ended_in_queue;
    char text[512];
    char value[512];
};

/* A fake program, which ends when the test calls end_program(). */
struct spawn_run {
    struct spawn_order order;
    char line[1024];
    char last[4096]; /* word */
    char secret[256];
    bool is_open;
};

struct yard {
    uv_loop_t loop;
    char scratch[64];
    struct hammers *hammers;
    struct seen results[RESULTS_MAX];
    uint32_t result_count;
    struct spawn_run programs[PROGRAMS_MAX];
    uint32_t program_count;
    uint32_t cancel_count;
};

static struct yard yard;

static void done(void *self, uint64_t key, const struct hammer_result *result)
{
    struct yard *y = self;
    CHECK(y->result_count < RESULTS_MAX);
    struct seen *s = &y->results[y->result_count++];
    s->key = key;
    s->end = result->end;
    s->ended_in_queue = result->ended_in_queue;
    snprintf(s->text, sizeof s->text, "%.*s", STR_FMT_ARGS(result->text));
    snprintf(s->value, sizeof s->value, "%.*s", STR_FMT_ARGS(result->value));
}

static void read_secret(struct spawn_run *run, const char *path)
{
    struct stat facts;
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    const size_t len = fread(run->secret, 1, sizeof run->secret - 1, file);
    run->secret[len] = '\0';
    fclose(file);
}

static struct spawn_run *play(void *self, const struct spawn_order *order)
{
    struct yard *y = self;
    CHECK(y->program_count < PROGRAMS_MAX);
    struct spawn_run *run = &y->programs[y->program_count++];
    *run = (struct spawn_run){.order = *order, .is_open = true};
    for (uint32_t i = 0; order->argv[i]; i++) {
        const size_t at = strlen(run->line);
        snprintf(run->line + at, sizeof run->line - at, "%s%s", i ? " " : "", order->argv[i]);
        snprintf(run->last, sizeof run->last, "%s", order->argv[i]);
        if (i && strcmp(order->argv[i - 1], "-f") == 0)
            read_secret(run, order->argv[i]);
    }
    return run;
}

static void cancel(void *self, struct spawn_run *run)
{
    struct yard *y = self;
    CHECK(run->is_open);
    run->is_open = false;
    y->cancel_count++;
}

static void open_yard(bool with_played_programs, uint32_t parallel_max)
{
    struct hammers_callbacks callbacks = {.self = &yard, .done = done};
    yard = (struct yard){.scratch = "/tmp/halligan-hammer-XXXXXX"};
    CHECK(mkdtemp(yard.scratch) != NULL && uv_loop_init(&yard.loop) == 0);
    if (with_played_programs)
        callbacks.spawn = (struct spawn_ops){.self = &yard, .start = play, .cancel = cancel};
    const struct hammers_options options = {
        .scratch = yard.scratch, .parallel_max = parallel_max, .poll_ms = 1};
    yard.hammers = hammers_open(&yard.loop, &options, callbacks);
    CHECK(yard.hammers != NULL);
}

static uint32_t files_in_scratch(void)
{
    uint32_t count = 0;
    DIR *listing = opendir(yard.scratch);
    CHECK(listing != NULL);
    for (const struct dirent *e = readdir(listing); e; e = readdir(listing))
        count += e->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void close_yard(void)
{
    hammers_close(yard.hammers);
    uv_run(&yard.loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&yard.loop) == 0);
    CHECK(files_in_scratch() == 0 && rmdir(yard.scratch) == 0);
}

static void run_loop_once(void)
{
    for (int i = 0; i < 4; i++)
        uv_run(&yard.loop, UV_RUN_NOWAIT);
}

static void wait_for_results(uint32_t count)
{
    while (yard.result_count < count)
        uv_run(&yard.loop, UV_RUN_ONCE);
}

static const struct hammer_bound ipmi = {.klass = {"ipmi", 4},
                                         .endpoint = {"10.0.0.1", 8},
                                         .username = {"root", 4},
                                         .authenticator = {"se cret", 7}};
static const struct hammer_bound local = {.klass = {"local", 5}};

static struct hammer_order order_of(uint64_t key, int64_t node, const struct hammer_bound *hammer,
                                    enum hammer_category category, const char *method)
{
    return (struct hammer_order){.key = key,
                                 .node_id = node,
                                 .node_name = STR("n1"),
                                 .hammers = hammer,
                                 .hammer_count = hammer ? 1 : 0,
                                 .category = category,
                                 .method = str_from(method)};
}

static void submit_power_order(uint64_t key, int64_t node, const char *method)
{
    const struct hammer_order o = order_of(key, node, &ipmi, HAMMER_POWER, method);
    hammers_submit(yard.hammers, &o);
}

/* The program ends. */
static void end_program(uint32_t index, int status, const char *out, const char *error)
{
    struct spawn_run *run = &yard.programs[index];
    CHECK(index < yard.program_count && run->is_open);
    run->is_open = false;
    const struct spawn_result result = {
        .status = status, .out = str_from(out), .err = str_from(error)};
    run->order.done(run->order.self, &result);
    run_loop_once();
}

static bool has(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    fprintf(stderr, "no \"%s\" in: %s\n", part, text);
    return false;
}

/* ---- queue ---- */

TEST(a_result_is_not_delivered_from_inside_submit)
{
    open_yard(true, 0);
    const struct hammer_order o = order_of(1, 1, NULL, HAMMER_POWER, "on");
    hammers_submit(yard.hammers, &o);
    CHECK(yard.result_count == 0 && hammers_pending(yard.hammers) == 1);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_NOT_OFFERED && hammers_pending(yard.hammers) == 0);
    CHECK(has(yard.results[0].text, "no hammer of node \"n1\" offers power on; they offer {}"));
    close_yard();
}

TEST(a_node_has_one_order_in_progress_at_a_time)
{
    open_yard(true, 0);
    submit_power_order(1, 1, "status");
    submit_power_order(2, 1, "status");
    submit_power_order(3, 2, "status");
    run_loop_once();
    CHECK(yard.program_count == 2 && hammers_pending(yard.hammers) == 3);
    end_program(0, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 1 && yard.results[0].key == 1 && yard.program_count == 3);
    end_program(2, 0, "Chassis Power is off\n", "");
    end_program(1, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 3 && yard.results[1].key == 2 && yard.results[2].key == 3);
    CHECK(strcmp(yard.results[1].value, "{\"power\":\"off\"}") == 0);
    close_yard();
}

TEST(the_number_of_orders_in_progress_is_bounded)
{
    open_yard(true, 3);
    for (uint64_t i = 0; i < 10; i++)
        submit_power_order(i, (int64_t)i, "status");
    run_loop_once();
    CHECK(yard.program_count == 3);
    for (uint32_t i = 0; i < 10; i++) {
        end_program(i, 0, "Chassis Power is on\n", "");
        CHECK(yard.program_count == (i + 4 < 10 ? i + 4 : 10));
    }
    for (uint32_t i = 0; i < 10; i++)
        CHECK(yard.results[i].key == i);
    close_yard();
}

static void give_reading(uint64_t key, int64_t node)
{
    struct hammer_order o = order_of(key, node, &ipmi, HAMMER_POWER, "status");
    o.is_reading = true;
    hammers_submit(yard.hammers, &o);
}

TEST(a_reading_delays_no_order)
{
    open_yard(true, 1);
    give_reading(1, 1);
    give_reading(2, 2);
    submit_power_order(3, 1, "on"); /* of a node that is being read, with one order at a time */
    run_loop_once();
    CHECK(yard.program_count == 3 && yard.result_count == 0);
    end_program(2, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 1 && yard.results[0].key == 3);
    end_program(0, 0, "Chassis Power is off\n", "");
    end_program(1, 0, "Chassis Power is off\n", "");
    CHECK(yard.result_count == 3 && hammers_pending(yard.hammers) == 0);
    close_yard();
}

/* A reading with bounds in milliseconds. */
static void give_reading_within(uint64_t key, uint32_t deadline_ms, uint32_t queue_ms)
{
    struct hammer_order o = order_of(key, (int64_t)key, &ipmi, HAMMER_POWER, "status");
    o.is_reading = true;
    o.deadline_ms = deadline_ms;
    o.queue_ms = queue_ms;
    hammers_submit(yard.hammers, &o);
}

TEST(the_deadline_of_a_reading_starts_when_it_leaves_the_queue)
{
    open_yard(true, 0);
    for (uint64_t i = 0; i < READINGS_DEFAULT; i++)
        give_reading(100 + i, (int64_t)(100 + i));
    give_reading_within(1, 20, 60 * 1000);
    run_loop_once();
    CHECK(yard.program_count == READINGS_DEFAULT);
    usleep(50 * 1000); /* longer than its deadline */
    run_loop_once();
    CHECK(yard.result_count == 0);
    end_program(0, 0, "Chassis Power is on\n", "");
    CHECK(yard.program_count == READINGS_DEFAULT + 1 && yard.result_count == 1);
    wait_for_results(2); /* it is started, and its program does not end */
    CHECK(yard.results[1].key == 1 && yard.results[1].end == HAMMER_END_TIMEOUT);
    CHECK(!yard.results[1].ended_in_queue && has(yard.results[1].text, "within 20 ms: "));
    close_yard();
}

TEST(a_reading_that_ends_in_the_queue_is_marked)
{
    open_yard(true, 0);
    for (uint64_t i = 0; i < READINGS_DEFAULT; i++)
        give_reading(100 + i, (int64_t)(100 + i));
    give_reading_within(1, 60 * 1000, 20);
    wait_for_results(1);
    CHECK(yard.results[0].key == 1 && yard.results[0].end == HAMMER_END_TIMEOUT);
    CHECK(yard.results[0].ended_in_queue && has(yard.results[0].text, "within 20 ms: "));
    CHECK(yard.program_count == READINGS_DEFAULT);
    end_program(0, 1, "", "Node busy");
    CHECK(yard.result_count == 2 && !yard.results[1].ended_in_queue);
    close_yard();
}

TEST(a_cancelled_order_gets_no_result_and_frees_its_slot)
{
    open_yard(true, 1);
    submit_power_order(1, 1, "status");
    submit_power_order(2, 2, "status");
    submit_power_order(3, 3, "status");
    run_loop_once();
    CHECK(yard.program_count == 1);
    hammers_cancel(yard.hammers, 3); /* in the queue */
    hammers_cancel(yard.hammers, 1); /* in progress */
    CHECK(!yard.programs[0].is_open);
    run_loop_once();
    CHECK(yard.program_count == 2 && hammers_pending(yard.hammers) == 1);
    end_program(1, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 1 && yard.results[0].key == 2);
    close_yard();
}

TEST(an_order_that_waits_too_long_fails)
{
    open_yard(true, 1);
    submit_power_order(1, 1, "status");
    struct hammer_order o = order_of(2, 2, &ipmi, HAMMER_POWER, "status");
    o.deadline_ms = 1;
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].key == 2 && yard.results[0].end == HAMMER_END_TIMEOUT);
    CHECK(has(yard.results[0].text, "within 1 ms: it waited in the queue behind other orders"));
    end_program(0, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 2);
    close_yard();
}

TEST(a_deadline_kills_the_program_and_names_it)
{
    open_yard(true, 0);
    struct hammer_order o = order_of(1, 1, &ipmi, HAMMER_POWER, "status");
    o.deadline_ms = 20;
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_TIMEOUT && has(yard.results[0].text, "ipmitool"));
    CHECK(yard.program_count == 1 && yard.cancel_count == 1 && files_in_scratch() == 0);
    close_yard();
}

TEST(closing_cancels_all_orders_without_results)
{
    open_yard(true, 1);
    submit_power_order(1, 1, "status");
    submit_power_order(2, 2, "status");
    run_loop_once();
    CHECK(yard.program_count == 1);
    close_yard();
    CHECK(yard.result_count == 0 && yard.cancel_count == 1);
}

TEST(extra_and_args_must_be_objects)
{
    open_yard(true, 0);
    static const char *const wrong[] = {"{", "[]", "7", "\"x\"", "{} x"};
    struct hammer_bound h = ipmi;
    for (uint32_t i = 0; i < 5; i++) {
        h.extra = str_from(wrong[i]);
        struct hammer_order o = order_of(i, i, &h, HAMMER_POWER, "on");
        hammers_submit(yard.hammers, &o);
        o = order_of(i, i, &ipmi, HAMMER_POWER, "on");
        o.args = str_from(wrong[i]);
        hammers_submit(yard.hammers, &o);
    }
    wait_for_results(10);
    for (uint32_t i = 0; i < 10; i++)
        CHECK(yard.results[i].end == HAMMER_END_SETTING);
    CHECK(yard.program_count == 0);
    close_yard();
}

TEST(a_class_without_a_driver_is_refused)
{
    open_yard(true, 0);
    const struct hammer_bound amt = {.klass = STR("amt")};
    const struct hammer_order o = order_of(1, 1, &amt, HAMMER_POWER, "on");
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_NOT_OFFERED && has(yard.results[0].text, "amt"));
    close_yard();
}

/* ---- ipmitool ---- */

TEST(ipmitool_gets_the_password_in_a_file_only)
{
    open_yard(true, 0);
    submit_power_order(1, 1, "status");
    run_loop_once();
    CHECK(strcmp(yard.programs[0].secret, "se cret") == 0);
    CHECK(!strstr(yard.programs[0].line, "cret -N") && !strstr(yard.programs[0].line, "se cret"));
    CHECK(has(yard.programs[0].line, "ipmitool -I lanplus -H 10.0.0.1 -p 623 -C 3 -U root -f "));
    CHECK(files_in_scratch() == 1);
    end_program(0, 0, "Chassis Power is on\n", "");
    CHECK(files_in_scratch() == 0);
    close_yard();
}

static const char *second_word_line(const char *method, const char *status)
{
    submit_power_order(1, 1, method);
    run_loop_once();
    end_program(0, 0, status, "");
    return yard.program_count > 1 ? yard.programs[1].line : "nothing";
}

TEST(the_ipmitool_command_depends_on_the_power_state)
{
    static const struct {
        const char *method;
        const char *state;
        const char *words;
    } cases[] = {{"on", "off", "chassis power on"},
                 {"off", "on", "chassis power off"},
                 {"cycle", "on", "chassis power cycle"},
                 {"cycle", "off", "chassis power on"},
                 {"reset", "on", "chassis power reset"},
                 {"reset", "off", "chassis power on"},
                 {"halt", "on", "chassis power soft"},
                 {"on", "on", "nothing"},
                 {"off", "off", "nothing"},
                 {"halt", "off", "nothing"}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char status[64];
        open_yard(true, 0);
        snprintf(status, sizeof status, "Chassis Power is %s\n", cases[i].state);
        CHECK(has(second_word_line(cases[i].method, status), cases[i].words));
        close_yard();
    }
}

TEST(a_delayed_power_state_is_polled)
{
    open_yard(true, 0);
    submit_power_order(1, 1, "on");
    run_loop_once();
    end_program(0, 0, "Chassis Power is off\n", "");
    end_program(1, 0, "Chassis Power Control: Up/On\n", "");
    end_program(2, 0, "Chassis Power is off\n", "");
    while (yard.program_count < 4)
        uv_run(&yard.loop, UV_RUN_ONCE);
    CHECK(yard.result_count == 0);
    end_program(3, 0, "Chassis Power is on\n", "");
    CHECK(yard.result_count == 1 && yard.results[0].end == HAMMER_END_DONE);
    close_yard();
}

TEST(errors_of_ipmitool_are_classified)
{
    static const struct {
        const char *err;
        enum hammer_end end;
    } cases[] = {
        {"> RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2", HAMMER_END_AUTH},
        {"RAKP 2 message indicates an error : unauthorized name\nError: Unable to establish",
         HAMMER_END_AUTH},
        {"Address lookup for x failed\nError: Unable to establish", HAMMER_END_UNREACHABLE},
        {"Error: Unable to establish IPMI v2 / RMCP+ session", HAMMER_END_TIMEOUT},
        {"failed: Insufficient privilege level", HAMMER_END_AUTH},
        {"Node busy", HAMMER_END_BUSY},
        {"something else", HAMMER_END_FAILED},
        {"", HAMMER_END_FAILED}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_yard(true, 0);
        submit_power_order(1, 1, "status");
        run_loop_once();
        end_program(0, 1, "", cases[i].err);
        CHECK(yard.results[0].end == cases[i].end);
        close_yard();
    }
}

TEST(a_status_without_on_or_off_is_a_bad_answer)
{
    open_yard(true, 0);
    submit_power_order(1, 1, "status");
    submit_power_order(2, 2, "status");
    run_loop_once();
    end_program(0, 0, "Chassis Power is\xff\n", "");
    end_program(1, 0, "Chassis Power is on\nChassis Power is off\n", "");
    CHECK(yard.results[0].end == HAMMER_END_BAD_ANSWER);
    CHECK(yard.results[1].end == HAMMER_END_BAD_ANSWER);
    close_yard();
}

TEST(hammers_with_bad_settings_run_nothing)
{
    static const struct {
        const char *endpoint;
        const char *password;
        const char *extra;
    } wrong[] = {{"", "x", ""},
                 {"-h", "x", ""},
                 {"h", "two\nlines", ""},
                 {"h", "far more than twenty bytes", ""},
                 {"h", "x", "{\"cipher\":99}"},
                 {"h", "x", "{\"cipher\":\"3\"}"},
                 {"h", "x", "{\"port\":0}"},
                 {"h", "x", "{\"level\":7}"}};
    open_yard(true, 0);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hammer_bound h = ipmi;
        h.endpoint = str_from(wrong[i].endpoint);
        h.authenticator = str_from(wrong[i].password);
        h.extra = str_from(wrong[i].extra);
        const struct hammer_order o = order_of(i, i, &h, HAMMER_POWER, "status");
        hammers_submit(yard.hammers, &o);
        wait_for_results(i + 1);
        CHECK(yard.results[i].end == HAMMER_END_SETTING);
    }
    CHECK(yard.program_count == 0 && files_in_scratch() == 0);
    close_yard();
}

TEST(invoke_accepts_commands_but_no_options)
{
    open_yard(true, 0);
    struct hammer_order o = order_of(1, 1, &ipmi, HAMMER_RUN, "invoke");
    o.args = STR("{\"argv\":[\"mc\",\"info\"]}");
    hammers_submit(yard.hammers, &o);
    run_loop_once();
    CHECK(has(yard.programs[0].line, " mc info"));
    end_program(0, 1, "a\xff", "b");
    CHECK(strcmp(yard.results[0].value,
                 "{\"status\":1,\"stderr\":\"b\",\"stdout\":\"a\xef\xbf\xbd\"}") == 0);
    static const char *const wrong[] = {"{}", "{\"argv\":[]}", "{\"argv\":[\"-f\",\"/x\"]}",
                                        "{\"argv\":[7]}", "{\"argv\":\"mc info\"}"};
    for (uint32_t i = 0; i < 5; i++) {
        o.args = str_from(wrong[i]);
        hammers_submit(yard.hammers, &o);
        wait_for_results(i + 2);
        CHECK(yard.results[i + 1].end == HAMMER_END_SETTING);
    }
    close_yard();
}

/* ---- local driver ---- */

TEST(the_local_driver_runs_commands)
{
    open_yard(false, 0);
    struct hammer_order o = order_of(1, 1, &local, HAMMER_RUN, "run");
    o.args = STR("{\"command\":\"echo hi; exit 4\"}");
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_DONE);
    CHECK(strcmp(yard.results[0].value, "{\"status\":4,\"stderr\":\"\",\"stdout\":\"hi\\n\"}") ==
          0);
    o.args = STR("{}");
    hammers_submit(yard.hammers, &o);
    wait_for_results(2);
    CHECK(yard.results[1].end == HAMMER_END_SETTING);
    close_yard();
}

TEST(the_local_driver_offers_no_power_actions)
{
    open_yard(false, 0);
    const struct hammer_order o = order_of(1, 1, &local, HAMMER_POWER, "reboot");
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_NOT_OFFERED);
    close_yard();
}

/* ---- scratch directory ---- */

TEST(the_scratch_directory_must_be_private_and_is_swept)
{
    char path[64] = "/tmp/halligan-hammer-XXXXXX";
    struct arena a = {0};
    CHECK(mkdtemp(path) != NULL);
    const char *left = secret_file_write(&a, path, STR("old secret"));
    CHECK(left && access(left, F_OK) == 0);
    CHECK(secret_file_sweep(path) && access(left, F_OK) != 0);
    CHECK(chmod(path, 0755) == 0 && !secret_file_sweep(path));
    CHECK(!secret_file_sweep("/no/such/place") && !secret_file_sweep(NULL));
    CHECK(!secret_file_write(&a, "/no/such/place", STR("x")));
    CHECK(rmdir(path) == 0);
    secret_file_remove(NULL);
    arena_fini(&a);
}

/* ---- Wake-on-LAN ---- */

TEST(a_magic_packet_is_six_ones_and_sixteen_addresses)
{
    struct wol_mac mac;
    uint8_t packet[WOL_PACKET_MAX];
    CHECK(wol_mac_parse(STR("52:54:00:aB:cd:EF"), &mac) && mac.at[3] == 0xab && mac.at[5] == 0xef);
    CHECK(wol_packet_write(packet, &mac, NULL) == 102);
    for (uint32_t i = 0; i < 6; i++)
        CHECK(packet[i] == 0xff);
    for (uint32_t i = 6; i < 102; i++)
        CHECK(packet[i] == mac.at[i % 6]);
    CHECK(wol_packet_write(packet, &mac, &mac) == 108 && packet[107] == 0xef);
}

TEST(an_invalid_mac_address_is_refused)
{
    static const char *const wrong[] = {"",
                                        "52:54:00:12:34",
                                        "52:54:00:12:34:5g",
                                        "52:54:00:12:34:567",
                                        "525400123456",
                                        "52.54.00.12.34.56",
                                        "52:54:00:12:34:5 "};
    struct wol_mac mac;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!wol_mac_parse(str_from(wrong[i]), &mac));
}

static int listen_udp(uint16_t *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

TEST(packets_are_sent_to_the_endpoint)
{
    uint16_t port;
    char endpoint[64];
    uint8_t packet[256];
    const int fd = listen_udp(&port);
    open_yard(false, 0);
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%u", port);
    const struct hammer_bound wol = {
        .klass = STR("wol"),
        .endpoint = str_from(endpoint),
        .authenticator = STR("01:02:03:04:05:06"),
        .extra = STR("{\"mac\":[\"52:54:00:12:34:56\",\"52-54-00-12-34-57\"]}")};
    const struct hammer_order o = order_of(1, 1, &wol, HAMMER_POWER, "on");
    hammers_submit(yard.hammers, &o);
    wait_for_results(1);
    CHECK(yard.results[0].end == HAMMER_END_DONE &&
          has(yard.results[0].text, "sent 6 Wake-on-LAN packets"));
    for (uint32_t i = 0; i < 6; i++) {
        CHECK(recv(fd, packet, sizeof packet, 0) == 108);
        CHECK(packet[6] == 0x52 && packet[11] == 0x56 + i % 2 && packet[107] == 6);
    }
    close(fd);
    close_yard();
}

TEST(a_wol_hammer_without_a_mac_address_fails)
{
    static const struct {
        const char *endpoint;
        const char *extra;
    } wrong[] = {{"127.0.0.1:9", ""},
                 {"127.0.0.1:9", "{\"mac\":[]}"},
                 {"127.0.0.1:9", "{\"mac\":\"x\"}"},
                 {"127.0.0.1:9", "{\"mac\":[7]}"},
                 {"some.name:9", "{\"mac\":\"52:54:00:12:34:56\"}"},
                 {"", "{\"mac\":\"52:54:00:12:34:56\"}"}};
    open_yard(false, 0);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct hammer_bound wol = {.klass = STR("wol"),
                                         .endpoint = str_from(wrong[i].endpoint),
                                         .extra = str_from(wrong[i].extra)};
        const struct hammer_order o = order_of(i, i, &wol, HAMMER_POWER, "on");
        hammers_submit(yard.hammers, &o);
        wait_for_results(i + 1);
        CHECK(yard.results[i].end == HAMMER_END_SETTING);
    }
    close_yard();
}

/* ---- ssh ---- */

TEST(a_long_path_is_copied_completely)
{
    static char args[6000];
    char path[4000];
    open_yard(true, 0);
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    snprintf(args, sizeof args, "{\"from\":\"/a\",\"to\":\"%s\"}", path);
    const struct hammer_bound ssh = {
        .klass = STR("ssh"), .endpoint = STR("fe80::1"), .username = STR("root")};
    struct hammer_order o = order_of(1, 1, &ssh, HAMMER_XFER, "copy_to");
    o.args = str_from(args);
    hammers_submit(yard.hammers, &o);
    run_loop_once();
    CHECK(yard.program_count == 1);
    const char *last = yard.programs[0].last;
    CHECK(strncmp(last, "[fe80::1]:/ppp", 14) == 0 && strlen(last) == 10 + sizeof path - 1);
    end_program(0, 0, "", "");
    CHECK(yard.results[0].end == HAMMER_END_DONE);
    close_yard();
}

TEST(a_connection_closed_during_a_reboot_is_success)
{
    static const struct {
        int status;
        const char *error;
        enum hammer_end end;
    } cases[] = {{0, "", HAMMER_END_DONE},
                 {255, "Connection to h closed by remote host.", HAMMER_END_DONE},
                 {255, "ssh: connect to host h port 22: Connection refused", HAMMER_END_REFUSED},
                 {127, "reboot: not found", HAMMER_END_FAILED}};
    const struct hammer_bound ssh = {
        .klass = STR("ssh"), .endpoint = STR("h"), .username = STR("root")};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_yard(true, 0);
        const struct hammer_order o = order_of(1, 1, &ssh, HAMMER_POWER, "reboot");
        hammers_submit(yard.hammers, &o);
        run_loop_once();
        CHECK(has(yard.programs[0].line, "BatchMode=yes") &&
              has(yard.programs[0].line, "StrictHostKeyChecking=yes"));
        end_program(0, cases[i].status, "", cases[i].error);
        CHECK(yard.results[0].end == cases[i].end);
        close_yard();
    }
}
