/* tls_files.h - DATA/tls: an authority of this installation, and the certificate of its server.
 *
 *   ca.pem, ca.key           for ten years; ca.pem is what clients are given
 *   server.pem, server.key   for one year, signed by it
 *
 * What is missing or damaged is made, and the server's certificate is renewed when its time or its
 * names ask for it. The authority is kept as long as it can sign: where only its certificate is
 * gone it is made again for the same key, and clients notice nothing. If the key is gone, another
 * authority is begun only when the server has nothing else to show, and the old files stay under
 * other names. Each file is written as a whole, keys before certificates, so that whatever a crash
 * leaves is completed by the next start.
 *
 * It keeps nothing open and nothing in memory.
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

/* False: it cannot be used, and that is logged. */
bool tls_files_keep(struct arena *a, const char *directory, const struct certificate_names *names,
                    int64_t now_s, struct tls_files *out_home);

/* `host`, and what the text of /etc/hosts calls it; none if it is no name of a host. In the
 * arena. */
void tls_files_names_of(struct arena *a, struct str host, struct str hosts,
                        struct certificate_names *out_names);
/* What this machine is called: its host name, what the text of /etc/hosts calls it, localhost, and
 * the address it listens on; all of its addresses if that is none in particular. In the arena. */
void tls_files_names(struct arena *a, const char *listen_address, struct str hosts,
                     struct certificate_names *out_names);
