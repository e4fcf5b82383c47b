#include "daemon/boot/boot_links_private.h"

#include <errno.h>
#include <string.h>

#include "base/hash/hmac.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

/* The secret of the installation that the keys of tickets are derived from (ADR 0091).
 *
 * It is a file of 32 random bytes that only the user of the daemon can read, beside the key of the
 * CA. The key of a boot server is the HMAC of its node id under the secret: it outlives restarts of
 * both sides, and a boot server that is taken over by an attacker cannot make tickets of another
 * one. The id of the installation is derived from the secret as well. */

static bool boot_key_create(struct boot_links *all)
{
    for (uint32_t i = 0; i < BOOT_KEY_SIZE; i += 8) {
        const uint64_t random = sys_random64();
        memcpy(all->secret + i, &random, sizeof random);
    }
    const struct str bytes = {(const char *)all->secret, BOOT_KEY_SIZE};
    if (file_write(all->setup.key_path, bytes, 0600) == OK)
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
    struct str bytes;
    const err e = file_read_private(&all->arena, all->setup.key_path, BOOT_KEY_SIZE, &bytes);
    if (e == OK && bytes.len == BOOT_KEY_SIZE) {
        memcpy(all->secret, bytes.at, BOOT_KEY_SIZE);
    } else if (e != ERR_NOT_FOUND) {
        log_with(
            LOG_ERROR, LOG_FIELDS(LOG_Z("path", all->setup.key_path)),
            "\"%s\" is not a private file of 32 bytes; boot servers are not served: restore it "
            "from a backup, or remove it to make a new one",
            all->setup.key_path);
        return false;
    } else if (!boot_key_create(all)) {
        return false;
    }
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
