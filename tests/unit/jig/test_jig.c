/* Goal: the test jig does the work of one attempt once, whatever is ordered twice, lost or torn.
 * Method: a journal in a directory of our own; answers are written into a diary and compared. A
 * restart is a close and an open over the same file. */
#include "run/fake/fake_journal.h"
#include "run/fake/fake_timers.h"
#include "run/fake/test_jig.h"
#include "sys/log.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char journal[96];
static char diary[4096];
static uint32_t room_left; /* how many answers the other side takes */
static struct test_jig *jig;

static err submit(void *self, const struct command *command)
{
    char line[256];
    (void)self;
    if (room_left == 0)
        return ERR_LIMIT;
    room_left--;
    const struct run_done_command *done = &command->run_done;
    if (command->kind == COMMAND_RUN_BEGUN)
        snprintf(line, sizeof line, "begun %lld.%u;", (long long)command->run_begun.run_id,
                 command->run_begun.attempt);
    else if (command->kind == COMMAND_RUN_STOPPED)
        snprintf(line, sizeof line, "stopped %lld.%u;", (long long)command->run_stopped.run_id,
                 command->run_stopped.attempt);
    else if (done->result == RESULT_FAILED)
        snprintf(line, sizeof line, "failed %lld.%u %.*s;", (long long)done->run_id, done->attempt,
                 STR_FMT_ARGS(done->runlog));
    else
        snprintf(line, sizeof line, "%s %lld.%u;",
                 done->result == RESULT_OK      ? "ok"
                 : done->result == RESULT_ASYNC ? "open"
                                                : "lost",
                 (long long)done->run_id, done->attempt);
    CHECK(command->request == 0 && strlen(diary) + strlen(line) < sizeof diary);
    memcpy(diary + strlen(diary), line, strlen(line) + 1);
    return OK;
}

static void open_jig(void)
{
    const struct test_jig_callbacks callbacks = {.submit = submit};
    room_left = UINT32_MAX;
    diary[0] = 0;
    CHECK(test_jig_open(journal, callbacks, &jig) == OK);
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-jig-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(journal, sizeof journal, "%s/journal", folder);
    open_jig();
}

static void restart(void)
{
    test_jig_close(jig);
    open_jig();
}

static void end(void)
{
    test_jig_close(jig);
    test_jig_close(NULL);
    CHECK(unlink(journal) == 0 && rmdir(folder) == 0);
}

static struct run_order order_of(int64_t run_id, uint32_t attempt, const char *data)
{
    return (struct run_order){.epoch = 5,
                              .run_id = run_id,
                              .attempt = attempt,
                              .noderole_id = 100 + run_id,
                              .jig = STR("test"),
                              .data = str_from(data)};
}

static void start(int64_t run_id, uint32_t attempt, const char *data)
{
    const struct run_order order = order_of(run_id, attempt, data);
    const struct runner_port port = test_jig_port(jig);
    port.start(port.self, &order);
}

static void cancel(int64_t run_id, uint32_t attempt)
{
    struct run_order order = order_of(run_id, attempt, "");
    order.jig = STR("");
    const struct runner_port port = test_jig_port(jig);
    port.cancel(port.self, &order);
}

static void query(int64_t run_id, uint32_t attempt, bool begun, const char *data)
{
    struct run_order order = order_of(run_id, attempt, data);
    order.begun = begun;
    const struct runner_port port = test_jig_port(jig);
    port.query(port.self, &order);
}

/* Pump, and compare what was answered. */
static bool answers(int64_t mono_ms, const char *wanted)
{
    diary[0] = 0;
    const bool any = test_jig_pump(jig, mono_ms);
    if (strcmp(diary, wanted) != 0)
        printf("answered: %s\n  wanted: %s\n", diary, wanted);
    return strcmp(diary, wanted) == 0 && any == (wanted[0] != 0);
}

