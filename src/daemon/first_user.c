/* first_user.c - the password of the first user.
 *
 * It owns the file DATA/admin.password; the user itself is created by the command that it returns.
 * The file is written and synced before the USER_CREATE is submitted. After a crash in between, the
 * next start finds the file and no users, and uses the same password. A file that other users could
 * have read or written is refused, because they would know the password of an administrator.
 *
 * Failure: it is logged, an error is returned, and the daemon does not start. A file that was
 * written by then stays and is used by the next start.
 */
#include "daemon/first_user.h"

#include <errno.h>
#include <string.h>

#include "auth/passwords.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/files.h"
#include "sys/log.h"

enum { PASSWORD_LEN = 24, PASSWORD_LEN_MIN = 12, FILE_SIZE_MAX = 4096 };

/* Without characters that are easily confused (l, o, I, O, 0, 1). 56 characters: 24 of them have
 * 139 bits of entropy. */
static const char alphabet[] = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

static struct str first_user_random_password(struct arena *a)
{
    const uint64_t count = sizeof alphabet - 1;
    /* Larger values are drawn again: with them the first characters would be more likely. */
    const uint64_t fair = UINT64_MAX - UINT64_MAX % count;
    char *at = arena_alloc(a, PASSWORD_LEN);
    for (int i = 0; i < PASSWORD_LEN; i++) {
        uint64_t value;
        do {
            value = sys_random64();
        } while (value >= fair);
        at[i] = alphabet[value % count];
    }
    return (struct str){at, PASSWORD_LEN};
}

/* The first line of the file; empty if there is no file or it is empty. ERR_REFUSED: other users
 * can read or write the file, or the password is too short. */
static err first_user_read_password(struct arena *a, const char *path, struct str *out)
{
    struct str text;
    const err e = file_read_private(a, path, FILE_SIZE_MAX, &text);
    *out = STR("");
    if (e != OK)
        return e == ERR_NOT_FOUND ? OK : e;
    *out = str_slice(text, 0, str_find(text, '\n', 0));
    const bool is_good = out->len >= PASSWORD_LEN_MIN && str_is_clean(*out);
    return out->len == 0 || is_good ? OK : ERR_REFUSED;
}

static err first_user_find_password(struct arena *a, const char *path, struct str *out)
{
    err e = first_user_read_password(a, path, out);
    if (e == ERR_REFUSED) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "the password file \"%s\" of the first user is refused: it must be a regular file "
                 "owned by the user of the daemon (chmod 600), with a password of at least %d "
                 "characters; correct it, or remove it to generate a new password",
                 path, PASSWORD_LEN_MIN);
        return e;
    }
    if (e == OK && out->len == 0) {
        *out = first_user_random_password(a);
        FAILPOINT(ADMIN_FILE_BEFORE);
        e = file_write(path, STR_CONCAT(a, *out, STR("\n")), 0600);
        if (e == OK)
            FAILPOINT(ADMIN_FILE_AFTER);
    }
    if (e != OK)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "the password file \"%s\" of the first user cannot be used: %s", path,
                 strerror(errno));
    return e;
}

err first_user_create(struct arena *a, const char *path, struct command *out_command)
{
    struct str password;
    char hash[PASSWORD_HASH_MAX];
    const err e = first_user_find_password(a, path, &password);
    if (e != OK)
        return e;
    if (!password_hash_now(password, hash)) {
        log_print(LOG_ERROR, "not enough memory to hash a password: argon2id needs 64 MiB");
        return ERR_UNAVAILABLE;
    }
    *out_command = (struct command){.kind = COMMAND_USER_CREATE, .actor = STR("daemon")};
    out_command->user_create.username = STR("admin");
    out_command->user_create.is_admin = true;
    out_command->user_create.password_hash = str_copy(a, str_from(hash));
    return OK;
}
