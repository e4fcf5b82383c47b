/* site.h - an installation with objects behind the API, which is in the same state for every input.
 *
 * It owns the front of api_world.h with a world of two nodes, five roles, three deployments, a
 * group, hammers, users and tokens, runs in progress and snapshots; and the fake modules that the
 * API calls: the store of the history and the reader of barclamps. It is populated once and saved.
 * site_reset() loads the core from the saved records and creates a new API, so that the effect of
 * an input does not depend on earlier inputs. That costs a fraction of populating it.
 */
#pragma once

#include "http/http_private.h"
#include "import/barclamp_upload.h"
#include "sys/log.h"
#include "tests/fuzz/lone_call.h"

enum { FOUND_MAX = 64, HISTORY_REQUESTS_MAX = 16, EVENTS = 6 };

/* Secrets of the site: no reply may contain any of them. */
#define HAMMER_SECRET "kept-of-hammers"
#define OLD_HA1       "0e2b5c2ec7e3f0ac9d1f2c1ab54cd66e"

#define LAB 2 /* the deployment lab */

/* A request for history that the fake store has not replied to. */
struct history_request {
    int64_t number;
    struct record found[FOUND_MAX];
    uint32_t count;
};

struct site {
    struct front *f;
    struct world saved; /* after populating; its core is freed */
    struct record *records;
    struct arena_mark mark;
    struct history_request pending[HISTORY_REQUESTS_MAX];
    uint32_t pending_count;
};

static struct site site;

/* ---- fake store of the history ---- */

static inline struct history_request *history_request_new(int64_t number)
{
    CHECK(site.pending_count < HISTORY_REQUESTS_MAX);
    struct history_request *q = &site.pending[site.pending_count++];
    q->number = number;
    q->count = 0;
    return q;
}

static inline err site_runs(void *self, int64_t noderole_id, uint32_t limit, int64_t number)
{
    struct history_request *q = history_request_new(number);
    const struct world *w = ((struct front *)self)->w;
    for (size_t i = w->kept_count; i-- > 0 && q->count < limit && q->count < FOUND_MAX;)
        if (w->kept[i].table == TABLE_OLD_RUN && w->kept[i].old_run.noderole_id == noderole_id)
            q->found[q->count++] = w->kept[i];
    return OK;
}

static inline bool covers(const struct record *r, int64_t deployment_id, int64_t seq)
{
    if (r->table == TABLE_OLD_MEMBER)
        return r->old_member.deployment_id == deployment_id && r->old_member.from_seq <= seq &&
               seq < r->old_member.to_seq;
    return r->table == TABLE_OLD_DATA && r->old_data.deployment_id == deployment_id &&
           r->old_data.from_seq <= seq && seq < r->old_data.to_seq;
}

static inline bool is_after(const struct record *r, const struct interval_page *page)
{
    if (r->table == TABLE_OLD_MEMBER)
        return r->old_member.noderole_id > page->after[0];
    return r->old_data.role_id > page->after[0] ||
           (r->old_data.role_id == page->after[0] && r->old_data.node_id > page->after[1]);
}

static inline err site_intervals(void *self, const struct interval_page *page, int64_t number)
{
    struct history_request *q = history_request_new(number);
    const struct world *w = ((struct front *)self)->w;
    for (size_t i = 0; i < w->kept_count && q->count < FOUND_MAX; i++)
        if (w->kept[i].table == page->table &&
            covers(&w->kept[i], page->deployment_id, page->seq) && is_after(&w->kept[i], page))
            q->found[q->count++] = w->kept[i];
    return OK;
}

static inline err site_events(void *self, struct api_event_cursor from, uint32_t limit,
                              int64_t number)
{
    (void)self;
    struct history_request *q = history_request_new(number);
    for (int64_t step = 0; step < EVENTS && q->count < limit; step++) {
        const int64_t i = from.is_backward ? EVENTS - 1 - step : step;
        const struct event_record event = {.turn = 1 + i / 2,
                                           .n = i % 2,
                                           .at = 1700000000000 + i,
                                           .actor = i % 2 ? STR("engine") : STR("user admin"),
                                           .verb = i % 2 ? STR("anneal") : STR("node_update"),
                                           .object = i % 2 ? STR("") : STR("node"),
                                           .object_id = i % 2 ? 0 : 2,
                                           .changes = STR("{\"alive\":[false,true]}"),
                                           .address = i % 2 ? STR("") : STR("2001:db8::7")};
        const bool is_later =
            event.turn > from.turn || (event.turn == from.turn && event.n > from.n);
        const bool is_it = event.turn == from.turn && event.n == from.n;
        if (!is_it && is_later != from.is_backward)
            q->found[q->count++] = (struct record){.table = TABLE_EVENT, .event = event};
    }
    return OK;
}

