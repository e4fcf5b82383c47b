/* Goal: options override the file, the file overrides defaults, and all problems are reported.
 * Method: files in a temporary directory; the problems are joined and compared. */
#include "base/text/str.h"
#include "daemon/config/config.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char file[96];

static void begin(const char *text)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-config-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/c", folder);
    FILE *out = fopen(file, "w");
    CHECK(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void end(struct config *c)
{
    config_fini(c);
    CHECK(unlink(file) == 0 && rmdir(folder) == 0);
}

/* One problem per line; "F" is the path of the file. */
static bool problems_are(const struct config *c, const char *wanted)
{
    static char text[8192];
    text[0] = 0;
    for (const struct config_problem *p = c->problems; p; p = p->next) {
        const size_t at = strlen(text);
        const bool in_file = strncmp(p->text, file, strlen(file)) == 0;
        snprintf(text + at, sizeof text - at, "%s%s\n", in_file ? "F" : "",
                 p->text + (in_file ? strlen(file) : 0));
    }
    if (strcmp(text, wanted) != 0)
        printf("problems:\n%swanted:\n%s", text, wanted);
    return strcmp(text, wanted) == 0;
}

TEST(without_options_and_file_defaults_are_used)
{
    struct config c;
    begin("");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(strcmp(c.data, "/var/lib/halligan") == 0);
    CHECK(strcmp(c.address, "127.0.0.1") == 0 && c.port == 3000);
    CHECK(strcmp(c.store, "sqlite:/var/lib/halligan/halligan.db") == 0);
    /* The installed barclamps, if there are any. */
    CHECK(c.barclamps[0] == 0 || strstr(c.barclamps, "/halligan/barclamps"));
    CHECK(!c.settings.test_jig && !c.tls_cert && !c.tls_key);
    CHECK(c.log_format == LOG_TEXT && c.log_level == LOG_INFO);
    CHECK(strcmp(config_path(&c, "lock"), "/var/lib/halligan/lock") == 0);
    end(&c);
}

TEST(every_key_of_the_file_is_used)
{
    struct config c;
    begin("# a comment\n"
          "; another\n"
          "\n"
          "[halligan]\n"
          "data = /srv/h\n"
          "  listen=[::1]:0\r\n"
          "store\t=\tpostgresql://db/halligan?x=y\n"
          "barclamps = /a:/b\n"
          "test_jig = on\n"
          "log-format = json\n"
          "LOGLEVEL = debug\n");
    CHECK(!config_read(&(struct config_flags){.file = file}, &c));
    CHECK(problems_are(&c, "F:11: unknown key \"LOGLEVEL\"\n"));
    CHECK(strcmp(c.data, "/srv/h") == 0 && strcmp(c.address, "::1") == 0 && c.port == 0);
    CHECK(strcmp(c.store, "postgresql://db/halligan?x=y") == 0);
    CHECK(strcmp(c.barclamps, "/a:/b") == 0 && c.settings.test_jig && c.log_format == LOG_JSON);
    end(&c);
}

TEST(the_admin_node_has_a_name_a_default_or_none)
{
    struct config c;
    begin("");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(!c.admin_node && !c.admin_address && !c.has_no_admin_node);
    end(&c);
    begin("admin-node = none\nadmin-address = 10.0.0.1\n");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(!c.admin_node && c.has_no_admin_node && strcmp(c.admin_address, "10.0.0.1") == 0);
    end(&c);
    begin("admin-node = Admin.Example.com\nadmin-address = 10.0.0.1/8\n");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(c.admin_node && !c.has_no_admin_node && strcmp(c.admin_address, "10.0.0.1/8") == 0);
    end(&c);
    begin("admin-node = admin\nadmin-address = 10.0.0.1/64\n");
    CHECK(!config_read(&(struct config_flags){.file = file}, &c));
    CHECK(c.problems && c.problems->next && !c.problems->next->next);
    end(&c);
}

/* Programs of jigs run in another working directory than the daemon. */
TEST(relative_directories_become_absolute)
{
    struct config c;
    char here[4096], data[5000], barclamps[5000];
    CHECK(getcwd(here, sizeof here));
    snprintf(data, sizeof data, "%s/d", here);
    snprintf(barclamps, sizeof barclamps, "/a:%s/b/c", here);
    begin("barclamps = /a:b/c");
    struct config_flags flags = {.file = file};
    flags.values[CONFIG_DATA] = "d";
    CHECK(config_read(&flags, &c));
    CHECK(strcmp(c.data, data) == 0 && strcmp(c.barclamps, barclamps) == 0);
    CHECK(str_ends(str_from(c.store), STR("/d/halligan.db")) && c.store[7] == '/');
    end(&c);
}

TEST(options_override_the_file)
{
    struct config c;
    begin("data = /srv/h\nlisten = nonsense\nlog-level = debug\ntest-jig = yes\nbarclamps = /a");
    struct config_flags flags = {.file = file};
    flags.values[CONFIG_DATA] = "/tmp/d";
    flags.values[CONFIG_LISTEN] = "0.0.0.0:80";
    flags.values[CONFIG_TEST_JIG] = "false";
    flags.values[CONFIG_BARCLAMPS] = ""; /* none at all */
    CHECK(config_read(&flags, &c));
    CHECK(strcmp(c.data, "/tmp/d") == 0 && strcmp(c.store, "sqlite:/tmp/d/halligan.db") == 0);
    CHECK(strcmp(c.address, "0.0.0.0") == 0 && c.port == 80);
    CHECK(!c.settings.test_jig && c.log_level == LOG_DEBUG && c.barclamps[0] == 0);
    end(&c);
}

TEST(only_configured_settings_are_given)
{
    struct config c;
    begin("pool-normal = 25\nrun-deadline = 0\nkeep-runs = 3\nkeep-events = 90\n");
    struct config_flags flags = {.file = file};
    flags.values[CONFIG_POOL_HIGH] = "auto";
    CHECK(config_read(&flags, &c));
    CHECK(c.settings.given ==
          (GIVEN_SETTINGS_POOL_NORMAL | GIVEN_SETTINGS_POOL_HIGH | GIVEN_SETTINGS_RUN_DEADLINE |
           GIVEN_SETTINGS_KEEP_RUNS | GIVEN_SETTINGS_TEST_JIG));
    CHECK(c.settings.pool_normal == 25 && c.settings.run_deadline_s == 0);
    CHECK(c.settings.keep_runs == 3 && c.settings.pool_high >= 1 && c.keep_events_days == 90);
    end(&c);
    begin("pool-normal = auto\n");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(c.settings.pool_normal >= 4 && c.settings.pool_normal <= 1000 && !c.keep_events_days);
    end(&c);
    begin(
        "pool-normal = 0\npool-high = many\nrun-deadline = -1\nkeep-runs = 1001\nboot-wait = x\n");
    CHECK(!config_read(&(struct config_flags){.file = file}, &c));
    CHECK(problems_are(&c,
                       "F:1: pool-normal: must be a number from 1 to 10000, or auto, not \"0\"\n"
                       "F:2: pool-high: must be a number from 1 to 10000, or auto, not \"many\"\n"
                       "F:3: run-deadline: must be a number from 0 to 604800, not \"-1\"\n"
                       "F:4: keep-runs: must be a number from 1 to 1000, not \"1001\"\n"
                       "F:5: boot-wait: must be a number from 0 to 604800, not \"x\"\n"));
    end(&c);
}

/* One key with that value, in the file and as an option. */
static void expect_wait(const char *key, enum config_key number, const char *value, bool is_right,
                        uint32_t wanted)
{
    static char text[8192];
    for (int from_file = 0; from_file < 2; from_file++) {
        struct config c;
        snprintf(text, sizeof text, "%s = %s\n", key, value);
        begin(from_file ? text : "");
        struct config_flags flags = {.file = file};
        flags.values[number] = from_file ? NULL : value;
        CHECK(config_read(&flags, &c) == is_right);
        CHECK(is_right == (c.problems == NULL));
        if (is_right)
            CHECK((number == CONFIG_BOOT_WAIT ? c.settings.barrier_s : c.settings.install_wait_s) ==
                  wanted);
        else if (str_is_clean(str_from(value)))
            CHECK(strstr(c.problems->text, key) && !c.problems->next);
        end(&c);
    }
}

TEST(waits_for_boots_are_checked_at_their_bounds)
{
    static const struct {
        const char *value;
        uint32_t seconds;
    } right[] = {{"0", 0}, {"1", 1}, {"604799", 604799}, {"604800", 604800}};
    static const char *const wrong[] = {
        "604801", "-1",  "4294967295", "4294967296", "9223372036854775808",
        "1.5",    "1e3", "0x10",       "60s",        "true",
        "auto",   "1 2", "\xff",       "{}"};
    static char digits[4000];
    memset(digits, '9', sizeof digits - 1);
    static const struct {
        const char *key;
        enum config_key number;
    } keys[] = {{"boot-wait", CONFIG_BOOT_WAIT}, {"install-wait", CONFIG_INSTALL_WAIT}};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (size_t i = 0; i < sizeof right / sizeof *right; i++)
            expect_wait(keys[k].key, keys[k].number, right[i].value, true, right[i].seconds);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            expect_wait(keys[k].key, keys[k].number, wrong[i], false, 0);
        expect_wait(keys[k].key, keys[k].number, digits, false, 0);
    }
}

