/* known_hosts.c - import of an old known_hosts file, and writing the file from the pins.
 *
 * Import, in this order: the lines of the old file become pins; nodes that are alive and still have
 * no pins are probed; the settings record that the import is done; only then is the file replaced.
 * The lines of the old file exist nowhere else, so nothing may overwrite it earlier. If a batch is
 * lost, the import starts again: pinning a key that is pinned already changes nothing.
 *
 * File, in this order: the text is built from the core, in slices so that the loop is not blocked;
 * the turn that it was built from becomes durable; a thread writes a temporary file and renames it.
 * Writing before the turn is durable could make ssh accept a key whose pin is lost with the batch.
 * A core reload discards the text, because uncommitted rows may have disappeared.
 *
 * A failed write is logged and repeated after 10 s. It does not delay probes: ssh refuses a host
 * whose key is not in the file, which is safe.
 */
#include "power/known_hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/buf.h"
#include "core/core.h"
#include "model/host_key.h"
#include "model/limits.h"
#include "port/batch.h"
#include "power/ssh_keys.h"
#include "sys/files.h"
#include "sys/log.h"
#include "turn/turn.h"

#define FILE_SIZE_MAX ((uint32_t)1 << 30)

enum {
    SLICE_ROWS = 4096,    /* rows that one call of the pump visits */
    WAITING_MAX = 64,     /* commands of the import without an outcome */
    RETRY_MS = 10 * 1000, /* after a failed read or write */
    LINE_HEAD_SIZE = 32   /* "node-ID ", in bytes */
};

static const char file_header[] =
    "# Written by halligand from its store. What is changed here is lost; "
    "\"halligan nodes forget-key NODE\" removes keys.\n";

/* ---- pins ---- */

bool known_hosts_has_pins(const struct core *core, int64_t node_id, int64_t boot, struct arena *a)
{
    uint32_t count;
    const int64_t *ids = core_host_keys_of(core, node_id, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record pin;
        if (core_record(core, TABLE_HOST_KEY, ids[i], &pin) &&
            (pin.host_key.boot == HOST_KEY_ANY_BOOT || pin.host_key.boot >= boot))
            return true;
    }
    return false;
}

struct str known_hosts_best_key(const struct core *core, int64_t node_id, struct arena *a)
{
    static const char *const preferred[] = {"ssh-ed25519 ", "ecdsa-", ""};
    uint32_t count;
    const int64_t *ids = core_host_keys_of(core, node_id, a, &count);
    for (uint32_t p = 0; p < sizeof preferred / sizeof *preferred; p++)
        for (uint32_t i = 0; i < count; i++) {
            struct record pin;
            if (core_record(core, TABLE_HOST_KEY, ids[i], &pin) &&
                str_starts(pin.host_key.key, str_from(preferred[p])))
                return str_copy(a, pin.host_key.key);
        }
    return STR("");
}

/* ---- import of an old file ---- */

static struct str known_line_next_word(struct str *line)
{
    const uint32_t end = str_find(*line, ' ', 0);
    const struct str word = str_slice(*line, 0, end);
    *line = str_slice(*line, end + 1, line->len);
    return word;
}

/* The comment of a line, "node-7-boot-3": the node and the boot generation at which the key was
 * seen. Lines that an operator wrote have no such comment and are valid for all boot generations.
 * False: the line belongs to another node. */
static bool known_line_parse_comment(struct str comment, struct known_line *line)
{
    long long node, boot;
    char text[64], rest;
    line->boot = HOST_KEY_ANY_BOOT;
    if (comment.len == 0 || !str_starts(comment, STR("node-")))
        return true;
    if (comment.len >= sizeof text)
        return false;
    memcpy(text, comment.at, comment.len);
    text[comment.len] = 0;
    if (sscanf(text, "node-%lld-boot-%lld%c", &node, &boot, &rest) != 2 || boot < 0 ||
        node != line->node_id)
        return false;
    line->boot = boot;
    return true;
}

