#include "cli/output/explain_machines.h"

#include "cli/output/term_escape.h"

/* Lines of `plan --detail` about machines. Stateless; a member that is missing in the reply, for
 * example one of an older daemon, is left out. */

static void explain_machines_put_text(struct buf *b, const struct json *entry, const char *key,
                                      const char *before)
{
    const struct json *value = json_get(entry, str_from(key));
    buf_put_z(b, before);
    if (value && value->kind == JSON_STRING)
        term_put_escaped(b, value->text);
}

/* "address      n1.example.com: 192.168.124.81/24 in admin"; an address whose noderole is removed
 * is marked, because it stays allocated. */
static void explain_machines_put_addresses(struct buf *b, const struct json *plan)
{
    const struct json *list = json_get(plan, STR("addresses"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        const struct json *how = json_get(entry, STR("how"));
        explain_machines_put_text(b, entry, "node_name", "address      ");
        explain_machines_put_text(b, entry, "address", ": ");
        explain_machines_put_text(b, entry, "network_name", " in ");
        buf_put_z(b, how && str_eq(how->text, STR("keep")) ? ", stays allocated\n" : "\n");
    }
}

/* "power        n1.example.com: on, boots sledgehammer" */
static void explain_machines_put_power(struct buf *b, const struct json *plan)
{
    const struct json *list = json_get(plan, STR("power"));
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        explain_machines_put_text(b, entry, "node_name", "power        ");
        explain_machines_put_text(b, entry, "action", ": ");
        explain_machines_put_text(b, entry, "bootenv", ", boots ");
        buf_put_c(b, '\n');
    }
}

void explain_machines_put(struct buf *b, const struct json *plan)
{
    explain_machines_put_addresses(b, plan);
    explain_machines_put_power(b, plan);
}
