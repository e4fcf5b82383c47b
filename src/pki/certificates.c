#include "pki/certificates.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { SERIAL_SIZE = 16, KEY_ID_SIZE = 64, NAME_SIZE = 64, COMMON_NAME_MAX = 64 };

/* GnuTLS speaks in numbers below zero. */
static bool done(int result)
{
    return result >= 0;
}

static gnutls_datum_t datum(struct str s)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.at, s.len};
}

/* Moves a text of GnuTLS into the arena, and wipes what it was in. */
static struct str take_text(struct arena *a, gnutls_datum_t *text)
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
    if (!done(gnutls_x509_privkey_init(&key)))
        return false;
    const unsigned bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    const bool is_made = done(gnutls_x509_privkey_generate(key, GNUTLS_PK_EC, bits, 0)) &&
                         done(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text));
    gnutls_x509_privkey_deinit(key);
    if (is_made)
        *out_key = take_text(a, &text);
    return is_made;
}

static bool open_key(struct str text, gnutls_x509_privkey_t *out_key)
{
    const gnutls_datum_t pem = datum(text);
    if (!done(gnutls_x509_privkey_init(out_key)))
        return false;
    if (done(gnutls_x509_privkey_import2(*out_key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0)))
        return true;
    gnutls_x509_privkey_deinit(*out_key);
    return false;
}

static bool open_cert(struct str text, gnutls_x509_crt_t *out_cert)
{
    const gnutls_datum_t pem = datum(text);
    if (!done(gnutls_x509_crt_init(out_cert)))
        return false;
    if (done(gnutls_x509_crt_import(*out_cert, &pem, GNUTLS_X509_FMT_PEM)))
        return true;
    gnutls_x509_crt_deinit(*out_cert);
    return false;
}

bool certificate_end(struct str certs, int64_t *out_end_s)
{
    gnutls_x509_crt_t *all;
    unsigned count = 0;
    const gnutls_datum_t pem = datum(certs);
    if (!certs.len ||
        !done(gnutls_x509_crt_list_import2(&all, &count, &pem, GNUTLS_X509_FMT_PEM, 0)))
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
    if (!open_key(text, &key))
        return false;
    gnutls_x509_privkey_deinit(key);
    return true;
}

static bool key_id(gnutls_x509_privkey_t key, unsigned char out_id[KEY_ID_SIZE], size_t *out_size)
{
    *out_size = KEY_ID_SIZE;
    return done(gnutls_x509_privkey_get_key_id(key, 0, out_id, out_size));
}

/* ---- making certificates ---- */

/* What every certificate has. */
static bool describe(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, int64_t from_s,
                     int64_t to_s)
{
    unsigned char serial[SERIAL_SIZE];
    unsigned char id[KEY_ID_SIZE];
    size_t id_size;
    if (!done(gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial)) || !key_id(key, id, &id_size))
        return false;
    serial[0] &= 0x7f; /* a positive number */
    serial[0] |= 0x40; /* of always the same length */
    return done(gnutls_x509_crt_set_version(cert, 3)) &&
           done(gnutls_x509_crt_set_serial(cert, serial, sizeof serial)) &&
           done(gnutls_x509_crt_set_activation_time(cert, (time_t)from_s)) &&
           done(gnutls_x509_crt_set_expiration_time(cert, (time_t)to_s)) &&
           done(gnutls_x509_crt_set_key(cert, key)) &&
           done(gnutls_x509_crt_set_subject_key_id(cert, id, id_size));
}

static bool call_it(gnutls_x509_crt_t cert, const char *name)
{
    const size_t len = strlen(name);
    return done(
        gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                      (unsigned)(len < COMMON_NAME_MAX ? len : COMMON_NAME_MAX)));
}

static bool authority_name(gnutls_x509_privkey_t key, char out_name[NAME_SIZE])
{
    unsigned char id[KEY_ID_SIZE];
    size_t size;
    if (!key_id(key, id, &size) || size < 4)
        return false;
    snprintf(out_name, NAME_SIZE, "Halligan authority %02x%02x%02x%02x", id[0], id[1], id[2],
             id[3]);
    return true;
}

