#include "daemon/boot/boot_links_private.h"

#include <errno.h>
#include <string.h>

#include "base/hash/hmac.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

/* The secret of the installation that the keys of tickets are derived from (ADR 0091).
 *
 * It is a file of 32 random bytes, in hexadecimal digits, that only the user of the daemon can
 * read, beside the key of the CA. The key of a boot server is the HMAC of its node id under the
 * secret: it outlives restarts of both sides, and a boot server that is taken over by an attacker
 * cannot make tickets of another one. The id of the installation is derived from the secret as
 * well. */

static int boot_key_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool boot_key_parse(struct str text, uint8_t out_secret[BOOT_KEY_SIZE])
{
    if (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    if (text.len != 2 * BOOT_KEY_SIZE)
        return false;
    for (uint32_t i = 0; i < BOOT_KEY_SIZE; i++) {
        const int high = boot_key_digit(text.at[2 * i]), low = boot_key_digit(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out_secret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool boot_key_create(struct boot_links *all)
{
    struct buf text = buf_in(&all->arena);
    for (uint32_t i = 0; i < BOOT_KEY_SIZE; i += 8) {
        const uint64_t random = sys_random64();
        memcpy(all->secret + i, &random, sizeof random);
    }
    buf_put_hex(&text, all->secret, BOOT_KEY_SIZE);
    buf_put_c(&text, '\n');
    if (file_write(all->setup.key_path, buf_str(&text), 0600) == OK)
        return true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", all->setup.key_path)),
             "\"%s\" cannot be written: %s; boot servers are not served", all->setup.key_path,
             strerror(errno));
    return false;
}

static void boot_key_name_installation(struct boot_links *all)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t hash[32];
    hmac_sha256((struct str){(const char *)all->secret, BOOT_KEY_SIZE}, STR("installation"), hash);
    for (uint32_t i = 0; i < sizeof all->installation / 2; i++) {
        all->installation[2 * i] = digits[hash[i] >> 4];
        all->installation[2 * i + 1] = digits[hash[i] & 15];
    }
    all->installation[sizeof all->installation - 1] = '\0';
}

bool boot_key_open(struct boot_links *all)
{
    enum { FILE_MAX = 2 * BOOT_KEY_SIZE + 1 };
    struct str text;
    const err e = file_read_private(&all->arena, all->setup.key_path, FILE_MAX, &text);
    if (e == OK && boot_key_parse(text, all->secret)) {
        boot_key_name_installation(all);
        return true;
    }
    if (e != ERR_NOT_FOUND) {
        log_with(
            LOG_ERROR, LOG_FIELDS(LOG_Z("path", all->setup.key_path)),
            "\"%s\" is not a private file of 64 hexadecimal digits; boot servers are not served: "
            "restore it from a backup, or remove it to make a new one",
            all->setup.key_path);
        return false;
    }
    if (!boot_key_create(all))
        return false;
    boot_key_name_installation(all);
    return true;
}

void boot_key_derive(const struct boot_links *all, int64_t node_id, uint8_t out_key[BOOT_KEY_SIZE])
{
    struct arena arena = {0};
    const struct str text =
        STR_CONCAT(&arena, STR("tickets of boot server "), str_from_i64(&arena, node_id));
    hmac_sha256((struct str){(const char *)all->secret, BOOT_KEY_SIZE}, text, out_key);
    arena_fini(&arena);
}