static bool known_line_parse(const struct core *core, struct str text, struct known_line *line)
{
    const struct str host = known_line_next_word(&text), type = known_line_next_word(&text),
                     base64 = known_line_next_word(&text);
    line->node_id = host.len ? core_find(core, TABLE_NODE, host) : 0;
    line->key = (struct str){type.at, type.len + 1 + base64.len};
    return line->node_id && base64.len && host_key_is_valid(line->key) &&
           known_line_parse_comment(text, line);
}

static int known_line_compare(const void *a, const void *b)
{
    const struct known_line *one = a, *other = b;
    if (one->node_id != other->node_id)
        return one->node_id < other->node_id ? -1 : 1;
    return one->key.at < other->key.at ? -1 : 1;
}

static uint32_t known_hosts_count_lines(struct str text)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < text.len; i++)
        count += text.at[i] == '\n';
    return count;
}

/* After a failed read the pump reads the old file again. After a failed write the higher count of
 * changes makes the pump build and write the text again. */
static void known_hosts_on_retry(uv_timer_t *timer)
{
    struct known_hosts *k = timer->data;
    k->changes++;
    k->wake(k->self);
}

/* The keys in the file exist nowhere else. So nothing is pinned, and the file is not replaced,
 * until it can be read. */
static void known_hosts_read_again_later(struct known_hosts *k, const char *why)
{
    if (!k->is_unreadable)
        log_print(LOG_ERROR,
                  "\"%s\" cannot be read: %s; no probe and no run starts until its host keys are "
                  "taken over; it is read again every %d s",
                  k->path, why, RETRY_MS / 1000);
    k->is_unreadable = true;
    k->import = IMPORT_NOT_READ;
    must(uv_timer_start(&k->retry, known_hosts_on_retry, RETRY_MS, 0) == 0);
}

/* Links the file to known_hosts.old before it is replaced. A known_hosts.old that exists is from an
 * earlier attempt and is the original, so it is kept. */
static void known_hosts_keep_old_file(struct known_hosts *k)
{
    const char *kept =
        str_z(&k->arena, STR_CONCAT(&k->arena, str_from(k->path), STR(".old"), STR("")));
    if (link(k->path, kept) != 0 && errno != EEXIST)
        log_print(LOG_WARNING, "\"%s\" cannot be kept as \"%s\": %s; it is taken over and replaced",
                  k->path, kept, strerror(errno));
}

static void known_hosts_read_old_file(struct known_hosts *k, const struct core *core)
{
    struct str text = STR("");
    arena_fini(&k->arena);
    k->arena = (struct arena){0};
    k->line_count = k->line_at = k->imported = 0;
    k->has_failed = k->is_probed = false;
    k->node_at = 0;
    k->import = IMPORT_PINNING;
    const err e = file_read(&k->arena, k->path, FILE_SIZE_MAX / 2, &text);
    if (e == ERR_NOT_FOUND)
        return;
    if (e != OK) {
        known_hosts_read_again_later(k, strerror(errno));
        return;
    }
    known_hosts_keep_old_file(k);
    k->lines = arena_array(&k->arena, struct known_line, known_hosts_count_lines(text));
    for (uint32_t from = 0, number = 1; from < text.len; number++) {
        const uint32_t to = str_find(text, '\n', from);
        const struct str line = str_slice(text, from, to);
        from = to + 1;
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (known_line_parse(core, line, &k->lines[k->line_count]))
            k->line_count++;
        else
            log_print(LOG_WARNING,
                      "\"%s\" line %u is not taken over: it does not name an existing node and a "
                      "host key that was seen there",
                      k->path, number);
    }
    qsort(k->lines, k->line_count, sizeof *k->lines, known_line_compare);
}

static err known_hosts_submit(struct known_hosts *k, struct turn *turn, struct command *command)
{
    command->request = k->request_first;
    command->actor = STR("daemon");
    const err e = turn_submit(turn, command);
    if (e == OK)
        k->waiting++;
    return e;
}

