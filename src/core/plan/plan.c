#include "core/plan/plan.h"

#include "base/json/json.h"

/* What a commit will do, said before it is done. The result of the commit, in a view or in the rows
 * themselves, is read here; the annealing that would follow is walked with every run succeeding. A
 * commit that carries the hash of a plan makes its own plan by the same functions and compares. */

enum { SHOWN_MAX = CHANGED_SHOWN_MAX }; /* of lists that no hash covers */

/* ---- the hash ---- */

static struct digest digest_of(struct str text)
{
    struct sha256 h;
    struct digest digest;
    sha256_init(&h);
    sha256_add(&h, text.at, text.len);
    sha256_end(&h, digest.bytes);
    return digest;
}

static void put_i64_bytes(uint8_t *to, int64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        to[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

/* What is hashed is a row of lines of one size, so no two plans can read as one. */
static void hash_line(struct plan *p, char kind, int64_t role_id, int64_t node_id,
                      struct digest data)
{
    uint8_t line[1 + 8 + 8 + sizeof data.bytes];
    line[0] = (uint8_t)kind;
    put_i64_bytes(line + 1, role_id);
    put_i64_bytes(line + 9, node_id);
    memcpy(line + 17, data.bytes, sizeof data.bytes);
    sha256_add(&p->hash, line, sizeof line);
}

static void hash_noderole(struct plan *p, char kind, noderole_ix nr, struct digest data)
{
    const struct noderole *row = noderole_at(p->c, nr);
    hash_line(p, kind, role_at(p->c, row->role)->o.id, node_at(p->c, row->node)->o.id, data);
}

/* What the user wants of it, in the deployment as a whole and on the node. Neighbours often want
 * the same, and equal documents share a handle. */
static void hash_with_data(struct plan *p, char kind, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    const doc_h of_role = view_role_data(p->c, deployment_role_at(p->c, row->dr));
    const doc_h own = view_noderole_data(p->c, row);
    if (!p->data_is_known || p->data_of[0] != of_role || p->data_of[1] != own) {
        struct digest both[2] = {digest_of(doc_of(p->c, of_role)), digest_of(doc_of(p->c, own))};
        plan_cost(p, (doc_of(p->c, of_role).len + doc_of(p->c, own).len) / 64);
        p->data = digest_of((struct str){(const char *)both, sizeof both});
        p->data_of[0] = of_role;
        p->data_of[1] = own;
        p->data_is_known = true;
    }
    hash_noderole(p, kind, nr, p->data);
}

/* ---- the document ---- */

static void put_key(struct buf *b, const char *key)
{
    buf_put_c(b, '"');
    buf_put_z(b, key);
    buf_put_z(b, "\":");
}

void plan_put_node(const struct core *c, struct buf *b, node_ix n)
{
    put_key(b, "node");
    buf_put_i64(b, node_at(c, n)->o.id);
    buf_put_c(b, ',');
    put_key(b, "node_name");
    json_write_string(b, text_of(c, node_at(c, n)->name));
}

void plan_put_role(const struct core *c, struct buf *b, role_ix r)
{
    put_key(b, "role");
    buf_put_i64(b, role_at(c, r)->o.id);
    buf_put_c(b, ',');
    put_key(b, "role_name");
    json_write_string(b, text_of(c, role_at(c, r)->name));
}

/* "node":1,"node_name":"n1","role":2,"role_name":"dns-server" */
static void put_noderole(const struct core *c, struct buf *b, noderole_ix nr)
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
    put_noderole(c, b, nr);
}

static void put_list(struct buf *doc, const char *key, const struct buf *list)
{
    put_key(doc, key);
    buf_put_str(doc, buf_str(list));
    buf_put_z(doc, "],");
}

/* {"node":1,...} in a list that is wanted. */
static void put_plain(struct plan *p, struct buf *list, noderole_ix nr)
{
    if (!p->is_detailed)
        return;
    plan_put_item(p->c, list, nr);
    buf_put_c(list, '}');
}

static uint64_t lists_bytes(const struct plan *p)
{
    const struct plan_lists *l = &p->lists;
    return (uint64_t)l->announced.len + l->changed.len + l->changed_destructive.len +
           l->commits.len + l->consent.len + l->destructive.len + l->held.len + l->missing.len +
           l->removes.len + l->reruns.len + l->role_commits.len + l->runs.len + l->unproposed.len;
}

struct str core_plan_too_large(void)
{
    return STR("the lists of the plan would be longer than an answer may be (32 MiB); ask for its "
               "totals with summary=true");
}

/* Lists that no answer can show are not continued; hashes and totals are. */
static void bound_lists(struct plan *p)
{
    if (!p->is_projected || !p->is_detailed || lists_bytes(p) <= p->lists_max)
        return;
    p->is_detailed = false;
    p->is_too_large = true;
}

void plan_begin_lists(struct plan *p)
{
    struct plan_lists *l = &p->lists;
    p->lists_max = ANSWER_DOC_MAX;
    struct buf *const lists[] = {&l->announced, &l->changed, &l->changed_destructive, &l->commits,
                                 &l->consent,   &l->held,    &l->destructive,         &l->missing,
                                 &l->removes,   &l->reruns,  &l->role_commits,        &l->runs,
                                 &l->unproposed};
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = buf_in(&p->arena);
        buf_put_c(lists[i], '[');
    }
    sha256_init(&p->hash);
    sha256_init(&p->consent);
    hash_line(p, 'h', 0, p->seq, (struct digest){0});
}

