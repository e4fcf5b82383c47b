#include "sys/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static void look_at_memory(struct sys_process *p)
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

/* Without ".", ".." and the one that is open for looking. */
static uint64_t count_fds(void)
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

static uint64_t us_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

struct sys_process sys_process_look(void)
{
    struct sys_process p = {.fds = count_fds()};
    struct rusage used;
    struct rlimit limit;
    look_at_memory(&p);
    if (getrusage(RUSAGE_SELF, &used) == 0)
        p.cpu_us = us_of(used.ru_utime) + us_of(used.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        p.fds_max = limit.rlim_cur;
    return p;
}
