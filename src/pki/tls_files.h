/* tls_files.h - DATA/tls: the CA of this installation and the certificate of its server.
 *
 *   ca.pem, ca.key           valid for ten years; clients need ca.pem
 *   server.pem, server.key   valid for one year, signed by the CA
 *
 * Missing and damaged files are created, and the certificate of the server is renewed before it
 * expires or when the names of the host change. The CA is kept as long as it can sign: if only its
 * certificate is missing, that is created again for the same key, and clients are not affected. If
 * the key is missing, a new CA is created only when the server has no usable certificate, and the
 * old files are renamed. Each file is replaced atomically, keys before certificates, so that the
 * next start completes what a crash has left.
 *
 * It keeps no state between calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "pki/certificates.h"

struct tls_files {
    const char *cert; /* paths, in the arena */
    const char *key;
};

/* Check, create and renew the files. False after a failure, which is logged. `now_s` is in seconds
 * since 1970. */
bool tls_files_keep(struct arena *a, const char *directory, const struct certificate_names *names,
                    int64_t now_s, struct tls_files *out_home);

/* `host` and its names in the text of /etc/hosts; none if `host` is not a valid host name. Strings
 * are in the arena. */
void tls_files_names_of(struct arena *a, struct str host, struct str hosts,
                        struct certificate_names *out_names);
/* The names for the certificate: host name, its names in the text of /etc/hosts, localhost, and the
 * listening address, or all addresses of the host if that is a wildcard. Strings are in the
 * arena. */
void tls_files_names(struct arena *a, const char *listen_address, struct str hosts,
                     struct certificate_names *out_names);
