/* The hammers behind JSON lines, for tests/hammer/run.py.
 *
 *   hammer-drive SCRATCH [POLL_MS [SSH_KEY]]
 *
 * Each line on standard input is an order:
 *   {"key":1,"node":{"id":7,"name":"n7"},"category":"power","method":"on","args":{},
 *    "deadline_ms":5000,"hammers":[{"class":"redfish","priority":5,"endpoint":"...",
 *    "username":"...","authenticator":"...","extra":{}}]}
 * or {"methods":[hammers...]}, or {"close":true}, which closes with orders open. Each result is a
 * line on standard output: {"key":1,"end":"done","text":"...","value":...}. At the end of the input
 * it waits for what is open, closes and leaves.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json/json.h"
#include "power/hammer/hammer_ops.h"

enum { LINE_MAX_SIZE = 1 << 20, HAMMERS_MAX = 16 };

struct drive {
    uv_loop_t loop;
    uv_pipe_t input;
    struct hammers *hammers;
    struct arena arena;
    char line[LINE_MAX_SIZE];
    uint32_t len;
    bool is_at_end;
    bool is_closed;
    struct hammer_bound bound[HAMMERS_MAX];
};

static struct str text_at(const struct json *object, const char *path)
{
    const struct json *found = json_at(object, str_from(path));
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

static int64_t number_at(const struct json *object, const char *path)
{
    int64_t number = 0;
    const struct json *found = json_at(object, str_from(path));
    if (found && !json_as_i64(found, &number))
        number = 0;
    return number;
}

/* A string is used as it is, so that broken documents can be given. */
static struct str document_at(struct arena *a, const struct json *object, const char *key)
{
    const struct json *found = json_get(object, str_from(key));
    if (!found)
        return STR("");
    return found->kind == JSON_STRING ? found->text : json_write(a, found);
}

static void put_line(struct str text)
{
    fwrite(text.at, 1, text.len, stdout);
    putchar('\n');
    fflush(stdout);
}

static void close_when_done(struct drive *d)
{
    if (d->is_closed || !d->is_at_end || hammers_pending(d->hammers))
        return;
    d->is_closed = true;
}

static void done(void *self, uint64_t key, const struct hammer_result *result)
{
    struct drive *d = self;
    struct arena a = {0};
    struct buf b = buf_in(&a);
    buf_put_z(&b, "{\"key\":");
    buf_put_u64(&b, key);
    buf_put_z(&b, ",\"end\":\"");
    buf_put_z(&b, hammer_end_word(result->end));
    buf_put_z(&b, "\",\"text\":");
    json_write_string(&b, result->text);
    buf_put_z(&b, ",\"value\":");
    buf_put_str(&b, result->value);
    buf_put_z(&b, "}");
    put_line(buf_str(&b));
    arena_fini(&a);
    close_when_done(d);
}

static uint32_t read_hammers(struct drive *d, const struct json *list)
{
    uint32_t count = 0;
    for (const struct json *h = list ? list->first : NULL; h && count < HAMMERS_MAX; h = h->next)
        d->bound[count++] = (struct hammer_bound){
            .klass = text_at(h, "class"),
            .priority = number_at(h, "priority"),
            .endpoint = text_at(h, "endpoint"),
            .username = text_at(h, "username"),
            .authenticator = text_at(h, "authenticator"),
            .extra = document_at(&d->arena, h, "extra"),
        };
    return count;
}

static enum hammer_category category_named(struct str name)
{
    for (int c = 0; c < HAMMER_CATEGORY_COUNT; c++)
        if (str_eq(name, str_from(hammer_category_name((enum hammer_category)c))))
            return (enum hammer_category)c;
    return HAMMER_POWER;
}

static void give_order(struct drive *d, const struct json *line)
{
    const struct hammer_order order = {
        .key = (uint64_t)number_at(line, "key"),
        .node_id = number_at(line, "node/id"),
        .node_name = text_at(line, "node/name"),
        .hammers = d->bound,
        .hammer_count = read_hammers(d, json_get(line, STR("hammers"))),
        .category = category_named(text_at(line, "category")),
        .method = text_at(line, "method"),
        .args = document_at(&d->arena, line, "args"),
        .deadline_ms = (uint32_t)number_at(line, "deadline_ms"),
    };
    hammers_submit(d->hammers, &order);
}

static void take_line(struct drive *d, struct str text)
{
    struct json *line;
    uint32_t at;
    const char *why;
    arena_reset(&d->arena);
    if (json_read(&d->arena, text, &line, &at, &why) != OK) {
        fprintf(stderr, "hammer-drive: %s at %u of: %.*s\n", why, at, STR_FMT_ARGS(text));
        exit(2);
    }
    const struct json *methods = json_get(line, STR("methods"));
    if (json_get(line, STR("close"))) {
        d->is_closed = true;
    } else if (methods) {
        const uint32_t count = read_hammers(d, methods);
        put_line(hammers_methods(&d->arena, d->bound, count));
    } else {
        give_order(d, line);
    }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct drive *d = handle->data;
    (void)suggested;
    *out_buf = uv_buf_init(d->line + d->len, (unsigned)(sizeof d->line - d->len));
}

static void on_read(uv_stream_t *input, ssize_t len, const uv_buf_t *buf)
{
    struct drive *d = input->data;
    (void)buf;
    if (len < 0) {
        d->is_at_end = true;
        uv_read_stop(input);
        close_when_done(d);
        return;
    }
    d->len += (uint32_t)len;
    uint32_t from = 0;
    const struct str all = {d->line, d->len};
    for (uint32_t end = str_find(all, '\n', 0); end < all.len && !d->is_closed;
         end = str_find(all, '\n', from)) {
        take_line(d, str_slice(all, from, end));
        from = end + 1;
    }
    memmove(d->line, d->line + from, d->len - from);
    d->len -= from;
}

int main(int argc, char **argv)
{
    static struct drive d;
    const struct hammers_options options = {
        .scratch = argc > 1 ? argv[1] : NULL,
        .poll_ms = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0,
        .ssh_key = argc > 3 ? argv[3] : NULL,
    };
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    must(uv_loop_init(&d.loop) == 0 && uv_pipe_init(&d.loop, &d.input, 0) == 0);
    d.hammers =
        hammers_open(&d.loop, &options, (struct hammers_callbacks){.self = &d, .done = done});
    if (!d.hammers) {
        fprintf(stderr, "hammer-drive: cannot open\n");
        return 1;
    }
    d.input.data = &d;
    must(uv_pipe_open(&d.input, 0) == 0 &&
         uv_read_start((uv_stream_t *)&d.input, give_room, on_read) == 0);
    while (!d.is_closed)
        uv_run(&d.loop, UV_RUN_ONCE);
    hammers_close(d.hammers);
    uv_close((uv_handle_t *)&d.input, NULL);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&d.loop) == 0);
    arena_fini(&d.arena);
    return 0;
}