/* ---- its parts ---- */

/* One member of the deployment as the commit leaves it. */
static bool collect_unit(struct plan *p)
{
    const noderole_ix nr = plan_next_member(p);
    if (!nr.v)
        return true;
    const struct noderole *row = noderole_at(p->c, nr);
    const uint8_t state = view_state(p->c, nr);
    if (plan_waits(state))
        plan_key(p, nr);
    if (state == NODEROLE_ACTIVE && view_is_queued(p->c, nr))
        noderoles_add(&p->asked, nr);
    if (state == NODEROLE_ACTIVE && !view_is_rerun(p->c, nr) && defaults_are_other(p->c, row)) {
        const bool destructive = role_at(p->c, row->role)->flags & ROLE_DESTRUCTIVE;
        uint32_t *count = destructive ? &p->changed_destructive_count : &p->changed_count;
        if ((*count)++ < SHOWN_MAX)
            put_plain(p, destructive ? &p->lists.changed_destructive : &p->lists.changed, nr);
    }
    if (state != STATE_GONE && unproposed_is(row) && p->unproposed_count++ < SHOWN_MAX)
        unproposed_put_entry(p->c, nr, &p->lists.unproposed);
    return false;
}

/* Noderoles that destroy data once they run: those that are committed and, when the commit opens
 * the head, those that waited in it. */
static bool consent_unit(struct plan *p)
{
    const struct noderoles *from = p->opens ? &p->all : &p->items;
    if (p->at < from->count) {
        const noderole_ix nr = from->items[p->at++];
        if (!consent_is_needed(p->c, nr))
            return false;
        consent_hash(p->c, &p->consent, nr);
        p->destroys_count++;
        if (p->is_detailed)
            consent_put_entry(p->c, nr, &p->lists.consent);
        return false;
    }
    return true;
}

static void put_role_commits(struct plan *p)
{
    const struct core *c = p->c;
    for (uint32_t i = 0; i < p->role_count; i++) {
        const struct deployment_role *dr = deployment_role_at(c, p->roles[i]);
        hash_line(p, 'd', role_at(c, dr->role)->o.id, 0,
                  digest_of(doc_of(c, view_role_data(c, dr))));
        buf_put_z(&p->lists.role_commits, i ? ",{" : "{");
        plan_put_role(c, &p->lists.role_commits, dr->role);
        buf_put_c(&p->lists.role_commits, '}');
        summary_role_commit(p, p->roles[i]);
    }
}

static bool commits_unit(struct plan *p)
{
    if (p->at == 0)
        put_role_commits(p);
    if (p->at == p->items.count)
        return true;
    const noderole_ix nr = p->items.items[p->at++];
    hash_with_data(p, 'c', nr);
    put_plain(p, &p->lists.commits, nr);
    summary_commit(p, nr);
    return p->at == p->items.count;
}

/* After a real commit their rows are dead, but can be read until the end of the turn. */
static bool removes_unit(struct plan *p)
{
    if (p->at == p->removed.count)
        return true;
    const noderole_ix nr = p->removed.items[p->at++];
    hash_noderole(p, 'r', nr, (struct digest){0});
    put_plain(p, &p->lists.removes, nr);
    summary_remove(p, nr);
    return false;
}

/* Boot, power and wipe steps the role declares. */
static void put_announced(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.announced;
    const doc_h announces = role_at(p->c, noderole_at(p->c, nr)->role)->announces;
    if (!announces || str_eq(text_of(p->c, announces), STR("[]")))
        return;
    hash_noderole(p, 'a', nr, digest_of(text_of(p->c, announces)));
    if (!p->is_detailed)
        return;
    plan_put_item(p->c, list, nr);
    buf_put_c(list, ',');
    put_key(list, "steps");
    buf_put_str(list, text_of(p->c, announces));
    buf_put_c(list, '}');
}

static enum plan_how how_it_runs(const struct core *c, noderole_ix nr)
{
    if (role_is_noop(c, noderole_at(c, nr)->role))
        return HOW_NOOP;
    if (run_is_instant(c, nr))
        return HOW_SKIP;
    return noderole_at(c, nr)->run_count ? HOW_AGAIN : HOW_RUN;
}

