/* process.h - resource usage of this process, as the kernel reports it. */
#pragma once

#include <stdint.h>

struct sys_process {
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t cpu_us; /* of all threads, in user and system mode */
    uint64_t fds;    /* open descriptors                        */
    uint64_t fds_max;
};

/* A value that cannot be read is 0. */
struct sys_process sys_process_look(void);
