/* http_tls.c - the certificate and key that new connections get.
 *
 * libmicrohttpd requests them at each handshake, so they can be changed while the server runs.
 * GnuTLS keeps pointers to a pair as long as its connections last, so a pair is freed only when the
 * server closes; a new one is created only if the content of the files has changed. Buffers with
 * private keys are wiped.
 *
 * It owns the list of pairs (http_server.tls, the newest first) and the paths. A pair is imported
 * completely before it becomes the first of the list, so a handshake never gets half of one.
 *
 * Failure: if the files cannot be read or do not match, the reason is written to `why` and the
 * previous pair stays in use; without a previous one the server does not open.
 */
#include "http/http_private.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { PEM_MAX = 1 << 20, CHAIN_MAX = 16 };

struct tls_pair {
    uint8_t digest[crypto_generichash_BYTES]; /* of the content of both files */
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned chain_len;
    gnutls_privkey_t key;
    struct tls_pair *older;
};

/* The content of a file: certificates or a private key in PEM. */
struct pem {
    char *text;
    size_t len;
};

/* --- files ------------------------------------------------------------------------------------*/

static void pem_fini(struct pem *pem)
{
    if (pem->text)
        sodium_memzero(pem->text, PEM_MAX);
    free(pem->text);
}

static bool pem_read(const struct http_why *why, const char *path, struct pem *out_pem)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return http_fail(why, "cannot open \"%s\": %s", path, strerror(errno));
    /* Unbuffered, so that stdio has no copy of the key. */
    setbuf(file, NULL);
    out_pem->text = calloc(1, PEM_MAX);
    out_pem->len = out_pem->text ? fread(out_pem->text, 1, PEM_MAX, file) : 0;
    const bool is_read = out_pem->text && !ferror(file);
    ignore(fclose(file), "it was only read");
    if (!is_read || out_pem->len == 0 || out_pem->len == PEM_MAX)
        return http_fail(why, "cannot read \"%s\": it is empty, too large or not a file", path);
    return true;
}

static gnutls_datum_t pem_datum(const struct pem *pem)
{
    return (gnutls_datum_t){(unsigned char *)pem->text, (unsigned)pem->len};
}

/* --- pair of certificate and key --------------------------------------------------------------*/

static void tls_pair_free(struct tls_pair *p)
{
    for (unsigned i = 0; i < p->chain_len; i++)
        gnutls_pcert_deinit(&p->chain[i]);
    if (p->key)
        gnutls_privkey_deinit(p->key);
    free(p);
}

/* Load the texts into temporary credentials: GnuTLS then checks that key and certificate match. */
static bool tls_pair_matches(const gnutls_datum_t *cert, const gnutls_datum_t *key)
{
    gnutls_certificate_credentials_t trial;
    if (gnutls_certificate_allocate_credentials(&trial) != 0)
        return false;
    const int failed = gnutls_certificate_set_x509_key_mem(trial, cert, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(trial);
    return failed >= 0;
}

static bool tls_pair_import(struct tls_pair *p, const struct pem *cert_pem,
                            const struct pem *key_pem)
{
    const gnutls_datum_t cert = pem_datum(cert_pem);
    const gnutls_datum_t key = pem_datum(key_pem);
    unsigned count = CHAIN_MAX;
    if (!tls_pair_matches(&cert, &key) ||
        gnutls_pcert_list_import_x509_raw(p->chain, &count, &cert, GNUTLS_X509_FMT_PEM, 0) != 0)
        return false;
    p->chain_len = count;
    return gnutls_privkey_init(&p->key) == 0 &&
           gnutls_privkey_import_x509_raw(p->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0) == 0;
}

static void tls_pair_digest(const struct pem *cert, const struct pem *key, uint8_t *out_digest)
{
    crypto_generichash_state state;
    const uint64_t len = cert->len;
    must(crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES) == 0 &&
         crypto_generichash_update(&state, (const uint8_t *)&len, sizeof len) == 0 &&
         crypto_generichash_update(&state, (const uint8_t *)cert->text, cert->len) == 0 &&
         crypto_generichash_update(&state, (const uint8_t *)key->text, key->len) == 0 &&
         crypto_generichash_final(&state, out_digest, crypto_generichash_BYTES) == 0);
}

/* Use this pair from now on. True also if it is the current one. */
static bool tls_use_pair(struct http_server *s, const struct pem *cert, const struct pem *key)
{
    struct tls_pair *p = calloc(1, sizeof *p);
    if (!p)
        return false;
    tls_pair_digest(cert, key, p->digest);
    if (s->tls && memcmp(p->digest, s->tls->digest, sizeof p->digest) == 0) {
        tls_pair_free(p);
        return true;
    }
    if (!tls_pair_import(p, cert, key)) {
        tls_pair_free(p);
        return false;
    }
    p->older = s->tls;
    s->tls = p;
    return true;
}

static bool tls_read_pair(struct http_server *s, const struct http_why *why)
{
    struct pem cert = {0};
    struct pem key = {0};
    bool is_read = pem_read(why, s->tls_cert, &cert) && pem_read(why, s->tls_key, &key);
    if (is_read && !tls_use_pair(s, &cert, &key))
        is_read =
            http_fail(why, "the certificate \"%s\" and the key \"%s\" do not match or are not PEM",
                      s->tls_cert, s->tls_key);
    pem_fini(&cert);
    pem_fini(&key);
    return is_read;
}

bool http_reload_tls(struct http_server *s, char *why, size_t why_size)
{
    must(s->is_secure);
    return tls_read_pair(s, &(struct http_why){why, why_size});
}

bool tls_init(struct http_server *s, const char *cert, const char *key, const struct http_why *why)
{
    s->is_secure = true;
    s->tls_cert = strdup(cert);
    s->tls_key = strdup(key);
    if (sodium_init() < 0 || !s->tls_cert || !s->tls_key)
        return http_fail(why, "out of memory");
    return tls_read_pair(s, why);
}

void tls_fini(struct http_server *s)
{
    while (s->tls) {
        struct tls_pair *p = s->tls;
        s->tls = p->older;
        tls_pair_free(p);
    }
    free(s->tls_cert);
    free(s->tls_key);
}

/* --- callback of GnuTLS -----------------------------------------------------------------------*/

/* Returns the current pair for a handshake, whatever the client prefers; the parameters are those
 * of gnutls_certificate_retrieve_function2. libmicrohttpd stores its connection in the session, and
 * the slot of the client exists before the first byte is read. */
int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                 const gnutls_pk_algorithm_t *kinds, int kind_count, gnutls_pcert_st **out_chain,
                 unsigned *out_chain_len, gnutls_privkey_t *out_key)
{
    (void)authorities;
    (void)authority_count;
    (void)kinds;
    (void)kind_count;
    struct MHD_Connection *connection = gnutls_session_get_ptr(session);
    const union MHD_ConnectionInfo *info =
        connection ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT) : NULL;
    if (!info || !info->socket_context)
        return GNUTLS_E_INTERNAL_ERROR;
    struct tls_pair *p = ((struct client *)info->socket_context)->server->tls;
    *out_chain = p->chain;
    *out_chain_len = p->chain_len;
    *out_key = p->key;
    return 0;
}
