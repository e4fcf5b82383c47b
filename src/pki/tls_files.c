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
    [CA_KEY] = {"ca.key", 0600},
    [SERVER_CERT] = {"server.pem", 0644},
    [SERVER_KEY] = {"server.key", 0600},
};

struct home {
    struct arena *arena;
    const char *directory;
    const struct certificate_names *names;
    int64_t now_s;
    struct str texts[PART_COUNT]; /* empty: not there */
};

/* ---- files ---- */

static const char *path_of(const struct home *h, enum part part, const char *ending)
{
    struct arena *a = h->arena;
    const struct str path =
        STR_CONCAT(a, str_from(h->directory), STR("/"), str_from(parts[part].name));
    return str_z(a, STR_CONCAT(a, path, str_from(ending)));
}

/* What cannot be read is not damaged, and is not made again. */
static bool read_part(struct home *h, enum part part)
{
    const char *path = path_of(h, part, "");
    const bool is_key = parts[part].mode == 0600;
    const err e = is_key ? file_read_private(h->arena, path, PEM_MAX, &h->texts[part])
                         : file_read(h->arena, path, PEM_MAX, &h->texts[part]);
    if (e == OK || e == ERR_NOT_FOUND)
        return true;
    if (e == ERR_REFUSED)
        log_print(
            LOG_ERROR,
            "\"%s\" is no file that belongs to us and that nobody else can read: chmod 600 it",
            path);
    else
        log_print(LOG_ERROR, "\"%s\" cannot be read: %s", path, strerror(errno));
    return false;
}

static bool write_part(struct home *h, enum part part, struct str text)
{
    const char *path = path_of(h, part, "");
    h->texts[part] = text;
    if (file_write(path, text, parts[part].mode) == OK)
        return true;
    log_print(LOG_ERROR, "\"%s\" cannot be written: %s", path, strerror(errno));
    return false;
}

static bool put_aside(struct home *h, enum part part)
{
    const char *path = path_of(h, part, "");
    if (!file_exists(path))
        return true;
    if (file_move_durably(path, path_of(h, part, ".old")) == OK)
        return true;
    log_print(LOG_ERROR, "\"%s\" cannot be moved: %s", path, strerror(errno));
    return false;
}

static bool cannot_make(void)
{
    log_print(LOG_ERROR, "the library of certificates makes none");
    return false;
}

/* ---- the authority ---- */

static bool write_authority(struct home *h)
{
    struct str cert;
    if (!certificate_new_authority(h->arena, h->texts[CA_KEY], h->now_s, &cert))
        return cannot_make();
    return write_part(h, CA_CERT, cert);
}

/* With another key. Those of before stay for whoever knows better. */
static bool begin_authority(struct home *h)
{
    struct str key;
    const bool is_first = !h->texts[CA_CERT].len && !h->texts[CA_KEY].len &&
                          !h->texts[SERVER_CERT].len && !h->texts[SERVER_KEY].len;
    if (!put_aside(h, CA_CERT) || !put_aside(h, CA_KEY))
        return false;
    if (!certificate_new_key(h->arena, &key))
        return cannot_make();
    if (!write_part(h, CA_KEY, key) || !write_authority(h))
        return false;
    log_with(is_first ? LOG_NOTICE : LOG_WARNING, LOG_FIELDS(LOG_Z("ca", path_of(h, CA_CERT, ""))),
             is_first ? "an authority for certificates was made; clients need its certificate"
                      : "the authority for certificates could not sign any more, and another one "
                        "was made; every client needs its certificate");
    return true;
}

/* Its key is there, so its certificate can be. */
static bool mend_authority(struct home *h)
{
    const bool was_there = h->texts[CA_CERT].len > 0;
    if (!write_authority(h))
        return false;
    log_with(
        LOG_WARNING, LOG_FIELDS(LOG_Z("ca", path_of(h, CA_CERT, ""))),
        "the certificate of the authority was %s and was made again, for the same key; clients "
        "need it before the one they have ends",
        was_there ? "damaged or about to end" : "missing");
    return true;
}

static bool is_certificate(struct str text)
{
    const struct certificate alone = {.cert = text};
    return certificate_judge_authority(&alone, 0) != CERTIFICATE_DAMAGED;
}

/* Can it sign when this returns? A key that belongs to another certificate cannot, for it is the
 * certificate that clients have. */
static bool keep_authority(struct home *h, bool *out_can_sign)
{
    const struct certificate authority = {h->texts[CA_CERT], h->texts[CA_KEY]};
    *out_can_sign = false;
    if (!certificate_is_key(authority.key))
        return true;
    const enum certificate_state state = certificate_judge_authority(&authority, h->now_s);
    if (state == CERTIFICATE_DAMAGED && is_certificate(authority.cert))
        return true;
    *out_can_sign = true;
    return state == CERTIFICATE_FINE || mend_authority(h);
}

/* ---- the server ---- */

static const char *reason_of(enum certificate_state state)
{
    switch (state) {
    case CERTIFICATE_DAMAGED: return "missing or damaged";
    case CERTIFICATE_FOREIGN: return "not signed by our authority";
    case CERTIFICATE_ENDED: return "over";
    case CERTIFICATE_ENDING: return "about to end";
    case CERTIFICATE_NAMELESS: return "not for every name of this machine";
    case CERTIFICATE_FINE: break;
    }
    return "fine";
}

static bool write_server(struct home *h, enum certificate_state state)
{
    const struct certificate authority = {h->texts[CA_CERT], h->texts[CA_KEY]};
    struct certificate server;
    if (!certificate_new_server(h->arena, &authority, h->names, h->now_s, &server))
        return cannot_make();
    if (!write_part(h, SERVER_KEY, server.key) || !write_part(h, SERVER_CERT, server.cert))
        return false;
    log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("cert", path_of(h, SERVER_CERT, ""))),
             "the certificate of this server was %s: a new one was made", reason_of(state));
    return true;
}

static bool keep_server(struct home *h, bool can_sign)
{
    const struct certificate server = {h->texts[SERVER_CERT], h->texts[SERVER_KEY]};
    const enum certificate_state state =
        certificate_judge_server(&server, h->texts[CA_CERT], h->names, h->now_s);
    const bool is_usable =
        state == CERTIFICATE_FINE || state == CERTIFICATE_ENDING || state == CERTIFICATE_NAMELESS;
    if (!can_sign && is_usable) {
        log_print(
            LOG_WARNING,
            "the certificate of this server is %s and cannot be renewed: \"%s\" is not the key "
            "of \"%s\"",
            reason_of(state), path_of(h, CA_KEY, ""), path_of(h, CA_CERT, ""));
        return true;
    }
    if (state == CERTIFICATE_FINE)
        return true;
    return (can_sign || begin_authority(h)) && write_server(h, state);
}

bool tls_files_keep(struct arena *a, const char *directory, const struct certificate_names *names,
                    int64_t now_s, struct tls_files *out_home)
{
    struct home h = {.arena = a, .directory = directory, .names = names, .now_s = now_s};
    bool can_sign;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        log_print(LOG_ERROR, "the directory \"%s\" cannot be made: %s", directory, strerror(errno));
        return false;
    }
    for (int part = 0; part < PART_COUNT; part++)
        if (!read_part(&h, (enum part)part))
            return false;
    if (!keep_authority(&h, &can_sign) || !keep_server(&h, can_sign))
        return false;
    *out_home = (struct tls_files){path_of(&h, SERVER_CERT, ""), path_of(&h, SERVER_KEY, "")};
    return true;
}
