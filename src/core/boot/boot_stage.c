#include "core/boot/boot_service.h"

#include "base/json/json.h"

/* The member `boot` of staged data (docs/spec/boot.md, "Served"): the machines that the run of a
 * role publishes, or, for a role that announces to boot its machine, whether that is served.
 *
 * It is of the moment of the start, also if the rest was staged earlier: a run that was enqueued
 * before a change publishes the change too. The file owns nothing and changes no row. Failure:
 * there is none; data that are too large are refused by the caller. */

static bool boot_stage_is_announced(const struct core *c, noderole_ix nr, struct arena *a)
{
    const doc_h announces = role_at(c, noderole_at(c, nr)->role)->announces;
    const struct json *steps = doc_tree(a, announces ? text_of(c, announces) : STR("[]"));
    for (const struct json *step = steps->first; step; step = step->next)
        if (str_eq(step->text, STR("boot")))
            return true;
    return false;
}

static struct json *boot_stage_machine(const struct core *c, node_ix n, struct arena *a)
{
    const struct node *node = node_at(c, n);
    const struct boot_late late = boot_service_late(c, n, false);
    struct json *boot = json_make(a, JSON_OBJECT);
    json_set(boot, STR("bootenv"), json_make_string(a, text_of(c, node->bootenv)));
    json_set(boot, STR("failed"), json_make_bool(a, late.failed.v != 0));
    json_set(boot, STR("generation"), json_make_i64(a, node->boot_generation));
    json_set(boot, STR("problem"), json_make_string(a, boot_service_problem(c, n, late, a)));
    json_set(boot, STR("served"), json_make_bool(a, !late.first.v));
    json_set(boot, STR("wait_s"), json_make_i64(a, core_settings(c)->barrier_s));
    return boot;
}

struct str boot_stage_run(const struct core *c, noderole_ix nr, struct str staged, struct arena *a,
                          struct boot_portion *out_part)
{
    struct json *boot = NULL;
    if (boot_service_is_published(c, nr)) {
        *out_part = boot_due_stage(c, nr, a);
        boot = out_part->tree;
    } else if (boot_stage_is_announced(c, nr, a)) {
        boot = boot_stage_machine(c, noderole_at(c, nr)->node, a);
    }
    if (!boot)
        return staged;
    struct json *tree = doc_tree(a, staged);
    json_set(tree, STR("boot"), boot);
    return json_write(a, tree);
}
