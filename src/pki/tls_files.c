/* tls_files.c - creates, checks and renews the files in DATA/tls.
 *
 * All files are read first. The CA is kept as long as its key can sign: a missing or expiring
 * certificate is created again for the same key and name, so certificates it has signed stay valid.
 * A new CA is created only if the server has no usable certificate, because every client then needs
 * the new ca.pem; the old files are renamed to *.old. Keys are written before certificates and each
 * file is replaced atomically, so a crash leaves at most a key without its certificate, which the
 * next start completes. A file that cannot be read is never replaced: that is an error.
 *
 * Failure: it is logged and the result is false; files that were written by then stay. If only the
 * renewal of a usable certificate is impossible, because the CA cannot sign, that is a warning.
 */
#include "pki/tls_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sys/files.h"
#include "sys/log.h"

enum { PEM_MAX = 1 << 20 };

enum part { CA_CERT, CA_KEY, SERVER_CERT, SERVER_KEY, PART_COUNT };

static const struct {
    const char *name;
    unsigned mode;
} parts[] = {
    [CA_CERT] = {"ca.pem", 0644},
    [CA_KEY] = {"ca.key", 0600}, /* 0600 also marks a key in tls_files_read() */
    [SERVER_CERT] = {"server.pem", 0644},
    [SERVER_KEY] = {"server.key", 0600},
};

struct tls_dir {
    struct arena *arena;
    const char *directory;
    const struct certificate_names *names;
    int64_t now_s;
    struct str texts[PART_COUNT]; /* PEM; empty: the file does not exist */
};

/* ---- files ---- */

static const char *tls_files_path(const struct tls_dir *h, enum part part, const char *ending)
{
    struct arena *a = h->arena;
    const struct str path =
        STR_CONCAT(a, str_from(h->directory), STR("/"), str_from(parts[part].name));
    return str_z(a, STR_CONCAT(a, path, str_from(ending)));
}

/* A file that exists and cannot be read is an error: it may be intact, so it is not replaced. */
static bool tls_files_read(struct tls_dir *h, enum part part)
{
    const char *path = tls_files_path(h, part, "");
    const bool is_key = parts[part].mode == 0600;
    const err e = is_key ? file_read_private(h->arena, path, PEM_MAX, &h->texts[part])
                         : file_read(h->arena, path, PEM_MAX, &h->texts[part]);
    if (e == OK || e == ERR_NOT_FOUND)
        return true;
    if (e == ERR_REFUSED)
        log_with(
            LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
            "the key \"%s\" is refused: it must be a regular file that only the user of the daemon "
            "can read; chown and chmod 600 it",
            path);
    else
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be read: %s", path,
                 strerror(errno));
    return false;
}

static bool tls_files_write(struct tls_dir *h, enum part part, struct str text)
{
    const char *path = tls_files_path(h, part, "");
    h->texts[part] = text;
    if (file_write(path, text, parts[part].mode) == OK)
        return true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be written: %s", path,
             strerror(errno));
    return false;
}

static bool tls_files_move_aside(struct tls_dir *h, enum part part)
{
    const char *path = tls_files_path(h, part, "");
    if (!file_exists(path))
        return true;
    if (file_move_durably(path, tls_files_path(h, part, ".old")) == OK)
        return true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be moved: %s", path,
             strerror(errno));
    return false;
}

static bool tls_files_gnutls_failed(void)
{
    log_print(LOG_ERROR, "GnuTLS failed to create a key or certificate");
    return false;
}

/* ---- CA ---- */

static bool tls_files_write_ca(struct tls_dir *h)
{
    struct str cert;
    if (!certificate_new_ca(h->arena, h->texts[CA_KEY], h->now_s, &cert))
        return tls_files_gnutls_failed();
    return tls_files_write(h, CA_CERT, cert);
}

/* Create a CA with a new key. The files of an old one are renamed, so that an administrator can put
 * them back. */
static bool tls_files_create_ca(struct tls_dir *h)
{
    struct str key;
    const bool is_first = !h->texts[CA_CERT].len && !h->texts[CA_KEY].len &&
                          !h->texts[SERVER_CERT].len && !h->texts[SERVER_KEY].len;
    if (!tls_files_move_aside(h, CA_CERT) || !tls_files_move_aside(h, CA_KEY))
        return false;
    if (!certificate_new_key(h->arena, &key))
        return tls_files_gnutls_failed();
    if (!tls_files_write(h, CA_KEY, key) || !tls_files_write_ca(h))
        return false;
    log_with(is_first ? LOG_NOTICE : LOG_WARNING,
             LOG_FIELDS(LOG_Z("ca", tls_files_path(h, CA_CERT, ""))),
             is_first
                 ? "CA created; clients need its certificate"
                 : "new CA created because the key of the old one is missing or does not match "
                   "its certificate; every client needs the new certificate");
    return true;
}