TEST(boot_server_is_a_flag_or_auto_which_gives_nothing)
{
    static const struct {
        const char *value;
        bool is_given, is_on;
    } right[] = {{"auto", false, false}, {"true", true, true}, {"yes", true, true},
                 {"on", true, true},     {"1", true, true},    {"false", true, false},
                 {"no", true, false},    {"off", true, false}, {"0", true, false}};
    static const char *const wrong[] = {"Auto", "TRUE", "2", "-1", "maybe", "{}", "true false"};
    struct config c;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        begin("");
        struct config_flags flags = {.file = file};
        flags.values[CONFIG_BOOT_SERVER] = right[i].value;
        CHECK(config_read(&flags, &c));
        CHECK(((c.settings.given & GIVEN_SETTINGS_BOOT_SERVER) != 0) == right[i].is_given);
        CHECK(c.settings.boot_server == right[i].is_on);
        end(&c);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        static char text[100], problem[200];
        snprintf(text, sizeof text, "boot-server = %s\n", wrong[i]);
        snprintf(problem, sizeof problem,
                 "F:1: boot-server: must be auto, true or false, not \"%s\"\n", wrong[i]);
        begin(text);
        CHECK(!config_read(&(struct config_flags){.file = file}, &c));
        CHECK(problems_are(&c, problem));
        end(&c);
    }
}