static bool journal_is(const char *wanted)
{
    char text[4096];
    FILE *file = fopen(journal, "r");
    CHECK(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    CHECK(fclose(file) == 0);
    if (strcmp(text, wanted) != 0)
        printf("journal: %s\n wanted: %s\n", text, wanted);
    return strcmp(text, wanted) == 0;
}

static void write_journal(const char *text)
{
    FILE *file = fopen(journal, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(an_order_is_only_noted_until_the_loop_comes)
{
    begin();
    CHECK(test_jig_next_ms(jig) == -1);
    start(1, 1, "{}");
    CHECK(diary[0] == 0 && journal_is(""));
    CHECK(test_jig_next_ms(jig) == 0);
    CHECK(answers(10, "begun 1.1;ok 1.1;"));
    CHECK(journal_is("start 1 1 101\ndone 1 1\n"));
    CHECK(test_jig_next_ms(jig) == -1);
    CHECK(answers(20, ""));
    end();
}

TEST(delay_and_failure_come_from_the_staged_data)
{
    begin();
    start(1, 1, "{\"delay\":50,\"fail\":false}");
    start(2, 1, "{\"delay\":20,\"fail\":true}");
    start(3, 7, "{\"delay\":\"soon\",\"fail\":\"yes\"}"); /* neither a number nor true */
    start(4, 1, "{\"delay\":-5}");
    CHECK(answers(100, "begun 1.1;begun 2.1;begun 3.7;begun 4.1;ok 3.7;ok 4.1;"));
    CHECK(test_jig_next_ms(jig) == 120);
    CHECK(answers(119, ""));
    CHECK(answers(120, "failed 2.1 the staged data request that the test jig fails;"));
    CHECK(test_jig_next_ms(jig) == 150);
    CHECK(answers(1000, "ok 1.1;"));
    CHECK(journal_is("start 1 1 101\nstart 2 1 102\nstart 3 7 103\nstart 4 1 104\n"
                     "done 3 7\ndone 4 1\ndone 2 1\ndone 1 1\n"));
    end();
}

TEST(a_number_says_up_to_which_attempt_it_fails)
{
    begin();
    start(1, 2, "{\"fail\":2}");
    start(2, 3, "{\"fail\":2}");
    start(3, 1, "{\"fail\":0}");
    CHECK(answers(100,
                  "begun 1.2;begun 2.3;begun 3.1;"
                  "failed 1.2 the staged data request that the test jig fails;ok 2.3;ok 3.1;"));
    end();
}

TEST(a_repeated_order_is_answered_from_memory)
{
    begin();
    start(1, 1, "{\"delay\":50}");
    start(1, 1, "{\"delay\":50}");
    CHECK(answers(0, "begun 1.1;begun 1.1;"));
    query(1, 1, false, "{\"delay\":50}");
    CHECK(answers(10, "begun 1.1;"));
    CHECK(answers(50, "ok 1.1;"));
    start(1, 1, "{\"delay\":50}");
    query(1, 1, true, "{\"delay\":50}");
    CHECK(answers(60, "begun 1.1;ok 1.1;begun 1.1;ok 1.1;"));
    CHECK(journal_is("start 1 1 101\ndone 1 1\n"));
    start(1, 2, "{}"); /* another attempt is other work */
    CHECK(answers(70, "begun 1.2;ok 1.2;"));
    end();
}

TEST(what_began_before_a_restart_is_ended_and_not_begun_again)
{
    begin();
    start(1, 1, "{\"delay\":50}");
    start(2, 1, "{\"fail\":true}");
    start(3, 1, "{}");
    CHECK(answers(0, "begun 1.1;begun 2.1;begun 3.1;"
                     "failed 2.1 the staged data request that the test jig fails;ok 3.1;"));
    start(4, 1, "{}"); /* ordered, but the jig is closed before the start is recorded */
    restart();
    query(1, 1, true, "{\"delay\":50}");
    query(2, 1, true, "{\"fail\":true}");
    query(3, 1, true, "{}");
    query(4, 1, false, "{}"); /* not recorded: it starts now */
    query(5, 1, true, "{}");  /* started according to the store, unknown to the jig */
    CHECK(answers(7,
                  "begun 1.1;begun 2.1;failed 2.1 the staged data request that the test jig fails;"
                  "begun 3.1;ok 3.1;begun 4.1;lost 5.1;ok 4.1;"));
    CHECK(test_jig_next_ms(jig) == 57);
    CHECK(answers(57, "ok 1.1;"));
    CHECK(journal_is("start 1 1 101\nstart 2 1 102\nstart 3 1 103\ndone 2 1\ndone 3 1\n"
                     "start 4 1 104\ndone 4 1\ndone 1 1\n"));
    end();
}

/* Every seventh is cancelled; the others end by time and in order of arrival. With a linear search
 * for each this would not finish. */
TEST(a_great_deal_of_work_ends_in_its_order)
{
    enum { WORKS = 200000, TIMES = 97 };
    struct fake_timers works = {0};
    struct fake_run work;
    CHECK(fake_timers_next_ms(&works) == -1 && !fake_timers_take_due(&works, INT64_MAX, &work));
    CHECK(!fake_timers_remove(&works, 1, 1) && !fake_timers_has(&works, 1, 1));
    for (int64_t run = 1; run <= WORKS; run++)
        fake_timers_add(&works, &(struct fake_run){.run_id = run,
                                                   .attempt = (uint32_t)(run % 3),
                                                   .result = (uint32_t)(run % 2),
                                                   .due_ms = run * 31 % TIMES});
    CHECK(fake_timers_next_ms(&works) == 0);
    for (int64_t run = 7; run <= WORKS; run += 7) {
        CHECK(fake_timers_has(&works, run, (uint32_t)(run % 3)));
        CHECK(!fake_timers_remove(&works, run, (uint32_t)(run % 3) + 1));
        CHECK(fake_timers_remove(&works, run, (uint32_t)(run % 3)));
        CHECK(!fake_timers_has(&works, run, (uint32_t)(run % 3)));
    }
    uint32_t ended = 0;
    int64_t last = 0;
    for (int64_t now = 0; now < TIMES; now++, last = 0)
        while (fake_timers_take_due(&works, now, &work)) {
            CHECK(work.due_ms == now && work.run_id > last && work.run_id % 7 != 0);
            CHECK(work.result == work.run_id % 2 && work.due_ms == work.run_id * 31 % TIMES);
            last = work.run_id;
            ended++;
        }
    CHECK(ended == WORKS - WORKS / 7 && fake_timers_next_ms(&works) == -1);
    fake_timers_add(&works, &(struct fake_run){.run_id = 1});
    fake_timers_fini(&works);
}

TEST(cancelled_work_is_stopped_and_stays_stopped)
{
    begin();
    start(1, 1, "{\"delay\":50}");
    CHECK(answers(0, "begun 1.1;"));
    cancel(1, 1);
    cancel(9, 9); /* never ordered */
    CHECK(answers(10, "stopped 1.1;stopped 9.9;"));
    CHECK(test_jig_next_ms(jig) == -1 && answers(100, ""));
    cancel(1, 1);
    CHECK(answers(110, "stopped 1.1;"));
    CHECK(journal_is("start 1 1 101\ndone 1 1\n"));
    start(2, 1, "{\"delay\":50}");
    CHECK(answers(120, "begun 2.1;"));
    restart();
    cancel(2, 1); /* begun in another life */
    CHECK(answers(130, "stopped 2.1;"));
    start(3, 1, "{}");
    cancel(3, 1); /* before anything happened */
    CHECK(answers(140, "begun 3.1;stopped 3.1;"));
    end();
}

TEST(work_that_is_left_open_ends_with_its_retry)
{
    begin();
    start(1, 1, "{\"async\":true}");
    CHECK(answers(0, "begun 1.1;open 1.1;"));
    start(2, 2, "{\"async\":true}");
    CHECK(answers(10, "begun 2.2;ok 2.2;"));
    start(3, 1, "{\"async\":true,\"fail\":true}");
    CHECK(answers(20, "begun 3.1;failed 3.1 the staged data request that the test jig fails;"));
    end();
}

TEST(it_knows_what_it_has_had)
{
    begin();
    CHECK(!test_jig_has(jig, 1, 1));
    start(1, 1, "{\"delay\":100}");
    CHECK(test_jig_has(jig, 1, 1) && !test_jig_has(jig, 1, 2) && !test_jig_has(jig, 2, 1));
    CHECK(answers(0, "begun 1.1;"));
    CHECK(test_jig_has(jig, 1, 1));
    restart();
    CHECK(test_jig_has(jig, 1, 1));
    end();
}

TEST(orders_of_a_former_leader_are_ignored)
{
    begin();
    start(1, 1, "{}");
    struct run_order order = order_of(2, 1, "{}");
    const struct runner_port port = test_jig_port(jig);
    order.epoch = 4;
    port.start(port.self, &order);
    CHECK(answers(0, "begun 1.1;ok 1.1;"));
    end();
}

TEST(answers_wait_while_the_other_side_is_full)
{
    begin();
    start(1, 1, "{}");
    start(2, 1, "{}");
    room_left = 1;
    CHECK(answers(0, "begun 1.1;"));
    CHECK(answers(1, ""));
    room_left = 2;
    CHECK(answers(2, "begun 2.1;ok 1.1;"));
    room_left = 10;
    CHECK(answers(3, "ok 2.1;"));
    CHECK(answers(4, ""));
    end();
}

TEST(many_answers_that_wait_come_in_order)
{
    char wanted[64];
    begin();
    for (int64_t run = 1; run <= 500; run++)
        start(run, 1, "{\"delay\":1000}");
    room_left = 0;
    CHECK(answers(0, ""));
    for (int64_t run = 1; run <= 500; run++) { /* one ends, two start */
        start(1000 + run, 1, "{\"delay\":1000}");
        start(2000 + run, 1, "{\"delay\":1000}");
        room_left = 1;
        snprintf(wanted, sizeof wanted, "begun %lld.1;", (long long)run);
        CHECK(answers(0, wanted));
    }
    for (int64_t run = 1; run <= 500; run++) {
        room_left = 2;
        snprintf(wanted, sizeof wanted, "begun %lld.1;begun %lld.1;", (long long)run + 1000,
                 (long long)run + 2000);
        CHECK(answers(0, wanted));
    }
    CHECK(answers(0, "") && test_jig_next_ms(jig) == 1000);
    end();
}

TEST(a_torn_last_line_is_taken_away)
{
    begin();
    test_jig_close(jig);
    write_journal("start 1 1 101\nstart 2 1 102\ndone 1 1\ndone 2");
    open_jig();
    CHECK(journal_is("start 1 1 101\nstart 2 1 102\ndone 1 1\n"));
    query(1, 1, true, "{}");
    query(2, 1, true, "{}");
    CHECK(answers(0, "begun 1.1;ok 1.1;begun 2.1;ok 2.1;"));
    CHECK(journal_is("start 1 1 101\nstart 2 1 102\ndone 1 1\ndone 2 1\n"));
    test_jig_close(jig);
    write_journal("start 1 1"); /* and nothing else */
    open_jig();
    CHECK(journal_is(""));
    query(1, 1, false, "{}");
    CHECK(answers(0, "begun 1.1;ok 1.1;"));
    end();
}

TEST(lines_that_do_not_read_are_passed_over)
{
    begin();
    test_jig_close(jig);
    write_journal("start 1 1 101\n\nstart x 1 1\nstart 2 1\ndone 2 1 5\nbegin 2 1 2\n"
                  "start 0 1 1\nstart 2 4294967296 2\nstart 99999999999999999999 1 1\n"
                  "start 3 1 103\n");
    open_jig();
    struct fake_journal *j;
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) == OK);
    CHECK(fake_journal_find(j, 1, 1) == FAKE_JOURNAL_STARTED &&
          fake_journal_find(j, 3, 1) == FAKE_JOURNAL_STARTED);
    CHECK(fake_journal_find(j, 2, 1) == FAKE_JOURNAL_UNKNOWN &&
          fake_journal_find(j, 0, 1) == FAKE_JOURNAL_UNKNOWN);
    fake_journal_close(j);
    end();
}

TEST(many_pairs_are_all_found_again)
{
    struct fake_journal *j;
    begin();
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) == OK);
    CHECK(fake_journal_find(j, 1, 1) == FAKE_JOURNAL_UNKNOWN);
    for (int64_t run = 1; run <= 3000; run++)
        CHECK(fake_journal_start(j, run, (uint32_t)(run % 7), run) == OK);
    for (int64_t run = 2; run <= 3000; run += 2)
        CHECK(fake_journal_done(j, run, (uint32_t)(run % 7)) == OK);
    CHECK(fake_journal_sync(j) == OK);
    for (int again = 0; again < 2; again++) {
        for (int64_t run = 1; run <= 3000; run++) {
            const enum fake_journal_state wanted =
                run % 2 ? FAKE_JOURNAL_STARTED : FAKE_JOURNAL_DONE;
            CHECK(fake_journal_find(j, run, (uint32_t)(run % 7)) == wanted);
            CHECK(fake_journal_find(j, run, (uint32_t)(run % 7) + 1) == FAKE_JOURNAL_UNKNOWN);
        }
        fake_journal_close(j);
        CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) == OK);
    }
    fake_journal_close(j);
    end();
}