/* Renew the certificate of the CA if needed. `out_can_sign` is false if there is no key, or if the
 * key does not match the certificate, which is the one that clients have. */
static bool tls_files_keep_ca(struct tls_dir *h, bool *out_can_sign)
{
    const struct certificate ca = {h->texts[CA_CERT], h->texts[CA_KEY]};
    *out_can_sign = false;
    if (!certificate_is_key(ca.key))
        return true;
    const enum certificate_state state = certificate_check_ca(&ca, h->now_s);
    /* At the time 0 an intact certificate of any age is not valid yet, but not damaged: then only
     * the key does not match. */
    const struct certificate alone = {.cert = ca.cert};
    if (state == CERTIFICATE_DAMAGED && certificate_check_ca(&alone, 0) != CERTIFICATE_DAMAGED)
        return true;
    *out_can_sign = true;
    if (state == CERTIFICATE_VALID)
        return true;
    /* The key is usable: create the certificate of the CA again. */
    if (!tls_files_write_ca(h))
        return false;
    log_with(
        LOG_WARNING, LOG_FIELDS(LOG_Z("ca", tls_files_path(h, CA_CERT, ""))),
        "certificate of the CA was %s; created again for the same key; clients need it before the "
        "old one expires",
        ca.cert.len > 0 ? "damaged or about to expire" : "missing");
    return true;
}

/* ---- server certificate ---- */

static const char *tls_files_state_text(enum certificate_state state)
{
    switch (state) {
    case CERTIFICATE_DAMAGED: return "missing or damaged";
    case CERTIFICATE_OTHER_ISSUER: return "not signed by the CA";
    case CERTIFICATE_EXPIRED: return "expired or not valid yet";
    case CERTIFICATE_EXPIRING: return "about to expire";
    case CERTIFICATE_NAME_MISSING: return "lacking a name or address of this host";
    case CERTIFICATE_VALID: break;
    }
    return "valid";
}

static bool tls_files_write_server(struct tls_dir *h, enum certificate_state state)
{
    const struct certificate ca = {h->texts[CA_CERT], h->texts[CA_KEY]};
    struct certificate server;
    if (!certificate_new_server(h->arena, &ca, h->names, h->now_s, &server))
        return tls_files_gnutls_failed();
    if (!tls_files_write(h, SERVER_KEY, server.key) ||
        !tls_files_write(h, SERVER_CERT, server.cert))
        return false;
    log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("cert", tls_files_path(h, SERVER_CERT, ""))),
             "server certificate was %s; created a new one", tls_files_state_text(state));
    return true;
}

/* Create a server certificate unless the present one is valid. Without a CA that can sign, a usable
 * certificate is kept, even if it is about to expire, because a new CA affects every client. */
static bool tls_files_keep_server(struct tls_dir *h, bool can_sign)
{
    const struct certificate server = {h->texts[SERVER_CERT], h->texts[SERVER_KEY]};
    const enum certificate_state state =
        certificate_check_server(&server, h->texts[CA_CERT], h->names, h->now_s);
    const bool is_usable = state == CERTIFICATE_VALID || state == CERTIFICATE_EXPIRING ||
                           state == CERTIFICATE_NAME_MISSING;
    if (!can_sign && is_usable) {
        log_print(LOG_WARNING,
                  "server certificate is %s and cannot be renewed: \"%s\" is not the key of \"%s\"",
                  tls_files_state_text(state), tls_files_path(h, CA_KEY, ""),
                  tls_files_path(h, CA_CERT, ""));
        return true;
    }
    if (state == CERTIFICATE_VALID)
        return true;
    return (can_sign || tls_files_create_ca(h)) && tls_files_write_server(h, state);
}

bool tls_files_keep(struct arena *a, const char *directory, const struct certificate_names *names,
                    int64_t now_s, struct tls_files *out_home)
{
    struct tls_dir h = {.arena = a, .directory = directory, .names = names, .now_s = now_s};
    bool can_sign;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", directory)),
                 "the directory \"%s\" cannot be created: %s", directory, strerror(errno));
        return false;
    }
    for (int part = 0; part < PART_COUNT; part++)
        if (!tls_files_read(&h, (enum part)part))
            return false;
    if (!tls_files_keep_ca(&h, &can_sign) || !tls_files_keep_server(&h, can_sign))
        return false;
    *out_home =
        (struct tls_files){tls_files_path(&h, SERVER_CERT, ""), tls_files_path(&h, SERVER_KEY, "")};
    return true;
}
