#include "daemon/ssh_home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jig/tools.h"
#include "sys/files.h"
#include "sys/log.h"

#define LIST_SIZE_MAX ((uint32_t)1 << 30)

enum {
    PUBLIC_KEY_MAX = 16 << 10,
    KEYGEN_MS_MAX = 60 * 1000,
    HOST_SIZE = 256,
    NAME_SIZE = HOST_SIZE + 16
};

static const char *in_directory(struct ssh_home *h, const char *directory, const char *name)
{
    struct arena *a = &h->paths;
    return str_z(a, str_join3(a, str_from(directory), STR("/"), str_from(name)));
}

static const char *behind_key(struct ssh_home *h, const char *ending)
{
    return str_z(&h->paths, str_join2(&h->paths, str_from(h->key_path), str_from(ending)));
}

/* ---- the key ---- */

/* The public half first: where the private one is, both are. */
static bool put_in_place(struct ssh_home *h)
{
    return file_move_durably(behind_key(h, ".new.pub"), behind_key(h, ".pub")) == OK &&
           file_move_durably(behind_key(h, ".new"), h->key_path) == OK;
}

static void key_made(void *self, const struct command_result *result)
{
    struct ssh_home *h = self;
    h->keygen = NULL;
    if (result->why || result->is_late || result->status != 0) {
        const uint32_t end = str_find(result->err, '\n', 0);
        const struct str said = str_slice(result->err, 0, end);
        log_say(LOG_WARNING, "ssh-keygen made no key (%s%.*s); machines are not reached by ssh",
                result->why ? result->why : "", STR_FMT_ARGS(said));
    } else if (!put_in_place(h)) {
        log_say(LOG_WARNING,
                "the new key \"%s\" cannot be kept: %s; machines are not reached by ssh",
                h->key_path, strerror(errno));
    } else {
        h->has_key = true;
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("key", h->key_path)),
                 "a key for reaching machines by ssh was made");
    }
    h->wake(h->self);
}

/* Under another name until it is whole. */
static void make_key(struct ssh_home *h)
{
    char host[HOST_SIZE] = "localhost", name[NAME_SIZE];
    const char *program = tools_find(&h->paths, TOOLS_PATH, "ssh-keygen");
    const char *fresh = behind_key(h, ".new");
    if (!program) {
        log_say(LOG_WARNING, "ssh-keygen is not installed (openssh-client): machines are not "
                             "reached by ssh");
        return;
    }
    ignore(gethostname(host, sizeof host - 1), "it is only a comment");
    snprintf(name, sizeof name, "halligan@%s", host);
    ignore(file_remove(fresh), "of a start that was cut off; ssh-keygen says if it stays");
    ignore(file_remove(behind_key(h, ".new.pub")), "the same");
    const char *const argv[] = {program, "-q", "-t", "ed25519", "-N", "",
                                "-C",    name, "-f", fresh,     NULL};
    h->keygen = h->commands.start(
        h->commands.self,
        &(struct command_order){
            .argv = argv, .deadline_ms = KEYGEN_MS_MAX, .self = h, .done = key_made});
    if (!h->keygen)
        log_say(LOG_WARNING, "there is no memory to make a key; machines are not reached by ssh");
}

bool ssh_home_is_busy(const struct ssh_home *h)
{
    return h->keygen != NULL;
}

/* ---- the list in memory ---- */

static void add_text(struct ssh_home *h, struct str text)
{
    must(text.len < LIST_SIZE_MAX - h->len);
    if (h->len + text.len > h->cap) {
        h->cap = (h->len + text.len) * 2;
        h->text = realloc(h->text, h->cap);
        must(h->text);
    }
    if (text.len)
        memcpy(h->text + h->len, text.at, text.len);
    h->len += text.len;
}

/* The next line at or behind *at, which moves behind it; its end is not part of it. */
static bool next_line(const struct ssh_home *h, uint32_t *at, struct str *out_line)
{
    const struct str all = {h->text, h->len};
    if (*at >= all.len)
        return false;
    const uint32_t end = str_find(all, '\n', *at);
    *out_line = str_slice(all, *at, end);
    *at = end + 1;
    return true;
}

