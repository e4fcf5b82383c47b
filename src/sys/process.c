/* process.c - reads /proc/self, getrusage(2) and getrlimit(2). Stateless; a value that cannot be
 * read is 0. */
#include "sys/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static void process_read_memory(struct sys_process *p)
{
    unsigned long long pages = 0, resident = 0;
    const long page_size = sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    if (fscanf(file, "%llu %llu", &pages, &resident) == 2 && page_size > 0) {
        p->virtual_bytes = pages * (uint64_t)page_size;
        p->resident_bytes = resident * (uint64_t)page_size;
    }
    fclose(file);
}

/* The number of entries without ".", ".." and the descriptor of the directory itself. */
static uint64_t process_count_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count > 3 ? count - 3 : 0;
}

static uint64_t timeval_us(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

struct sys_process sys_process_look(void)
{
    struct sys_process p = {.fds = process_count_fds()};
    struct rusage used;
    struct rlimit limit;
    process_read_memory(&p);
    if (getrusage(RUSAGE_SELF, &used) == 0)
        p.cpu_us = timeval_us(used.ru_utime) + timeval_us(used.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        p.fds_max = limit.rlim_cur;
    return p;
}
