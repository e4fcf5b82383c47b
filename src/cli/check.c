#include "cli/check.h"

#include "cli/beside.h"
#include "hooks/code_finder.h"
#include "cli/rehearsal.h"

/* What is wrong with them is their owner's business. */
static void import_silently(struct rehearsal *r, struct arena *a, const char *directories)
{
    struct report unheard = report_begin(a);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_seam(&code);
    const struct content_tree tree = content_read_tree(&unheard, directories, &finder);
    rehearsal_import(r, &tree, NULL);
}

struct check check_barclamps(struct arena *a, const char *directories, const char *with)
{
    struct check check = {.report = report_begin(a)};
    struct rehearsal rehearsal;
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_seam(&code);
    rehearsal_init(&rehearsal);
    if (with)
        import_silently(&rehearsal, a, with);
    const struct content_tree tree = content_read_tree(&check.report, directories, &finder);
    check.is_empty = tree.count == 0 && check.report.errors == 0;
    beside_check_owners(&check.report, &tree);
    const struct rehearsal_count in = rehearsal_import(&rehearsal, &tree, &check.report);
    const struct beside beside = {&rehearsal, &code, &check.report};
    beside_check_roles(&beside, &tree);
    rehearsal_fini(&rehearsal);
    report_sort(&check.report);
    check.barclamps = in.barclamps;
    check.roles = in.roles;
    return check;
}
