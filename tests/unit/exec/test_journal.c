/* Goal: a started run is removed only on request, whatever happens to the writer or the file; if
 * the file may be incomplete, the journal reports that. Method: a directory of our own; reopening
 * is restarting. The file is cut and changed at every byte, the disk is full (by a limit on the
 * size of files) and truncation fails too (by an ftruncate of our own), writers are killed. */
#include "base/prng.h"
#include "run/exec/journal.h"
#include "run/exec/state_dir.h"
#include "sys/log.h"
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOOT_1 "11111111-1111-1111-1111-111111111111"
#define BOOT_2 "22222222-2222-2222-2222-222222222222"

enum { HEAD_SIZE = 89 };

static char folder[64];
static char path[96];
static int place;
static struct exec_journal *journal;

static void open_in(const char *boot)
{
    CHECK(exec_journal_open(place, boot, &journal) == OK);
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-journal-XXXXXX");
    CHECK(mkdtemp(folder));
    CHECK(state_dir_open(folder, &place) == OK);
    snprintf(path, sizeof path, "%s/exec/journal", folder);
    open_in(BOOT_1);
}

static void reopen_in(const char *boot)
{
    exec_journal_close(journal);
    open_in(boot);
}

static void end(void)
{
    char command[96];
    exec_journal_close(journal);
    CHECK(close(place) == 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

static bool finish(int64_t run_id, uint32_t code)
{
    const struct exec_ended ended = {.run_id = run_id,
                                     .attempt = 1,
                                     .how = EXEC_EXITED,
                                     .code = code,
                                     .reason = STR("because"),
                                     .log_size = 12};
    return exec_journal_end(journal, &ended);
}

static const struct exec_entry *find(int64_t run_id)
{
    return exec_journal_find(journal, run_id, 1);
}

static int64_t size_of_file(void)
{
    struct stat facts;
    CHECK(stat(path, &facts) == 0);
    return facts.st_size;
}

static char *read_file(int64_t *out_size)
{
    *out_size = size_of_file();
    char *bytes = malloc((size_t)*out_size + 1);
    FILE *file = fopen(path, "rb");
    CHECK(bytes && file && fread(bytes, 1, (size_t)*out_size, file) == (size_t)*out_size);
    CHECK(fclose(file) == 0);
    return bytes;
}

static void write_file(const char *bytes, int64_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, (size_t)size, file) == (size_t)size && fclose(file) == 0);
}

TEST(what_was_noted_is_there_after_a_restart)
{
    begin();
    CHECK(exec_journal_is_of_this_boot(journal) && !find(1));
    CHECK(exec_journal_begin(journal, 1, 1) == OK && exec_journal_begin(journal, 1, 2) == OK);
    CHECK(exec_journal_begin(journal, 2, 1) == OK && exec_journal_begin(journal, 3, 1) == OK);
    CHECK(finish(2, 7) && finish(3, 0) && exec_journal_forget(journal, 3, 1));
    exec_journal_set_pid(journal, 1, 1, 4711);
    CHECK(find(1)->begun.pid == 4711 && !find(1)->is_ended);
    char token[EXEC_TOKEN_SIZE];
    memcpy(token, exec_journal_token(journal), sizeof token);

    reopen_in(BOOT_1);

    CHECK(exec_journal_is_of_this_boot(journal));
    CHECK(strcmp(token, exec_journal_token(journal)) == 0 && strlen(token) == 16);
    CHECK(exec_journal_died(journal) == 2);
    CHECK(find(1)->is_ended && find(1)->ended.how == EXEC_DIED_WITH_SUPERVISOR);
    CHECK(find(1)->ended.reason.len > 0 && find(1)->begun.pid == 0);
    CHECK(exec_journal_find(journal, 1, 2)->ended.how == EXEC_DIED_WITH_SUPERVISOR);
    CHECK(find(2)->ended.how == EXEC_EXITED && find(2)->ended.code == 7);
    CHECK(str_eq(find(2)->ended.reason, STR("because")) && find(2)->ended.log_size == 12);
    CHECK(!find(3));

    reopen_in(BOOT_1);
    CHECK(exec_journal_died(journal) == 0); /* counted once, and stored */
    CHECK(find(1)->ended.how == EXEC_DIED_WITH_SUPERVISOR);
    end();
}

TEST(the_first_end_counts_and_only_what_ended_is_forgotten)
{
    begin();
    CHECK(!finish(1, 0));
    CHECK(exec_journal_begin(journal, 1, 1) == OK);
    CHECK(!exec_journal_forget(journal, 1, 1) && find(1));
    CHECK(finish(1, 4) && !finish(1, 5) && find(1)->ended.code == 4);
    CHECK(!exec_journal_forget(journal, 2, 1));
    CHECK(exec_journal_forget(journal, 1, 1) && !exec_journal_forget(journal, 1, 1));
    end();
}

