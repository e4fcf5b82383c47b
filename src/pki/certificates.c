/* certificates.c - thin layer over GnuTLS.
 *
 * It owns nothing between calls: results are PEM texts in the arena of the caller. Every GnuTLS
 * object that a function opens is released before it returns, in reverse order; private keys that
 * GnuTLS exported are wiped from its buffers. Times are passed in, so that tests and the rule for
 * ages (clock_watch.h) decide what is expired; GnuTLS's own time checks are disabled.
 *
 * Order: all fields of a certificate are set before it is signed. A server certificate never
 * outlives its CA, so that clients do not get one that they cannot verify. The check of a server
 * certificate compares key, issuer, time and names in this order and reports the first defect.
 *
 * Failure: functions that create return false and leave their result unchanged; why GnuTLS failed
 * is not reported. A certificate that cannot be parsed is CERTIFICATE_DAMAGED.
 */
#include "pki/certificates.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { SERIAL_SIZE = 16, KEY_ID_SIZE = 64, NAME_SIZE = 64, COMMON_NAME_MAX = 64 };

/* GnuTLS returns errors as negative numbers. */
static bool gnutls_ok(int result)
{
    return result >= 0;
}

static gnutls_datum_t certificate_datum(struct str s)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.at, s.len};
}

/* Copy a text of GnuTLS into the arena, then wipe and free the original. */
static struct str certificate_take_text(struct arena *a, gnutls_datum_t *text)
{
    const struct str s = str_copy(a, (struct str){(char *)text->data, text->size});
    gnutls_memset(text->data, 0, text->size);
    gnutls_free(text->data);
    return s;
}

/* ---- keys ---- */

bool certificate_new_key(struct arena *a, struct str *out_key)
{
    gnutls_x509_privkey_t key;
    gnutls_datum_t text;
    if (!gnutls_ok(gnutls_x509_privkey_init(&key)))
        return false;
    const unsigned bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    const bool is_made = gnutls_ok(gnutls_x509_privkey_generate(key, GNUTLS_PK_EC, bits, 0)) &&
                         gnutls_ok(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text));
    gnutls_x509_privkey_deinit(key);
    if (is_made)
        *out_key = certificate_take_text(a, &text);
    return is_made;
}

static bool certificate_open_key(struct str text, gnutls_x509_privkey_t *out_key)
{
    const gnutls_datum_t pem = certificate_datum(text);
    if (!gnutls_ok(gnutls_x509_privkey_init(out_key)))
        return false;
    if (gnutls_ok(gnutls_x509_privkey_import2(*out_key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0)))
        return true;
    gnutls_x509_privkey_deinit(*out_key);
    return false;
}

static bool certificate_open(struct str text, gnutls_x509_crt_t *out_cert)
{
    const gnutls_datum_t pem = certificate_datum(text);
    if (!gnutls_ok(gnutls_x509_crt_init(out_cert)))
        return false;
    if (gnutls_ok(gnutls_x509_crt_import(*out_cert, &pem, GNUTLS_X509_FMT_PEM)))
        return true;
    gnutls_x509_crt_deinit(*out_cert);
    return false;
}

bool certificate_end(struct str certs, int64_t *out_end_s)
{
    gnutls_x509_crt_t *all;
    unsigned count = 0;
    const gnutls_datum_t pem = certificate_datum(certs);
    if (!certs.len ||
        !gnutls_ok(gnutls_x509_crt_list_import2(&all, &count, &pem, GNUTLS_X509_FMT_PEM, 0)))
        return false;
    for (unsigned i = 0; i < count; i++) {
        const int64_t end_s = gnutls_x509_crt_get_expiration_time(all[i]);
        if (i == 0 || end_s < *out_end_s)
            *out_end_s = end_s;
        gnutls_x509_crt_deinit(all[i]);
    }
    gnutls_free(all);
    return count > 0;
}

bool certificate_is_key(struct str text)
{
    gnutls_x509_privkey_t key;
    if (!certificate_open_key(text, &key))
        return false;
    gnutls_x509_privkey_deinit(key);
    return true;
}

static bool certificate_key_id(gnutls_x509_privkey_t key, unsigned char out_id[KEY_ID_SIZE],
                               size_t *out_size)
{
    *out_size = KEY_ID_SIZE;
    return gnutls_ok(gnutls_x509_privkey_get_key_id(key, 0, out_id, out_size));
}

/* ---- create ---- */

/* Set the fields that every certificate has. */
static bool certificate_set_common(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key,
                                   int64_t from_s, int64_t to_s)
{
    unsigned char serial[SERIAL_SIZE];
    unsigned char id[KEY_ID_SIZE];
    size_t id_size;
    if (!gnutls_ok(gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial)) ||
        !certificate_key_id(key, id, &id_size))
        return false;
    serial[0] &= 0x7f; /* positive */
    serial[0] |= 0x40; /* without leading zeros, so that the length is constant */
    return gnutls_ok(gnutls_x509_crt_set_version(cert, 3)) &&
           gnutls_ok(gnutls_x509_crt_set_serial(cert, serial, sizeof serial)) &&
           gnutls_ok(gnutls_x509_crt_set_activation_time(cert, (time_t)from_s)) &&
           gnutls_ok(gnutls_x509_crt_set_expiration_time(cert, (time_t)to_s)) &&
           gnutls_ok(gnutls_x509_crt_set_key(cert, key)) &&
           gnutls_ok(gnutls_x509_crt_set_subject_key_id(cert, id, id_size));
}

