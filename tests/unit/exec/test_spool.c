/* Goal: of a result the first bytes are kept, of a log the last, and a reader never sees a byte at
 * another place than where it was written.
 * Method: byte N of everything written is a function of N, so any piece can be checked by its
 * offset alone; against a model in memory, with writers in another process, and on a disk that is
 * full (by a limit on the size of files). */
#include "base/prng.h"
#include "run/exec/spool.h"
#include "run/exec/state_dir.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE_MAX = 64 << 10 };

static char folder[64];
static int place;
static struct spool spool;
static char piece[PIECE_MAX], seen[1 << 20];

static char byte_at(int64_t offset)
{
    return (char)((uint64_t)offset * 0x9e3779b97f4a7c15u >> 56);
}

static struct str bytes_from(int64_t offset, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        piece[i] = byte_at(offset + i);
    return (struct str){piece, len};
}

static bool is_as_written(const struct spool_slice *slice)
{
    for (uint32_t i = 0; i < slice->size; i++)
        if (slice->at[i] != byte_at(slice->offset + i))
            return false;
    return true;
}

static void begin(int64_t out_max, int64_t log_max)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-spool-XXXXXX");
    CHECK(mkdtemp(folder) && state_dir_open(folder, &place) == OK);
    spool_init(&spool, place, 7, 2);
    spool_limit(&spool, out_max, log_max);
}

static void end(void)
{
    char command[96];
    spool_fini(&spool);
    CHECK(close(place) == 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

static bool is_there(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/exec/spool/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* A writer process that is killed if a CHECK fails. */
static pid_t fork_writer(void)
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
    return pid;
}

static struct spool_slice look(int64_t offset, uint32_t size)
{
    return (struct spool_slice){.offset = offset, .at = seen, .size = size};
}

TEST(a_run_that_writes_nothing_leaves_nothing)
{
    begin(100, 100);
    struct spool_slice slice = look(5, 10);
    CHECK(!is_there("7-2.out") && !is_there("7-2.log"));
    CHECK(spool_read_log(place, 7, 2, &slice) == OK);
    CHECK(slice.size == 0 && slice.offset == 0 && slice.total == 0);
    slice = look(5, 10);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK && slice.size == 0);
    CHECK(spool_log_size(&spool) == 0 && spool_log_dropped(&spool) == 0);
    end();
}

TEST(of_a_result_the_first_bytes_are_kept)
{
    begin(100, 0);
    int64_t at = 0;
    for (uint32_t len = 1; len < 40; at += len++)
        spool_put_out(&spool, bytes_from(at, len));
    CHECK(spool.out.size == 100 && spool.out.dropped == at - 100 && spool.first_errno == 0);
    struct spool_slice slice = look(0, 1000);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK);
    CHECK(slice.size == 100 && slice.total == 100 && is_as_written(&slice));
    slice = look(90, 5);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK && slice.size == 5 && is_as_written(&slice));
    slice = look(-10, 100);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK && slice.offset == 90 && slice.size == 10);
    slice = look(500, 100);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK && slice.offset == 100 && slice.size == 0);
    end();
}

TEST(with_a_capacity_of_zero_everything_is_dropped_and_counted)
{
    begin(0, 0);
    spool_put_out(&spool, bytes_from(0, 30));
    spool_put_log(&spool, bytes_from(0, 40));
    CHECK(spool.out.dropped == 30 && spool.out.size == 0 && spool_log_dropped(&spool) == 40);
    CHECK(spool_log_size(&spool) == 0 && !is_there("7-2.out") && !is_there("7-2.log"));
    end();
}

/* For every capacity and size of pieces the last bytes are kept. */
static void fill(int64_t room, struct prng *random, uint32_t piece_max)
{
    begin(0, room);
    int64_t total = 0;
    for (int i = 0; i < 60; i++) {
        const uint32_t len = (uint32_t)(prng_next(random) % piece_max) + 1;
        spool_put_log(&spool, bytes_from(total, len));
        total += len;
        const int64_t kept = total < room ? total : room;
        CHECK(spool_log_size(&spool) == kept && spool_log_dropped(&spool) == total - kept);
        struct spool_slice slice = look(0, sizeof seen);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK);
        CHECK(slice.total == total && slice.offset == total - kept && slice.size == kept);
        CHECK(is_as_written(&slice));
        const int64_t from = (int64_t)(prng_next(random) % (uint64_t)(total + 10));
        slice = look(from, 50);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK && is_as_written(&slice));
        CHECK(slice.offset == (from > total ? total : from < total - kept ? total - kept : from));
        slice = look(-20, 50);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK && is_as_written(&slice));
        CHECK(slice.offset + slice.size == total && slice.size == (kept < 20 ? kept : 20));
    }
    end();
}

TEST(of_a_log_the_last_bytes_are_kept)
{
    static const int64_t rooms[] = {1, 7, 100, 4096, 5000, 100000};
    struct prng random;
    prng_init(&random, 3);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        fill(rooms[i], &random, 10);
        fill(rooms[i], &random, 3000);
        fill(rooms[i], &random, PIECE_MAX);
    }
}

