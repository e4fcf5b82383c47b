/* Goal: certificates of the CA are accepted by other programs, and each fault of a certificate is
 * recognised.
 * Method: certificates for different times and names are created, checked, and verified with
 * openssl(1). */
#include "pki/certificates.h"
#include "sys/files.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW ((int64_t)1900000000)
#define DAY ((int64_t)24 * 3600)

static struct arena arena;
static const struct certificate_names NAMES = {{"here", "localhost", "127.0.0.1", "::1"}, 4};

static struct certificate new_authority(int64_t now_s)
{
    struct certificate c;
    CHECK(certificate_new_key(&arena, &c.key));
    CHECK(certificate_new_ca(&arena, c.key, now_s, &c.cert));
    return c;
}

static struct certificate new_server(const struct certificate *authority, int64_t now_s)
{
    struct certificate c;
    CHECK(certificate_new_server(&arena, authority, &NAMES, now_s, &c));
    return c;
}

static enum certificate_state judge(const struct certificate *server,
                                    const struct certificate *authority, int64_t now_s)
{
    return certificate_check_server(server, authority->cert, &NAMES, now_s);
}

TEST(a_ca_is_valid_until_sixty_days_before_it_expires)
{
    const struct certificate a = new_authority(NOW);
    const int64_t end = NOW + CERTIFICATE_CA_S;
    CHECK(certificate_check_ca(&a, NOW) == CERTIFICATE_VALID);
    CHECK(certificate_check_ca(&a, end - 60 * DAY) == CERTIFICATE_VALID);
    CHECK(certificate_check_ca(&a, end - 60 * DAY + 1) == CERTIFICATE_EXPIRING);
    CHECK(certificate_check_ca(&a, end) == CERTIFICATE_EXPIRED);
    CHECK(certificate_check_ca(&a, NOW - 2 * 3600) == CERTIFICATE_EXPIRED);
    const struct certificate alone = {.cert = a.cert};
    CHECK(certificate_check_ca(&alone, NOW) == CERTIFICATE_VALID);
    arena_fini(&arena);
}

TEST(a_ca_with_another_or_unreadable_key_is_damaged)
{
    const struct certificate a = new_authority(NOW);
    const struct certificate b = new_authority(NOW);
    const struct certificate server = new_server(&a, NOW);
    const struct certificate crossed = {a.cert, b.key};
    const struct certificate cut = {str_slice(a.cert, 0, a.cert.len / 2), a.key};
    const struct certificate garbled = {a.cert, str_slice(a.key, 0, a.key.len / 2)};
    CHECK(certificate_check_ca(&crossed, NOW) == CERTIFICATE_DAMAGED);
    CHECK(certificate_check_ca(&cut, NOW) == CERTIFICATE_DAMAGED);
    CHECK(certificate_check_ca(&garbled, NOW) == CERTIFICATE_DAMAGED);
    CHECK(certificate_check_ca(&server, NOW) == CERTIFICATE_DAMAGED);
    CHECK(certificate_check_ca(&(struct certificate){0}, NOW) == CERTIFICATE_DAMAGED);
    CHECK(certificate_is_key(a.key) && !certificate_is_key(garbled.key));
    CHECK(!certificate_is_key(a.cert) && !certificate_is_key(STR("")));
    arena_fini(&arena);
}

TEST(a_server_certificate_is_checked_for_issuer_and_time)
{
    const struct certificate a = new_authority(NOW);
    const struct certificate b = new_authority(NOW);
    const struct certificate server = new_server(&a, NOW);
    const struct certificate other = new_server(&a, NOW);
    const int64_t end = NOW + CERTIFICATE_SERVER_S;
    CHECK(judge(&server, &a, NOW) == CERTIFICATE_VALID);
    CHECK(judge(&server, &a, end - 60 * DAY) == CERTIFICATE_VALID);
    CHECK(judge(&server, &a, end - 60 * DAY + 1) == CERTIFICATE_EXPIRING);
    CHECK(judge(&server, &a, end) == CERTIFICATE_EXPIRED);
    CHECK(judge(&server, &a, NOW - DAY) == CERTIFICATE_EXPIRED);
    CHECK(judge(&server, &b, NOW) == CERTIFICATE_OTHER_ISSUER);
    CHECK(judge(&server, &(struct certificate){0}, NOW) == CERTIFICATE_OTHER_ISSUER);
    const struct certificate crossed = {server.cert, other.key};
    const struct certificate keyless = {.cert = server.cert};
    const struct certificate cut = {str_slice(server.cert, 0, 200), server.key};
    CHECK(judge(&crossed, &a, NOW) == CERTIFICATE_DAMAGED);
    CHECK(judge(&keyless, &a, NOW) == CERTIFICATE_DAMAGED);
    CHECK(judge(&cut, &a, NOW) == CERTIFICATE_DAMAGED);
    arena_fini(&arena);
}