/* Submits all keys of the next node in one command: all of them are pinned, or none. */
static bool known_hosts_submit_pins(struct known_hosts *k, struct turn *turn)
{
    struct arena arena = {0};
    struct buf keys = buf_in(&arena);
    const int64_t node_id = k->lines[k->line_at].node_id;
    int64_t boot = 0;
    uint32_t at = k->line_at;
    for (; at < k->line_count && k->lines[at].node_id == node_id; at++) {
        const struct known_line *line = &k->lines[at];
        buf_put_str(&keys, line->key);
        buf_put_c(&keys, '\n');
        if (line->boot == HOST_KEY_ANY_BOOT || (boot != HOST_KEY_ANY_BOOT && line->boot > boot))
            boot = line->boot;
    }
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS};
    command.node_pin_keys.id = node_id;
    command.node_pin_keys.keys = buf_str(&keys);
    command.node_pin_keys.boot = boot;
    command.node_pin_keys.is_own = ssh_keys_is_own_key(k->ssh_keys, buf_str(&keys));
    const bool is_submitted = known_hosts_submit(k, turn, &command) == OK;
    if (is_submitted)
        k->line_at = at;
    arena_fini(&arena);
    return is_submitted;
}

/* Orders a probe of each node that is alive and has no pins after the import. NODE_FORGET_KEY of a
 * node without keys has exactly that effect. A bounded number of nodes is visited in one call. */
static bool known_hosts_submit_probes(struct known_hosts *k, const struct core *core,
                                      struct turn *turn)
{
    struct arena arena = {0};
    bool any = false;
    uint32_t i = 0;
    for (; i < SLICE_ROWS && k->waiting < WAITING_MAX && !k->is_probed; i++) {
        struct record node;
        uint32_t count;
        const int64_t id = core_next_id(core, TABLE_NODE, k->node_at);
        if (!id) {
            k->is_probed = true;
            break;
        }
        must(core_record(core, TABLE_NODE, id, &node));
        ignore(core_host_keys_of(core, id, &arena, &count), "their number is enough");
        struct command command = {.kind = COMMAND_NODE_FORGET_KEY};
        command.node_forget_key.id = id;
        const bool is_due = node.node.alive && !node.node.system && count == 0;
        if (is_due && known_hosts_submit(k, turn, &command) != OK)
            break;
        any |= is_due;
        k->node_at = id;
    }
    arena_fini(&arena);
    if (i == SLICE_ROWS)
        k->wake(k->self);
    return any;
}

/* Performs every step of the import that is possible now. A step starts when all commands of the
 * previous one have an outcome (`waiting` is 0), so that the settings record the import only after
 * all pins are durable. */
static bool known_hosts_import_pump(struct known_hosts *k, const struct core *core,
                                    struct turn *turn)
{
    struct record settings;
    bool any = false;
    if (k->has_failed && !k->waiting)
        k->import = IMPORT_NOT_READ; /* a command was lost: start again, pins are kept */
    if (k->import == IMPORT_NOT_READ && !uv_is_active((uv_handle_t *)&k->retry)) {
        must(core_record(core, TABLE_SETTINGS, 1, &settings));
        if (settings.settings.host_keys_imported)
            k->import = IMPORT_DONE;
        else
            known_hosts_read_old_file(k, core);
    }
    while (k->import == IMPORT_PINNING && k->line_at < k->line_count && k->waiting < WAITING_MAX &&
           known_hosts_submit_pins(k, turn))
        any = true;
    if (k->import == IMPORT_PINNING && k->line_at == k->line_count && !k->waiting && !k->has_failed)
        k->import = IMPORT_PROBING;
    if (k->import == IMPORT_PROBING && !k->is_probed && !k->has_failed)
        any |= known_hosts_submit_probes(k, core, turn);
    if (k->import == IMPORT_PROBING && k->is_probed && !k->waiting && !k->has_failed) {
        struct command command = {.kind = COMMAND_SETTINGS_UPDATE};
        command.settings_update.given = GIVEN_SETTINGS_HOST_KEYS_IMPORTED;
        command.settings_update.host_keys_imported = true;
        if (known_hosts_submit(k, turn, &command) == OK) {
            k->import = IMPORT_MARKING;
            any = true;
        }
    }
    return any;
}