TEST(proxies_are_addresses_separated_by_commas_or_blanks)
{
    static const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 5}, v6[16] = {[15] = 1};
    struct config c;
    begin("trusted-proxy = 10.0.0.5,::1, 10.0.0.6\n");
    CHECK(config_read(&(struct config_flags){.file = file}, &c));
    CHECK(c.trusted_proxy_count == 3);
    CHECK(memcmp(c.trusted_proxies[0], v4, 16) == 0 && memcmp(c.trusted_proxies[1], v6, 16) == 0);
    end(&c);
    begin("pool-normal = 10\n");
    CHECK(config_read(&(struct config_flags){.file = file}, &c) && c.trusted_proxy_count == 0);
    end(&c);
    begin("trusted-proxy = 10.0.0.5 proxy\n");
    CHECK(!config_read(&(struct config_flags){.file = file}, &c));
    CHECK(c.problems && !c.problems->next && strstr(c.problems->text, ":1: trusted-proxy: "));
    end(&c);
}

TEST(all_problems_are_reported_at_once)
{
    struct config c;
    begin("data =\n"
          "listen = localhost:http\n"
          "what is this\n"
          "[server]\n"
          "colour = blue\n"
          "= 5\n"
          "test-jig = maybe\n"
          "log-level = loud\n"
          "log-level = info\n"
          "log-format = xml\n"
          "store = mysql://x\n"
          "tls-cert = /nowhere/cert.pem\n");
    struct config_flags flags = {.file = file};
    flags.values[CONFIG_TLS_KEY] = "/nowhere/key.pem";
    CHECK(!config_read(&flags, &c));
    const char *store = NULL;
    for (const struct config_problem *p = c.problems; p; p = p->next)
        if (strstr(p->text, ":11: store"))
            store = p->text + strlen(file);
    CHECK(store);
    char wanted[2048];
    snprintf(wanted, sizeof wanted,
             "F:1: key \"data\" has no value\n"
             "F:3: expected \"key = value\"\n"
             "F:4: unknown section [server]; only [halligan] exists\n"
             "F:5: unknown key \"colour\"\n"
             "F:6: unknown key \"\"\n"
             "F:9: key \"log-level\" is already set in line 8\n"
             "F:2: listen: must be ADDRESS:PORT with a numeric address and port, "
             "not \"localhost:http\"\n"
             "F%s\n"
             "F:12: tls-cert: must be an existing file, not \"/nowhere/cert.pem\"\n"
             "--tls-key: must be an existing file, not \"/nowhere/key.pem\"\n"
             "F:10: log-format: must be text or json, not \"xml\"\n"
             "F:8: log-level: must be error, warning, notice, info or debug, not \"loud\"\n"
             "F:7: test-jig: must be true or false, not \"maybe\"\n",
             store);
    CHECK(problems_are(&c, wanted));
    end(&c);
}