TEST(the_highest_epoch_is_kept)
{
    begin();
    CHECK(exec_journal_epoch(journal) == 0);
    CHECK(exec_journal_raise_epoch(journal, 7) == OK && exec_journal_raise_epoch(journal, 3) == OK);
    reopen_in(BOOT_1);
    CHECK(exec_journal_epoch(journal) == 7);
    CHECK(exec_journal_raise_epoch(journal, 8) == OK);
    reopen_in(BOOT_2);
    CHECK(exec_journal_epoch(journal) == 8);
    end();
}

TEST(after_a_reboot_the_journal_is_not_of_this_boot_until_reconciled)
{
    begin();
    CHECK(exec_journal_begin(journal, 1, 1) == OK && exec_journal_begin(journal, 2, 1) == OK);
    CHECK(finish(2, 9));
    reopen_in(BOOT_2);
    CHECK(!exec_journal_is_of_this_boot(journal));
    CHECK(find(1)->ended.how == EXEC_DIED_WITH_SUPERVISOR && find(2)->ended.code == 9);
    CHECK(exec_journal_begin(journal, 3, 1) == OK);
    reopen_in(BOOT_2); /* a restart within the new boot changes nothing */
    CHECK(!exec_journal_is_of_this_boot(journal) && find(3));
    CHECK(exec_journal_set_boot(journal) == OK && exec_journal_is_of_this_boot(journal));
    reopen_in(BOOT_2);
    CHECK(exec_journal_is_of_this_boot(journal));
    CHECK(find(1) && find(2)->ended.code == 9 && find(3));
    reopen_in(BOOT_1);
    CHECK(!exec_journal_is_of_this_boot(journal));
    end();
}

/* Three runs: begun; begun and ended; begun, ended and forgotten. */
static char *small_file(int64_t *out_size)
{
    begin();
    for (int64_t run = 1; run <= 3; run++)
        CHECK(exec_journal_begin(journal, run, 1) == OK);
    CHECK(finish(2, 3) && finish(3, 3) && exec_journal_forget(journal, 3, 1));
    exec_journal_close(journal);
    return read_file(out_size);
}

TEST(a_file_cut_at_any_byte_loses_only_its_tail)
{
    int64_t size;
    char *bytes = small_file(&size);
    int known_before = 0;
    for (int64_t len = HEAD_SIZE; len <= size; len++) {
        write_file(bytes, len);
        open_in(BOOT_1);
        CHECK(exec_journal_is_of_this_boot(journal));
        /* Runs come one by one, and none without those before it. */
        const int known = (find(1) != NULL) + (find(2) != NULL);
        CHECK(find(1) || !find(2));
        CHECK(known >= known_before);
        known_before = known;
        /* What is appended after the cut can be read again. */
        CHECK(exec_journal_begin(journal, 100, 1) == OK);
        reopen_in(BOOT_1);
        CHECK(find(100) && (find(1) != NULL) + (find(2) != NULL) == known);
        exec_journal_close(journal);
    }
    CHECK(known_before == 2);
    open_in(BOOT_1);
    free(bytes);
    end();
}

TEST(a_file_without_its_head_is_set_aside_and_unknown_runs_may_have_started)
{
    int64_t size;
    char *bytes = small_file(&size);
    char bad[128];
    snprintf(bad, sizeof bad, "%s.bad", path);
    log_setup(LOG_ERROR, LOG_TEXT);
    for (int64_t len = 0; len < HEAD_SIZE; len += 11) {
        write_file(bytes, len);
        open_in(BOOT_1);
        CHECK(!exec_journal_is_of_this_boot(journal) && access(bad, F_OK) == 0);
        CHECK(exec_journal_begin(journal, 5, 1) == OK);
        reopen_in(BOOT_1);
        CHECK(!exec_journal_is_of_this_boot(journal) && find(5));
        exec_journal_close(journal);
    }
    open_in(BOOT_1);
    free(bytes);
    end();
}

TEST(a_changed_byte_is_noticed)
{
    int64_t size;
    char *small = small_file(&size);
    free(small);
    open_in(BOOT_1);
    for (int64_t run = 10; run < 60; run++)
        CHECK(exec_journal_begin(journal, run, 1) == OK && finish(run, 1));
    exec_journal_close(journal);
    char *bytes = read_file(&size);
    for (int64_t at = HEAD_SIZE; at < size - 1100; at += 3) {
        bytes[at] = (char)(bytes[at] ^ 0x41);
        write_file(bytes, size);
        open_in(BOOT_1);
        CHECK(!exec_journal_is_of_this_boot(journal));
        exec_journal_close(journal);
        bytes[at] = (char)(bytes[at] ^ 0x41);
    }
    open_in(BOOT_1);
    free(bytes);
    end();
}

