/* certificates.h - create and check X.509 certificates of a small CA with GnuTLS.
 *
 * Input and output are PEM texts; files and host names are the business of the caller, who also
 * passes the time. Keys are ECDSA on P-256. The subject of a CA contains its key id, so that a
 * certificate that is created again for the same key still verifies what the old one has signed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

#define CERTIFICATE_NAMES_MAX     64u
#define CERTIFICATE_CA_S          ((int64_t)10 * 365 * 24 * 3600)
#define CERTIFICATE_SERVER_S      ((int64_t)365 * 24 * 3600)
#define CERTIFICATE_RENEW_S       ((int64_t)60 * 24 * 3600) /* renewal before expiry */
#define CERTIFICATE_CLOCK_ERROR_S ((int64_t)3600)           /* tolerated error of client clocks */

struct certificate {
    struct str cert;
    struct str key; /* may be empty where only the certificate is checked */
};

/* Host names and numeric addresses of a server. */
struct certificate_names {
    const char *at[CERTIFICATE_NAMES_MAX];
    uint32_t count;
};

enum certificate_state {
    CERTIFICATE_VALID,
    CERTIFICATE_DAMAGED,      /* cannot be parsed, or certificate and key do not match */
    CERTIFICATE_OTHER_ISSUER, /* not signed by this CA                                 */
    CERTIFICATE_EXPIRED,      /* or not valid yet                                      */
    CERTIFICATE_EXPIRING,     /* in less than CERTIFICATE_RENEW_S                      */
    CERTIFICATE_NAME_MISSING, /* a name of the server is not in it                     */
};

/* These functions create PEM texts in the arena. False: GnuTLS failed. */
bool certificate_new_key(struct arena *a, struct str *out_key);
/* A self-signed CA certificate for `key`, which must be a PEM private key. */
bool certificate_new_ca(struct arena *a, struct str key, int64_t now_s, struct str *out_cert);
/* A new key and a certificate for it, signed by the CA. It expires no later than the CA. */
bool certificate_new_server(struct arena *a, const struct certificate *ca,
                            const struct certificate_names *names, int64_t now_s,
                            struct certificate *out_server);

/* The earliest expiry of the certificates in the text, in seconds since 1970. False: there is
 * none. */
bool certificate_end(struct str certs, int64_t *out_end_s);
/* True if the text is a PEM private key. */
bool certificate_is_key(struct str key);
/* The state of a CA. Without a key only the certificate is checked. */
enum certificate_state certificate_check_ca(const struct certificate *ca, int64_t now_s);
/* The state of a server certificate. It must contain all of `names` and may contain others. */
enum certificate_state certificate_check_server(const struct certificate *server,
                                                struct str ca_cert,
                                                const struct certificate_names *names,
                                                int64_t now_s);
