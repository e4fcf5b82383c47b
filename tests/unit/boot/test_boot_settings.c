/* Goal: legal settings are read, others have their default and are named.
 * Method: drawn tables of documents and what they give. */
#include "boot/view/boot_settings.h"

#include "base/text/buf.h"
#include "model/limits.h"
#include "tests/check.h"

#include <string.h>

/* A copy with double quotes instead of single ones. */
static struct str quoted(const char *text, struct arena *a)
{
    const struct str copy = str_copy(a, str_from(text));
    char *at = (char *)(uintptr_t)copy.at;
    for (uint32_t i = 0; i < copy.len; i++)
        if (at[i] == '\'')
            at[i] = '"';
    return copy;
}

static struct boot_settings read_one(const char *text, struct arena *a)
{
    const struct str document = quoted(text, a);
    struct boot_settings settings;
    boot_settings_read(a, &document, 1, &settings);
    return settings;
}

TEST(without_documents_everything_has_its_default)
{
    struct arena a = {0};
    struct boot_settings s;
    boot_settings_read(&a, NULL, 0, &s);
    CHECK(!s.has_dhcp && !s.has_provisioner && s.problem.len == 0);
    CHECK(s.local_boot == LOCAL_BOOT_AUTO && s.lease_s == 3600 && s.pool_lease_s == 600);
    CHECK(s.unknown_max == 1000 && s.console.len == 0 && s.foreign_count == 0);
    CHECK(s.all.dhcp_unknown == DHCP_UNKNOWN_PXE && s.all.boot_unknown == BOOT_UNKNOWN_DISCOVER);
    CHECK(s.all.domain.len == 0 && s.all.nameserver_count == 0 && s.all.mtu == 0);
    CHECK(boot_settings_of(&s, STR("admin")) == &s.all);
    CHECK(boot_settings_args(&s, STR("x"), &a).len == 0);
    arena_fini(&a);
}

TEST(all_members_are_read)
{
    struct arena a = {0};
    const struct boot_settings s =
        read_one("{'dhcp':{'unknown':'all','local_boot':'chain','lease_s':60,'pool_lease_s':604800,"
                 "'domain':'example.com','nameservers':['192.0.2.1','192.0.2.2'],"
                 "'timeservers':['192.0.2.3'],'mtu':1500,'foreign':['eth1','br-lan'],"
                 "'networks':{'Admin':{'unknown':'none','mtu':9000,'nameservers':[]},'x':{}}},"
                 "'provisioner':{'unknown':'local','console':'ttyS0,115200','unknown_max':0,"
                 "'kernel_args':{'*':'panic=10','sledgehammer':'quiet'},"
                 "'networks':{'admin':{'unknown':'hold'},'bmc':{'unknown':'discover'}}}}",
                 &a);
    CHECK(s.problem.len == 0 && s.has_dhcp && s.has_provisioner);
    CHECK(s.local_boot == LOCAL_BOOT_CHAIN && s.lease_s == 60 && s.pool_lease_s == 604800);
    CHECK(s.all.dhcp_unknown == DHCP_UNKNOWN_ALL && s.all.boot_unknown == BOOT_UNKNOWN_LOCAL);
    CHECK(str_eq(s.all.domain, STR("example.com")) && s.all.mtu == 1500);
    CHECK(s.all.nameserver_count == 2 && s.all.nameservers[1] == 0xc0000202);
    CHECK(s.all.timeserver_count == 1 && s.all.timeservers[0] == 0xc0000203);
    CHECK(s.unknown_max == 0 && str_eq(s.console, STR("ttyS0,115200")));
    CHECK(boot_settings_accept_foreign(&s, STR("eth1")));
    CHECK(boot_settings_accept_foreign(&s, STR("br-lan")));
    CHECK(!boot_settings_accept_foreign(&s, STR("eth10")));
    CHECK(str_eq(boot_settings_args(&s, STR("SledgeHammer"), &a), STR("panic=10 quiet")));
    CHECK(str_eq(boot_settings_args(&s, STR("other"), &a), STR("panic=10")));
    CHECK(s.network_count == 3);
    const struct boot_network_settings *n = boot_settings_of(&s, STR("admin"));
    CHECK(n->dhcp_unknown == DHCP_UNKNOWN_NONE && n->boot_unknown == BOOT_UNKNOWN_HOLD);
    CHECK(n->mtu == 9000 && n->nameserver_count == 0 && n->timeserver_count == 1);
    CHECK(str_eq(n->domain, STR("example.com")));
    n = boot_settings_of(&s, STR("bmc"));
    CHECK(n->dhcp_unknown == DHCP_UNKNOWN_ALL && n->boot_unknown == BOOT_UNKNOWN_DISCOVER);
    CHECK(n->nameserver_count == 2);
    arena_fini(&a);
}