static bool is_of(struct str line, struct str node)
{
    return line.len > node.len && line.at[node.len] == ' ' && str_starts(line, node);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Operators edit it too. Not while we have changes of our own on the way: those would be lost. */
static void take_over(struct ssh_home *h)
{
    struct stat now = {0}; /* and so it stays when the file was taken away */
    struct arena arena = {0};
    struct str text = STR("");
    if (h->kept != h->changes || (stat(h->known_hosts_path, &now) != 0 && errno != ENOENT) ||
        is_same_file(&now, &h->seen))
        return;
    if (now.st_ino == 0 || file_read(&arena, h->known_hosts_path, LIST_SIZE_MAX / 2, &text) == OK) {
        h->seen = now;
        h->len = 0;
        add_text(h, text);
        if (text.len && text.at[text.len - 1] != '\n')
            add_text(h, STR("\n"));
    } else {
        log_say(LOG_WARNING, "\"%s\" cannot be read: %s", h->known_hosts_path, strerror(errno));
    }
    arena_fini(&arena);
}

/* ---- and on the disk ---- */

struct writing {
    uv_work_t work;
    struct ssh_home *home;
    const char *path;
    struct stat seen;
    err e;
    int number; /* of the error */
    struct str text;
    char bytes[];
};

static void write_list(uv_work_t *work)
{
    struct writing *w = work->data;
    w->e = file_write(w->path, w->text, 0600);
    w->number = errno;
    if (w->e == OK && stat(w->path, &w->seen) != 0)
        w->seen = (struct stat){0};
}

static void begin_writing(struct ssh_home *h);

static void end_writing(uv_work_t *work, int status)
{
    struct writing *w = work->data;
    struct ssh_home *h = w->home;
    must(status == 0);
    if (w->e == OK)
        h->seen = w->seen;
    else
        log_say(
            LOG_ERROR,
            "\"%s\" cannot be written: %s; host keys pinned now are forgotten at the next start",
            w->path, strerror(w->number));
    free(w);
    h->is_writing = false;
    h->kept = h->carried;
    if (h->kept != h->changes)
        begin_writing(h);
    else if (h->is_closed)
        ssh_home_close(h);
    if (!h->is_closed)
        h->wake(h->self);
}

static void begin_writing(struct ssh_home *h)
{
    if (h->is_writing)
        return;
    struct writing *w = calloc(1, sizeof *w + h->len);
    must(w);
    w->work.data = w;
    w->home = h;
    w->path = h->known_hosts_path;
    if (h->len)
        memcpy(w->bytes, h->text, h->len);
    w->text = (struct str){w->bytes, h->len};
    h->carried = h->changes;
    h->is_writing = true;
    must(uv_queue_work(h->loop, &w->work, write_list, end_writing) == 0);
}

/* ---- pinning ---- */

bool ssh_home_has(struct ssh_home *h, struct str node)
{
    struct str line;
    take_over(h);
    for (uint32_t at = 0; next_line(h, &at, &line);)
        if (is_of(line, node))
            return true;
    return false;
}

/* "TYPE KEY" or "TYPE KEY OCCASION": where the key ends. */
static uint32_t end_of_key(struct str words)
{
    const uint32_t type = str_find(words, ' ', 0);
    return type < words.len ? str_find(words, ' ', type + 1) : words.len;
}

bool ssh_home_is_outdated(struct ssh_home *h, struct str node, struct str occasion)
{
    struct str line;
    take_over(h);
    for (uint32_t at = 0; next_line(h, &at, &line);) {
        const struct str words = str_slice(line, node.len + 1, line.len);
        const struct str said = str_slice(words, end_of_key(words) + 1, words.len);
        if (is_of(line, node) && said.len && !str_eq(said, occasion))
            return true;
    }
    return false;
}

/* ssh would rather have the first of these than the second. */
struct str ssh_home_host_key(struct ssh_home *h, struct str node, struct arena *a)
{
    static const char *const liked[] = {"ssh-ed25519 ", "ecdsa-", ""};
    take_over(h);
    for (uint32_t i = 0; i < sizeof liked / sizeof *liked; i++) {
        struct str line;
        for (uint32_t at = 0; next_line(h, &at, &line);) {
            const struct str key = str_slice(line, node.len + 1, line.len);
            if (is_of(line, node) && str_starts(key, str_from(liked[i])))
                return str_copy(a, str_slice(key, 0, end_of_key(key)));
        }
    }
    return STR("");
}

uint64_t ssh_home_pin(struct ssh_home *h, struct str node, struct str lines, struct str occasion)
{
    if (ssh_home_has(h, node))
        return h->changes;
    for (uint32_t from = 0; from < lines.len;) {
        const uint32_t to = str_find(lines, '\n', from);
        add_text(h, str_slice(lines, from, to));
        add_text(h, occasion.len ? STR(" ") : STR(""));
        add_text(h, occasion);
        add_text(h, STR("\n"));
        from = to + 1;
    }
    h->changes++;
    begin_writing(h);
    return h->changes;
}

bool ssh_home_is_kept(const struct ssh_home *h, uint64_t change)
{
    return h->kept >= change;
}

/* "NODE TYPE KEY" without the first word, and "TYPE KEY COMMENT" without the last. */
static bool lines_have_key(struct str lines, struct str public_key)
{
    const uint32_t line_end = str_find(public_key, '\n', 0);
    const struct str line = str_slice(public_key, 0, line_end);
    const struct str key = str_slice(line, 0, end_of_key(line));
    for (uint32_t from = 0; key.len && from < lines.len;) {
        const uint32_t to = str_find(lines, '\n', from);
        const struct str words = str_slice(lines, from, to);
        if (str_eq(str_slice(words, str_find(words, ' ', 0) + 1, words.len), key))
            return true;
        from = to + 1;
    }
    return false;
}

bool ssh_home_is_own_key(const struct ssh_home *h, struct str lines)
{
    static const char *const names[] = {"ssh_host_ed25519_key.pub", "ssh_host_ecdsa_key.pub",
                                        "ssh_host_rsa_key.pub"};
    const struct str folder = str_from(h->host_key_dir ? h->host_key_dir : "/etc/ssh");
    struct arena arena = {0};
    bool is_own = false;
    for (uint32_t i = 0; i < sizeof names / sizeof *names && !is_own; i++) {
        struct str text;
        const struct str path = str_join3(&arena, folder, STR("/"), str_from(names[i]));
        if (file_read(&arena, str_z(&arena, path), PUBLIC_KEY_MAX, &text) == OK)
            is_own = lines_have_key(lines, text);
    }
    arena_fini(&arena);
    return is_own;
}

void ssh_home_forget(struct ssh_home *h, struct str node)
{
    struct str line;
    uint32_t len = 0;
    take_over(h);
    for (uint32_t at = 0; next_line(h, &at, &line);) {
        if (is_of(line, node))
            continue;
        memmove(h->text + len, line.at, line.len);
        len += line.len;
        h->text[len++] = '\n';
    }
    if (len == h->len)
        return;
    h->len = len;
    h->changes++;
    begin_writing(h);
}

/* ---- from open to close ---- */

static bool make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    log_say(LOG_ERROR, "the directory \"%s\" cannot be made: %s", path, strerror(errno));
    return false;
}