TEST(a_reader_beside_the_writer_sees_only_what_was_written)
{
    begin(0, 20000);
    const pid_t pid = fork_writer();
    if (pid == 0) {
        struct prng random;
        prng_init(&random, 17);
        for (int64_t total = 0; total < 60 << 20;) {
            const uint32_t len = (uint32_t)(prng_next(&random) % 9000) + 1;
            spool_put_log(&spool, bytes_from(total, len));
            total += len;
        }
        _exit(0);
    }
    int64_t at = 0, looks = 0;
    int status;
    do {
        struct spool_slice slice = look(at, 8192);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK);
        CHECK(slice.offset >= at && is_as_written(&slice));
        at = slice.offset + slice.size;
        looks += slice.size > 0;
        slice = look(-100, 100);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK && is_as_written(&slice));
    } while (waitpid(pid, &status, WNOHANG) == 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && looks > 0);
    end();
}

TEST(a_writer_killed_in_the_middle_leaves_nothing_false)
{
    struct prng random;
    prng_init(&random, 23);
    for (int round = 0; round < 30; round++) {
        begin(0, 3000);
        const pid_t pid = fork_writer();
        if (pid == 0)
            for (int64_t total = 0;; total += 2500)
                spool_put_log(&spool, bytes_from(total, 2500));
        struct spool_slice slice;
        do {
            slice = look(0, 1);
            CHECK(spool_read_log(place, 7, 2, &slice) == OK);
        } while (slice.total < 10000 + (int64_t)(prng_next(&random) % 200000));
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
        slice = look(0, 4000);
        CHECK(spool_read_log(place, 7, 2, &slice) == OK && is_as_written(&slice));
        end();
    }
}

/* ---- a disk that is full ---- */

static void allow_size(int64_t size)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = size < 0 ? limit.rlim_max : (rlim_t)size;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(a_full_disk_costs_the_end_of_a_result)
{
    begin(100000, 0);
    allow_size(5000);
    int64_t at = 0;
    for (; at < 9000; at += 300)
        spool_put_out(&spool, bytes_from(at, 300));
    allow_size(-1);
    CHECK(spool.first_errno != 0 && spool.out.size == 4800 && spool.out.dropped == at - 4800);
    /* Space that becomes free later leaves no gap in the file. */
    spool_put_out(&spool, bytes_from(at, 100));
    CHECK(spool.out.size == 4800 && spool.out.dropped == at - 4800 + 100);
    struct spool_slice slice = look(0, 20000);
    CHECK(spool_read_out(place, 7, 2, &slice) == OK && slice.size == 4800 && is_as_written(&slice));
    end();
}

TEST(a_full_disk_makes_the_ring_of_a_log_smaller)
{
    begin(0, 100000);
    allow_size(30000);
    int64_t at = 0;
    for (; at < 200000; at += 700)
        spool_put_log(&spool, bytes_from(at, 700));
    allow_size(-1);
    CHECK(spool.first_errno != 0);
    const int64_t kept = spool_log_size(&spool);
    CHECK(kept > 20000 && kept < 30000 && spool_log_dropped(&spool) == at - kept);
    struct spool_slice slice = look(0, 100000);
    CHECK(spool_read_log(place, 7, 2, &slice) == OK);
    CHECK(slice.size == kept && slice.total == at && is_as_written(&slice));
    end();
}

TEST(with_hardly_any_disk_the_log_is_lost_and_counted)
{
    begin(0, 100000);
    allow_size(2000);
    for (int64_t at = 0; at < 20000; at += 1000)
        spool_put_log(&spool, bytes_from(at, 1000));
    allow_size(-1);
    CHECK(spool.first_errno != 0);
    CHECK(spool_log_size(&spool) + spool_log_dropped(&spool) == 20000);
    struct spool_slice slice = look(0, 100000);
    CHECK(spool_read_log(place, 7, 2, &slice) == OK && slice.size == spool_log_size(&spool));
    CHECK(is_as_written(&slice));
    end();
}

/* ---- cleaning ---- */

static bool wants_eight(void *self, int64_t run_id, uint32_t attempt)
{
    (void)self;
    return run_id == 8 && attempt == 1;
}

static void put_one(int64_t run_id, uint32_t attempt)
{
    struct spool other;
    spool_init(&other, place, run_id, attempt);
    spool_limit(&other, 10, 10);
    spool_put_out(&other, STR("out"));
    spool_put_log(&other, STR("log"));
    spool_fini(&other);
}

TEST(unwanted_files_are_removed)
{
    begin(10, 10);
    put_one(8, 1);
    put_one(8, 2);
    put_one(9, 1);
    CHECK(is_there("8-1.out") && is_there("9-1.log") && is_there("8-2.log"));
    spool_remove_unwanted(place, NULL, wants_eight);
    CHECK(is_there("8-1.out") && is_there("8-1.log"));
    CHECK(!is_there("9-1.log") && !is_there("9-1.out") && !is_there("8-2.log"));
    spool_remove(place, 8, 1);
    CHECK(!is_there("8-1.out") && !is_there("8-1.log"));
    spool_remove(place, 8, 1); /* and again */
    end();
}

TEST(a_damaged_log_is_reported_as_corrupt)
{
    begin(10, 10);
    put_one(8, 1);
    char path[160];
    snprintf(path, sizeof path, "%s/exec/spool/8-1.log", folder);
    FILE *file = fopen(path, "r+b");
    CHECK(file && fwrite("nonsense", 1, 8, file) == 8 && fclose(file) == 0);
    struct spool_slice slice = look(0, 10);
    CHECK(spool_read_log(place, 8, 1, &slice) == ERR_CORRUPT);
    CHECK(truncate(path, 20) == 0);
    slice = look(0, 10);
    CHECK(spool_read_log(place, 8, 1, &slice) == OK && slice.size == 0);
    end();
}
