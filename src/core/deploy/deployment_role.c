#include "core/data/data.h"

/* Deployment roles: the data of a role in a deployment as a whole, which all its noderoles inherit
 * (docs/spec/states.md, "Deployment role verbs"). This file owns the rows, except that bind.c
 * creates them. Data is proposed and then committed; runs use the committed data until then.
 *
 * Order in a commit: the rights and the veto of a hook of the role come first; then the timeline
 * closes the interval of the old data, which it reads from the row; then the row is written.
 * Noderoles are rerun only if the value of an attrib changed, which is compared before and after
 * the write.
 *
 * Failure: a veto or another refusal rolls the step back. A deployment role with noderoles cannot
 * be deleted. */

static deployment_role_ix deployment_role_get_for_command(struct core *c, int64_t id)
{
    const deployment_role_ix dr = deployment_role_by_id(c, id);
    if (!dr.v)
        refuse_missing(c, "id", "deployment role", id);
    c->out->id = id;
    return dr;
}

/* ---- propose ---- */

void deployment_role_set_data(struct core *c, deployment_role_ix dr, struct str object)
{
    authority_touch(c, deployment_role_at(c, dr)->deployment);
    struct deployment_role *row = deployment_role_edit(c, dr);
    const doc_h before = row->proposed ? row->proposed_data : row->committed_data;
    const bool changed = !str_eq(doc_of(c, before), object.len ? object : STR("{}"));
    if (changed && !str_eq(doc_of(c, row->committed_data), object.len ? object : STR("{}")))
        authority_touch_data(c, row->role); /* a proposal may be withdrawn */
    put_doc(c, &row->proposed_data, object);
    if (!row->proposed) {
        row->proposed = true;
        deployment_derive(c, row->deployment)->proposed_roles++;
    }
    if (changed)
        hooks_proposed_all(c, &row->noderoles);
}

void do_deployment_role_data(struct core *c, const struct deployment_role_data_command *p)
{
    const deployment_role_ix dr = deployment_role_get_for_command(c, p->id);
    if (p->data.len && p->data.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("data"), STR("must be a JSON object"));
    if (!refused(c))
        deployment_role_set_data(c, dr, p->data);
}

/* Replaces uncommitted data by the committed data, so it also withdraws a proposal. */
void do_deployment_role_propose(struct core *c, const struct deployment_role_propose_command *p)
{
    const deployment_role_ix dr = deployment_role_get_for_command(c, p->id);
    if (dr.v)
        deployment_role_set_data(c, dr, doc_of(c, deployment_role_at(c, dr)->committed_data));
}

/* ---- commit ---- */

/* True if the value of an attrib of the role differs from that in `before`. */
static bool deployment_role_value_changed(struct core *c, deployment_role_ix dr,
                                          const struct json *before)
{
    uint32_t count;
    const attrib_ix *attribs =
        data_attribs_of(c, deployment_role_at(c, dr)->role, c->arena, &count);
    const struct json *after = count ? data_deployment_role(c, dr, true, c->arena) : NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!json_eq(data_value(c, attribs[i], before, c->arena),
                     data_value(c, attribs[i], after, c->arena)))
            return true;
    return false;
}

bool deployment_role_commit(struct core *c, deployment_role_ix dr)
{
    const struct deployment_role *row = deployment_role_at(c, dr);
    if (!row->proposed)
        return true;
    authority_touch(c, row->deployment);
    if (role_at(c, row->role)->hooks & 1u << HOOK_COMMIT &&
        !hooks_request_veto(c, HOOK_COMMIT, row->role, hooks_deployment_role_argument(c, dr)))
        return false;
    if (row->proposed_data != row->committed_data) { /* equal documents have the same handle */
        const struct str fresh = doc_of(c, row->proposed_data);
        const struct json *before = data_deployment_role(c, dr, true, c->arena);
        timeline_commit_role(c, dr, fresh); /* first: it archives the old data */
        put_doc(c, &deployment_role_edit(c, dr)->committed_data, fresh);
        if (deployment_role_value_changed(c, dr, before))
            data_rerun_all(c, &deployment_role_at(c, dr)->noderoles);
    }
    struct deployment_role *done = deployment_role_edit(c, dr);
    done->proposed = false;
    put_doc(c, &done->proposed_data, STR(""));
    deployment_derive(c, done->deployment)->proposed_roles--;
    return !refused(c);
}

void do_deployment_role_commit(struct core *c, const struct deployment_role_commit_command *p)
{
    const deployment_role_ix dr = deployment_role_get_for_command(c, p->id);
    if (dr.v)
        ignore(!deployment_role_commit(c, dr), "a veto has become a problem of the step");
}

/* ---- creation and removal ---- */

void do_deployment_role_create(struct core *c, const struct deployment_role_create_command *p)
{
    const deployment_ix d = deployment_by_id(c, p->deployment_id);
    const role_ix r = role_by_id(c, p->role_id);
    if (!d.v)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
    if (!r.v)
        refuse_missing(c, "role_id", "role", p->role_id);
    if (!refused(c) && !deployment_role_find(c, d, r).v)
        role_refuse_withdrawn(c, r);
    if (refused(c))
        return;
    const deployment_role_ix dr = deployment_role_ensure(c, d, r);
    if (dr.v)
        c->out->id = deployment_role_at(c, dr)->o.id;
}

void deployment_role_destroy(struct core *c, deployment_role_ix dr)
{
    const struct deployment_role *row = deployment_role_at(c, dr);
    must(row->noderoles.count == 0);
    authority_touch(c, row->deployment);
    hooks_deployment_role(c, HOOK_DEPLOYMENT_DELETE, dr);
    timeline_drop_role(c, dr);
    struct deployment *d = deployment_derive(c, row->deployment);
    if (row->proposed)
        d->proposed_roles--;
    ids_remove(c, &d->roles, TABLE_DEPLOYMENT_ROLE, dr.v);
    ids_remove(c, &role_derive(c, row->role)->deployed, TABLE_DEPLOYMENT_ROLE, dr.v);
    vec_clear(&c->heap, &deployment_role_derive(c, dr)->noderoles);
    struct deployment_role *gone = deployment_role_edit(c, dr);
    doc_h *const docs[] = {&gone->proposed_data, &gone->committed_data, &gone->wall, &gone->notes};
    for (uint32_t i = 0; i < sizeof docs / sizeof *docs; i++)
        put_doc(c, docs[i], STR(""));
    core_remove_row(c, TABLE_DEPLOYMENT_ROLE, dr.v);
}

void do_deployment_role_delete(struct core *c, const struct deployment_role_delete_command *p)
{
    const deployment_role_ix dr = deployment_role_get_for_command(c, p->id);
    if (!dr.v)
        return;
    const struct vec *members = &deployment_role_at(c, dr)->noderoles;
    if (members->count) {
        const noderole_ix first = {vec_at(c, members, 0)};
        refuse(c, PROBLEM_IN_USE, STR("id"),
               STR_CONCAT(c->arena,
                          STR("the role has noderoles in the deployment; delete these first: "),
                          noderole_label(c, first, c->arena)));
        return;
    }
    deployment_role_destroy(c, dr);
}
