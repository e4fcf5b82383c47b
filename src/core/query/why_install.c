#include "core/machine/grants.h"
#include "core/plan/commit_view.h"

/* The cause of `why` for a machine that is to be installed and is not (ADR 0089): its installer was
 * started and is silent, it stopped at a disk with a stamp, or the machine may not start it. With a
 * view in place (commit_view.h) it is the cause after the commit, which may remove the noderole of
 * the grant. The file owns no state, and nothing can fail. */

/* The noderole of the grant; none if it was deleted, or the commit in view removes it. */
static noderole_ix install_noderole(const struct core *c, const struct grant *grant)
{
    const noderole_ix nr = noderole_by_id(c, grant->noderole_id);
    return nr.v && view_state(c, nr) == STATE_REMOVED ? (noderole_ix){0} : nr;
}

/* An open grant becomes void with its noderole. */
static struct grant install_grant(const struct core *c, node_ix n)
{
    struct grant grant;
    must(core_grant(c, node_at(c, n)->o.id, &grant));
    const bool is_open = grant.state == GRANT_UNUSED || grant.state == GRANT_USED;
    if (is_open && !install_noderole(c, &grant).v) {
        grant.state = GRANT_VOID;
        grant.void_reason = GRANT_VOID_DELETED;
    }
    return grant;
}

/* Why the grant is void: "`os-install` on `n1` was proposed". */
static struct str install_why_void(const struct core *c, const struct grant *grant, struct arena *a)
{
    static const char *const phrases[GRANT_VOID_COUNT] = {
        [GRANT_VOID_NONE] = "",
        [GRANT_VOID_PROPOSED] = " was proposed",
        [GRANT_VOID_DELETED] = " was deleted",
        [GRANT_VOID_ERROR] = " was in error",
        [GRANT_VOID_RESTORED] = " was committed before the store was restored",
        [GRANT_VOID_IMPORTED] = " was committed before the store was imported",
        [GRANT_VOID_REPLACED] = " waited for another environment, which was changed",
        [GRANT_VOID_SILENT] = " waited for an installer that did not report in time"};
    const noderole_ix nr = install_noderole(c, grant);
    must(grant->void_reason < GRANT_VOID_COUNT);
    const struct str phrase = str_from(phrases[grant->void_reason]);
    if (!nr.v)
        return STR_CONCAT(a, STR("its noderole"), phrase);
    const struct noderole *row = noderole_at(c, nr);
    return STR_CONCAT(a, STR("`"), text_of(c, role_at(c, row->role)->name), STR("` on `"),
                      text_of(c, node_at(c, row->node)->name), STR("`"), phrase);
}

static struct str install_why_text(const struct core *c, node_ix n, const struct grant *grant,
                                   struct arena *a)
{
    const struct str bootenv = text_of(c, node_at(c, n)->bootenv);
    const struct str name = STR_CONCAT(a, STR("node `"), text_of(c, node_at(c, n)->name), STR("`"));
    const struct str generation = str_from_i64(a, grant->generation);
    if (grant->stamp_generation)
        return STR_CONCAT(a, STR("the installer of "), name,
                          STR(" stopped at a disk with the stamp of boot generation "),
                          str_from_i64(a, grant->stamp_generation),
                          STR(" of this installation; the node is at "), generation,
                          STR("; redeploy it to install above the stamp"));
    if (grant->void_reason == GRANT_VOID_SILENT)
        return STR_CONCAT(a, STR("the installer "), bootenv, STR(" of "), name,
                          STR(" is silent since it was started; look at the console of the "
                              "machine, or redeploy the node"));
    if (grant->state == GRANT_VOID)
        return STR_CONCAT(a, name, STR(" may not start the installer "), bootenv,
                          STR(" of boot generation "), generation, STR(": "),
                          install_why_void(c, grant, a), STR("; redeploy the node"));
    return STR_CONCAT(a, name, STR(" may not start the installer "), bootenv,
                      STR(": the environment was not set by a run that waits for it"));
}

bool grant_why(const struct core *c, node_ix n, bool is_brief, struct arena *a,
               struct cause *out_cause)
{
    const struct grant grant = install_grant(c, n);
    const bool is_stopped = grant.stamp_generation || grant.void_reason == GRANT_VOID_SILENT;
    if (!grant_is_for(text_of(c, node_at(c, n)->bootenv)) ||
        (!is_stopped && (grant.state == GRANT_UNUSED || grant.state == GRANT_USED)))
        return false;
    *out_cause = (struct cause){.code = is_stopped ? CAUSE_INSTALL_STOPPED : CAUSE_NO_GRANT,
                                .object = TABLE_NODE,
                                .object_id = node_at(c, n)->o.id,
                                .since = is_stopped ? grant.used_at : 0,
                                .text = is_brief ? STR("") : install_why_text(c, n, &grant, a)};
    return true;
}
