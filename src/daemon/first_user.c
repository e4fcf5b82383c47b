#include "daemon/first_user.h"

#include <errno.h>
#include <string.h>

#include "auth/passwords.h"
#include "sys/clock.h"
#include "sys/failpoint.h"
#include "sys/files.h"
#include "sys/log.h"

enum { PASSWORD_LEN = 24, PASSWORD_LEN_MIN = 12, FILE_SIZE_MAX = 4096 };

/* Nothing that looks like something else on a bad screen. 56 of them: 139 bits in a password. */
static const char alphabet[] = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

static char draw_letter(void)
{
    const uint64_t count = sizeof alphabet - 1;
    const uint64_t fair = UINT64_MAX - UINT64_MAX % count;
    uint64_t value;
    do {
        value = sys_random64();
    } while (value >= fair);
    return alphabet[value % count];
}

static struct str draw_password(struct arena *a)
{
    char *at = arena_alloc(a, PASSWORD_LEN);
    for (int i = 0; i < PASSWORD_LEN; i++)
        at[i] = draw_letter();
    return (struct str){at, PASSWORD_LEN};
}

/* The first line of the file; empty when there is no file, or nothing in it. ERR_REFUSED: somebody
 * else may know it, or could guess it. */
static err read_password(struct arena *a, const char *path, struct str *out)
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

static err write_password(struct arena *a, const char *path, struct str password)
{
    FAILPOINT(ADMIN_FILE_BEFORE);
    const err e = file_write(path, STR_CONCAT(a, password, STR("\n")), 0600);
    if (e == OK)
        FAILPOINT(ADMIN_FILE_AFTER);
    return e;
}

static err find_password(struct arena *a, const char *path, struct str *out)
{
    err e = read_password(a, path, out);
    if (e == ERR_REFUSED) {
        log_print(
            LOG_ERROR,
            "the password of the first user is not taken from \"%s\": that must be a plain file "
            "of ours (chmod 600) with a password of at least %d characters; correct it, or "
            "remove it to get a new one",
            path, PASSWORD_LEN_MIN);
        return e;
    }
    if (e == OK && out->len == 0) {
        *out = draw_password(a);
        e = write_password(a, path, *out);
    }
    if (e != OK)
        log_print(LOG_ERROR, "the password of the first user cannot be kept in \"%s\": %s", path,
                  strerror(errno));
    return e;
}

err first_user_create(struct arena *a, const char *path, struct command *out_command)
{
    struct str password;
    char hash[PASSWORD_HASH_MAX];
    const err e = find_password(a, path, &password);
    if (e != OK)
        return e;
    if (!password_hash_now(password, hash)) {
        log_print(LOG_ERROR, "there is not enough memory to hash a password");
        return ERR_UNAVAILABLE;
    }
    *out_command = (struct command){.kind = COMMAND_USER_CREATE, .actor = STR("daemon")};
    out_command->user_create.username = STR("admin");
    out_command->user_create.is_admin = true;
    out_command->user_create.password_hash = str_copy(a, str_from(hash));
    return OK;
}
