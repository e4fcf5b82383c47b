/* ticket.c - tickets. Stateless. */
#include "boot/script/ticket.h"

#include <string.h>

#include "base/err.h"
#include "base/hash/hmac.h"
#include "base/hash/sha256.h"
#include "base/text/buf.h"

enum {
    SIGNED_SIZE = TICKET_BYTES - 16, /* what the signature covers */
    AHEAD_S_MAX = 300
};

static void ticket_sign(const struct ticket_key *key, const uint8_t *bytes, uint8_t out[32])
{
    hmac_sha256((struct str){(const char *)key->bytes, TICKET_KEY_SIZE},
                (struct str){(const char *)bytes, SIGNED_SIZE}, out);
}

/* Big endian. */
static uint8_t *ticket_put_number(uint8_t *at, uint64_t number, uint32_t size)
{
    for (uint32_t i = size; i > 0; i--)
        *at++ = (uint8_t)(number >> (i - 1) * 8);
    return at;
}

static uint64_t ticket_take_number(const uint8_t **at, uint32_t size)
{
    uint64_t number = 0;
    while (size--)
        number = number << 8 | *(*at)++;
    return number;
}

struct str ticket_format(struct arena *a, const struct ticket_key *key, const struct ticket *ticket)
{
    uint8_t bytes[TICKET_BYTES], signature[32];
    must(ticket->mac >> 48 == 0 && ticket->node >= 0 && ticket->generation >= 0 &&
         ticket->made_s >= 0);
    uint8_t *at = ticket_put_number(bytes, ticket->mac, 6);
    at = ticket_put_number(at, (uint64_t)ticket->node, 8);
    at = ticket_put_number(at, (uint64_t)ticket->generation, 8);
    at = ticket_put_number(at, (uint64_t)ticket->made_s, 8);
    at = ticket_put_number(at, ticket->random, 4);
    ticket_sign(key, bytes, signature);
    memcpy(at, signature, 16);
    struct buf text = buf_in(a);
    buf_put_hex(&text, bytes, TICKET_BYTES);
    return buf_str(&text);
}

static int ticket_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool ticket_parse(struct str text, const struct ticket_key *key, int64_t now_s,
                  struct ticket *out_ticket)
{
    uint8_t bytes[TICKET_BYTES], signature[32];
    if (text.len != TICKET_LEN)
        return false;
    for (uint32_t i = 0; i < TICKET_BYTES; i++) {
        const int high = ticket_digit(text.at[2 * i]), low = ticket_digit(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    ticket_sign(key, bytes, signature);
    uint8_t difference = 0;
    for (uint32_t i = 0; i < 16; i++)
        difference |= (uint8_t)(bytes[SIGNED_SIZE + i] ^ signature[i]);
    if (difference)
        return false;
    const uint8_t *at = bytes;
    out_ticket->mac = ticket_take_number(&at, 6);
    out_ticket->node = (int64_t)ticket_take_number(&at, 8);
    out_ticket->generation = (int64_t)ticket_take_number(&at, 8);
    out_ticket->made_s = (int64_t)ticket_take_number(&at, 8);
    out_ticket->random = (uint32_t)ticket_take_number(&at, 4);
    /* The key signs only what ticket_format() accepts, so made_s is not negative. */
    const int64_t age = now_s - out_ticket->made_s;
    return age >= -AHEAD_S_MAX && age <= TICKET_LIFE_S;
}

struct str ticket_hash(struct arena *a, struct str text)
{
    struct sha256 s;
    uint8_t digest[32];
    sha256_init(&s);
    sha256_add(&s, text.at, text.len);
    sha256_end(&s, digest);
    struct buf hex = buf_in(a);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}
