#include "core/core_private.h"

#include "base/json.h"
#include "base/sha256.h"

/* What a commit will do, told before it is done (DECISIONS D12). The commit is really stepped and
 * taken back; in between, the annealing that would follow is walked with every run succeeding. A
 * commit that carries the hash of a plan makes its own plan the same way and compares. */

enum { UNPROPOSED_SHOWN_MAX = 1000 };
enum { WAVE_HELD = 0 }; /* of a noderole that will not start; waves count from 1 */

struct digest {
    uint8_t bytes[32];
};

struct plan {
    struct core *c;
    const struct commit *work;
    struct arena scratch;
    noderole_ix *all; /* TODO and BLOCKED in the deployment, by (cohort, id) */
    uint32_t count;
    uint32_t *wave;   /* by index of noderoles */
    bool *is_planned; /* by index: one of `all` */
    uint32_t last_wave;
    struct sha256 hash;
    struct digest data; /* the newest of hash_with_data, and what it is of */
    doc_h data_of[2];
    bool data_is_known;
};

/* ---- who starts, in which wave ---- */

/* Somebody on the node waits for an answer that no run will bring. */
static bool is_closed(const struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    if (node->stopped || node->counts[NODEROLE_ERROR])
        return true;
    for (uint32_t i = 0; node->counts[NODEROLE_TRANSITION] && i < node->noderoles.count; i++) {
        const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, &node->noderoles, i)});
        if (nr->state == NODEROLE_TRANSITION && !nr->run.v)
            return true;
    }
    return false;
}

/* ACTIVE by the time the wave it returns is over; WAVE_HELD when not at all. *out_now: it is or
 * will be without the plan. */
static uint32_t parent_wave(const struct plan *p, noderole_ix parent, bool *out_now)
{
    const struct noderole *nr = noderole_at(p->c, parent);
    *out_now = nr->state == NODEROLE_ACTIVE || (nr->state == NODEROLE_TRANSITION && nr->run.v);
    return p->is_planned[parent.v] ? p->wave[parent.v] : WAVE_HELD;
}

/* The first parent in the way, or none; *out_wave is when the others are done. */
static noderole_ix parent_in_the_way(const struct plan *p, noderole_ix nr, uint32_t *out_wave)
{
    const struct vec *parents = &noderole_at(p->c, nr)->parents;
    noderole_ix first = {0};
    uint32_t done = 0;
    for (uint32_t i = 0; i < parents->count; i++) {
        bool now;
        const noderole_ix parent = {vec_at(p->c, parents, i)};
        const uint32_t wave = parent_wave(p, parent, &now);
        if (!now && wave == WAVE_HELD && (!first.v || noderole_cmp(p->c, parent, first) < 0))
            first = parent;
        done = wave > done ? wave : done;
    }
    *out_wave = done;
    return first;
}

/* A required attrib of its role that has no value: its run would be ERROR at once. */
static attrib_ix lacks_attrib(struct plan *p, noderole_ix nr)
{
    return required_missing(p->c, nr, &p->scratch);
}

/* Parents lie at lower cohorts, so one pass in that order decides about everybody. */
static void plan_waves(struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->is_planned[p->all[i].v] = true;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t done;
        const noderole_ix nr = p->all[i];
        if (parent_in_the_way(p, nr, &done).v || !noderole_is_runnable(p->c, nr) ||
            is_closed(p->c, noderole_at(p->c, nr)->node) || lacks_attrib(p, nr).v)
            continue;
        p->wave[nr.v] = done + 1;
        p->last_wave = done + 1 > p->last_wave ? done + 1 : p->last_wave;
    }
}