TEST(what_is_forgotten_does_not_fill_the_disk)
{
    begin();
    CHECK(exec_journal_raise_epoch(journal, 5) == OK && exec_journal_begin(journal, 1, 1) == OK);
    for (int64_t run = 2; run < 40000; run++) {
        CHECK(exec_journal_begin(journal, run, 1) == OK && finish(run, 0));
        if (run % 1000)
            CHECK(exec_journal_forget(journal, run, 1));
    }
    CHECK(size_of_file() < 2 << 20);
    CHECK(!find(1)->is_ended && find(3000)->ended.how == EXEC_EXITED && !find(3001));
    reopen_in(BOOT_1);
    CHECK(exec_journal_is_of_this_boot(journal) && exec_journal_epoch(journal) == 5);
    CHECK(find(1) && !find(2) && find(39000) && exec_journal_died(journal) == 1);
    end();
}

TEST(there_is_a_last_entry)
{
    begin();
    for (int64_t run = 1; run <= EXEC_ENTRIES_MAX; run++)
        CHECK(exec_journal_begin(journal, run, 1) == OK);
    CHECK(exec_journal_begin(journal, EXEC_ENTRIES_MAX + 1, 1) == ERR_LIMIT);
    CHECK(finish(1, 0) && exec_journal_forget(journal, 1, 1));
    CHECK(exec_journal_begin(journal, EXEC_ENTRIES_MAX + 1, 1) == OK);
    end();
}

static void allow_size(int64_t size)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = size < 0 ? limit.rlim_max : (rlim_t)size;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(on_a_full_disk_nothing_begins_and_ends_are_kept)
{
    signal(SIGXFSZ, SIG_IGN);
    begin();
    CHECK(exec_journal_begin(journal, 1, 1) == OK && exec_journal_begin(journal, 2, 1) == OK);
    const int64_t size = size_of_file();
    for (int64_t room = 0; room < 12; room += 3) {
        allow_size(size + room);
        CHECK(exec_journal_begin(journal, 9, 1) != OK && !find(9));
        CHECK(size_of_file() == size); /* no half record */
        CHECK(exec_journal_raise_epoch(journal, 4 + room) != OK &&
              exec_journal_epoch(journal) == 0);
    }
    CHECK(finish(1, 6) && find(1)->ended.code == 6 && !exec_journal_is_saved(journal));
    CHECK(!exec_journal_save(journal));
    CHECK(finish(2, 7) && exec_journal_forget(journal, 2, 1));
    allow_size(-1);
    CHECK(exec_journal_save(journal) && exec_journal_is_saved(journal));
    CHECK(exec_journal_begin(journal, 9, 1) == OK && exec_journal_raise_epoch(journal, 4) == OK);
    reopen_in(BOOT_1);
    CHECK(find(1)->ended.code == 6 && find(9) && exec_journal_epoch(journal) == 4);
    /* Neither the removal nor the end could be written: the run is reported as died with its
     * supervisor. */
    CHECK(find(2)->ended.how == EXEC_DIED_WITH_SUPERVISOR);
    end();
}

static bool truncation_fails;

/* Replaces the function of libc: no file system fails on request. */
int ftruncate(int fd, off_t size)
{
    if (!truncation_fails)
        return (int)syscall(SYS_ftruncate, fd, size);
    errno = EIO;
    return -1;
}

static void break_it(void)
{
    const int64_t size = size_of_file();
    signal(SIGXFSZ, SIG_IGN);
    allow_size(size + 5);
    truncation_fails = true;
    CHECK(exec_journal_begin(journal, 99, 1) != OK && !find(99));
    truncation_fails = false;
    CHECK(size_of_file() == size + 5); /* half a record */
}

TEST(half_a_record_that_cannot_be_cut_off_is_repaired_by_the_next_begin)
{
    begin();
    CHECK(exec_journal_begin(journal, 1, 1) == OK && exec_journal_begin(journal, 2, 1) == OK);
    CHECK(finish(1, 6));
    break_it();
    allow_size(10);
    CHECK(exec_journal_begin(journal, 3, 1) != OK && errno == EFBIG && !find(3));
    CHECK(exec_journal_raise_epoch(journal, 4) != OK && exec_journal_epoch(journal) == 0);
    allow_size(-1);
    CHECK(exec_journal_raise_epoch(journal, 4) == OK);
    CHECK(exec_journal_begin(journal, 3, 1) == OK && finish(2, 7));
    CHECK(exec_journal_is_saved(journal) && exec_journal_is_of_this_boot(journal));
    reopen_in(BOOT_1);
    CHECK(find(1)->ended.code == 6 && find(2)->ended.code == 7 && !find(99));
    CHECK(find(3)->ended.how == EXEC_DIED_WITH_SUPERVISOR && exec_journal_epoch(journal) == 4);
    break_it();
    allow_size(-1);
    CHECK(exec_journal_begin(journal, 4, 1) == OK && finish(4, 8));
    reopen_in(BOOT_1);
    CHECK(find(4)->ended.code == 8);
    end();
}

