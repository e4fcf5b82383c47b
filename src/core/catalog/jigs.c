#include "core/boot/boot_service.h"
#include "core/catalog/roles_private.h"
#include "core/machine/grants.h"

#include "base/json/json.h"
#include "model/jig_class.h"
#include "model/names.h"

/* Commands about jigs, roles and settings. A jig is a way to execute a role: a shell script,
 * Puppet, Ansible, Lua code of the role, or nothing at all. This file owns the settings row and
 * writes the fields of jigs and roles that commands may change; imports write the others.
 *
 * Order: a change that may let other roles run (a jig that was created, activated or deactivated,
 * the test jig, the size of a worker pool) resumes all nodes at its end, so that noderoles that
 * can run now are found by the annealer. The index of hooks is rebuilt before that, because it
 * lists only roles that can run.
 *
 * Failure: problems are recorded, and the step is rolled back, also if some fields were written
 * before the refusal. */

enum { JIG_ORDER = 10000 }; /* field `order` of jigs that operators create */

/* ---- jigs ---- */

static void jig_refuse_class(struct core *c, struct str field, struct str class_name)
{
    refuse(c, class_name.len ? PROBLEM_CLASS_UNKNOWN : PROBLEM_MISSING, field,
           class_name.len ? STR_CONCAT(c->arena, STR("there is no jig class "), class_name)
                          : STR("class_name is required"));
}

static void jig_check_create(struct core *c, const struct jig_create_command *p)
{
    const char *wrong = names_check_jig(p->name);
    if (wrong)
        refuse(c, p->name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
    else if (name_find(c, TABLE_JIG, p->name))
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("name must be unique: there is a jig called "), p->name,
                          STR(" already")));
    if (!jig_class_find(p->class_name))
        jig_refuse_class(c, STR("class_name"), p->class_name);
    wrong = p->client_role_name.len ? names_check_role(p->client_role_name) : NULL;
    if (wrong)
        refuse(c, PROBLEM_NAME_INVALID, STR("client_role_name"),
               STR_CONCAT(c->arena, STR("client_role_name "), str_from(wrong)));
}

void do_jig_create(struct core *c, const struct jig_create_command *p)
{
    jig_check_create(c, p);
    const jig_ix ix = refused(c) ? (jig_ix){0} : jig_add(c);
    if (!ix.v)
        return;
    struct jig *jig = jig_edit(c, ix);
    put_text(c, &jig->name, p->name);
    put_text(c, &jig->description, p->description);
    put_text(c, &jig->class_name, p->class_name);
    put_text(c, &jig->client_role_name, p->client_role_name);
    jig->order = JIG_ORDER;
    jig->active = p->active;
    name_add(c, TABLE_JIG, ix.v);
    c->out->id = jig->o.id;
    roles_resolve_touched(c, &(struct roles_touched){0});
    if (!refused(c))
        nodes_resume_all(c);
}

static void jig_activate(struct core *c, jig_ix ix, bool active)
{
    const struct jig *jig = jig_at(c, ix);
    if (active && !jig_class_find(text_of(c, jig->class_name))) {
        jig_refuse_class(c, STR("active"), text_of(c, jig->class_name));
        return;
    }
    if (jig->active == active)
        return;
    jig_edit(c, ix)->active = active;
    hooks_index(c);
    nodes_resume_all(c);
}

static bool jig_text_differs(const struct core *c, uint32_t given, uint32_t bit, text_h now,
                             struct str wanted)
{
    return (given & bit) && !str_eq(text_of(c, now), wanted);
}

void do_jig_update(struct core *c, const struct jig_update_command *p)
{
    const jig_ix ix = jig_by_id(c, p->id);
    if (!ix.v) {
        refuse_missing(c, "id", "jig", p->id);
        return;
    }
    c->out->id = p->id;
    const struct jig *jig = jig_at(c, ix);
    if (jig_text_differs(c, p->given, GIVEN_JIG_DESCRIPTION, jig->description, p->description))
        put_text(c, &jig_edit(c, ix)->description, p->description);
    if (jig_text_differs(c, p->given, GIVEN_JIG_SERVER, jig->server, p->server))
        put_text(c, &jig_edit(c, ix)->server, p->server);
    if (jig_text_differs(c, p->given, GIVEN_JIG_CLIENT_NAME, jig->client_name, p->client_name))
        put_text(c, &jig_edit(c, ix)->client_name, p->client_name);
    if (jig_text_differs(c, p->given, GIVEN_JIG_KEY, jig->key, p->key))
        put_text(c, &jig_edit(c, ix)->key, p->key);
    if (jig_text_differs(c, p->given, GIVEN_JIG_ACTIVE, jig->inactive_reason, p->inactive_reason))
        put_text(c, &jig_edit(c, ix)->inactive_reason, p->inactive_reason);
    if (p->given & GIVEN_JIG_ACTIVE)
        jig_activate(c, ix, p->active);
}

/* ---- roles ---- */

/* A template that an operator or a hook sets causes reruns at once (docs/spec/data.md, "Reruns"). A
 * template that the code of the role computed is a changed default that came with its content; it
 * is shown as changed and not rerun. */