/* Those that start, wave by wave, each by (cohort, id). */
static noderole_ix *in_order(struct plan *p, uint32_t *out_count)
{
    uint32_t *next = arena_array(&p->scratch, uint32_t, p->last_wave + 2);
    for (uint32_t i = 0; i < p->count; i++)
        next[p->wave[p->all[i].v] + 1]++;
    const uint32_t held = next[WAVE_HELD + 1];
    next[WAVE_HELD + 1] = 0;
    for (uint32_t w = 1; w <= p->last_wave; w++)
        next[w + 1] += next[w];
    noderole_ix *runs = arena_array(&p->scratch, noderole_ix, p->count - held + 1);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->wave[p->all[i].v] != WAVE_HELD)
            runs[next[p->wave[p->all[i].v]]++] = p->all[i];
    *out_count = p->count - held;
    return runs;
}

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
    const doc_h of_role = deployment_role_at(p->c, row->dr)->committed_data;
    if (!p->data_is_known || p->data_of[0] != of_role || p->data_of[1] != row->committed_data) {
        struct digest both[2] = {digest_of(doc_of(p->c, of_role)),
                                 digest_of(doc_of(p->c, row->committed_data))};
        p->data = digest_of((struct str){(const char *)both, sizeof both});
        p->data_of[0] = of_role;
        p->data_of[1] = row->committed_data;
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

/* A list on its own, so that one walk can fill several. */
static struct buf list_in(struct plan *p)
{
    struct buf b = buf_in(&p->scratch);
    buf_put_c(&b, '[');
    return b;
}

static void put_list(struct buf *doc, const char *key, struct buf *list)
{
    buf_put_c(list, ']');
    put_key(doc, key);
    buf_put_str(doc, buf_str(list));
    buf_put_c(doc, ',');
}

/* ---- its chapters ---- */

struct lists {
    struct buf announced, commits, destructive, held, missing, removes, reruns, role_commits, runs;
};

static void tell_commits(struct plan *p, struct lists *l)
{
    const struct core *c = p->c;
    for (uint32_t i = 0; i < p->work->role_count; i++) {
        const struct deployment_role *dr = deployment_role_at(c, p->work->roles[i]);
        hash_line(p, 'd', role_at(c, dr->role)->o.id, 0, digest_of(doc_of(c, dr->committed_data)));
        buf_put_z(&l->role_commits, i ? ",{" : "{");
        plan_put_role(c, &l->role_commits, dr->role);
        buf_put_c(&l->role_commits, '}');
    }
    for (uint32_t i = 0; i < p->work->count; i++) {
        hash_with_data(p, 'c', p->work->items[i]);
        plan_put_item(p->c, &l->commits, p->work->items[i]);
        buf_put_c(&l->commits, '}');
    }
}

/* Their rows are dead but can be read until the end of the turn. */
static void tell_removes(struct plan *p, struct lists *l)
{
    for (uint32_t i = 0; i < p->work->removed_count; i++) {
        hash_noderole(p, 'r', p->work->removed[i], (struct digest){0});
        plan_put_item(p->c, &l->removes, p->work->removed[i]);
        buf_put_c(&l->removes, '}');
    }
}

/* Boot, power and wipe steps the role declares. */
static void tell_announced(struct plan *p, struct lists *l, noderole_ix nr)
{
    const doc_h announces = role_at(p->c, noderole_at(p->c, nr)->role)->announces;
    if (!announces || str_eq(text_of(p->c, announces), STR("[]")))
        return;
    hash_noderole(p, 'a', nr, digest_of(text_of(p->c, announces)));
    plan_put_item(p->c, &l->announced, nr);
    buf_put_c(&l->announced, ',');
    put_key(&l->announced, "steps");
    buf_put_str(&l->announced, text_of(p->c, announces));
    buf_put_c(&l->announced, '}');
}

/* A rerun: it ran before, or is asked to run while ACTIVE. */
static void tell_rerun(struct plan *p, struct lists *l, noderole_ix nr)
{
    plan_put_item(p->c, &l->reruns, nr);
    buf_put_c(&l->reruns, '}');
}

static void tell_destructive(struct plan *p, struct lists *l, noderole_ix nr)
{
    hash_noderole(p, 'x', nr, (struct digest){0});
    plan_put_item(p->c, &l->destructive, nr);
    buf_put_c(&l->destructive, '}');
}

static const char *how_it_runs(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    if (role_is_noop(c, row->role))
        return "noop";
    if (run_is_instant(c, nr))
        return "skip";
    return row->run_count ? "again" : "run";
}

static void tell_run(struct plan *p, struct lists *l, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    const char *how = how_it_runs(p->c, nr);
    const bool skipped = str_eq(str_from(how), STR("skip"));
    hash_with_data(p, 's', nr);
    /* {"how":"run","node":1,...,"wave":1} */
    buf_put_z(&l->runs, l->runs.len > 1 ? ",{\"how\":\"" : "{\"how\":\"");
    buf_put_z(&l->runs, how);
    buf_put_z(&l->runs, "\",");
    put_noderole(p->c, &l->runs, nr);
    buf_put_c(&l->runs, ',');
    put_key(&l->runs, "wave");
    buf_put_u64(&l->runs, p->wave[nr.v]);
    buf_put_c(&l->runs, '}');
    if (skipped)
        return;
    tell_announced(p, l, nr);
    if (row->run_count)
        tell_rerun(p, l, nr);
    else if (role_at(p->c, row->role)->flags & ROLE_DESTRUCTIVE)
        tell_destructive(p, l, nr);
}

static bool is_asked_again(const struct noderole *nr)
{
    return nr->state == NODEROLE_ACTIVE && nr->queued.v;
}

static void tell_runs(struct plan *p, struct lists *l)
{
    uint32_t count;
    const noderole_ix *runs = in_order(p, &count);
    for (uint32_t i = 0; i < count; i++)
        tell_run(p, l, runs[i]);
    const uint32_t active = deployment_at(p->c, p->work->d)->counts[NODEROLE_ACTIVE];
    const noderole_ix *asked = deployment_pick(p->c, p->work->d, is_asked_again, active, &count);
    for (uint32_t i = 0; i < count; i++) {
        hash_with_data(p, 'q', asked[i]);
        tell_announced(p, l, asked[i]);
        tell_rerun(p, l, asked[i]);
    }
}

/* The noderole at the end of what keeps this one. */
static noderole_ix held_by(const struct plan *p, noderole_ix nr)
{
    for (;;) {
        uint32_t done;
        const noderole_ix parent = parent_in_the_way(p, nr, &done);
        if (!parent.v)
            return nr;
        nr = parent; /* at a lower cohort each time */
    }
}

static void tell_held(struct plan *p, struct lists *l, noderole_ix nr)
{
    struct arena words = {0};
    const noderole_ix root = held_by(p, nr);
    const attrib_ix missing = lacks_attrib(p, root);
    const struct cause lacks = {.code = CAUSE_REASON,
                                .reason = REASON_ATTRIB_MISSING,
                                .text = missing.v ? required_sentence(p->c, root, missing, &words)
                                                  : STR("")};
    const struct cause *cause = missing.v ? &lacks : why_noderole(p->c, root, true, &words);
    while (cause->next)
        cause = cause->next;
    /* {"cause":"not_alive","node":1,...,"why":"node `n1` is not alive"} */
    buf_put_z(&l->held, l->held.len > 1 ? ",{\"cause\":\"" : "{\"cause\":\"");
    buf_put_z(&l->held, cause_code_name(cause));
    buf_put_z(&l->held, "\",");
    put_noderole(p->c, &l->held, nr);
    buf_put_c(&l->held, ',');
    put_key(&l->held, "why");
    json_write_string(&l->held, cause->text);
    buf_put_c(&l->held, '}');
    arena_fini(&words);
}

/* {"attrib":"ntp-servers","node":1,...,"why":"..."}: to be set before the commit, not after it. */
static void tell_missing(struct plan *p, struct lists *l, noderole_ix nr)
{
    struct arena words = {0};
    const attrib_ix missing = lacks_attrib(p, nr);
    if (!missing.v)
        return;
    buf_put_z(&l->missing, l->missing.len > 1 ? ",{\"attrib\":" : "{\"attrib\":");
    json_write_string(&l->missing, text_of(p->c, attrib_at(p->c, missing)->name));
    buf_put_c(&l->missing, ',');
    put_noderole(p->c, &l->missing, nr);
    buf_put_c(&l->missing, ',');
    put_key(&l->missing, "why");
    json_write_string(&l->missing, required_sentence(p->c, nr, missing, &words));
    buf_put_c(&l->missing, '}');
    arena_fini(&words);
}

static struct lists tell(struct plan *p)
{
    struct lists l = {list_in(p), list_in(p), list_in(p), list_in(p), list_in(p),
                      list_in(p), list_in(p), list_in(p), list_in(p)};
    tell_commits(p, &l);
    tell_removes(p, &l);
    tell_runs(p, &l);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->wave[p->all[i].v] == WAVE_HELD) {
            tell_held(p, &l, p->all[i]);
            tell_missing(p, &l, p->all[i]);
        }
    return l;
}

