/* Goal: missing, damaged and expiring files in DATA/tls are replaced, and the CA that clients trust
 * is kept as long as possible.
 * Method: starts over one directory, with files removed, exchanged, truncated or aged in between;
 * the result of each start is checked like by a client. */
#include "pki/tls_files.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW ((int64_t)1900000000)
#define DAY ((int64_t)24 * 3600)

static struct arena arena;
static char root[64];
static char folder[80];
static const struct certificate_names NAMES = {{"here", "localhost", "127.0.0.1", "::1"}, 4};

static const char *path_of(const char *name)
{
    return str_z(&arena, STR_CONCAT(&arena, str_from(folder), STR("/"), str_from(name)));
}

static bool keep(int64_t now_s)
{
    struct tls_files home = {0};
    if (!tls_files_keep(&arena, folder, &NAMES, now_s, &home))
        return false;
    CHECK(strcmp(home.cert, path_of("server.pem")) == 0);
    CHECK(strcmp(home.key, path_of("server.key")) == 0);
    return true;
}

static struct str text_of(const char *name)
{
    struct str text = STR("");
    const err e = file_read(&arena, path_of(name), 1 << 20, &text);
    CHECK(e == OK || e == ERR_NOT_FOUND);
    return text;
}

static void set(const char *name, struct str text)
{
    CHECK(file_write(path_of(name), text, strstr(name, ".key") ? 0600 : 0644) == OK);
}

