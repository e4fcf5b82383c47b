#include "core/boot/boot_service.h"

#include "base/containers/sort.h"
#include "core/boot/boot_changes.h"

/* The boot servers on admin nodes, as far as the core knows them (docs/spec/boot.md, "Served").
 *
 * A connected boot server acknowledges turns: it has the boot view as of that turn. A noderole of a
 * role with a native jig has served a node if the server on its own node has acknowledged the turn
 * of the node's entry. Until the first boot server of the installation has connected (setting
 * boot_server), there is none to wait for.
 *
 * Acknowledgements are not stored. A server that connects, and every server after a load, begins
 * with a base image and has acknowledged nothing before that. A lost server changes no noderole:
 * machines that wait for it wait until their deadlines, and `why` names it. What a connected server
 * reports as not servable puts its noderoles into ERROR.
 *
 * The machines whose changes a server acknowledges are recorded as one ended run of each of its
 * noderoles, at most one in HISTORY_MS. For that, the core remembers the changes of the last turns
 * (core.boot_history), HISTORY_MAX at most; if the server acknowledges older ones, the record says
 * that there are more.
 *
 * This file owns core.boot_servers, core.boot_history and core.boot_forgotten. Failure: a turn that
 * the core does not know is refused, and changes nothing. */

enum { HISTORY_MS = 1000, HISTORY_MAX = 4096, HISTORY_NAMES_MAX = 40 };

static struct boot_server *boot_servers_find(const struct core *c, int64_t node_id)
{
    for (uint32_t i = 0; i < c->boot_server_count; i++)
        if (c->boot_servers[i].node_id == node_id)
            return (struct boot_server *)&c->boot_servers[i];
    return NULL;
}

static struct boot_server *boot_servers_edit(struct core *c, struct boot_server *server)
{
    undo_note(&c->undo, server, sizeof *server);
    return server;
}

/* A free entry of a node that was deleted is used again. */
static struct boot_server *boot_servers_add(struct core *c, int64_t node_id)
{
    struct boot_server *server = boot_servers_find(c, 0);
    if (!server && c->boot_server_count < BOOT_SERVERS_MAX) {
        undo_note(&c->undo, &c->boot_server_count, sizeof c->boot_server_count);
        server = &c->boot_servers[c->boot_server_count++];
    }
    if (!server) {
        refuse(c, PROBLEM_LIMIT_REACHED, STR("node_id"),
               STR_CONCAT(c->arena, STR("the limit of "), str_from_i64(c->arena, BOOT_SERVERS_MAX),
                          STR(" boot servers is reached")));
        return NULL;
    }
    boot_servers_edit(c, server);
    *server = (struct boot_server){.node_id = node_id};
    return server;
}

bool boot_servers_have(const struct core *c, noderole_ix nr, node_ix n)
{
    const struct boot_server *server =
        boot_servers_find(c, node_at(c, noderole_at(c, nr)->node)->o.id);
    return !core_settings(c)->boot_server || (server && server->taken >= node_at(c, n)->boot.turn);
}

void boot_servers_describe(const struct core *c, noderole_ix nr, struct boot_serving *out)
{
    const struct boot_server *server =
        boot_servers_find(c, node_at(c, noderole_at(c, nr)->node)->o.id);
    if (!server)
        return;
    out->is_connected = server->is_connected;
    out->since_ms = server->since_ms;
    out->taken = server->taken;
}

void boot_servers_forget_node(struct core *c, node_ix n)
{
    struct boot_server *server = boot_servers_find(c, node_at(c, n)->o.id);
    if (server)
        *boot_servers_edit(c, server) = (struct boot_server){0};
}

int64_t core_next_native(const struct core *c, int64_t node_id, int64_t after, int64_t *out_stamp)
{
    const node_ix n = node_by_id(c, node_id);
    const struct vec *all = n.v ? &node_at(c, n)->noderoles : NULL;
    noderole_ix found = {0};
    for (uint32_t i = 0; all && i < all->count; i++) {
        const noderole_ix nr = {vec_at(c, all, i)};
        const struct noderole *row = noderole_at(c, nr);
        const jig_ix jig = role_at(c, row->role)->jig;
        if (row->o.id > after && row->state != NODEROLE_PROPOSED && jig.v &&
            jig_at(c, jig)->is_native && (!found.v || row->o.id < noderole_at(c, found)->o.id))
            found = nr;
    }
    if (!found.v)
        return 0;
    const struct noderole *row = noderole_at(c, found);
    const struct role *role = role_at(c, row->role);
    *out_stamp =
        row->o.turn + role->o.turn + node_at(c, n)->o.turn + deployment_role_at(c, row->dr)->o.turn;
    for (uint32_t i = 0; i < role->attribs.count; i++)
        *out_stamp += attrib_at(c, (attrib_ix){vec_at(c, &role->attribs, i)})->o.turn;
    return row->o.id;
}