/* {"how":"run","node":1,...,"wave":1} */
static void put_run(struct plan *p, noderole_ix nr, enum plan_how how)
{
    static const char *const names[HOW_COUNT] = {
        [HOW_NOOP] = "noop", [HOW_SKIP] = "skip", [HOW_AGAIN] = "again", [HOW_RUN] = "run"};
    struct buf *list = &p->lists.runs;
    if (!p->is_detailed)
        return;
    buf_put_z(list, list->len > 1 ? ",{\"how\":\"" : "{\"how\":\"");
    buf_put_z(list, names[how]);
    buf_put_z(list, "\",");
    put_noderole(p->c, list, nr);
    buf_put_c(list, ',');
    put_key(list, "wave");
    buf_put_u64(list, p->wave[nr.v]);
    buf_put_c(list, '}');
}

/* A rerun: it ran before, or is asked to run while ACTIVE. */
static bool runs_unit(struct plan *p)
{
    if (p->at == p->runs.count)
        return true;
    const noderole_ix nr = p->runs.items[p->at++];
    const struct noderole *row = noderole_at(p->c, nr);
    const enum plan_how how = how_it_runs(p->c, nr);
    hash_with_data(p, 's', nr);
    put_run(p, nr, how);
    summary_run(p, nr, how);
    if (how == HOW_SKIP)
        return false;
    put_announced(p, nr);
    if (row->run_count) {
        put_plain(p, &p->lists.reruns, nr);
        summary_rerun(p, nr, false);
    } else if (role_at(p->c, row->role)->flags & ROLE_DESTRUCTIVE) {
        hash_noderole(p, 'x', nr, (struct digest){0});
        put_plain(p, &p->lists.destructive, nr);
        summary_destructive(p, nr);
    }
    return false;
}

static bool asked_unit(struct plan *p)
{
    if (p->at == p->asked.count)
        return true;
    const noderole_ix nr = p->asked.items[p->at++];
    hash_with_data(p, 'q', nr);
    put_announced(p, nr);
    put_plain(p, &p->lists.reruns, nr);
    summary_rerun(p, nr, true);
    return false;
}

/* ---- what is held ---- */

/* The noderole at the end of what keeps this one. */
static noderole_ix held_by(struct plan *p, noderole_ix nr)
{
    for (;;) {
        uint32_t done;
        const noderole_ix parent = plan_parent_in_the_way(p, nr, &done);
        if (!parent.v)
            return nr;
        nr = parent; /* at a lower cohort each time */
    }
}

static void put_held(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.held;
    const struct arena_mark mark = arena_mark(&p->scratch);
    const noderole_ix root = held_by(p, nr);
    const attrib_ix missing = plan_lacks_attrib(p, root);
    const struct cause lacks = {.code = CAUSE_REASON,
                                .reason = REASON_ATTRIB_MISSING,
                                .text = missing.v && p->is_detailed
                                            ? required_sentence(p->c, root, missing, &p->scratch)
                                            : STR("")};
    const struct cause *cause = missing.v ? &lacks : why_noderole(p->c, root, true, &p->scratch);
    for (;; cause = cause->next) {
        const noderole_ix on = noderole_by_id(p->c, cause->noderole_id);
        if (on.v)
            plan_read(p, on);
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
        put_noderole(p->c, list, nr);
        buf_put_c(list, ',');
        put_key(list, "why");
        json_write_string(list, cause->text);
        buf_put_c(list, '}');
    }
    arena_rewind(&p->scratch, mark);
}

/* {"attrib":"ntp-servers","node":1,...,"why":"..."}: to be set before the commit, not after it. */
static void put_missing(struct plan *p, noderole_ix nr)
{
    struct buf *list = &p->lists.missing;
    const attrib_ix missing = plan_lacks_attrib(p, nr);
    if (!missing.v)
        return;
    summary_missing(p);
    if (!p->is_detailed)
        return;
    const struct arena_mark mark = arena_mark(&p->scratch);
    buf_put_z(list, list->len > 1 ? ",{\"attrib\":" : "{\"attrib\":");
    json_write_string(list, text_of(p->c, attrib_at(p->c, missing)->name));
    buf_put_c(list, ',');
    put_noderole(p->c, list, nr);
    buf_put_c(list, ',');
    put_key(list, "why");
    json_write_string(list, required_sentence(p->c, nr, missing, &p->scratch));
    buf_put_c(list, '}');
    arena_rewind(&p->scratch, mark);
}

static bool held_unit(struct plan *p)
{
    if (p->at == p->all.count)
        return true;
    const noderole_ix nr = p->all.items[p->at++];
    if (p->wave[nr.v] != WAVE_HELD)
        return false;
    put_held(p, nr);
    put_missing(p, nr);
    return false;
}