void known_hosts_on_result(struct known_hosts *k, const struct outcome *outcome, err why)
{
    must(k->waiting > 0);
    k->waiting--;
    k->wake(k->self);
    if (why != OK || !outcome) {
        k->has_failed = true;
    } else if (outcome->verdict != VERDICT_DONE) {
        log_print(LOG_WARNING, "host keys in \"%s\" are not taken over: %.*s", k->path,
                  STR_FMT_ARGS(outcome->problems ? outcome->problems->text : STR("refused")));
    } else if (k->import == IMPORT_MARKING) {
        k->import = IMPORT_DONE;
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_I64("nodes", k->imported), LOG_Z("file", k->path)),
                 "host keys of an older version were taken over into the store");
        arena_fini(&k->arena);
        k->arena = (struct arena){0};
    } else if (k->import == IMPORT_PINNING) {
        k->imported++;
    }
}

/* ---- text of the file ---- */

static void known_hosts_add_text(struct known_hosts *k, struct str text)
{
    must(text.len <= FILE_SIZE_MAX - k->len); /* known_hosts_add_line() has checked size_max */
    if (k->len + text.len > k->cap) {
        k->cap = (k->len + text.len) * 2;
        k->text = realloc(k->text, k->cap);
        must(k->text);
    }
    if (text.len)
        memcpy(k->text + k->len, text.at, text.len);
    k->len += text.len;
}

/* False: the line does not fit. It and all later ones are left out, so that ssh refuses the nodes
 * that were pinned last. */
static bool known_hosts_add_line(struct known_hosts *k, const struct host_key_record *pin)
{
    char head[LINE_HEAD_SIZE];
    const int len = snprintf(head, sizeof head, "node-%lld ", (long long)pin->node_id);
    must(len > 0);
    if (k->len >= k->size_max || (uint32_t)len + pin->key.len + 1 > k->size_max - k->len) {
        log_print(
            LOG_ERROR,
            "\"%s\" would be larger than %u bytes: it is written without the host keys that "
            "were pinned last, and runs on those nodes fail; delete nodes that are not in use",
            k->path, k->size_max);
        return false;
    }
    known_hosts_add_text(k, str_from(head));
    known_hosts_add_text(k, pin->key);
    known_hosts_add_text(k, STR("\n"));
    return true;
}

/* Adds a bounded number of rows in one call. Rows that are added meanwhile have higher ids, so the
 * cursor reaches them; after a deletion the text is built again, because `changes` differs. */
static void known_hosts_build(struct known_hosts *k, const struct core *core,
                              const struct turn *turn)
{
    if (!k->is_building) {
        k->is_building = true;
        k->built = k->changes;
        k->cursor = 0;
        k->len = 0;
        known_hosts_add_text(k, str_from(file_header));
    }
    for (uint32_t i = 0; i < SLICE_ROWS; i++) {
        struct record pin;
        k->cursor = core_next_id(core, TABLE_HOST_KEY, k->cursor);
        if (k->cursor)
            must(core_record(core, TABLE_HOST_KEY, k->cursor, &pin));
        if (!k->cursor || !known_hosts_add_line(k, &pin.host_key)) {
            k->is_building = false;
            k->is_built = true;
            k->turn = turn_seen(turn);
            return;
        }
    }
    k->wake(k->self);
}

/* ---- writing the file ---- */

/* A write in progress. It owns the text and its path, because the known_hosts structure may be
 * closed before the thread ends. */
struct file_write_job {
    uv_work_t work;
    struct known_hosts *owner;
    uint64_t built;
    err e;
    int number; /* errno of a failure */
    char *text;
    uint32_t len;
    char path[];
};