/* Our own public key is for content to read, and can be had from the private one; but whoever took
 * it away knows where it went. */
static void look_for_key(struct ssh_home *h)
{
    if (!file_exists(h->key_path)) {
        make_key(h);
        return;
    }
    h->has_key = true;
    if (!file_exists(behind_key(h, ".pub")))
        log_say(LOG_WARNING, "\"%s.pub\" is gone; ssh-keygen -y makes another one", h->key_path);
}

bool ssh_home_open(struct ssh_home *h, uv_loop_t *loop, const char *directory)
{
    h->loop = loop;
    h->commands = command_seam_own(loop);
    h->key_path = in_directory(h, directory, "id_ed25519");
    h->known_hosts_path = in_directory(h, directory, "known_hosts");
    h->control_dir = in_directory(h, directory, "control");
    if (!make_directory(directory) || !make_directory(h->control_dir))
        return false;
    if (!file_exists(h->known_hosts_path) && file_write(h->known_hosts_path, STR(""), 0600) != OK) {
        log_say(LOG_ERROR, "\"%s\" cannot be written: %s", h->known_hosts_path, strerror(errno));
        return false;
    }
    look_for_key(h);
    return true;
}

void ssh_home_close(struct ssh_home *h)
{
    h->is_closed = true;
    if (h->keygen)
        h->commands.cancel(h->commands.self, h->keygen);
    h->keygen = NULL;
    if (h->is_writing)
        return; /* and comes back when that is through */
    free(h->text);
    h->text = NULL;
    h->len = h->cap = 0;
    arena_fini(&h->paths);
}