TEST(a_journal_that_is_too_large_keeps_its_newest_half_and_what_is_unfinished)
{
    struct fake_journal *j;
    struct stat before, after;
    begin();
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) == OK);
    for (int64_t run = 1; run <= 1000; run++) {
        CHECK(fake_journal_start(j, run, 1, 5) == OK);
        if (run != 3)
            CHECK(fake_journal_done(j, run, 1) == OK);
    }
    fake_journal_close(j);
    CHECK(stat(journal, &before) == 0);
    CHECK(fake_journal_open(journal, before.st_size, &j) == OK); /* just small enough */
    CHECK(fake_journal_find(j, 1, 1) == FAKE_JOURNAL_DONE);
    fake_journal_close(j);
    CHECK(fake_journal_open(journal, before.st_size - 1, &j) == OK);
    CHECK(stat(journal, &after) == 0);
    CHECK(after.st_size <= before.st_size / 2 + 32 && after.st_size > before.st_size / 3);
    CHECK((after.st_mode & 0777) == 0600);
    CHECK(fake_journal_find(j, 3, 1) == FAKE_JOURNAL_STARTED);
    CHECK(fake_journal_find(j, 1000, 1) == FAKE_JOURNAL_DONE &&
          fake_journal_find(j, 1, 1) == FAKE_JOURNAL_UNKNOWN);
    CHECK(fake_journal_start(j, 2000, 1, 5) == OK); /* into the new file */
    fake_journal_close(j);
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) == OK);
    CHECK(fake_journal_find(j, 2000, 1) == FAKE_JOURNAL_STARTED &&
          fake_journal_find(j, 3, 1) == FAKE_JOURNAL_STARTED);
    fake_journal_close(j);
    end();
}

