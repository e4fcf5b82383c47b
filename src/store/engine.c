/* engine.c - claims and digests in the form in which every engine stores them.
 * Stateless. Without random numbers of the kernel the process aborts. */
#include "store/engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void engine_make_claim(char out_claim[ENGINE_CLAIM_SIZE])
{
    uint8_t random[(ENGINE_CLAIM_SIZE - 1) / 2];
    must(getrandom(random, sizeof random, 0) == (ssize_t)sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out_claim + i * 2, 3, "%02x", random[i]);
}

void engine_format_digest(struct digest128 digest, char out_text[ENGINE_DIGEST_SIZE])
{
    snprintf(out_text, ENGINE_DIGEST_SIZE, "%016llx%016llx", (unsigned long long)digest.hi,
             (unsigned long long)digest.lo);
}

bool engine_parse_digest(const char *text, struct digest128 *out_digest)
{
    unsigned long long hi, lo;
    if (strlen(text) != ENGINE_DIGEST_SIZE - 1 ||
        strspn(text, "0123456789abcdef") != ENGINE_DIGEST_SIZE - 1 ||
        sscanf(text, "%16llx%16llx", &hi, &lo) != 2)
        return false;
    *out_digest = (struct digest128){.hi = hi, .lo = lo};
    return true;
}
