#include "core/plan/plan.h"

#include "base/json/json.h"

/* Content of a plan: the lists and hashes of what a commit does (ADR 0027, ADR 0079). The file
 * owns the lists, hashes and documents of struct plan. The result of the commit is read through
 * the view, or from the rows after a real commit.
 *
 * Order: the phases run in the order of enum plan_phase: noderoles are collected and sorted, waves
 * are computed, then each list is written in its own phase and its entries are added to the hash.
 * A commit that carries the hash of a plan computes its own plan with the same functions and
 * compares the hashes, so both must read the same data in the same order.
 *
 * Failure: nothing here is refused. A list that grows beyond the size of a reply is not continued;
 * hashes and totals are, and the request for the lists is refused when the plan is complete
 * (core_plan_outcome). */

enum {
    SHOWN_MAX = CHANGED_SHOWN_MAX, /* entries of lists that no hash covers */
    DESTROYS_SHOWN_MAX = 100,      /* entries of "destroys" in a plan without lists */
};

/* ---- the hash ---- */

static struct digest plan_digest_of(struct str text)
{
    struct sha256 h;
    struct digest digest;
    sha256_init(&h);
    sha256_add(&h, text.at, text.len);
    sha256_end(&h, digest.bytes);
    return digest;
}

static void plan_put_i64_bytes(uint8_t *to, int64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        to[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

/* The hash is computed over records of fixed size, so that no two plans have the same input. Kinds
 * of records: h head, d data of a deployment role, c commit, r removal, s start, q enqueued run of
 * an ACTIVE noderole, a announced steps, x destructive start. */
static void plan_hash_record(struct plan *p, char kind, int64_t role_id, int64_t node_id,
                             struct digest data)
{
    uint8_t record[1 + 8 + 8 + sizeof data.bytes];
    record[0] = (uint8_t)kind;
    plan_put_i64_bytes(record + 1, role_id);
    plan_put_i64_bytes(record + 9, node_id);
    memcpy(record + 17, data.bytes, sizeof data.bytes);
    sha256_add(&p->hash, record, sizeof record);
}

static void plan_hash_noderole(struct plan *p, char kind, noderole_ix nr, struct digest data)
{
    const struct noderole *row = noderole_at(p->c, nr);
    plan_hash_record(p, kind, role_at(p->c, row->role)->o.id, node_at(p->c, row->node)->o.id, data);
}

/* Adds a noderole with its user data, of the deployment role and of its own. Consecutive noderoles
 * often have the same documents, and equal documents have the same handle, so the last digest is
 * kept. */
static void plan_hash_with_data(struct plan *p, char kind, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    const doc_h of_role = view_role_data(p->c, deployment_role_at(p->c, row->dr));
    const doc_h own = view_noderole_data(p->c, row);
    if (!p->data_is_known || p->digest_docs[0] != of_role || p->digest_docs[1] != own) {
        struct digest both[2] = {plan_digest_of(doc_of(p->c, of_role)),
                                 plan_digest_of(doc_of(p->c, own))};
        plan_cost(p, (doc_of(p->c, of_role).len + doc_of(p->c, own).len) / 64);
        p->data = plan_digest_of((struct str){(const char *)both, sizeof both});
        p->digest_docs[0] = of_role;
        p->digest_docs[1] = own;
        p->data_is_known = true;
    }
    plan_hash_noderole(p, kind, nr, p->data);
}

/* ---- parts of the document ---- */

void plan_put_key(struct buf *b, const char *key)
{
    buf_put_c(b, '"');
    buf_put_z(b, key);
    buf_put_z(b, "\":");
}

void plan_put_node(const struct core *c, struct buf *b, node_ix n)
{
    plan_put_key(b, "node");
    buf_put_i64(b, node_at(c, n)->o.id);
    buf_put_c(b, ',');
    plan_put_key(b, "node_name");
    json_write_string(b, text_of(c, node_at(c, n)->name));
}

void plan_put_role(const struct core *c, struct buf *b, role_ix r)
{
    plan_put_key(b, "role");
    buf_put_i64(b, role_at(c, r)->o.id);
    buf_put_c(b, ',');
    plan_put_key(b, "role_name");
    json_write_string(b, text_of(c, role_at(c, r)->name));
}

void plan_put_noderole(const struct core *c, struct buf *b, noderole_ix nr)
{
    plan_put_node(c, b, noderole_at(c, nr)->node);
    buf_put_c(b, ',');
    plan_put_role(c, b, noderole_at(c, nr)->role);
}

void plan_put_item(const struct core *c, struct buf *b, noderole_ix nr)
{
    if (b->len && b->at[b->len - 1] != '[')
        buf_put_c(b, ',');
    buf_put_c(b, '{');
    plan_put_noderole(c, b, nr);
}

static void plan_put_list(struct buf *doc, const char *key, const struct buf *list)
{
    plan_put_key(doc, key);
    buf_put_str(doc, buf_str(list));
    buf_put_z(doc, "],");
}

/* Writes {"node":1,...} if the lists are requested. */
static void plan_put_plain(struct plan *p, struct buf *list, noderole_ix nr)
{
    if (!p->is_detailed)
        return;
    plan_put_item(p->c, list, nr);
    buf_put_c(list, '}');
}

static uint64_t plan_lists_bytes(const struct plan *p)
{
    const struct plan_lists *l = &p->lists;
    return (uint64_t)l->addresses.len + l->announced.len + l->changed.len +
           l->changed_destructive.len + l->commits.len + l->consent.len + l->destructive.len +
           l->held.len + l->missing.len + l->power.len + l->removes.len + l->reruns.len +
           l->role_commits.len + l->runs.len + l->unproposed.len;
}

struct str core_plan_too_large(void)
{
    return STR("the lists of the plan are longer than a reply may be (32 MiB); request its "
               "totals with summary=true");
}

void plan_begin_lists(struct plan *p)
{
    struct plan_lists *l = &p->lists;
    p->lists_max = ANSWER_DOC_MAX;
    struct buf *const lists[] = {
        &l->announced,  &l->changed,   &l->changed_destructive, &l->commits,
        &l->consent,    &l->held,      &l->destructive,         &l->missing,
        &l->removes,    &l->reruns,    &l->role_commits,        &l->runs,
        &l->unproposed, &l->addresses, &l->consent_brief,       &l->power};
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = buf_in(&p->arena);
        buf_put_c(lists[i], '[');
    }
    sha256_init(&p->hash);
    sha256_init(&p->consent);
    plan_hash_record(p, 'h', 0, p->seq, (struct digest){0});
}

/* ---- units of the phases ---- */

static void plan_cost_of_steps(struct plan *p, noderole_ix nr)
{
    plan_cost(p, doc_of(p->c, view_noderole_data(p->c, noderole_at(p->c, nr))).len / 64);
}

/* Sorts one member of the deployment, as the commit leaves it, into the lists. */
static bool plan_collect_unit(struct plan *p)
{
    const noderole_ix nr = plan_next_member(p);
    if (!nr.v)
        return true;
    const struct noderole *row = noderole_at(p->c, nr);
    const uint8_t state = view_state(p->c, nr);
    if (plan_waits(state))
        plan_key(p, nr);
    if (state == NODEROLE_ACTIVE && view_is_queued(p->c, nr))
        plan_noderoles_add(&p->requested, nr);
    if (state == NODEROLE_ACTIVE && !view_is_rerun(p->c, nr) && defaults_are_outdated(p->c, row)) {
        const bool destructive = role_at(p->c, row->role)->flags & ROLE_DESTRUCTIVE;
        uint32_t *count = destructive ? &p->changed_destructive_count : &p->changed_count;
        if ((*count)++ < SHOWN_MAX)
            plan_put_plain(p, destructive ? &p->lists.changed_destructive : &p->lists.changed, nr);
    }
    if (state != STATE_REMOVED && noderole_has_unproposed(row) && p->unproposed_count++ < SHOWN_MAX)
        unproposed_put_entry(p->c, nr, &p->lists.unproposed);
    return false;
}

/* Noderoles that destroy data when they run: those that are committed and, if the commit opens the
 * head, those that waited in it. */
static bool plan_consent_unit(struct plan *p)
{
    const struct plan_noderoles *from = p->opens ? &p->all : &p->items;
    if (p->at < from->count) {
        const noderole_ix nr = from->items[p->at++];
        if (!consent_is_needed(p->c, nr))
            return false;
        consent_hash(p->c, &p->consent, nr);
        if (p->destroys_count++ < DESTROYS_SHOWN_MAX)
            consent_put_entry(p->c, nr, &p->lists.consent_brief);
        if (p->is_detailed)
            consent_put_entry(p->c, nr, &p->lists.consent);
        plan_cost_of_steps(p, nr);
        return false;
    }
    return true;
}

static void plan_put_role_commits(struct plan *p)
{
    const struct core *c = p->c;
    for (uint32_t i = 0; i < p->role_count; i++) {
        const struct deployment_role *dr = deployment_role_at(c, p->roles[i]);
        plan_hash_record(p, 'd', role_at(c, dr->role)->o.id, 0,
                         plan_digest_of(doc_of(c, view_role_data(c, dr))));
        buf_put_z(&p->lists.role_commits, i ? ",{" : "{");
        plan_put_role(c, &p->lists.role_commits, dr->role);
        buf_put_c(&p->lists.role_commits, '}');
        summary_role_commit(p, p->roles[i]);
    }
}

static bool plan_commits_unit(struct plan *p)
{
    if (p->at == 0)
        plan_put_role_commits(p);
    if (p->at == p->items.count)
        return true;
    const noderole_ix nr = p->items.items[p->at++];
    plan_hash_with_data(p, 'c', nr);
    plan_put_plain(p, &p->lists.commits, nr);
    plan_put_addresses(p, nr, "configure");
    plan_put_power(p, nr);
    summary_commit(p, nr);
    return p->at == p->items.count;
}

/* After a real commit the rows are removed, but can be read until the end of the turn. */
static bool plan_removes_unit(struct plan *p)
{
    if (p->at == p->removed.count)
        return true;
    const noderole_ix nr = p->removed.items[p->at++];
    plan_hash_noderole(p, 'r', nr, (struct digest){0});
    plan_put_plain(p, &p->lists.removes, nr);
    plan_put_addresses(p, nr, "keep");
    summary_remove(p, nr);
    return false;
}

/* Boot, power and wipe steps that the role declares. */
static void plan_put_announced(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.announced;
    const doc_h announces = role_at(p->c, noderole_at(p->c, nr)->role)->announces;
    if (!announces || str_eq(text_of(p->c, announces), STR("[]")))
        return;
    plan_hash_noderole(p, 'a', nr, plan_digest_of(text_of(p->c, announces)));
    if (!p->is_detailed)
        return;
    plan_put_item(p->c, list, nr);
    buf_put_c(list, ',');
    plan_put_steps(p->c, nr, list);
    plan_cost_of_steps(p, nr);
    buf_put_c(list, '}');
}

static enum plan_how plan_how_it_runs(const struct core *c, noderole_ix nr)
{
    if (role_is_noop(c, noderole_at(c, nr)->role))
        return HOW_NOOP;
    if (run_is_instant(c, nr))
        return HOW_SKIP;
    return noderole_at(c, nr)->run_count ? HOW_AGAIN : HOW_RUN;
}

/* {"how":"run","node":1,...,"wave":1} */
static void plan_put_run(struct plan *p, noderole_ix nr, enum plan_how how)
{
    static const char *const names[HOW_COUNT] = {
        [HOW_NOOP] = "noop", [HOW_SKIP] = "skip", [HOW_AGAIN] = "again", [HOW_RUN] = "run"};
    struct buf *list = &p->lists.runs;
    if (!p->is_detailed)
        return;
    buf_put_z(list, list->len > 1 ? ",{\"how\":\"" : "{\"how\":\"");
    buf_put_z(list, names[how]);
    buf_put_z(list, "\",");
    plan_put_noderole(p->c, list, nr);
    buf_put_c(list, ',');
    plan_put_key(list, "wave");
    buf_put_u64(list, p->wave[nr.v]);
    buf_put_c(list, '}');
}

/* A noderole is rerun if it has run before, or if a run is enqueued while it is ACTIVE. */
static bool plan_runs_unit(struct plan *p)
{
    if (p->at == p->runs.count)
        return true;
    const noderole_ix nr = p->runs.items[p->at++];
    const struct noderole *row = noderole_at(p->c, nr);
    const enum plan_how how = plan_how_it_runs(p->c, nr);
    plan_hash_with_data(p, 's', nr);
    plan_put_run(p, nr, how);
    summary_run(p, nr, how);
    if (how == HOW_SKIP)
        return false;
    plan_put_announced(p, nr);
    if (row->run_count) {
        plan_put_plain(p, &p->lists.reruns, nr);
        summary_rerun(p, nr, false);
    } else if (role_at(p->c, row->role)->flags & ROLE_DESTRUCTIVE) {
        plan_hash_noderole(p, 'x', nr, (struct digest){0});
        plan_put_plain(p, &p->lists.destructive, nr);
        summary_destructive(p, nr);
    }
    return false;
}

static bool plan_requested_unit(struct plan *p)
{
    if (p->at == p->requested.count)
        return true;
    const noderole_ix nr = p->requested.items[p->at++];
    plan_hash_with_data(p, 'q', nr);
    plan_put_announced(p, nr);
    plan_put_plain(p, &p->lists.reruns, nr);
    summary_rerun(p, nr, true);
    return false;
}

/* ---- held noderoles ---- */

/* The noderole at the end of the chain of parents that prevents this one from starting. */
static noderole_ix plan_held_by(struct plan *p, noderole_ix nr)
{
    for (;;) {
        uint32_t done;
        const noderole_ix parent = plan_blocking_parent(p, nr, &done);
        if (!parent.v)
            return nr;
        nr = parent; /* its cohort is lower, so the loop ends */
    }
}

static void plan_put_held(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.held;
    const struct arena_mark mark = arena_mark(&p->scratch);
    const noderole_ix root = plan_held_by(p, nr);
    const attrib_ix missing = plan_missing_attrib(p, root);
    const struct cause lacks = {.code = CAUSE_REASON,
                                .reason = REASON_ATTRIB_MISSING,
                                .text =
                                    missing.v && p->is_detailed
                                        ? required_missing_text(p->c, root, missing, &p->scratch)
                                        : STR("")};
    const struct cause *cause = missing.v ? &lacks : why_noderole(p->c, root, true, &p->scratch);
    for (;; cause = cause->next) {
        const noderole_ix on = noderole_by_id(p->c, cause->noderole_id);
        if (on.v)
            plan_read_node(p, noderole_at(p->c, on)->node);
        if (!cause->next)
            break;
    }
    summary_held(p, nr, cause_code_name(cause));
    plan_cost(p, 20);
    /* {"cause":"not_alive","node":1,...,"why":"node `n1` is not alive"} */
    if (p->is_detailed) {
        buf_put_z(list, list->len > 1 ? ",{\"cause\":\"" : "{\"cause\":\"");
        buf_put_z(list, cause_code_name(cause));
        buf_put_z(list, "\",");
        plan_put_noderole(p->c, list, nr);
        buf_put_c(list, ',');
        plan_put_key(list, "why");
        json_write_string(list, cause->text);
        buf_put_c(list, '}');
    }
    arena_rewind(&p->scratch, mark);
}

/* Writes {"attrib":"ntp-servers","node":1,...,"why":"..."}: the attrib should be set before the
 * commit. */
static void plan_put_missing(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.missing;
    const attrib_ix missing = plan_missing_attrib(p, nr);
    if (!missing.v)
        return;
    summary_missing(p);
    if (!p->is_detailed)
        return;
    const struct arena_mark mark = arena_mark(&p->scratch);
    buf_put_z(list, list->len > 1 ? ",{\"attrib\":" : "{\"attrib\":");
    json_write_string(list, text_of(p->c, attrib_at(p->c, missing)->name));
    buf_put_c(list, ',');
    plan_put_noderole(p->c, list, nr);
    buf_put_c(list, ',');
    plan_put_key(list, "why");
    json_write_string(list, required_missing_text(p->c, nr, missing, &p->scratch));
    buf_put_c(list, '}');
    arena_rewind(&p->scratch, mark);
}

static bool plan_held_unit(struct plan *p)
{
    if (p->at == p->all.count)
        return true;
    const noderole_ix nr = p->all.items[p->at++];
    if (p->wave[nr.v] != WAVE_HELD)
        return false;
    plan_put_held(p, nr);
    plan_put_missing(p, nr);
    return false;
}

/* ---- document ---- */

static struct str plan_end_hash(struct plan *p, struct sha256 *hash)
{
    uint8_t digest[32];
    struct buf hex = buf_in(&p->arena);
    sha256_end(hash, digest);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}

static void plan_put_string(struct buf *doc, const char *key, struct str text)
{
    plan_put_key(doc, key);
    json_write_string(doc, text);
    buf_put_c(doc, ',');
}

static void plan_put_number(struct buf *doc, const char *key, int64_t number)
{
    plan_put_key(doc, key);
    buf_put_i64(doc, number);
    buf_put_c(doc, ',');
}

static void plan_put_summary(struct plan *p, struct buf *doc)
{
    if (!p->summary)
        return;
    plan_put_key(doc, "summary");
    summary_put(p, doc);
    buf_put_c(doc, ',');
}

/* The plan with all its lists. */
static struct str plan_write_detailed(struct plan *p)
{
    struct plan_lists *l = &p->lists;
    struct buf doc = buf_in(&p->arena);
    buf_put_c(&doc, '{');
    plan_put_list(&doc, "addresses", &l->addresses);
    plan_put_list(&doc, "announced", &l->announced);
    plan_put_list(&doc, "changed", &l->changed);
    plan_put_list(&doc, "changed_destructive", &l->changed_destructive);
    plan_put_list(&doc, "commits", &l->commits);
    plan_put_string(&doc, "consent", p->consent_text);
    plan_put_list(&doc, "destroys", &l->consent);
    plan_put_list(&doc, "destructive", &l->destructive);
    plan_put_string(&doc, "hash", p->hash_text);
    plan_put_list(&doc, "held", &l->held);
    plan_put_list(&doc, "missing", &l->missing);
    plan_put_list(&doc, "power", &l->power);
    plan_put_list(&doc, "removes", &l->removes);
    plan_put_list(&doc, "reruns", &l->reruns);
    plan_put_list(&doc, "role_commits", &l->role_commits);
    plan_put_list(&doc, "runs", &l->runs);
    plan_put_number(&doc, "seq", p->seq);
    plan_put_summary(p, &doc);
    plan_put_list(&doc, "unproposed", &l->unproposed);
    doc.at[doc.len - 1] = '}';
    return buf_str(&doc);
}

/* The totals, the first noderoles that destroy data, and the values that the commit does not
 * publish. */
static struct str plan_write_brief(struct plan *p)
{
    struct buf doc = buf_in(&p->arena);
    buf_put_c(&doc, '{');
    plan_put_string(&doc, "consent", p->consent_text);
    plan_put_list(&doc, "destroys", &p->lists.consent_brief);
    plan_put_string(&doc, "hash", p->hash_text);
    plan_put_number(&doc, "seq", p->seq);
    plan_put_summary(p, &doc);
    plan_put_list(&doc, "unproposed", &p->lists.unproposed);
    doc.at[doc.len - 1] = '}';
    return buf_str(&doc);
}

static bool plan_write_unit(struct plan *p)
{
    p->hash_text = plan_end_hash(p, &p->hash);
    p->consent_text = plan_end_hash(p, &p->consent);
    p->brief_doc = plan_write_brief(p);
    if (p->is_detailed)
        p->doc = plan_write_detailed(p);
    p->is_too_large = p->is_too_large || (p->is_projected && p->doc.len > p->lists_max);
    return true;
}

/* Moves the sorted list to `out`, then adds the keys of the list that is sorted next. */
static bool plan_sort_unit(struct plan *p, struct plan_noderoles *out, struct plan_noderoles *next)
{
    if (!plan_sort(p) || !plan_take_sorted(p, out))
        return false;
    for (uint32_t i = 0; next && i < next->count; i++)
        plan_key(p, next->items[i]);
    if (next)
        next->count = 0;
    return true;
}

static bool plan_sort_all_unit(struct plan *p)
{
    return plan_sort_unit(p, &p->all, &p->requested);
}

static bool plan_sort_requested_unit(struct plan *p)
{
    return plan_sort_unit(p, &p->requested, NULL);
}

bool plan_unit(struct plan *p)
{
    static bool (*const units[])(struct plan * p) = {
        [PHASE_COLLECT] = plan_collect_unit,
        [PHASE_SORT_ALL] = plan_sort_all_unit,
        [PHASE_SORT_REQUESTED] = plan_sort_requested_unit,
        [PHASE_WAVES] = plan_waves_unit,
        [PHASE_COUNT_WAVES] = plan_count_waves_unit,
        [PHASE_ORDER] = plan_order_unit,
        [PHASE_CONSENT] = plan_consent_unit,
        [PHASE_PUT_COMMITS] = plan_commits_unit,
        [PHASE_PUT_REMOVES] = plan_removes_unit,
        [PHASE_PUT_RUNS] = plan_runs_unit,
        [PHASE_PUT_REQUESTED] = plan_requested_unit,
        [PHASE_PUT_HELD] = plan_held_unit,
        [PHASE_PUT_VALUES] = summary_values_unit,
        [PHASE_PUT_NAMES] = summary_names_unit,
        [PHASE_WRITE] = plan_write_unit,
    };
    must(p->phase >= PHASE_COLLECT && p->phase < sizeof units / sizeof *units);
    const bool is_finished = units[p->phase](p);
    /* Stop writing lists that are longer than a reply may be; hashes and totals are continued. */
    if (p->is_projected && p->is_detailed && plan_lists_bytes(p) > p->lists_max) {
        p->is_detailed = false;
        p->is_too_large = true;
    }
    return is_finished;
}