TEST(a_journal_that_cannot_be_opened_says_so)
{
    struct fake_journal *j = NULL;
    CHECK(fake_journal_open("/nowhere/journal", FAKE_JOURNAL_SIZE_MAX, &j) == ERR_NOT_FOUND && !j);
    CHECK(fake_journal_open("/tmp", FAKE_JOURNAL_SIZE_MAX, &j) != OK && !j);
    fake_journal_close(NULL);
}

TEST(a_journal_is_a_file_and_no_link_to_one)
{
    struct fake_journal *j = NULL;
    char aside[128];
    begin();
    test_jig_close(jig);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    CHECK(rename(journal, aside) == 0 && symlink("aside", journal) == 0);
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) != OK && !j);
    CHECK(unlink(journal) == 0 && mkfifo(journal, 0600) == 0);
    CHECK(fake_journal_open(journal, FAKE_JOURNAL_SIZE_MAX, &j) != OK && !j);
    CHECK(unlink(journal) == 0 && rename(aside, journal) == 0);
    open_jig();
    end();
}

/* With room for one line only. */
static int work_on_a_full_disk(void)
{
    const struct rlimit small = {20, 20};
    /* The log line of the failure is discarded. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || !freopen("/dev/null", "w", stderr) ||
        setrlimit(RLIMIT_FSIZE, &small) != 0)
        return 99;
    start(1, 1, "{\"delay\":5}");
    start(2, 1, "{}");
    diary[0] = 0;
    test_jig_pump(jig, 0);
    const bool first =
        strcmp(diary, "begun 1.1;failed 2.1 the journal of the test jig could not be "
                      "written;") == 0;
    diary[0] = 0;
    test_jig_pump(jig, 5);
    return first && strcmp(diary, "ok 1.1;") == 0 ? 0 : 1;
}

TEST(a_start_that_cannot_be_noted_does_not_happen)
{
    int status;
    begin();
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(work_on_a_full_disk());
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(journal_is("start 1 1 101\n"));
    end();
}
