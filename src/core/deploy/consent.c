#include "core/plan/commit_view.h"

#include "base/hash/sha256.h"
#include "base/json/json.h"

/* Consent to destructive commits (ADR 0074): which noderoles a commit allows to destroy data, and
 * the hash by which a client agrees to exactly these. The file owns no state.
 *
 * They are the noderoles of destructive roles that have not run since they were bound or reset:
 * those that are committed now and, if the commit opens the head, those that waited in it. All
 * others were allowed by an earlier commit. Whether they start at once does not matter: a machine
 * that is off now is wiped when it is switched on. The hash of a whole plan changes with each run
 * that starts; this hash changes only with what is proposed, so a client can compare it in a busy
 * deployment.
 *
 * Order: consent_check() is called after the commit has changed the rows, because the set is
 * determined from its result, in the order (cohort, id). Failure: if the hash of the client
 * differs, the step is refused with PLAN_CHANGED and the commit is rolled back. */

enum {
    SHOWN_MAX = 100, /* entries in the reply to a client that requests the consent only */
    TARGETS_BYTES_MAX = 16 << 10 /* of one noderole */
};

bool consent_is_needed(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    return row->run_count == 0 && role_at(c, row->role)->flags & ROLE_DESTRUCTIVE;
}

static noderole_ix *consent_find(struct core *c, const struct commit *work, uint32_t *out_count)
{
    uint32_t count = work->count, kept = 0;
    const noderole_ix *all = work->opens ? deployment_waiting(c, work->d, &count) : work->items;
    noderole_ix *found = arena_array(c->arena, noderole_ix, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (consent_is_needed(c, all[i]))
            found[kept++] = all[i];
    *out_count = kept;
    return found;
}

/* Adds role, node and user data of a noderole to the hash. The lengths of the documents precede
 * them, so that different data cannot give the same bytes. */
void consent_hash(const struct core *c, struct sha256 *hash, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    const struct str docs[] = {doc_of(c, view_role_data(c, deployment_role_at(c, row->dr))),
                               doc_of(c, view_noderole_data(c, row))};
    const int64_t numbers[] = {role_at(c, row->role)->o.id, node_at(c, row->node)->o.id,
                               docs[0].len, docs[1].len};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t shift = 0; shift < 64; shift += 8) {
            const uint8_t byte = (uint8_t)((uint64_t)numbers[i] >> shift);
            sha256_add(hash, &byte, 1);
        }
    for (uint32_t i = 0; i < 2; i++)
        sha256_add(hash, docs[i].at, docs[i].len);
}

static struct str consent_hash_all(struct core *c, const noderole_ix *items, uint32_t count)
{
    struct sha256 hash;
    uint8_t digest[32];
    struct buf hex = buf_in(c->arena);
    sha256_init(&hash);
    for (uint32_t i = 0; i < count; i++)
        consent_hash(c, &hash, items[i]);
    sha256_end(&hash, digest);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}

/* Copies a list for the document of a plan; at most that many bytes of its items. */
static struct json *plan_clip_targets(struct arena *a, const struct json *list, bool *out_clipped)
{
    uint32_t bytes = 0;
    struct json *shown = json_make(a, JSON_ARRAY);
    for (const struct json *item = list->first; item; item = item->next) {
        bytes += json_write(a, item).len;
        if (bytes > TARGETS_BYTES_MAX) {
            *out_clipped = true;
            break;
        }
        json_append(shown, json_clone(a, item));
    }
    return shown;
}

/* The role lists the targets of a step in the user data of the noderole, below "announced", its own
 * name and the step. The hash covers them with the other user data. */
void plan_put_steps(const struct core *c, noderole_ix nr, struct buf *list)
{
    struct arena scratch = {0};
    bool is_clipped = false;
    const struct noderole *row = noderole_at(c, nr);
    const struct role *role = role_at(c, row->role);
    const struct json *steps =
        doc_tree(&scratch, role->announces ? text_of(c, role->announces) : STR("[]"));
    buf_put_z(list, "\"steps\":");
    json_write_to(list, steps);
    const struct str data = doc_of(c, view_noderole_data(c, row));
    if (str_has(data, STR("\"announced\":"))) {
        struct json *targets = json_make(&scratch, JSON_OBJECT);
        const struct json *own =
            json_get(json_get(doc_tree(&scratch, data), STR("announced")), text_of(c, role->name));
        for (const struct json *step = steps->first; step && own; step = step->next) {
            const struct json *of_step = json_get(own, step->text);
            if (of_step && of_step->kind == JSON_ARRAY && of_step->first)
                json_set(targets, step->text, plan_clip_targets(&scratch, of_step, &is_clipped));
        }
        buf_put_z(list, targets->first ? ",\"targets\":" : "");
        if (targets->first)
            json_write_to(list, targets);
        buf_put_z(list, is_clipped ? ",\"targets_clipped\":true" : "");
    }
    arena_fini(&scratch);
}

void consent_put_entry(const struct core *c, noderole_ix nr, struct buf *list)
{
    plan_put_item(c, list, nr);
    buf_put_c(list, ',');
    plan_put_steps(c, nr, list);
    buf_put_c(list, '}');
}

void consent_check(struct core *c, const struct commit *work, struct str wanted)
{
    uint32_t count;
    /* A dry commit for the consent: write the hash and the first entries, and compare nothing. */
    if (c->planning == PLANNING_CONSENT) {
        const noderole_ix *shown = consent_find(c, work, &count);
        struct buf doc = buf_in(c->arena);
        buf_put_z(&doc, "{\"consent\":\"");
        buf_put_str(&doc, consent_hash_all(c, shown, count));
        buf_put_z(&doc, "\",\"destroys\":[");
        for (uint32_t i = 0; i < count && i < SHOWN_MAX; i++)
            consent_put_entry(c, shown[i], &doc);
        buf_put_z(&doc, "],\"destroys_count\":");
        buf_put_u64(&doc, count);
        buf_put_z(&doc, ",\"unproposed\":[");
        count = work->d.v      ? unproposed_put(c, work->d, SHOWN_MAX, &doc)
                : work->node.v ? unproposed_put_node(c, work->node, SHOWN_MAX, &doc)
                               : 0;
        buf_put_z(&doc, "],\"unproposed_count\":");
        buf_put_u64(&doc, count);
        buf_put_c(&doc, '}');
        c->out->doc = buf_str(&doc);
        return;
    }
    /* A commit without a hash of the client is not checked. */
    if (!wanted.len || c->planning)
        return;
    const noderole_ix *items = consent_find(c, work, &count);
    if (!str_eq_nocase(consent_hash_all(c, items, count), wanted))
        refuse(c, PROBLEM_PLAN_CHANGED, STR("consent"),
               STR("this commit would destroy other data than was agreed to; request the plan "
                   "again and agree to its consent hash"));
}