/* ---- history ---- */

void boot_servers_collect(struct core *c, int64_t turn)
{
    uint32_t count, machines = 0;
    int64_t of_turn;
    const struct boot_key *keys = core_boot_changes(c, &count, &of_turn);
    struct list *history = &c->boot_history;
    if (!c->boot_server_count)
        return;
    for (uint32_t i = 0; i < count; i++)
        machines += keys[i].kind == BOOT_MACHINE;
    if (history->count + machines > HISTORY_MAX) {
        c->boot_forgotten =
            history->count ? ((struct boot_served *)history->items)[history->count - 1].turn : turn;
        history->count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].kind != BOOT_MACHINE)
            continue;
        if (history->count == HISTORY_MAX) {
            c->boot_forgotten = turn;
            return;
        }
        *(struct boot_served *)list_push(history, sizeof(struct boot_served)) =
            (struct boot_served){turn, keys[i].id};
    }
}

static int boot_servers_cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The nodes that changed in the turns (after, to], each once. */
static uint32_t boot_servers_changed(const struct core *c, int64_t after, int64_t to,
                                     int64_t **out_ids)
{
    const struct boot_served *all = c->boot_history.items;
    int64_t *ids = arena_array(c->arena, int64_t, c->boot_history.count + (size_t)1);
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < c->boot_history.count; i++)
        if (all[i].turn > after && all[i].turn <= to)
            ids[count++] = all[i].node_id;
    sort_items(ids, count, sizeof *ids, boot_servers_cmp_ids, c->arena);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    *out_ids = ids;
    return kept;
}

/* "3 machines: a.x, b.x, node 7" */
static struct str boot_servers_log(struct core *c, const int64_t *ids, uint32_t count,
                                   bool has_more)
{
    struct buf b = buf_in(c->arena);
    if (has_more)
        buf_put_z(&b, "more than ");
    buf_put_i64(&b, count);
    buf_put_z(&b, count == 1 && !has_more ? " machine: " : " machines: ");
    for (uint32_t i = 0; i < count && i < HISTORY_NAMES_MAX; i++) {
        const node_ix n = node_by_id(c, ids[i]);
        if (i)
            buf_put_z(&b, ", ");
        buf_put_str(
            &b, n.v ? text_of(c, node_at(c, n)->name)
                    : STR_CONCAT(c->arena, STR("deleted node "), str_from_i64(c->arena, ids[i])));
    }
    if (count > HISTORY_NAMES_MAX)
        buf_put_z(&b, ", ...");
    return buf_str(&b);
}

/* The next committed native noderole on the node of the server. */
static noderole_ix boot_servers_next_noderole(const struct core *c,
                                              const struct boot_server *server,
                                              struct boot_service_cursor *at)
{
    for (noderole_ix nr; (nr = boot_service_next(c, at)).v;)
        if (node_at(c, noderole_at(c, nr)->node)->o.id == server->node_id &&
            role_at(c, noderole_at(c, nr)->role)->boot_service == BOOT_SERVICE_NATIVE)
            return nr;
    return (noderole_ix){0};
}

static void boot_servers_record(struct core *c, struct boot_server *server)
{
    int64_t *ids;
    struct boot_service_cursor at = {0};
    const int64_t after = server->logged;
    const uint32_t count = boot_servers_changed(c, after, server->to_log, &ids);
    boot_servers_edit(c, server)->logged = server->to_log;
    if (!count)
        return;
    server->logged_at = c->mono_ms;
    const struct str log = boot_servers_log(c, ids, count, after < c->boot_forgotten);
    for (noderole_ix nr; (nr = boot_servers_next_noderole(c, server, &at)).v;)
        run_archive_served(c, nr, log);
}

static bool boot_servers_is_due(const struct core *c, const struct boot_server *server)
{
    return server->logged < server->to_log && server->logged_at + HISTORY_MS <= c->mono_ms;
}

void boot_servers_tick(struct core *c)
{
    for (uint32_t i = 0; i < c->boot_server_count; i++)
        if (boot_servers_is_due(c, &c->boot_servers[i]))
            boot_servers_record(c, &c->boot_servers[i]);
}