static bool sign_itself(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, int64_t now_s)
{
    char name[NAME_SIZE];
    return describe(cert, key, now_s - CERTIFICATE_CLOCK_ERROR_S,
                    now_s + CERTIFICATE_AUTHORITY_S) &&
           authority_name(key, name) && call_it(cert, name) &&
           done(gnutls_x509_crt_set_basic_constraints(cert, 1, 0)) &&
           done(gnutls_x509_crt_set_key_usage(cert,
                                              GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN)) &&
           done(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0));
}

bool certificate_new_authority(struct arena *a, struct str key_text, int64_t now_s,
                               struct str *out_cert)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    gnutls_datum_t text;
    if (!open_key(key_text, &key))
        return false;
    bool is_made = done(gnutls_x509_crt_init(&cert));
    if (is_made) {
        is_made = sign_itself(cert, key, now_s) &&
                  done(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &text));
        gnutls_x509_crt_deinit(cert);
    }
    gnutls_x509_privkey_deinit(key);
    if (is_made)
        *out_cert = take_text(a, &text);
    return is_made;
}

/* The bytes of an address in numbers; 0: it is a host name. */
static unsigned address_of(const char *name, unsigned char out_bytes[sizeof(struct in6_addr)])
{
    if (inet_pton(AF_INET, name, out_bytes) == 1)
        return sizeof(struct in_addr);
    return inet_pton(AF_INET6, name, out_bytes) == 1 ? sizeof(struct in6_addr) : 0;
}

static bool add_name(gnutls_x509_crt_t cert, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    const unsigned size = address_of(name, address);
    if (size)
        return done(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, address, size,
                                                         GNUTLS_FSAN_APPEND));
    return done(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, name,
                                                     (unsigned)strlen(name), GNUTLS_FSAN_APPEND));
}

static bool add_names(gnutls_x509_crt_t cert, const struct certificate_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (!add_name(cert, names->at[i]))
            return false;
    return names->count > 0 && call_it(cert, names->at[0]);
}

struct signing {
    gnutls_x509_privkey_t authority_key;
    gnutls_x509_crt_t authority;
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    const struct certificate_names *names;
    int64_t now_s;
};

static bool sign(struct signing *s)
{
    const int64_t end_s = (int64_t)gnutls_x509_crt_get_expiration_time(s->authority);
    const int64_t wanted_s = s->now_s + CERTIFICATE_SERVER_S;
    unsigned char id[KEY_ID_SIZE];
    size_t id_size;
    return describe(s->cert, s->key, s->now_s - CERTIFICATE_CLOCK_ERROR_S,
                    wanted_s < end_s ? wanted_s : end_s) &&
           add_names(s->cert, s->names) &&
           done(gnutls_x509_crt_set_basic_constraints(s->cert, 0, -1)) &&
           done(gnutls_x509_crt_set_key_usage(s->cert, GNUTLS_KEY_DIGITAL_SIGNATURE)) &&
           done(gnutls_x509_crt_set_key_purpose_oid(s->cert, GNUTLS_KP_TLS_WWW_SERVER, 0)) &&
           key_id(s->authority_key, id, &id_size) &&
           done(gnutls_x509_crt_set_authority_key_id(s->cert, id, id_size)) &&
           done(gnutls_x509_crt_sign2(s->cert, s->authority, s->authority_key, GNUTLS_DIG_SHA256,
                                      0));
}