static void role_set_template(struct core *c, role_ix ix, struct str template, bool is_computed)
{
    if (doc_tree(c->arena, template)->kind != JSON_OBJECT) {
        refuse(c, PROBLEM_BAD_JSON, STR("template"), STR("template must be an object"));
        return;
    }
    const struct str wanted = template.len ? template : STR("{}");
    if (str_eq(doc_of(c, role_at(c, ix)->template), wanted))
        return;
    put_doc(c, &role_edit(c, ix)->template, wanted);
    if (is_computed) {
        defaults_changed(c, ix);
        return;
    }
    for (uint32_t i = 0; i < role_at(c, ix)->deployed.count; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, ix)->deployed, i)};
        for (uint32_t k = 0; k < deployment_role_at(c, dr)->noderoles.count; k++)
            noderole_request_rerun(
                c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, k)});
        hooks_proposed_all(c, &deployment_role_at(c, dr)->noderoles);
    }
}

void do_role_update(struct core *c, const struct role_update_command *p)
{
    const role_ix ix = role_by_id(c, p->id);
    if (!ix.v) {
        refuse_missing(c, "id", "role", p->id);
        return;
    }
    c->out->id = p->id;
    if (jig_text_differs(c, p->given, GIVEN_ROLE_DESCRIPTION, role_at(c, ix)->description,
                         p->description))
        put_text(c, &role_edit(c, ix)->description, p->description);
    if (p->given & GIVEN_ROLE_TEMPLATE)
        role_set_template(c, ix, p->template, p->given & GIVEN_ROLE_COMPUTED);
}

/* ---- settings ---- */

struct range {
    const char *field;
    uint32_t given, value, least, most;
};

static void settings_check(struct core *c, const struct settings_update_command *p)
{
    const uint32_t g = p->given;
    const struct range ranges[] = {
        {"pool_normal", g & GIVEN_SETTINGS_POOL_NORMAL, p->pool_normal, 1, POOL_SIZE_MAX},
        {"pool_high", g & GIVEN_SETTINGS_POOL_HIGH, p->pool_high, 1, POOL_SIZE_MAX},
        {"keep_runs", g & GIVEN_SETTINGS_KEEP_RUNS, p->keep_runs, 1, KEEP_RUNS_MAX},
        {"run_deadline_s", g & GIVEN_SETTINGS_RUN_DEADLINE, p->run_deadline_s, 0, RUN_TIME_S_MAX},
        {"barrier_s", g & GIVEN_SETTINGS_BARRIER, p->barrier_s, 0, RUN_TIME_S_MAX},
        {"install_wait_s", g & GIVEN_SETTINGS_INSTALL_WAIT, p->install_wait_s, 0, RUN_TIME_S_MAX},
    };
    for (uint32_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const struct range *r = &ranges[i];
        if (r->given && (r->value < r->least || r->value > r->most))
            refuse(c, PROBLEM_BAD_VALUE, str_from(r->field),
                   STR_CONCAT(c->arena, str_from(r->field), STR(" must be from "),
                              str_from_i64(c->arena, r->least), STR(" to "),
                              str_from_i64(c->arena, r->most)));
    }
}

static void settings_apply(struct settings *s, const struct settings_update_command *p)
{
    if (p->given & GIVEN_SETTINGS_POOL_NORMAL)
        s->pool_size[QUEUE_NORMAL] = p->pool_normal;
    if (p->given & GIVEN_SETTINGS_POOL_HIGH)
        s->pool_size[QUEUE_HIGH] = p->pool_high;
    if (p->given & GIVEN_SETTINGS_MAX_DEPTH)
        s->max_depth = p->max_depth;
    if (p->given & GIVEN_SETTINGS_TEST_JIG)
        s->test_jig = p->test_jig;
    if (p->given & GIVEN_SETTINGS_KEEP_RUNS)
        s->keep_runs = p->keep_runs;
    if (p->given & GIVEN_SETTINGS_RUN_DEADLINE)
        s->run_deadline_s = p->run_deadline_s;
    if (p->given & GIVEN_SETTINGS_BARRIER)
        s->barrier_s = p->barrier_s;
    if (p->given & GIVEN_SETTINGS_INSTALL_WAIT)
        s->install_wait_s = p->install_wait_s;
    if (p->given & GIVEN_SETTINGS_BOOT_SERVER)
        s->boot_server = p->boot_server;
    if (p->given & GIVEN_SETTINGS_HOST_KEYS_IMPORTED)
        s->host_keys_imported = p->host_keys_imported;
}

static bool settings_same_pools(const struct settings *a, const struct settings *b)
{
    return a->pool_size[QUEUE_NORMAL] == b->pool_size[QUEUE_NORMAL] &&
           a->pool_size[QUEUE_HIGH] == b->pool_size[QUEUE_HIGH];
}

static bool settings_eq(const struct settings *a, const struct settings *b)
{
    return settings_same_pools(a, b) && a->max_depth == b->max_depth &&
           a->test_jig == b->test_jig && a->keep_runs == b->keep_runs &&
           a->run_deadline_s == b->run_deadline_s && a->barrier_s == b->barrier_s &&
           a->install_wait_s == b->install_wait_s && a->boot_server == b->boot_server &&
           a->host_keys_imported == b->host_keys_imported;
}

void do_settings_update(struct core *c, const struct settings_update_command *p)
{
    const struct settings before = *core_settings(c);
    struct settings after = before;
    c->out->id = before.o.id;
    settings_check(c, p);
    settings_apply(&after, p);
    if (refused(c) || settings_eq(&before, &after))
        return;
    settings_apply(settings_edit(c, settings_by_id(c, before.o.id)), p);
    const bool test_jig_changed = before.test_jig != after.test_jig;
    if (test_jig_changed)
        hooks_index(c);
    if (test_jig_changed || !settings_same_pools(&before, &after))
        nodes_resume_all(c);
    if (before.boot_server != after.boot_server)
        boot_service_changed(c);
    if (before.install_wait_s != after.install_wait_s)
        grants_restart_timers(c);
}