int64_t boot_servers_next_deadline(const struct core *c)
{
    int64_t next = -1;
    for (uint32_t i = 0; i < c->boot_server_count; i++) {
        const struct boot_server *server = &c->boot_servers[i];
        const int64_t at = server->logged_at + HISTORY_MS;
        if (server->logged < server->to_log && (next < 0 || at < next))
            next = at;
    }
    return next;
}

/* ---- events ---- */

/* The setting is never cleared by an event: an installation with a boot server waits for it. */
static void boot_servers_connect(struct core *c, struct boot_server *server)
{
    boot_servers_edit(c, server);
    server->is_connected = true;
    server->since_ms = c->now_ms;
    server->taken = 0;
    if (!core_settings(c)->boot_server)
        settings_edit(c, (settings_ix){1})->boot_server = true;
}

static void boot_servers_take(struct core *c, struct boot_server *server, int64_t turn)
{
    if (!server->is_connected || turn <= server->taken)
        return; /* a late message of an earlier connection, or a repeated one */
    boot_servers_edit(c, server);
    /* A base image is no change, unless acknowledged changes are still to be recorded: then it
     * includes them. */
    const bool is_base = !server->taken && server->logged == server->to_log;
    if (turn > server->to_log)
        server->to_log = turn;
    if (is_base)
        server->logged = server->to_log;
    server->taken = turn;
    if (boot_servers_is_due(c, server))
        boot_servers_record(c, server);
}

static void boot_servers_lose(struct core *c, struct boot_server *server)
{
    if (!server->is_connected)
        return;
    boot_servers_edit(c, server);
    server->is_connected = false;
    server->since_ms = c->now_ms;
    server->taken = 0;
}

static void boot_servers_fail(struct core *c, struct boot_server *server, struct str text)
{
    struct boot_service_cursor at = {0};
    if (!server->is_connected)
        return;
    for (noderole_ix nr; (nr = boot_servers_next_noderole(c, server, &at)).v;)
        noderole_fail(
            c, nr,
            &(struct failure){.status = STR("the boot server cannot serve what was committed"),
                              .runlog = text,
                              .why = {.code = REASON_BOOT_SERVER, .text = text}});
}

void do_boot_server(struct core *c, const struct boot_server_command *p)
{
    const node_ix n = node_by_id(c, p->node_id);
    struct boot_server *server = boot_servers_find(c, p->node_id);
    c->out->id = p->node_id;
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if (p->event >= BOOT_EVENT_COUNT)
        refuse(c, PROBLEM_BAD_VALUE, STR("event"), STR("event is not one of a boot server"));
    if (p->event == BOOT_EVENT_TAKEN && (p->turn < 1 || p->turn > c->boot_turn))
        refuse(c, PROBLEM_BAD_VALUE, STR("turn"),
               STR("turn must be one that the daemon has sent: send the base image again"));
    if (p->event == BOOT_EVENT_FAILED && !p->text.len)
        refuse(c, PROBLEM_BAD_VALUE, STR("text"),
               STR("text is required; it says what cannot be served"));
    if (refused(c))
        return;
    if (!server && p->event == BOOT_EVENT_CONNECTED)
        server = boot_servers_add(c, p->node_id);
    if (!server)
        return; /* an event of a connection that is not known, or the limit is reached */
    switch ((enum boot_event)p->event) {
    case BOOT_EVENT_CONNECTED: boot_servers_connect(c, server); break;
    case BOOT_EVENT_TAKEN: boot_servers_take(c, server, p->turn); break;
    case BOOT_EVENT_LOST: boot_servers_lose(c, server); break;
    case BOOT_EVENT_FAILED: boot_servers_fail(c, server, p->text); break;
    case BOOT_EVENT_COUNT: impossible("an event that was checked above");
    }
    boot_service_changed(c);
}

void do_bootenv_report(struct core *c, const struct bootenv_report_command *p)
{
    const bootenv_ix ix = {name_find(c, TABLE_BOOTENV, p->name)};
    if (!ix.v) {
        refuse(c, PROBLEM_NOT_FOUND, STR("name"),
               STR_CONCAT(c->arena, STR("there is no boot environment called "), p->name));
        return;
    }
    c->out->id = bootenv_at(c, ix)->o.id;
    if (bootenv_at(c, ix)->available != p->available)
        bootenv_edit(c, ix)->available = p->available;
}