TEST(listen_is_a_numeric_address_and_a_port)
{
    static const char *const right[] = {"1.2.3.4:0", "127.0.0.1:65535", "[::]:1", "[fe80::1]:3000"};
    static const char *const wrong[] = {"",           "3000",         ":3000",    "127.0.0.1",
                                        "127.0.0.1:", "1.2.3.4:x",    "1.2.3:80", "1.2.3.4:65536",
                                        "::1:80",     "[1.2.3.4]:80", "[::1]",    "1.2.3.4:-1",
                                        "[]:80",      "1.2.3.4: 80"};
    for (size_t i = 0; i < sizeof right / sizeof right[0] + sizeof wrong / sizeof wrong[0]; i++) {
        struct config c;
        const size_t rights = sizeof right / sizeof right[0];
        begin("");
        struct config_flags flags = {.file = file};
        flags.values[CONFIG_LISTEN] = i < rights ? right[i] : wrong[i - rights];
        CHECK(config_read(&flags, &c) == (i < rights));
        end(&c);
    }
}

TEST(tls_needs_certificate_and_key)
{
    for (int i = 0; i < 3; i++) {
        struct config c;
        begin("");
        struct config_flags flags = {.file = file};
        if (i != 1)
            flags.values[CONFIG_TLS_CERT] = file;
        if (i != 2)
            flags.values[CONFIG_TLS_KEY] = file;
        CHECK(config_read(&flags, &c) == (i == 0));
        CHECK((i == 0) == (c.problems == NULL));
        end(&c);
    }
}

TEST(a_configured_file_must_exist_and_be_utf8)
{
    struct config c;
    CHECK(!config_read(&(struct config_flags){.file = "/nowhere/halligan.conf"}, &c));
    CHECK(problems_are(&c, "/nowhere/halligan.conf: cannot be read: No such file or directory\n"));
    config_fini(&c);
    begin("data = \xff\n");
    CHECK(!config_read(&(struct config_flags){.file = file}, &c));
    CHECK(problems_are(&c, "F: is not UTF-8 text\n"));
    end(&c);
    CHECK(!config_read(&(struct config_flags){.file = "/tmp"}, &c));
    CHECK(problems_are(&c, "/tmp: cannot be read: Is a directory\n"));
    config_fini(&c);
}

TEST(an_empty_data_directory_is_refused)
{
    struct config c;
    begin("");
    struct config_flags flags = {.file = file};
    flags.values[CONFIG_DATA] = "";
    CHECK(!config_read(&flags, &c));
    CHECK(problems_are(&c, "--data: must be a directory, not \"\"\n"));
    end(&c);
}
