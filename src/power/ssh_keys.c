/* ssh_keys.c - creation of the ssh key at the first start, and the host keys of the local machine.
 * Owns the paths and the process ssh-keygen.
 *
 * ssh-keygen writes id_ed25519.new and .new.pub, which are then renamed, the public key first: if
 * the private key exists, both are complete. A crash in between leaves files that the next start
 * deletes (.new, .new.pub) or replaces (.pub). The failure of ssh-keygen or of a rename is logged
 * and not repeated: without a key the daemon runs on, but every use of ssh fails until a restart.
 */
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
    PUBLIC_KEY_MAX = 16 << 10, /* of a .pub file, in bytes */
    KEYGEN_MS_MAX = 60 * 1000,
    HOST_SIZE = 256,           /* of the host name, in bytes */
    NAME_SIZE = HOST_SIZE + 16 /* of the comment of the key, "halligan@HOST" */
};

static const char *ssh_keys_path(struct ssh_keys *h, const char *directory, const char *name)
{
    struct arena *a = &h->paths;
    return str_z(a, STR_CONCAT(a, str_from(directory), STR("/"), str_from(name)));
}

static const char *ssh_keys_path_with_suffix(struct ssh_keys *h, const char *ending)
{
    return str_z(&h->paths, STR_CONCAT(&h->paths, str_from(h->key_path), str_from(ending)));
}

/* ---- key of the installation ---- */

/* Renames the public key first: the existence of the private key means that both are complete. */
static bool ssh_keys_rename_new(struct ssh_keys *h)
{
    return file_move_durably(ssh_keys_path_with_suffix(h, ".new.pub"),
                             ssh_keys_path_with_suffix(h, ".pub")) == OK &&
           file_move_durably(ssh_keys_path_with_suffix(h, ".new"), h->key_path) == OK;
}

static void ssh_keys_on_keygen_exit(void *self, const struct spawn_result *result)
{
    struct ssh_keys *h = self;
    h->keygen = NULL;
    if (result->why || result->is_late || result->status != 0) {
        const uint32_t end = str_find(result->err, '\n', 0);
        const struct str line = str_slice(result->err, 0, end);
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", h->key_path)),
                 "ssh-keygen created no key (%s%.*s): ssh to machines fails until a restart of the "
                 "daemon succeeds in creating one",
                 result->why       ? result->why
                 : result->is_late ? "it did not end within 60 s"
                                   : "",
                 STR_FMT_ARGS(line));
    } else if (!ssh_keys_rename_new(h)) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", h->key_path)),
                 "the new ssh key \"%s\" cannot be stored: %s; ssh to machines fails until the "
                 "next start of the daemon",
                 h->key_path, strerror(errno));
    } else {
        h->has_key = true;
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("key", h->key_path)),
                 "created the ssh key of this installation: \"%s\"", h->key_path);
    }
    h->wake(h->self);
}

/* Starts ssh-keygen with a temporary name. */
static void ssh_keys_start_keygen(struct ssh_keys *h)
{
    char host[HOST_SIZE] = "localhost", name[NAME_SIZE];
    const char *program = jig_tools_find(&h->paths, TOOLS_PATH, "ssh-keygen");
    const char *fresh = ssh_keys_path_with_suffix(h, ".new");
    if (!program) {
        log_print(LOG_WARNING, "ssh-keygen is not installed: ssh to machines fails until the "
                               "package openssh-client is installed and the daemon is restarted");
        return;
    }
    ignore(gethostname(host, sizeof host - 1), "the name is used in a comment only");
    snprintf(name, sizeof name, "halligan@%s", host);
    ignore(file_remove(fresh), "left by an interrupted start; ssh-keygen reports it if it remains");
    ignore(file_remove(ssh_keys_path_with_suffix(h, ".new.pub")), "the same");
    const char *const argv[] = {program, "-q", "-t", "ed25519", "-N", "",
                                "-C",    name, "-f", fresh,     NULL};
    h->keygen =
        h->spawn.start(h->spawn.self, &(struct spawn_order){.argv = argv,
                                                            .deadline_ms = KEYGEN_MS_MAX,
                                                            .self = h,
                                                            .done = ssh_keys_on_keygen_exit});
    if (!h->keygen)
        log_print(LOG_WARNING, "ssh-keygen was not started: out of memory; ssh to machines fails "
                               "until the next start of the daemon");
}

bool ssh_keys_is_busy(const struct ssh_keys *h)
{
    return h->keygen != NULL;
}

/* ---- host keys of the daemon's machine ---- */

static bool key_lines_contain(struct str lines, struct str public_key)
{
    const uint32_t line_end = str_find(public_key, '\n', 0);
    const struct str line = str_slice(public_key, 0, line_end);
    /* The line is "TYPE KEY" or "TYPE KEY COMMENT"; the comment is not compared. */
    const uint32_t type_end = str_find(line, ' ', 0);
    const uint32_t key_end = type_end < line.len ? str_find(line, ' ', type_end + 1) : line.len;
    const struct str key = str_slice(line, 0, key_end);
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
            is_own = key_lines_contain(keys, text);
    }
    arena_fini(&arena);
    return is_own;
}

/* ---- open and close ---- */

static bool ssh_keys_make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "directory \"%s\" cannot be created: %s",
             path, strerror(errno));
    return false;
}

/* The public key file is not needed by ssh; barclamps read it. It is not created again from the
 * private key: that it is missing is reported to the operator, who may have moved it. */
static void ssh_keys_ensure_key(struct ssh_keys *h)
{
    if (!file_exists(h->key_path)) {
        ssh_keys_start_keygen(h);
        return;
    }
    h->has_key = true;
    if (!file_exists(ssh_keys_path_with_suffix(h, ".pub")))
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", h->key_path)),
                 "the public key \"%s.pub\" is missing; create it again with ssh-keygen -y -f %s",
                 h->key_path, h->key_path);
}

bool ssh_keys_open(struct ssh_keys *h, uv_loop_t *loop, const char *directory)
{
    h->loop = loop;
    h->spawn = spawn_ops_default(loop);
    h->key_path = ssh_keys_path(h, directory, "id_ed25519");
    h->known_hosts_path = ssh_keys_path(h, directory, "known_hosts");
    h->control_dir = ssh_keys_path(h, directory, "control");
    if (!ssh_keys_make_directory(directory) || !ssh_keys_make_directory(h->control_dir))
        return false;
    ssh_keys_ensure_key(h);
    return true;
}

void ssh_keys_close(struct ssh_keys *h)
{
    if (h->keygen)
        h->spawn.cancel(h->spawn.self, h->keygen);
    h->keygen = NULL;
    arena_fini(&h->paths);
}
