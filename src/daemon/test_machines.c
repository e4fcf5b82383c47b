/* test_machines.c - discovery data for simulated machines: a file of the barclamp "test", or a
 * built-in document, with a random MAC address. Nothing is stored. The file comes first, so that a
 * barclamp can replace the built-in document; if it cannot be read, its error is returned unless
 * there is a built-in document of that name. */
#include "daemon/test_machines.h"

#include <stdint.h>

#include "base/text/buf.h"
#include "core/core.h"
#include "sys/clock.h"
#include "sys/files.h"

enum { FILE_SIZE_MAX = 1 << 20 };

/* A random MAC address with the bit for locally administered addresses set (first byte 02), so that
 * it cannot collide with that of a manufacturer. */
static struct str test_machine_random_mac(struct arena *a)
{
    const uint64_t random = sys_random64();
    struct buf b = buf_in(a);
    buf_put_z(&b, "02");
    for (uint32_t i = 0; i < 5; i++) {
        const uint8_t byte = (uint8_t)(random >> 8 * i);
        buf_put_c(&b, ':');
        buf_put_hex(&b, &byte, 1);
    }
    return buf_str(&b);
}

static struct str test_machine_replace_mac(struct arena *a, struct str text, struct str address)
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

/* The document for "node_discovery" if no barclamp has that file: a small machine. */
static struct str test_machine_built_in(struct str source)
{
    if (!str_eq(source, STR("node_discovery")))
        return STR("");
    return STR("{\"ohai\":{\"kernel\":{\"machine\":\"x86_64\",\"os\":\"GNU/Linux\"},"
               "\"cpu\":{\"total\":2},\"memory\":{\"total\":\"4096000kB\"},"
               "\"network\":{\"interfaces\":{\"eth0\":{\"addresses\":{\"00:00:00:00:00:00\":"
               "{\"family\":\"lladdr\"}}}}}}}");
}

/* The file of the barclamp "test", if that is imported and has it. */
static err test_machine_read_file(const struct core *core, struct str source, struct arena *a,
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
    err e = test_machine_read_file(core, source, a, &text);
    if (e != OK && test_machine_built_in(source).len) {
        text = test_machine_built_in(source);
        e = OK;
    }
    if (e == OK)
        *out_text = test_machine_replace_mac(a, text, test_machine_random_mac(a));
    return e;
}