TEST(a_server_certificate_has_all_names_and_may_have_more)
{
    const struct certificate a = new_authority(NOW);
    const struct certificate server = new_server(&a, NOW);
    const struct certificate_names fewer = {{"localhost", "::1"}, 2};
    const struct certificate_names host = {{"localhost", "elsewhere"}, 2};
    const struct certificate_names address = {{"127.0.0.2"}, 1};
    const struct certificate_names spelled = {{"0:0:0:0:0:0:0:1", "LOCALHOST"}, 2};
    CHECK(certificate_check_server(&server, a.cert, &fewer, NOW) == CERTIFICATE_VALID);
    CHECK(certificate_check_server(&server, a.cert, &spelled, NOW) == CERTIFICATE_VALID);
    CHECK(certificate_check_server(&server, a.cert, &host, NOW) == CERTIFICATE_NAME_MISSING);
    CHECK(certificate_check_server(&server, a.cert, &address, NOW) == CERTIFICATE_NAME_MISSING);
    arena_fini(&arena);
}

TEST(a_server_certificate_does_not_outlive_its_ca)
{
    const struct certificate a = new_authority(NOW);
    const int64_t late = NOW + CERTIFICATE_CA_S - 100 * DAY;
    const struct certificate server = new_server(&a, late);
    CHECK(judge(&server, &a, late) == CERTIFICATE_VALID);
    CHECK(judge(&server, &a, late + 41 * DAY) == CERTIFICATE_EXPIRING);
    CHECK(judge(&server, &a, late + 101 * DAY) == CERTIFICATE_EXPIRED);
    arena_fini(&arena);
}

TEST(a_ca_created_again_for_its_key_verifies_old_certificates)
{
    struct certificate a = new_authority(NOW);
    const struct certificate server = new_server(&a, NOW);
    const struct str before = a.cert;
    CHECK(certificate_new_ca(&arena, a.key, NOW + DAY, &a.cert));
    CHECK(!str_eq(before, a.cert));
    CHECK(judge(&server, &a, NOW + DAY) == CERTIFICATE_VALID);
    arena_fini(&arena);
}

TEST(a_text_that_is_no_key_signs_nothing)
{
    const struct certificate a = new_authority(NOW);
    const struct certificate keyless = {a.cert, STR("no key")};
    const struct certificate nameless = {STR("no certificate"), a.key};
    struct certificate server = {0};
    struct str cert = {0};
    CHECK(!certificate_new_server(&arena, &keyless, &NAMES, NOW, &server));
    CHECK(!certificate_new_server(&arena, &nameless, &NAMES, NOW, &server));
    CHECK(!certificate_new_ca(&arena, STR("no key"), NOW, &cert));
    CHECK(server.cert.len == 0 && cert.len == 0);
    arena_fini(&arena);
}

TEST(openssl_accepts_it)
{
    char folder[] = "/tmp/halligan-certificates-XXXXXX";
    char ca[64], cert[64], command[600];
    const struct certificate a = new_authority(NOW);
    const struct certificate server = new_server(&a, NOW);
    CHECK(mkdtemp(folder));
    snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    snprintf(cert, sizeof cert, "%s/server.pem", folder);
    CHECK(file_write(ca, a.cert, 0644) == OK && file_write(cert, server.cert, 0644) == OK);
    for (uint32_t i = 0; i < NAMES.count; i++) {
        const char *how = i < 2 ? "-verify_hostname" : "-verify_ip";
        snprintf(command, sizeof command,
                 "openssl verify -x509_strict -purpose sslserver -attime %lld -CAfile %s %s %s %s "
                 ">/dev/null",
                 (long long)NOW, ca, how, NAMES.at[i], cert);
        CHECK(system(command) == 0);
    }
    snprintf(command, sizeof command,
             "openssl x509 -noout -text -in %s | grep -q 'NIST CURVE: P-256'", cert);
    CHECK(system(command) == 0);
    CHECK(unlink(ca) == 0 && unlink(cert) == 0 && rmdir(folder) == 0);
    arena_fini(&arena);
}
