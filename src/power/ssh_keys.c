#include "power/ssh_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/jig/jig_tools.h"
#include "sys/files.h"
#include "sys/log.h"

enum {
    PUBLIC_KEY_MAX = 16 << 10,
    KEYGEN_MS_MAX = 60 * 1000,
    HOST_SIZE = 256,
    NAME_SIZE = HOST_SIZE + 16
};

static const char *in_directory(struct ssh_keys *h, const char *directory, const char *name)
{
    struct arena *a = &h->paths;
    return str_z(a, STR_CONCAT(a, str_from(directory), STR("/"), str_from(name)));
}

static const char *behind_key(struct ssh_keys *h, const char *ending)
{
    return str_z(&h->paths, STR_CONCAT(&h->paths, str_from(h->key_path), str_from(ending)));
}

/* ---- the key ---- */

/* The public half first: where the private one is, both are. */
static bool put_in_place(struct ssh_keys *h)
{
    return file_move_durably(behind_key(h, ".new.pub"), behind_key(h, ".pub")) == OK &&
           file_move_durably(behind_key(h, ".new"), h->key_path) == OK;
}

static void key_made(void *self, const struct spawn_result *result)
{
    struct ssh_keys *h = self;
    h->keygen = NULL;
    if (result->why || result->is_late || result->status != 0) {
        const uint32_t end = str_find(result->err, '\n', 0);
        const struct str said = str_slice(result->err, 0, end);
        log_print(LOG_WARNING, "ssh-keygen made no key (%s%.*s); machines are not reached by ssh",
                  result->why ? result->why : "", STR_FMT_ARGS(said));
    } else if (!put_in_place(h)) {
        log_print(LOG_WARNING,
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
static void make_key(struct ssh_keys *h)
{
    char host[HOST_SIZE] = "localhost", name[NAME_SIZE];
    const char *program = jig_tools_find(&h->paths, TOOLS_PATH, "ssh-keygen");
    const char *fresh = behind_key(h, ".new");
    if (!program) {
        log_print(LOG_WARNING, "ssh-keygen is not installed (openssh-client): machines are not "
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
        &(struct spawn_order){
            .argv = argv, .deadline_ms = KEYGEN_MS_MAX, .self = h, .done = key_made});
    if (!h->keygen)
        log_print(LOG_WARNING, "there is no memory to make a key; machines are not reached by ssh");
}

bool ssh_keys_is_busy(const struct ssh_keys *h)
{
    return h->keygen != NULL;
}

/* ---- host keys of this machine ---- */

/* "TYPE KEY" or "TYPE KEY COMMENT": where the key ends. */
static uint32_t end_of_key(struct str words)
{
    const uint32_t type = str_find(words, ' ', 0);
    return type < words.len ? str_find(words, ' ', type + 1) : words.len;
}

static bool lines_have_key(struct str lines, struct str public_key)
{
    const uint32_t line_end = str_find(public_key, '\n', 0);
    const struct str line = str_slice(public_key, 0, line_end);
    const struct str key = str_slice(line, 0, end_of_key(line));
    for (uint32_t from = 0; key.len && from < lines.len;) {
        const uint32_t to = str_find(lines, '\n', from);
        if (str_eq(str_slice(lines, from, to), key))
            return true;
        from = to + 1;
    }
    return false;
}

bool ssh_keys_is_own_key(const struct ssh_keys *h, struct str keys)
{
    static const char *const names[] = {"ssh_host_ed25519_key.pub", "ssh_host_ecdsa_key.pub",
                                        "ssh_host_rsa_key.pub"};
    const struct str folder = str_from(h->host_key_dir ? h->host_key_dir : "/etc/ssh");
    struct arena arena = {0};
    bool is_own = false;
    for (uint32_t i = 0; i < sizeof names / sizeof *names && !is_own; i++) {
        struct str text;
        const struct str path = STR_CONCAT(&arena, folder, STR("/"), str_from(names[i]));
        if (file_read(&arena, str_z(&arena, path), PUBLIC_KEY_MAX, &text) == OK)
            is_own = lines_have_key(keys, text);
    }
    arena_fini(&arena);
    return is_own;
}

/* ---- from open to close ---- */

static bool make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    log_print(LOG_ERROR, "the directory \"%s\" cannot be made: %s", path, strerror(errno));
    return false;
}

/* Our own public key is for content to read, and can be had from the private one; but whoever took
 * it away knows where it went. */
static void look_for_key(struct ssh_keys *h)
{
    if (!file_exists(h->key_path)) {
        make_key(h);
        return;
    }
    h->has_key = true;
    if (!file_exists(behind_key(h, ".pub")))
        log_print(LOG_WARNING, "\"%s.pub\" is gone; ssh-keygen -y makes another one", h->key_path);
}

bool ssh_keys_open(struct ssh_keys *h, uv_loop_t *loop, const char *directory)
{
    h->loop = loop;
    h->commands = spawn_seam_own(loop);
    h->key_path = in_directory(h, directory, "id_ed25519");
    h->known_hosts_path = in_directory(h, directory, "known_hosts");
    h->control_dir = in_directory(h, directory, "control");
    if (!make_directory(directory) || !make_directory(h->control_dir))
        return false;
    look_for_key(h);
    return true;
}

void ssh_keys_close(struct ssh_keys *h)
{
    if (h->keygen)
        h->commands.cancel(h->commands.self, h->keygen);
    h->keygen = NULL;
    arena_fini(&h->paths);
}
