/* certificates.h - an authority of our own, and the certificates that it signs.
 *
 * Everything is PEM text; it knows neither files nor names of machines, and the time is told by
 * whoever asks. Keys are ECDSA on P-256. An authority is called after its key, so that a
 * certificate of it that is made again is still the one that signed the others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

#define CERTIFICATE_NAMES_MAX     64u
#define CERTIFICATE_AUTHORITY_S   ((int64_t)10 * 365 * 24 * 3600)
#define CERTIFICATE_SERVER_S      ((int64_t)365 * 24 * 3600)
#define CERTIFICATE_RENEW_S       ((int64_t)60 * 24 * 3600) /* so long before the end */
#define CERTIFICATE_CLOCK_ERROR_S ((int64_t)3600)           /* of whoever looks at it */

struct certificate {
    struct str cert;
    struct str key; /* may be empty where only the certificate is looked at */
};

/* What a server is called: host names, and addresses in numbers. */
struct certificate_names {
    const char *at[CERTIFICATE_NAMES_MAX];
    uint32_t count;
};

enum certificate_state {
    CERTIFICATE_FINE,
    CERTIFICATE_DAMAGED,  /* not readable, or certificate and key do not belong together */
    CERTIFICATE_FOREIGN,  /* signed by somebody else                                     */
    CERTIFICATE_ENDED,    /* its time is over, or not yet come                           */
    CERTIFICATE_ENDING,   /* its time is nearly over                                     */
    CERTIFICATE_NAMELESS, /* a name is missing                                           */
};

/* Each makes texts in the arena; false: GnuTLS cannot, which it does not explain further. */
bool certificate_new_key(struct arena *a, struct str *out_key);
/* For `key`, which is one of ours. */
bool certificate_new_authority(struct arena *a, struct str key, int64_t now_s,
                               struct str *out_cert);
/* With a key of its own. It does not outlive the authority. */
bool certificate_new_server(struct arena *a, const struct certificate *authority,
                            const struct certificate_names *names, int64_t now_s,
                            struct certificate *out_server);

/* When the first of the certificates in the text ends, in seconds since 1970. False: there is none.
 */
bool certificate_end(struct str certs, int64_t *out_end_s);
/* Is it a key at all? */
bool certificate_is_key(struct str key);
/* May it sign? Only the certificate is asked about if there is no key. */
enum certificate_state certificate_judge_authority(const struct certificate *authority,
                                                   int64_t now_s);
/* Of the authority only the certificate is needed. More names than these do no harm. */
enum certificate_state certificate_judge_server(const struct certificate *server,
                                                struct str authority_cert,
                                                const struct certificate_names *names,
                                                int64_t now_s);