static struct str hash_hex(struct plan *p)
{
    uint8_t digest[32];
    struct buf hex = buf_in(p->c->arena);
    sha256_end(&p->hash, digest);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}

static struct str write_plan(struct plan *p, struct lists *l, struct str hash)
{
    struct buf doc = buf_in(p->c->arena);
    buf_put_c(&doc, '{');
    struct buf changed = list_in(p), destructive = list_in(p), unproposed = list_in(p);
    defaults_put(p->c, p->work->d, false, &changed);
    defaults_put(p->c, p->work->d, true, &destructive);
    unproposed_put(p->c, p->work->d, UNPROPOSED_SHOWN_MAX, &unproposed);
    put_list(&doc, "announced", &l->announced);
    put_list(&doc, "changed", &changed);
    put_list(&doc, "changed_destructive", &destructive);
    put_list(&doc, "commits", &l->commits);
    consent_put(p->c, p->work, UINT32_MAX, &doc);
    put_list(&doc, "destructive", &l->destructive);
    put_key(&doc, "hash");
    json_write_string(&doc, hash);
    buf_put_c(&doc, ',');
    put_list(&doc, "held", &l->held);
    put_list(&doc, "missing", &l->missing);
    put_list(&doc, "removes", &l->removes);
    put_list(&doc, "reruns", &l->reruns);
    put_list(&doc, "role_commits", &l->role_commits);
    put_list(&doc, "runs", &l->runs);
    put_key(&doc, "seq");
    buf_put_i64(&doc, p->work->seq);
    buf_put_c(&doc, ',');
    put_list(&doc, "unproposed", &unproposed);
    doc.at[doc.len - 1] = '}';
    return buf_str(&doc);
}