/* ---- the end ---- */

static struct str end_hash(struct plan *p, struct sha256 *hash)
{
    uint8_t digest[32];
    struct buf hex = buf_in(&p->arena);
    sha256_end(hash, digest);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}

static void put_string(struct buf *doc, const char *key, struct str text)
{
    put_key(doc, key);
    json_write_string(doc, text);
    buf_put_c(doc, ',');
}

static void put_number(struct buf *doc, const char *key, int64_t number)
{
    put_key(doc, key);
    buf_put_i64(doc, number);
    buf_put_c(doc, ',');
}

static void put_summary(struct plan *p, struct buf *doc)
{
    if (!p->summary)
        return;
    put_key(doc, "summary");
    summary_put(p, doc);
    buf_put_c(doc, ',');
}

/* The plan with all of its lists. */
static struct str write_whole(struct plan *p)
{
    struct plan_lists *l = &p->lists;
    struct buf doc = buf_in(&p->arena);
    buf_put_c(&doc, '{');
    put_list(&doc, "announced", &l->announced);
    put_list(&doc, "changed", &l->changed);
    put_list(&doc, "changed_destructive", &l->changed_destructive);
    put_list(&doc, "commits", &l->commits);
    put_string(&doc, "consent", p->consent_text);
    put_list(&doc, "destroys", &l->consent);
    put_list(&doc, "destructive", &l->destructive);
    put_string(&doc, "hash", p->hash_text);
    put_list(&doc, "held", &l->held);
    put_list(&doc, "missing", &l->missing);
    put_list(&doc, "removes", &l->removes);
    put_list(&doc, "reruns", &l->reruns);
    put_list(&doc, "role_commits", &l->role_commits);
    put_list(&doc, "runs", &l->runs);
    put_number(&doc, "seq", p->seq);
    put_summary(p, &doc);
    put_list(&doc, "unproposed", &l->unproposed);
    doc.at[doc.len - 1] = '}';
    return buf_str(&doc);
}

/* The totals, and the values that the commit leaves out. */
static struct str write_brief(struct plan *p)
{
    struct buf doc = buf_in(&p->arena);
    buf_put_c(&doc, '{');
    put_string(&doc, "consent", p->consent_text);
    put_string(&doc, "hash", p->hash_text);
    put_number(&doc, "seq", p->seq);
    put_summary(p, &doc);
    put_list(&doc, "unproposed", &p->lists.unproposed);
    doc.at[doc.len - 1] = '}';
    return buf_str(&doc);
}

static bool write_unit(struct plan *p)
{
    p->hash_text = end_hash(p, &p->hash);
    p->consent_text = end_hash(p, &p->consent);
    p->brief_doc = write_brief(p);
    if (p->is_detailed)
        p->doc = write_whole(p);
    p->is_too_large = p->is_too_large || (p->is_projected && p->doc.len > p->lists_max);
    return true;
}

/* Moved to a list of its own once it is sorted; then the list that is sorted next is keyed. */
static bool sort_unit(struct plan *p, struct noderoles *out, struct noderoles *next)
{
    if (!plan_sort(p) || !plan_take_sorted(p, out))
        return false;
    for (uint32_t i = 0; next && i < next->count; i++)
        plan_key(p, next->items[i]);
    if (next)
        next->count = 0;
    return true;
}

static bool sort_all_unit(struct plan *p)
{
    return sort_unit(p, &p->all, &p->asked);
}

static bool sort_asked_unit(struct plan *p)
{
    return sort_unit(p, &p->asked, NULL);
}

bool plan_unit(struct plan *p)
{
    static bool (*const units[])(struct plan * p) = {
        [PHASE_COLLECT] = collect_unit,
        [PHASE_SORT_ALL] = sort_all_unit,
        [PHASE_SORT_ASKED] = sort_asked_unit,
        [PHASE_WAVES] = plan_waves_unit,
        [PHASE_COUNT_WAVES] = plan_count_waves_unit,
        [PHASE_ORDER] = plan_order_unit,
        [PHASE_CONSENT] = consent_unit,
        [PHASE_PUT_COMMITS] = commits_unit,
        [PHASE_PUT_REMOVES] = removes_unit,
        [PHASE_PUT_RUNS] = runs_unit,
        [PHASE_PUT_ASKED] = asked_unit,
        [PHASE_PUT_HELD] = held_unit,
        [PHASE_PUT_VALUES] = summary_values_unit,
        [PHASE_WRITE] = write_unit,
    };
    must(p->phase >= PHASE_COLLECT && p->phase < sizeof units / sizeof *units);
    const bool is_over = units[p->phase](p);
    bound_lists(p);
    return is_over;
}