static bool certificate_set_common_name(gnutls_x509_crt_t cert, const char *name)
{
    const size_t len = strlen(name);
    return gnutls_ok(
        gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                      (unsigned)(len < COMMON_NAME_MAX ? len : COMMON_NAME_MAX)));
}

static bool certificate_ca_name(gnutls_x509_privkey_t key, char out_name[NAME_SIZE])
{
    unsigned char id[KEY_ID_SIZE];
    size_t size;
    if (!certificate_key_id(key, id, &size) || size < 4)
        return false;
    snprintf(out_name, NAME_SIZE, "Halligan authority %02x%02x%02x%02x", id[0], id[1], id[2],
             id[3]);
    return true;
}

static bool certificate_sign_ca(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, int64_t now_s)
{
    char name[NAME_SIZE];
    return certificate_set_common(cert, key, now_s - CERTIFICATE_CLOCK_ERROR_S,
                                  now_s + CERTIFICATE_CA_S) &&
           certificate_ca_name(key, name) && certificate_set_common_name(cert, name) &&
           gnutls_ok(gnutls_x509_crt_set_basic_constraints(cert, 1, 0)) &&
           gnutls_ok(gnutls_x509_crt_set_key_usage(cert, GNUTLS_KEY_KEY_CERT_SIGN |
                                                             GNUTLS_KEY_CRL_SIGN)) &&
           gnutls_ok(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0));
}

bool certificate_new_ca(struct arena *a, struct str key_text, int64_t now_s, struct str *out_cert)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    gnutls_datum_t text;
    if (!certificate_open_key(key_text, &key))
        return false;
    bool is_made = gnutls_ok(gnutls_x509_crt_init(&cert));
    if (is_made) {
        is_made = certificate_sign_ca(cert, key, now_s) &&
                  gnutls_ok(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &text));
        gnutls_x509_crt_deinit(cert);
    }
    gnutls_x509_privkey_deinit(key);
    if (is_made)
        *out_cert = certificate_take_text(a, &text);
    return is_made;
}

/* Parse a numeric address and return its size in bytes; 0 for a host name. */
static unsigned certificate_parse_address(const char *name,
                                          unsigned char out_bytes[sizeof(struct in6_addr)])
{
    if (inet_pton(AF_INET, name, out_bytes) == 1)
        return sizeof(struct in_addr);
    return inet_pton(AF_INET6, name, out_bytes) == 1 ? sizeof(struct in6_addr) : 0;
}

/* Each name becomes a subject alternative name, the first one also the common name. */
static bool certificate_add_names(gnutls_x509_crt_t cert, const struct certificate_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        const char *name = names->at[i];
        unsigned char address[sizeof(struct in6_addr)];
        const unsigned size = certificate_parse_address(name, address);
        const int code =
            size ? gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, address, size,
                                                        GNUTLS_FSAN_APPEND)
                 : gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, name,
                                                        (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
        if (!gnutls_ok(code))
            return false;
    }
    return names->count > 0 && certificate_set_common_name(cert, names->at[0]);
}

/* What certificate_sign_server() needs: the CA, the new key and the certificate to be signed. */
struct signing {
    gnutls_x509_privkey_t ca_key;
    gnutls_x509_crt_t ca;
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    const struct certificate_names *names;
    int64_t now_s;
};

static bool certificate_sign_server(struct signing *s)
{
    const int64_t end_s = (int64_t)gnutls_x509_crt_get_expiration_time(s->ca);
    const int64_t wanted_s = s->now_s + CERTIFICATE_SERVER_S;
    unsigned char id[KEY_ID_SIZE];
    size_t id_size;
    return certificate_set_common(s->cert, s->key, s->now_s - CERTIFICATE_CLOCK_ERROR_S,
                                  wanted_s < end_s ? wanted_s : end_s) &&
           certificate_add_names(s->cert, s->names) &&
           gnutls_ok(gnutls_x509_crt_set_basic_constraints(s->cert, 0, -1)) &&
           gnutls_ok(gnutls_x509_crt_set_key_usage(s->cert, GNUTLS_KEY_DIGITAL_SIGNATURE)) &&
           gnutls_ok(gnutls_x509_crt_set_key_purpose_oid(s->cert, GNUTLS_KP_TLS_WWW_SERVER, 0)) &&
           certificate_key_id(s->ca_key, id, &id_size) &&
           gnutls_ok(gnutls_x509_crt_set_authority_key_id(s->cert, id, id_size)) &&
           gnutls_ok(gnutls_x509_crt_sign2(s->cert, s->ca, s->ca_key, GNUTLS_DIG_SHA256, 0));
}

