/* The suite, against SQLite: each store a file in a folder of its own. */
#include "tests/store/real.h"

const struct store_maker suite_maker = {
    .name = "sqlite",
    .make = real_make_file,
    .destroy = real_destroy_file,
    .open = real_open,
    .close = real_close,
    .wait = real_wait,
    .trouble = real_trouble,
    .die = real_die,
    .intervals = real_intervals,
    .runs = real_runs,
};