static enum certificate_state as_a_client_sees(struct str ca, int64_t now_s)
{
    const struct certificate server = {text_of("server.pem"), text_of("server.key")};
    return certificate_check_server(&server, ca, &NAMES, now_s);
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(root, sizeof root, "/tmp/halligan-tls-home-XXXXXX");
    CHECK(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/tls", root);
    CHECK(keep(NOW));
}

static void end(void)
{
    static const char *const names[] = {"ca.pem",     "ca.key",     "server.pem",
                                        "server.key", "ca.pem.old", "ca.key.old"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(file_remove(path_of(names[i])) == OK);
    CHECK(rmdir(folder) == 0 && rmdir(root) == 0);
    arena_fini(&arena);
}

TEST(the_first_start_creates_everything_and_later_ones_nothing)
{
    struct stat facts;
    begin();
    const struct str ca = text_of("ca.pem"), cert = text_of("server.pem");
    CHECK(as_a_client_sees(ca, NOW) == CERTIFICATE_VALID);
    CHECK(stat(path_of("ca.key"), &facts) == 0 && (facts.st_mode & 0777) == 0600);
    CHECK(stat(path_of("server.key"), &facts) == 0 && (facts.st_mode & 0777) == 0600);
    CHECK(stat(folder, &facts) == 0 && (facts.st_mode & 0777) == 0700);
    CHECK(keep(NOW + DAY) && keep(NOW + CERTIFICATE_SERVER_S - 60 * DAY));
    CHECK(str_eq(text_of("ca.pem"), ca) && str_eq(text_of("server.pem"), cert));
    end();
}

TEST(an_expiring_server_certificate_is_renewed_by_the_same_ca)
{
    begin();
    const struct str ca = text_of("ca.pem"), cert = text_of("server.pem");
    const int64_t later = NOW + CERTIFICATE_SERVER_S - 59 * DAY;
    CHECK(keep(later));
    CHECK(str_eq(text_of("ca.pem"), ca) && !str_eq(text_of("server.pem"), cert));
    CHECK(as_a_client_sees(ca, later + 300 * DAY) == CERTIFICATE_VALID);
    CHECK(keep(later + 2 * CERTIFICATE_SERVER_S));
    CHECK(str_eq(text_of("ca.pem"), ca));
    CHECK(as_a_client_sees(ca, later + 2 * CERTIFICATE_SERVER_S) == CERTIFICATE_VALID);
    end();
}

TEST(a_server_certificate_with_other_names_is_created_again)
{
    struct tls_files home;
    begin();
    const struct str ca = text_of("ca.pem"), cert = text_of("server.pem");
    const struct certificate_names more = {{"localhost", "10.9.8.7"}, 2};
    CHECK(tls_files_keep(&arena, folder, &more, NOW, &home));
    CHECK(str_eq(text_of("ca.pem"), ca) && !str_eq(text_of("server.pem"), cert));
    const struct certificate server = {text_of("server.pem"), text_of("server.key")};
    CHECK(certificate_check_server(&server, ca, &more, NOW) == CERTIFICATE_VALID);
    end();
}

/* The result of a crash between two files, of a faulty disk, or of an administrator. */
TEST(a_damaged_server_certificate_is_created_again_by_the_same_ca)
{
    begin();
    const struct str ca = text_of("ca.pem"), key = text_of("ca.key");
    struct certificate stranger, foreign;
    CHECK(certificate_new_key(&arena, &stranger.key));
    CHECK(certificate_new_ca(&arena, stranger.key, NOW, &stranger.cert));
    CHECK(certificate_new_server(&arena, &stranger, &NAMES, NOW, &foreign));
    for (int i = 0; i < 7; i++) {
        if (i == 0)
            CHECK(unlink(path_of("server.pem")) == 0);
        if (i == 1)
            CHECK(unlink(path_of("server.key")) == 0);
        if (i == 2)
            set("server.pem", str_slice(text_of("server.pem"), 0, 100));
        if (i == 3)
            set("server.key", STR(""));
        if (i == 4)
            set("server.key", foreign.key); /* the key is written, its certificate is not */
        if (i == 5)
            set("server.pem", foreign.cert);
        if (i == 6) {
            set("server.pem", foreign.cert);
            set("server.key", foreign.key);
        }
        CHECK(as_a_client_sees(ca, NOW) != CERTIFICATE_VALID);
        CHECK(keep(NOW));
        CHECK(as_a_client_sees(ca, NOW) == CERTIFICATE_VALID);
        CHECK(str_eq(text_of("ca.pem"), ca) && str_eq(text_of("ca.key"), key));
    }
    CHECK(!file_exists(path_of("ca.pem.old")));
    end();
}

TEST(the_certificate_of_a_ca_is_created_again_for_its_key_and_old_clients_keep_working)
{
    begin();
    const struct str ca = text_of("ca.pem"), key = text_of("ca.key"), cert = text_of("server.pem");
    CHECK(unlink(path_of("ca.pem")) == 0);
    CHECK(keep(NOW));
    CHECK(!str_eq(text_of("ca.pem"), ca) && str_eq(text_of("ca.key"), key));
    CHECK(str_eq(text_of("server.pem"), cert));
    set("ca.pem", STR("-----BEGIN CERTIFICATE-----\n"));
    CHECK(keep(NOW));
    const int64_t late = NOW + CERTIFICATE_CA_S - 30 * DAY;
    CHECK(keep(late)); /* about to expire */
    CHECK(str_eq(text_of("ca.key"), key));
    CHECK(as_a_client_sees(ca, late) == CERTIFICATE_VALID);
    CHECK(as_a_client_sees(text_of("ca.pem"), late) == CERTIFICATE_VALID);
    const struct certificate now = {text_of("ca.pem"), key};
    CHECK(certificate_check_ca(&now, late + CERTIFICATE_SERVER_S) == CERTIFICATE_VALID);
    end();
}

TEST(a_ca_without_its_key_is_kept_while_the_server_certificate_is_usable)
{
    begin();
    const struct str ca = text_of("ca.pem"), cert = text_of("server.pem");
    const int64_t late = NOW + CERTIFICATE_SERVER_S - DAY;
    CHECK(unlink(path_of("ca.key")) == 0);
    log_setup(LOG_ERROR, LOG_TEXT);
    CHECK(keep(NOW) && keep(late));
    CHECK(str_eq(text_of("ca.pem"), ca) && str_eq(text_of("server.pem"), cert));
    /* And is replaced only then. */
    CHECK(keep(late + 2 * DAY));
    CHECK(!str_eq(text_of("ca.pem"), ca) && str_eq(text_of("ca.pem.old"), ca));
    CHECK(as_a_client_sees(text_of("ca.pem"), late + 2 * DAY) == CERTIFICATE_VALID);
    end();
}

TEST(a_key_that_does_not_match_the_ca_signs_nothing)
{
    begin();
    const struct str ca = text_of("ca.pem");
    struct str other;
    CHECK(certificate_new_key(&arena, &other));
    set("ca.key", other);
    CHECK(keep(NOW));
    CHECK(str_eq(text_of("ca.pem"), ca) && str_eq(text_of("ca.key"), other));
    CHECK(unlink(path_of("server.pem")) == 0);
    CHECK(keep(NOW));
    CHECK(str_eq(text_of("ca.pem.old"), ca) && str_eq(text_of("ca.key.old"), other));
    CHECK(as_a_client_sees(text_of("ca.pem"), NOW) == CERTIFICATE_VALID);
    end();
}

TEST(an_unreadable_or_unwritable_file_is_not_replaced)
{
    struct tls_files home;
    begin();
    const struct str ca = text_of("ca.pem"), key = text_of("ca.key");
    CHECK(chmod(path_of("ca.key"), 0644) == 0);
    CHECK(!keep(NOW));
    CHECK(chmod(path_of("ca.key"), 0600) == 0);
    CHECK(unlink(path_of("ca.pem")) == 0 && mkdir(path_of("ca.pem"), 0700) == 0);
    CHECK(!keep(NOW));
    CHECK(rmdir(path_of("ca.pem")) == 0);
    set("ca.pem", ca);
    CHECK(keep(NOW) && str_eq(text_of("ca.key"), key));
    CHECK(!tls_files_keep(&arena, path_of("server.pem"), &NAMES, NOW, &home));
    CHECK(!tls_files_keep(&arena, "/nowhere/tls", &NAMES, NOW, &home));
    end();
}

/* ---- names ---- */

static bool has_name(const struct certificate_names *names, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < names->count; i++)
        count += strcmp(names->at[i], name) == 0;
    CHECK(count <= 1);
    return count == 1;
}

TEST(the_names_are_those_of_the_host_and_its_listening_address)
{
    struct certificate_names names;
    char host[256] = "", hosts[2048];
    CHECK(gethostname(host, sizeof host - 1) == 0);
    snprintf(hosts, sizeof hosts,
             "# 10.0.0.1 comment.example.com %s\n127.0.0.1 localhost\n"
             "10.0.0.2\t%s.example.com  other %s # ours\n10.0.0.3 stranger.example.com x%s\n\n"
             "10.0.0.4\n10.0.0.5 bad_name %s",
             host, host, host, host, host);
    tls_files_names(&arena, "127.0.0.1", str_from(hosts), &names);
    CHECK(has_name(&names, host) && has_name(&names, "localhost"));
    CHECK(has_name(&names, "127.0.0.1") && has_name(&names, "::1"));
    CHECK(has_name(&names, str_z(&arena, STR_CONCAT(&arena, str_from(host), STR(".example.com")))));
    CHECK(!has_name(&names, "comment.example.com") && !has_name(&names, "stranger.example.com"));
    CHECK(!has_name(&names, "bad_name") && !has_name(&names, "other"));
    CHECK(strcmp(names.at[0], host) == 0);
    tls_files_names(&arena, "10.1.2.3", STR(""), &names);
    CHECK(has_name(&names, "10.1.2.3") && names.count <= 5);
    tls_files_names(&arena, "0.0.0.0", STR(""), &names);
    CHECK(!has_name(&names, "0.0.0.0") && has_name(&names, "127.0.0.1"));
    arena_fini(&arena);
}