bool certificate_new_server(struct arena *a, const struct certificate *ca,
                            const struct certificate_names *names, int64_t now_s,
                            struct certificate *out_server)
{
    struct signing s = {.names = names, .now_s = now_s};
    gnutls_datum_t text;
    struct str key;
    bool is_made = false;
    if (!certificate_new_key(a, &key) || !certificate_open_key(key, &s.key))
        return false;
    if (!certificate_open_key(ca->key, &s.ca_key))
        goto no_ca_key;
    if (!certificate_open(ca->cert, &s.ca))
        goto no_ca;
    if (!gnutls_ok(gnutls_x509_crt_init(&s.cert)))
        goto no_cert;
    is_made = certificate_sign_server(&s) &&
              gnutls_ok(gnutls_x509_crt_export2(s.cert, GNUTLS_X509_FMT_PEM, &text));
    if (is_made)
        *out_server = (struct certificate){certificate_take_text(a, &text), key};
    gnutls_x509_crt_deinit(s.cert);
no_cert:
    gnutls_x509_crt_deinit(s.ca);
no_ca:
    gnutls_x509_privkey_deinit(s.ca_key);
no_ca_key:
    gnutls_x509_privkey_deinit(s.key);
    return is_made;
}

/* ---- check ---- */

static bool certificate_has_key(gnutls_x509_crt_t cert, struct str text)
{
    gnutls_x509_privkey_t key;
    unsigned char ours[KEY_ID_SIZE], its[KEY_ID_SIZE];
    size_t ours_size, its_size = sizeof its;
    if (!certificate_open_key(text, &key))
        return false;
    const bool same = certificate_key_id(key, ours, &ours_size) &&
                      gnutls_ok(gnutls_x509_crt_get_key_id(cert, 0, its, &its_size)) &&
                      ours_size == its_size && memcmp(ours, its, its_size) == 0;
    gnutls_x509_privkey_deinit(key);
    return same;
}

static enum certificate_state certificate_check_time(gnutls_x509_crt_t cert, int64_t now_s)
{
    const int64_t left_s = (int64_t)gnutls_x509_crt_get_expiration_time(cert) - now_s;
    if ((int64_t)gnutls_x509_crt_get_activation_time(cert) > now_s || left_s <= 0)
        return CERTIFICATE_EXPIRED;
    return left_s < CERTIFICATE_RENEW_S ? CERTIFICATE_EXPIRING : CERTIFICATE_VALID;
}

static bool certificate_is_signed_by(gnutls_x509_crt_t ca, gnutls_x509_crt_t cert)
{
    unsigned status = 0;
    return gnutls_ok(
               gnutls_x509_crt_verify(cert, &ca, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status)) &&
           status == 0;
}

static bool certificate_is_ca(gnutls_x509_crt_t cert)
{
    return gnutls_x509_crt_get_ca_status(cert, NULL) > 0 && certificate_is_signed_by(cert, cert);
}

enum certificate_state certificate_check_ca(const struct certificate *ca, int64_t now_s)
{
    gnutls_x509_crt_t cert;
    if (!certificate_open(ca->cert, &cert))
        return CERTIFICATE_DAMAGED;
    enum certificate_state state = CERTIFICATE_DAMAGED;
    if (certificate_is_ca(cert) && (!ca->key.len || certificate_has_key(cert, ca->key)))
        state = certificate_check_time(cert, now_s);
    gnutls_x509_crt_deinit(cert);
    return state;
}

static bool certificate_has_names(gnutls_x509_crt_t cert, const struct certificate_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        unsigned char address[sizeof(struct in6_addr)];
        const unsigned size = certificate_parse_address(names->at[i], address);
        const unsigned matches = size ? gnutls_x509_crt_check_ip(cert, address, size, 0)
                                      : gnutls_x509_crt_check_hostname(cert, names->at[i]);
        if (!matches)
            return false;
    }
    return true;
}

enum certificate_state certificate_check_server(const struct certificate *server,
                                                struct str ca_cert,
                                                const struct certificate_names *names,
                                                int64_t now_s)
{
    gnutls_x509_crt_t cert, ca;
    if (!certificate_open(server->cert, &cert))
        return CERTIFICATE_DAMAGED;
    enum certificate_state state = CERTIFICATE_OTHER_ISSUER;
    if (!certificate_has_key(cert, server->key)) {
        state = CERTIFICATE_DAMAGED;
    } else if (certificate_open(ca_cert, &ca)) {
        if (certificate_is_signed_by(ca, cert))
            state = certificate_check_time(cert, now_s);
        if (state == CERTIFICATE_VALID && !certificate_has_names(cert, names))
            state = CERTIFICATE_NAME_MISSING;
        gnutls_x509_crt_deinit(ca);
    }
    gnutls_x509_crt_deinit(cert);
    return state;
}