bool certificate_new_server(struct arena *a, const struct certificate *authority,
                            const struct certificate_names *names, int64_t now_s,
                            struct certificate *out_server)
{
    struct signing s = {.names = names, .now_s = now_s};
    gnutls_datum_t text;
    struct str key;
    bool is_made = false;
    if (!certificate_new_key(a, &key) || !open_key(key, &s.key))
        return false;
    if (!open_key(authority->key, &s.authority_key))
        goto no_authority_key;
    if (!open_cert(authority->cert, &s.authority))
        goto no_authority;
    if (!done(gnutls_x509_crt_init(&s.cert)))
        goto no_cert;
    is_made = sign(&s) && done(gnutls_x509_crt_export2(s.cert, GNUTLS_X509_FMT_PEM, &text));
    if (is_made)
        *out_server = (struct certificate){take_text(a, &text), key};
    gnutls_x509_crt_deinit(s.cert);
no_cert:
    gnutls_x509_crt_deinit(s.authority);
no_authority:
    gnutls_x509_privkey_deinit(s.authority_key);
no_authority_key:
    gnutls_x509_privkey_deinit(s.key);
    return is_made;
}

/* ---- judging them ---- */

static bool has_key(gnutls_x509_crt_t cert, struct str text)
{
    gnutls_x509_privkey_t key;
    unsigned char ours[KEY_ID_SIZE], its[KEY_ID_SIZE];
    size_t ours_size, its_size = sizeof its;
    if (!open_key(text, &key))
        return false;
    const bool same = key_id(key, ours, &ours_size) &&
                      done(gnutls_x509_crt_get_key_id(cert, 0, its, &its_size)) &&
                      ours_size == its_size && memcmp(ours, its, its_size) == 0;
    gnutls_x509_privkey_deinit(key);
    return same;
}

static enum certificate_state judge_time(gnutls_x509_crt_t cert, int64_t now_s)
{
    const int64_t left_s = (int64_t)gnutls_x509_crt_get_expiration_time(cert) - now_s;
    if ((int64_t)gnutls_x509_crt_get_activation_time(cert) > now_s || left_s <= 0)
        return CERTIFICATE_ENDED;
    return left_s < CERTIFICATE_RENEW_S ? CERTIFICATE_ENDING : CERTIFICATE_FINE;
}

static bool has_signed(gnutls_x509_crt_t authority, gnutls_x509_crt_t cert)
{
    unsigned status = 0;
    return done(gnutls_x509_crt_verify(cert, &authority, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS,
                                       &status)) &&
           status == 0;
}

static bool is_authority(gnutls_x509_crt_t cert)
{
    return gnutls_x509_crt_get_ca_status(cert, NULL) > 0 && has_signed(cert, cert);
}

enum certificate_state certificate_judge_authority(const struct certificate *authority,
                                                   int64_t now_s)
{
    gnutls_x509_crt_t cert;
    if (!open_cert(authority->cert, &cert))
        return CERTIFICATE_DAMAGED;
    enum certificate_state state = CERTIFICATE_DAMAGED;
    if (is_authority(cert) && (!authority->key.len || has_key(cert, authority->key)))
        state = judge_time(cert, now_s);
    gnutls_x509_crt_deinit(cert);
    return state;
}

static bool is_called(gnutls_x509_crt_t cert, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    const unsigned size = address_of(name, address);
    return size ? gnutls_x509_crt_check_ip(cert, address, size, 0) != 0
                : gnutls_x509_crt_check_hostname(cert, name) != 0;
}

static bool has_names(gnutls_x509_crt_t cert, const struct certificate_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (!is_called(cert, names->at[i]))
            return false;
    return true;
}

enum certificate_state certificate_judge_server(const struct certificate *server,
                                                struct str authority_cert,
                                                const struct certificate_names *names,
                                                int64_t now_s)
{
    gnutls_x509_crt_t cert, authority;
    if (!open_cert(server->cert, &cert))
        return CERTIFICATE_DAMAGED;
    enum certificate_state state = CERTIFICATE_FOREIGN;
    if (!has_key(cert, server->key)) {
        state = CERTIFICATE_DAMAGED;
    } else if (open_cert(authority_cert, &authority)) {
        if (has_signed(authority, cert))
            state = judge_time(cert, now_s);
        if (state == CERTIFICATE_FINE && !has_names(cert, names))
            state = CERTIFICATE_NAMELESS;
        gnutls_x509_crt_deinit(authority);
    }
    gnutls_x509_crt_deinit(cert);
    return state;
}
