/* Goal: the simulated machines do what boot scripts say, and nothing else.
 * Method: scripts of boot/script/boot_texts.c, and single lines. */
#include "base/mem/arena.h"
#include "boot/script/boot_texts.h"
#include "sim/rack/ipxe.h"
#include "tests/check.h"

static struct boot_subject subject(enum local_boot local_boot)
{
    return (struct boot_subject){.mac = 0x525400000001,
                                 .node = 3,
                                 .generation = 7,
                                 .name = STR("n1.example.com"),
                                 .ticket = STR("abc"),
                                 .server = STR("192.0.2.1"),
                                 .port = 8091,
                                 .url = STR("http://192.0.2.1:8091"),
                                 .local_boot = local_boot};
}

static const struct str initrds[] = {{"debian/initrd.gz", 16}};
static const struct boot_bootenv bootenv = {.name = {"debian-install", 14},
                                            .kernel = {"debian/linux", 12},
                                            .initrd_count = 1,
                                            .initrds = initrds};

TEST(a_kernel_is_loaded_and_started)
{
    struct arena a = {0};
    struct ipxe ipxe = {0};
    const struct boot_subject s = subject(LOCAL_BOOT_AUTO);
    CHECK(ipxe_run(&ipxe, boot_text_load(&s, &bootenv, STR("x=1 y=2"), &a)) == IPXE_BOOTS);
    CHECK(str_eq(ipxe.kernel, STR("debian/linux")) && str_starts(ipxe.arguments, STR("x=1 y=2")));
    arena_fini(&a);
}

TEST(an_installer_is_loaded_and_waits_for_its_grant)
{
    struct arena a = {0};
    struct ipxe ipxe = {0};
    const struct boot_subject s = subject(LOCAL_BOOT_AUTO);
    CHECK(ipxe_run(&ipxe, boot_text_installer(&s, &bootenv, STR(""), &a)) == IPXE_CHAINS);
    CHECK(str_eq(ipxe.url, STR("http://192.0.2.1:8091/boot/52-54-00-00-00-01/install?t=abc")));
    CHECK(str_eq(ipxe.kernel, STR("debian/linux")));
    CHECK(ipxe_run(&ipxe, boot_text_start(&s, &a)) == IPXE_BOOTS);
    /* Without a kernel nothing is started: it asks again. */
    ipxe.kernel = STR("");
    CHECK(ipxe_run(&ipxe, boot_text_start(&s, &a)) == IPXE_CHAINS);
    ipxe.kernel = STR("debian/linux");
    CHECK(ipxe_run(&ipxe, boot_text_again(&s, &a)) == IPXE_CHAINS && !ipxe.kernel.len);
    CHECK(str_eq(ipxe.url, STR("http://192.0.2.1:8091/boot/52-54-00-00-00-01?t=abc")));
    CHECK(ipxe_run(&ipxe, boot_text_hold(&s, &a)) == IPXE_CHAINS);
    arena_fini(&a);
}

TEST(the_disk_is_booted_on_every_firmware)
{
    struct arena a = {0};
    for (uint32_t i = 0; i < 12; i++) {
        const struct boot_subject s = subject((enum local_boot)(i % 3));
        struct ipxe ipxe = {.is_bios = i & 1, .has_os = i >= 6, .kernel = STR("x")};
        CHECK(ipxe_run(&ipxe, boot_text_local(&s, STR("no grant"), &a)) == IPXE_EXITS);
        CHECK(!ipxe.kernel.len);
    }
    arena_fini(&a);
}

TEST(what_is_not_understood_is_reported)
{
    struct ipxe ipxe = {0};
    CHECK(ipxe_run(&ipxe, STR("#!ipxe\nshell\n")) == IPXE_BROKEN);
    CHECK(str_eq(ipxe.url, STR("shell")));
    CHECK(ipxe_run(&ipxe, STR("#!ipxe\n:a\ngoto a\n")) == IPXE_BROKEN);
    CHECK(ipxe_run(&ipxe, STR("#!ipxe\necho x\n")) == IPXE_BROKEN); /* it ends without a boot */
    CHECK(ipxe_run(&ipxe, STR("#!ipxe\nboot kernel\n")) == IPXE_EXITS);
}