static inline err site_log(void *self, struct api_log_chunk *log)
{
    (void)self;
    const struct str all = STR("one\ntwo \xff\xfe three\r\nfour");
    log->total = all.len;
    log->ended = log->run_id % 2;
    if (log->offset > log->total)
        log->offset = log->total;
    log->text = str_slice(all, (uint32_t)log->offset, all.len);
    return log->attempt == 3 ? ERR_NOT_FOUND : OK;
}

/* ---- fake readers of external data ---- */

static inline err site_import_dry_run(void *self, const struct str *barclamps, uint32_t count,
                                      struct arena *arena, struct outcome *outcomes)
{
    struct front *f = self;
    core_import_dry_run(f->w->core, barclamps, count, arena, outcomes);
    return OK;
}

static inline err site_barclamp(void *self, struct api_barclamp *sent)
{
    const struct barclamp_upload_callbacks callbacks = {
        .self = self, .core = front_core, .dry_run = site_import_dry_run, .folder = "/nowhere"};
    return barclamp_upload_read(&callbacks, sent);
}

static inline err site_discovery(void *self, struct str source, struct arena *arena,
                                 struct str *out_text)
{
    (void)self;
    *out_text = str_copy(arena, STR("{ \"dmi\": {\"asset\": \"found\"} }"));
    return str_eq(source, STR("node_discovery")) ? OK : ERR_NOT_FOUND;
}

static inline void site_metrics(void *self, struct buf *out)
{
    (void)self;
    buf_put_z(out, "halligan_up 1\n");
}

/* ---- initial objects ---- */

static const char site_yml[] =
    "{'barclamp':{'name':'shop','source_path':'/shop'},"
    "'roles':[{'name':'base','jig':'noop','flags':['implicit','discovery','milestone']},"
    "{'name':'a','jig':'script','requires':['base'],'attribs':["
    "{'name':'color','map':'app/color','default':'grey','schema':{'type':'str'}},"
    "{'name':'size','map':'app/size','schema':{'type':'int'}},"
    "{'name':'box','map':'app/box','schema':{'type':'map','mapping':{'=':{'type':'any'}}}}]},"
    "{'name':'b','jig':'script','requires':['a'],'wants-attribs':['color']},"
    "{'name':'s','jig':'script','flags':['cluster','server']},"
    "{'name':'spare','jig':'script','provides':['a']}],"
    "'attribs':[{'name':'asset','map':'dmi/asset','schema':{'type':'any'}},"
    "{'name':'test-discovery_data','map':'found','writable':true}]}";

static inline void create_token(struct world *w, const char *token,
                                struct token_create_command with)
{
    with.name = str_from(token);
    with.hash = credentials_token_hash(&w->arena, str_from(token));
    DONE(w, ((struct command){.kind = COMMAND_TOKEN_CREATE, .token_create = with}));
}

static inline int64_t make_user(struct world *w, struct user_create_command with)
{
    with.password_hash = password_param_hash();
    return DONE(w, ((struct command){.kind = COMMAND_USER_CREATE, .user_create = with}));
}

static inline void create_clients(struct world *w)
{
    const int64_t admin = core_find(w->core, TABLE_USER, STR("admin"));
    const int64_t worker = make_user(
        w, (struct user_create_command){.username = STR("operator"), .access = ACCESS_OPERATOR});
    const int64_t viewer = make_user(
        w, (struct user_create_command){.username = STR("viewer"), .access = ACCESS_VIEWER});
    const int64_t granted =
        make_user(w, (struct user_create_command){.username = STR("granted"),
                                                  .access = ACCESS_VIEWER,
                                                  .grants = STR("{\"2\":\"operator\"}")});
    const int64_t old = make_user(
        w, (struct user_create_command){.username = STR("old"), .digest_ha1 = STR(OLD_HA1)});
    const struct {
        const char *token;
        struct token_create_command with;
    } tokens[] = {
        {"hlg_admin", {.user_id = admin}},
        {"hlg_capped", {.user_id = admin, .access = ACCESS_VIEWER}},
        {"hlg_operator", {.user_id = worker}},
        {"hlg_viewer", {.user_id = viewer}},
        {"hlg_granted", {.user_id = granted}},
        {"hlg_scoped", {.user_id = old, .deployment_id = LAB}},
        {"hlg_node", {.node_id = the_node(w, "n1")}},
        {"hlg_session",
         {.user_id = admin, .kind = TOKEN_SESSION, .expires_at = w->now_ms + 3600 * 1000}},
        {"hlg_late", {.user_id = admin, .expires_at = w->now_ms + 12000}},
    };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        create_token(w, tokens[i].token, tokens[i].with);
    w->now_ms += 12000; /* the last token is expired */
    CHECK(the_deployment(w, "lab") == LAB);
}

static inline void set_and_run(struct world *w, const char *data)
{
    DONE(w, cmd_propose(w, "a@n1"));
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, data)));
    DONE(w, cmd_commit(w, "a@n1"));
    world_run_all(w);
}