static void known_hosts_write_file(uv_work_t *work)
{
    struct file_write_job *w = work->data;
    w->e = file_write(w->path, (struct str){w->text, w->len}, 0600);
    w->number = errno;
}

/* A failed write counts as written, so that probes do not wait for a full disk: ssh refuses a host
 * whose key is not in the file. */
static void known_hosts_on_written(uv_work_t *work, int status)
{
    struct file_write_job *w = work->data;
    struct known_hosts *k = w->owner;
    must(status == 0);
    k->is_writing = false;
    k->written = w->built;
    if (w->e != OK) {
        log_print(
            LOG_ERROR,
            "\"%s\" cannot be written: %s; ssh uses the previous host keys, trying again in %d s",
            w->path, strerror(w->number), RETRY_MS / 1000);
        if (!k->is_closed)
            must(uv_timer_start(&k->retry, known_hosts_on_retry, RETRY_MS, 0) == 0);
    }
    free(w->text);
    free(w);
    if (!k->is_closed)
        k->wake(k->self);
}

static void known_hosts_start_write(struct known_hosts *k)
{
    const size_t path_size = strlen(k->path) + 1;
    struct file_write_job *w = calloc(1, sizeof *w + path_size);
    must(w);
    memcpy(w->path, k->path, path_size);
    w->work.data = w;
    w->owner = k;
    w->built = k->built;
    w->text = k->text;
    w->len = k->len;
    k->text = NULL;
    k->len = k->cap = 0;
    k->is_built = false;
    k->is_writing = true;
    must(uv_queue_work(k->loop, &w->work, known_hosts_write_file, known_hosts_on_written) == 0);
}

bool known_hosts_pump(struct known_hosts *k, struct turn *turn)
{
    const struct core *core = turn_core(turn);
    if (!core)
        return false;
    if (k->loads != turn_loads(turn)) { /* the core was reloaded: the text may contain lost rows */
        k->loads = turn_loads(turn);
        k->changes++;
        k->is_building = k->is_built = false;
        if (k->import != IMPORT_DONE)
            k->has_failed = true;
    }
    if (k->import != IMPORT_DONE && known_hosts_import_pump(k, core, turn))
        return true;
    if (k->import != IMPORT_DONE)
        return false;
    if (!k->is_built && (k->is_building || k->built != k->changes))
        known_hosts_build(k, core, turn);
    if (k->is_built && !k->is_writing && turn_durable(turn) >= k->turn)
        known_hosts_start_write(k);
    return false;
}

void known_hosts_on_durable_batch(struct known_hosts *k, const struct batch *batch)
{
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a durable batch cannot be decoded");
        if (change.record.table == TABLE_HOST_KEY) {
            k->changes++;
            k->wake(k->self);
            return;
        }
    }
    if (k->is_built)
        k->wake(k->self);
}

bool known_hosts_is_ready(const struct known_hosts *k)
{
    return k->written > 0;
}

uint64_t known_hosts_changes(const struct known_hosts *k)
{
    return k->changes;
}

bool known_hosts_is_written(const struct known_hosts *k, uint64_t change)
{
    return k->written >= change;
}

/* ---- open and close ---- */

void known_hosts_open(struct known_hosts *k, uv_loop_t *loop, const struct ssh_keys *keys)
{
    k->loop = loop;
    k->ssh_keys = keys;
    k->path = keys->known_hosts_path;
    k->size_max = FILE_SIZE_MAX;
    must(uv_timer_init(k->loop, &k->retry) == 0);
    k->retry.data = k;
    k->is_open = true;
}

void known_hosts_close(struct known_hosts *k)
{
    if (!k->is_open || k->is_closed)
        return;
    k->is_closed = true;
    uv_close((uv_handle_t *)&k->retry, NULL);
    free(k->text);
    k->text = NULL;
    arena_fini(&k->arena);
}