TEST(half_a_record_that_cannot_be_cut_off_is_repaired_with_the_ends)
{
    begin();
    CHECK(exec_journal_begin(journal, 1, 1) == OK && exec_journal_begin(journal, 2, 1) == OK);
    CHECK(exec_journal_begin(journal, 3, 1) == OK);
    break_it();
    allow_size(10);
    CHECK(finish(1, 6) && finish(2, 7) && !exec_journal_is_saved(journal));
    CHECK(!exec_journal_save(journal) && !exec_journal_is_saved(journal));
    CHECK(exec_journal_forget(journal, 2, 1));
    allow_size(-1);
    CHECK(!exec_journal_is_saved(journal));
    CHECK(exec_journal_save(journal) && exec_journal_is_saved(journal));
    CHECK(finish(3, 8) && exec_journal_is_saved(journal));
    reopen_in(BOOT_1);
    CHECK(find(1)->ended.code == 6 && find(3)->ended.code == 8);
    CHECK(!find(2) && !find(99));
    end();
}

TEST(a_directory_or_a_link_is_no_journal)
{
    begin();
    exec_journal_close(journal);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(exec_journal_open(place, BOOT_1, &journal) != OK);
    CHECK(rmdir(path) == 0 && symlink("/dev/null", path) == 0);
    CHECK(exec_journal_open(place, BOOT_1, &journal) != OK);
    CHECK(unlink(path) == 0);
    open_in(BOOT_1);
    end();
}

TEST(a_place_that_others_may_enter_is_refused)
{
    char command[96];
    int fd;
    snprintf(folder, sizeof folder, "/tmp/halligan-journal-XXXXXX");
    CHECK(mkdtemp(folder) && state_dir_open(folder, &fd) == OK && close(fd) == 0);
    snprintf(path, sizeof path, "%s/exec", folder);
    CHECK(chmod(path, 0755) == 0 && state_dir_open(folder, &fd) == ERR_REFUSED);
    CHECK(chmod(path, 0700) == 0 && state_dir_open(folder, &fd) == OK && close(fd) == 0);
    CHECK(state_dir_open("/nowhere/at/all", &fd) == ERR_NOT_FOUND);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

TEST(the_boot_id_is_the_kernels)
{
    char once[EXEC_BOOT_ID_SIZE], again[EXEC_BOOT_ID_SIZE];
    CHECK(exec_boot_id(once) == OK && exec_boot_id(again) == OK);
    CHECK(strlen(once) == 36 && strcmp(once, again) == 0);
}

/* Begins and ends runs without pause, and reports each on the pipe after it was recorded. */
static void write_until_killed(int fd, int64_t first)
{
    for (int64_t run = first;; run++) {
        if (exec_journal_begin(journal, run, 1) != OK || write(fd, &run, sizeof run) < 0)
            _exit(1);
        const int64_t ended = -run;
        if (!finish(run, 2) || write(fd, &ended, sizeof ended) < 0)
            _exit(1);
        if (run % 3 == 0)
            ignore(exec_journal_forget(journal, run, 1), "it has ended");
    }
}

TEST(every_record_reported_by_a_killed_writer_is_in_the_file)
{
    struct prng random;
    int64_t next = 1;
    prng_init(&random, 11);
    begin();
    for (int round = 0; round < 40; round++) {
        int ends[2];
        int64_t heard, last = next - 1, last_ended = 0, count = 0;
        const int64_t stop_after = (int64_t)(prng_next(&random) % 200);
        exec_journal_close(journal);
        CHECK(pipe(ends) == 0);
        const pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            open_in(BOOT_1);
            write_until_killed(ends[1], next);
        }
        CHECK(close(ends[1]) == 0);
        while (read(ends[0], &heard, sizeof heard) == (ssize_t)sizeof heard) {
            if (heard > 0)
                last = heard;
            else
                last_ended = -heard;
            if (count++ == stop_after)
                CHECK(kill(pid, SIGKILL) == 0);
        }
        CHECK(close(ends[0]) == 0 && waitpid(pid, NULL, 0) == pid);
        open_in(BOOT_1);
        CHECK(exec_journal_is_of_this_boot(journal));
        for (int64_t run = next; run <= last; run++) {
            CHECK(find(run) || run % 3 == 0);
            if (find(run) && run <= last_ended)
                CHECK(find(run)->ended.how == EXEC_EXITED && find(run)->ended.code == 2);
        }
        next = last + 10;
    }
    end();
}