void plan_check(struct core *c, const struct commit *work, struct str wanted)
{
    struct plan p = {.c = c, .work = work};
    const uint32_t high = c->tables[TABLE_NODEROLE].pool.high;
    p.all = deployment_waiting(c, work->d, &p.count);
    p.wave = arena_array(&p.scratch, uint32_t, high + 1);
    p.is_planned = arena_array(&p.scratch, bool, high + 1);
    plan_waves(&p);

    sha256_init(&p.hash);
    hash_line(&p, 'h', 0, work->seq, (struct digest){0});
    struct lists lists = tell(&p);
    const struct str hash = hash_hex(&p);
    c->out->doc = write_plan(&p, &lists, hash);
    arena_fini(&p.scratch);
    if (!c->planning && !str_eq_nocase(hash, wanted))
        refuse(c, PROBLEM_PLAN_CHANGED, STR("plan"),
               STR("committing would do something else than was planned; look at the new plan"));
}

static bool is_commit(enum command_kind kind)
{
    return kind == COMMAND_DEPLOYMENT_COMMIT || kind == COMMAND_NODE_COMMIT ||
           kind == COMMAND_NODEROLE_COMMIT;
}

void core_plan(struct core *c, const struct command *commit, struct arena *arena,
               struct outcome *out)
{
    must(c->undo.depth == 0);
    must(commit->is_brief ? is_commit(commit->kind) : commit->kind == COMMAND_DEPLOYMENT_COMMIT);
    c->planning = commit->is_brief ? PLANNING_CONSENT : PLANNING_ALL;
    c->step_number++; /* a plan is a step as far as guards "once per step" are concerned */
    core_step_dry(c, commit, arena, out);
    c->planning = PLANNING_NOT;
}
