#include "daemon/test_machines.h"

#include <stdint.h>

#include "base/text/buf.h"
#include "core/core.h"
#include "sys/clock.h"
#include "sys/files.h"

enum { FILE_SIZE_MAX = 1 << 20 };

/* One that nobody makes: the second bit of the first byte says that it was made up. */
static struct str any_address(struct arena *a)
{
    const uint64_t chance = sys_random64();
    struct buf b = buf_in(a);
    buf_put_z(&b, "02");
    for (uint32_t i = 0; i < 5; i++) {
        const uint8_t byte = (uint8_t)(chance >> 8 * i);
        buf_put_c(&b, ':');
        buf_put_hex(&b, &byte, 1);
    }
    return buf_str(&b);
}

static struct str with_address(struct arena *a, struct str text, struct str address)
{
    const struct str place = STR("00:00:00:00:00:00");
    struct buf b = buf_in(a);
    for (uint32_t at = 0; at < text.len;) {
        const bool is_it = str_starts(str_slice(text, at, text.len), place);
        buf_put_str(&b, is_it ? address : str_slice(text, at, at + 1));
        at += is_it ? place.len : 1;
    }
    return buf_str(&b);
}

/* What is discovered where no barclamp has a file of this name: a small machine. */
static struct str built_in(struct str source)
{
    if (!str_eq(source, STR("node_discovery")))
        return STR("");
    return STR("{\"ohai\":{\"kernel\":{\"machine\":\"x86_64\",\"os\":\"GNU/Linux\"},"
               "\"cpu\":{\"total\":2},\"memory\":{\"total\":\"4096000kB\"},"
               "\"network\":{\"interfaces\":{\"eth0\":{\"addresses\":{\"00:00:00:00:00:00\":"
               "{\"family\":\"lladdr\"}}}}}}}");
}

/* From the test barclamp's own files, where it is imported and has that one. */
static err read_file(const struct core *core, struct str source, struct arena *a,
                     struct str *out_text)
{
    struct record record;
    const int64_t id = core_find(core, TABLE_BARCLAMP, STR("test"));
    if (!id || !core_record(core, TABLE_BARCLAMP, id, &record))
        return ERR_NOT_FOUND;
    const struct str folder = STR_CONCAT(a, record.barclamp.source_path, STR("/discovery/"));
    return file_read(a, str_z(a, STR_CONCAT(a, folder, source, STR(".json"))), FILE_SIZE_MAX,
                     out_text);
}

err test_machine_discovery(const struct core *core, struct str source, struct arena *a,
                           struct str *out_text)
{
    struct str text;
    err e = read_file(core, source, a, &text);
    if (e != OK && built_in(source).len) {
        text = built_in(source);
        e = OK;
    }
    if (e == OK)
        *out_text = with_address(a, text, any_address(a));
    return e;
}