/* lab has older snapshots, system has a run in progress, site is empty and proposed. */
static inline void create_deployments(struct world *w)
{
    world_deployment(w, "lab");
    world_node(w, "n1", "lab");
    world_bind_in(w, "a@n1", "lab");
    world_commit_deployment(w, "lab");
    world_run_all(w);
    set_and_run(w, "{'app':{'color':'red'}}");
    DONE(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(w, "lab")));
    world_bind_in(w, "b@n1", "lab");
    world_commit_deployment(w, "lab");
    world_run_all(w);
    set_and_run(w, "{'app':{'color':'blue','size':2}}");
    world_node(w, "n2", NULL);
    world_bind(w, "a@n2");
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n2")));
    world_deliver(w);
    world_anneal(w);
    world_bind(w, "b@n2");
    world_bind_in(w, "s@n1", "lab");
    world_deployment(w, "site");
}

static inline void create_objects(struct world *w)
{
    const int64_t rack =
        DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("row_1"), .category = STR("rack")));
    DONE(w, CMD(GROUP_ADD, group_add, .id = rack, .node_id = the_node(w, "n1")));
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n2"), .hammer_kind_id = 2,
                .endpoint = STR("10.0.0.2"), .username = STR("root"),
                .authenticator = STR(HAMMER_SECRET), .priority = 5));
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "asset", BUCKET_USER, "{'tag':[1,'x']}"));
}

/* Resets the records that the world keeps of steps that changed nothing. */
static inline void site_discard_steps(void)
{
    struct world *w = site.f->w;
    const struct world now = *w;
    arena_rewind(&w->arena, site.mark);
    const struct arena arena = w->arena;
    *w = site.saved;
    w->arena = arena;
    w->core = now.core;
    w->kept = now.kept;
    w->kept_cap = now.kept_cap;
}

/* Restores the state after populating. */
static inline void site_reset(void)
{
    struct world *w = site.f->w;
    const char *what = NULL;
    api_free(site.f->api);
    core_free(w->core);
    site_discard_steps();
    w->core = core_new();
    memcpy(w->kept, site.records, w->kept_count * sizeof *w->kept);
    for (size_t i = 0; i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        CHECK(core_load(w->core, &w->kept[i], &what) == OK);
    CHECK(core_load_end(w->core, w->now_ms - 1600000000000, &what) == OK);
    site.f->line_count = 0;
    site.pending_count = 0;
    site.f->api = api_new(site.f->engine, site.f->passwords);
}

static inline void site_open(void)
{
    struct front *f = site.f = front_open();
    struct world *w = f->w;
    log_setup(LOG_ERROR, LOG_TEXT);
    f->engine.runs = site_runs;
    f->engine.intervals = site_intervals;
    f->engine.events = site_events;
    f->engine.run_log = site_log;
    f->engine.read_barclamp = site_barclamp;
    f->engine.test_discovery = site_discovery;
    f->engine.metrics = site_metrics;
    f->engine.version = "0";
    DONE(w, cmd_import(w, site_yml));
    create_deployments(w);
    create_objects(w);
    create_clients(w);
    world_reload(w); /* sorts the stored records */
    world_clear_effects(w);
    site.records = malloc(w->kept_count * sizeof *site.records);
    CHECK(site.records != NULL);
    memcpy(site.records, w->kept, w->kept_count * sizeof *site.records);
    site.mark = arena_mark(&w->arena);
    site.saved = *w;
    const struct digest128 digest = core_digest_now(w->core);
    site_reset();
    CHECK(digest_eq(core_digest_now(w->core), digest) && digest_eq(core_digest(w->core), digest));
}

/* ---- requests ---- */

static inline void site_send_history(void)
{
    const struct history_request q = site.pending[0];
    memmove(site.pending, site.pending + 1, --site.pending_count * sizeof *site.pending);
    api_on_history(site.f->api, q.number, q.found, q.count, OK);
}

/* Completes the pending work of passwords, commands, history and the API until none is left. */
static inline void site_run_until_idle(void)
{
    struct front *f = site.f;
    for (;;) {
        if (f->passwords->count)
            passwords_finish_oldest(f->passwords);
        else if (f->line_count)
            front_take(f);
        else if (site.pending_count)
            site_send_history();
        else if (!api_pump(f->api))
            return;
    }
}

/* Frees the requests of an input; each has exactly one reply. */
static inline void site_free_requests(void)
{
    struct front *f = site.f;
    for (uint32_t i = 0; i < f->all_count; i++) {
        CHECK(f->all[i]->answers == 1);
        arena_fini(&f->all[i]->kept);
        free(f->all[i]);
    }
    f->all_count = 0;
}

/* Returns NULL if the HTTP server would refuse the target. */
static inline struct asked *site_asked(enum http_method method, struct str target)
{
    struct asked *a = calloc(1, sizeof *a);
    CHECK(a != NULL);
    a->request.method = method;
    a->request.target = str_copy(&a->request.arena, target);
    if (target_parse(&a->request, a->request.target) != OK) {
        arena_fini(&a->request.arena);
        free(a);
        return NULL;
    }
    a->request.is_loopback = true;
    site.f->all[site.f->all_count++] = a;
    return a;
}