TEST(documents_are_merged_in_their_order)
{
    struct arena a = {0};
    const struct str documents[] = {
        quoted("{'dhcp':{'lease_s':100,'networks':{'a':{'mtu':1400}}}}", &a),
        quoted("{'provisioner':{}}", &a),
        quoted("{'dhcp':{'lease_s':200,'networks':{'a':{'unknown':'all'},'b':null}}}", &a)};
    struct boot_settings s;
    boot_settings_read(&a, documents, 3, &s);
    CHECK(s.problem.len == 0 && s.has_dhcp && s.has_provisioner && s.lease_s == 200);
    CHECK(s.network_count == 1 && s.networks[0].mtu == 1400);
    CHECK(s.networks[0].dhcp_unknown == DHCP_UNKNOWN_ALL);
    arena_fini(&a);
}

TEST(illegal_values_are_named_and_have_their_default)
{
    static const char *const rows[][2] = {
        {"[]", "document 1 must be an object"},
        {"{", "document 1 is no JSON: "},
        {"{'dhcp':1}", "dhcp must be an object"},
        {"{'provisioner':[]}", "provisioner must be an object"},
        {"{'dhcp':{'unknown':'some'}}", "dhcp/unknown must be pxe, all, none"},
        {"{'dhcp':{'unknown':1}}", "dhcp/unknown must be pxe, all, none"},
        {"{'dhcp':{'local_boot':''}}", "dhcp/local_boot must be auto, omit, chain"},
        {"{'dhcp':{'lease_s':59}}", "dhcp/lease_s must be a number from 60 to 604800"},
        {"{'dhcp':{'lease_s':604801}}", "dhcp/lease_s must be"},
        {"{'dhcp':{'lease_s':'60'}}", "dhcp/lease_s must be"},
        {"{'dhcp':{'pool_lease_s':60.5}}", "dhcp/pool_lease_s must be"},
        {"{'dhcp':{'mtu':67}}", "dhcp/mtu must be a number from 68 to 65535"},
        {"{'dhcp':{'mtu':65536}}", "dhcp/mtu must be"},
        {"{'dhcp':{'mtu':-1}}", "dhcp/mtu must be"},
        {"{'dhcp':{'domain':'a b'}}", "dhcp/domain must be the name of a DNS domain"},
        {"{'dhcp':{'domain':'a..b'}}", "dhcp/domain must be"},
        {"{'dhcp':{'domain':7}}", "dhcp/domain must be"},
        {"{'dhcp':{'nameservers':'192.0.2.1'}}", "dhcp/nameservers must be a list of at most 8"},
        {"{'dhcp':{'nameservers':['192.0.2.1/24']}}", "dhcp/nameservers must be"},
        {"{'dhcp':{'nameservers':['fd00::1']}}", "dhcp/nameservers must be"},
        {"{'dhcp':{'nameservers':['0.0.0.0']}}", "dhcp/nameservers must be"},
        {"{'dhcp':{'nameservers':['10.0.0.1','x']}}", "dhcp/nameservers must be"},
        {"{'dhcp':{'timeservers':[1]}}", "dhcp/timeservers must be"},
        {"{'dhcp':{'foreign':'eth1'}}", "dhcp/foreign must be a list of names of interfaces"},
        {"{'dhcp':{'foreign':['']}}", "dhcp/foreign must be"},
        {"{'dhcp':{'foreign':['sixteen-letters-']}}", "dhcp/foreign must be"},
        {"{'dhcp':{'networks':[]}}", "dhcp/networks must be an object"},
        {"{'dhcp':{'networks':{'a':1}}}", "dhcp/networks/a must be an object"},
        {"{'dhcp':{'networks':{'a':{'mtu':1}}}}", "dhcp/networks/a/mtu must be"},
        {"{'provisioner':{'unknown':'x'}}", "provisioner/unknown must be discover, hold, local"},
        {"{'provisioner':{'networks':{'a':{'unknown':'x'}}}}", "provisioner/networks/a/unknown"},
        {"{'provisioner':{'unknown_max':-1}}", "provisioner/unknown_max must be"},
        {"{'provisioner':{'unknown_max':1048577}}", "provisioner/unknown_max must be"},
        {"{'provisioner':{'console':1}}", "provisioner/console must be a text"},
        {"{'provisioner':{'console':'a\\nb'}}", "provisioner/console must be a text"},
        {"{'provisioner':{'kernel_args':'quiet'}}", "provisioner/kernel_args must be an object"},
        {"{'provisioner':{'kernel_args':{'*':1}}}", "provisioner/kernel_args/* must be a text"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        const struct boot_settings s = read_one(rows[i][0], &a);
        CHECK(str_starts(s.problem, str_from(rows[i][1])));
        CHECK(s.lease_s == 3600 && s.pool_lease_s == 600 && s.all.mtu == 0);
        CHECK(s.all.dhcp_unknown == DHCP_UNKNOWN_PXE && s.local_boot == LOCAL_BOOT_AUTO);
        CHECK(s.all.boot_unknown == BOOT_UNKNOWN_DISCOVER && s.unknown_max == 1000);
        CHECK(s.all.domain.len == 0 && s.all.nameserver_count == 0 && s.console.len == 0);
        CHECK(s.all.timeserver_count == 0 && s.foreign_count == 0 && s.args_count == 0);
        arena_fini(&a);
    }
}

TEST(only_the_first_illegal_value_is_reported_and_the_rest_is_read)
{
    struct arena a = {0};
    const struct boot_settings s =
        read_one("{'dhcp':{'lease_s':1,'mtu':1,'pool_lease_s':61,'nameservers':['10.0.0.1']},"
                 "'provisioner':{'kernel_args':{'a':null,'b':1,'c':'d'}}}",
                 &a);
    CHECK(str_starts(s.problem, STR("dhcp/lease_s")));
    CHECK(s.pool_lease_s == 61 && s.all.nameserver_count == 1 && s.args_count == 1);
    CHECK(str_eq(boot_settings_args(&s, STR("c"), &a), STR("d")));
    arena_fini(&a);
}

TEST(lists_and_texts_are_bounded)
{
    struct arena a = {0};
    for (uint32_t more = 0; more < 2; more++) {
        struct buf text = buf_in(&a);
        buf_put_z(&text, "{\"dhcp\":{\"nameservers\":[\"10.0.0.1\"");
        for (uint32_t i = 1; i < NAMESERVERS_MAX + more; i++)
            buf_put_z(&text, ",\"10.0.0.1\"");
        buf_put_z(&text, "],\"foreign\":[\"a\"");
        for (uint32_t i = 1; i < 64 + more; i++)
            buf_put_z(&text, ",\"a\"");
        buf_put_z(&text, "]},\"provisioner\":{\"kernel_args\":{\"*\":\"");
        for (uint32_t i = 0; i < BOOT_ARGS_LEN_MAX + more; i++)
            buf_put_c(&text, 'a');
        buf_put_z(&text, "\"},\"console\":\"");
        for (uint32_t i = 0; i < NAME_LEN_MAX + more; i++)
            buf_put_c(&text, 'a');
        buf_put_z(&text, "\"}}");
        const struct str document = buf_str(&text);
        struct boot_settings s;
        boot_settings_read(&a, &document, 1, &s);
        CHECK(s.all.nameserver_count == (more ? 0 : NAMESERVERS_MAX));
        CHECK(s.foreign_count == (more ? 0 : 64));
        CHECK(s.args_count == 1 - more);
        CHECK(s.console.len == (more ? 0 : NAME_LEN_MAX));
        CHECK((s.problem.len == 0) == !more);
    }
    arena_fini(&a);
}

TEST(domains_are_bounded)
{
    static const struct {
        uint32_t label, labels;
        bool is_legal;
    } rows[] = {{63, 1, true}, {64, 1, false}, {62, 4, true}, {63, 4, false}, {1, 127, true}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct buf text = buf_in(&a);
        buf_put_z(&text, "{\"dhcp\":{\"domain\":\"");
        for (uint32_t k = 0; k < rows[i].labels; k++) {
            buf_put_z(&text, k ? "." : "");
            for (uint32_t c = 0; c < rows[i].label; c++)
                buf_put_c(&text, 'a');
        }
        buf_put_z(&text, "\"}}");
        const struct str document = buf_str(&text);
        struct boot_settings s;
        boot_settings_read(&a, &document, 1, &s);
        CHECK((s.all.domain.len != 0) == rows[i].is_legal);
        CHECK((s.problem.len == 0) == rows[i].is_legal);
        arena_fini(&a);
    }
}
