/* Goal: each machine gets the script that boot_script.h promises, and only its own address gets it.
 * Method: scripts written out here, and drawn tables of requests. */
#include "tests/unit/boot/boot_rack.h"

#define OWN_ARGS(mac, hyphens, generation)                                                         \
    "halligan.server=http://10.0.0.1:8091 halligan.ticket=TICKET halligan.mac=" mac                \
    " halligan.generation=" generation " BOOTIF=01-" hyphens
#define N1_ARGS OWN_ARGS("52:54:00:00:00:01", "52-54-00-00-00-01", "3")

static void check_text(struct rack *r, const struct boot_answer *answer, const char *expected)
{
    CHECK(answer->kind == BOOT_ANSWER_TEXT);
    CHECK(str_eq(str_from(rack_text(r, answer)), str_from(expected)));
}

/* ---- texts ---- */

TEST(an_image_is_loaded_with_retries_and_booted)
{
    struct rack *r = rack_open();
    rack_boot(r, "Sledgehammer", 3);
    const struct boot_answer answer = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: n1.example.com 52:54:00:00:00:01 loads sledgehammer\n"
               "goto load\n"
               ":retry\n"
               "echo Loading failed, trying again in 5 s\n"
               "sleep 5\n"
               "dhcp ||\n"
               ":load\n"
               "imgfree\n"
               "kernel --name kernel http://10.0.0.1:8091/files/vmlinuz " N1_ARGS
               " initrd=initrd0 || goto retry\n"
               "initrd --name initrd0 http://10.0.0.1:8091/files/initrd.img || goto retry\n"
               "boot kernel ||\n"
               "echo The kernel could not be started, asking again\n"
               "imgfree\n"
               ":again\n"
               "sleep 5\n"
               "dhcp ||\n"
               "chain --replace --autofree "
               "http://10.0.0.1:8091/boot/52-54-00-00-00-01?t=TICKET || goto again\n");
    CHECK(answer.node == 7 && answer.generation == 3 && !answer.reason.len);
    CHECK(str_eq(answer.bootenv, STR("sledgehammer")));
    struct ticket ticket;
    CHECK(ticket_parse(answer.ticket, &rack_key, RACK_NOW_S, &ticket));
    CHECK(ticket.mac == RACK_MAC && ticket.node == 7 && ticket.generation == 3);
    CHECK(ticket.made_s == RACK_NOW_S && ticket.random == 5);
    rack_close(r);
}

TEST(an_installer_is_loaded_but_only_its_grant_boots_it)
{
    struct rack *r = rack_open();
    rack_boot(r, "debian-12-install", 3);
    struct boot_request request = rack_request(RACK_MAC, RACK_OWN);
    struct boot_answer answer = rack_ask(r, request);
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: n1.example.com 52:54:00:00:00:01 loads debian-12-install\n"
               "goto load\n"
               ":retry\n"
               "echo Loading failed, trying again in 5 s\n"
               "sleep 5\n"
               "dhcp ||\n"
               ":load\n"
               "imgfree\n"
               "kernel --name kernel http://10.0.0.1:8091/files/d12/linux " N1_ARGS
               " initrd=initrd0 initrd=initrd1 auto=true"
               " url=http://10.0.0.1:8091/seed/TICKET || goto retry\n"
               "initrd --name initrd0 http://10.0.0.1:8091/files/a/1.img || goto retry\n"
               "initrd --name initrd1 http://10.0.0.1:8091/files/a/2%203 || goto retry\n"
               "echo The installer is loaded, asking for permission to start it\n"
               "goto ask\n"
               ":wait\n"
               "echo No answer, asking again in 5 s\n"
               "sleep 5\n"
               "dhcp ||\n"
               ":ask\n"
               "chain --replace --autofree "
               "http://10.0.0.1:8091/boot/52-54-00-00-00-01/install?t=TICKET || goto wait\n");
    request.ticket = answer.ticket;
    request.is_install = true;
    answer = rack_ask(r, request);
    CHECK(answer.kind == BOOT_ANSWER_GRANT && !answer.text.len && answer.node == 7);
    CHECK(answer.generation == 3 && str_eq(answer.ticket, request.ticket));

    answer.kind = BOOT_ANSWER_TEXT;
    answer.text = boot_script_of_grant(&r->site, &request, GRANT_GRANTED, &r->arena);
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: n1.example.com 52:54:00:00:00:01 starts its installer\n"
               "boot kernel ||\n"
               "echo The installer could not be started, asking again\n"
               "imgfree\n"
               ":again\n"
               "sleep 5\n"
               "dhcp ||\n"
               "chain --replace --autofree "
               "http://10.0.0.1:8091/boot/52-54-00-00-00-01?t=TICKET || goto again\n");
    answer.text = boot_script_of_grant(&r->site, &request, GRANT_STALE, &r->arena);
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: n1.example.com 52:54:00:00:00:01 asks again what to boot\n"
               "imgfree\n"
               ":again\n"
               "sleep 1\n"
               "dhcp ||\n"
               "chain --replace --autofree "
               "http://10.0.0.1:8091/boot/52-54-00-00-00-01?t=TICKET || goto again\n");
    answer.text = boot_script_of_grant(&r->site, &request, GRANT_LOCAL, &r->arena);
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: n1.example.com 52:54:00:00:00:01 boots its disk\n"
               "echo Reason: the installer may not start\n"
               "imgfree\n"
               "iseq ${platform} pcbios || goto efi\n"
               "sanboot --no-describe --drive 0x80 ||\n"
               "exit\n"
               ":efi\n"
               "chain --autofree http://10.0.0.1:8091/files/local/grubx64.efi ||\n"
               "exit 1\n");
    rack_close(r);
}

TEST(a_machine_that_is_no_node_waits_if_it_is_to_be_held)
{
    struct rack *r = rack_open();
    rack_configure(r, "{\"provisioner\":{\"unknown\":\"hold\"}}");
    const struct boot_answer answer = rack_ask(r, rack_request(RACK_STRANGER, RACK_LEASED));
    check_text(r, &answer,
               "#!ipxe\n"
               "echo Halligan: machine 52:54:00:00:00:99 is not a node\n"
               "echo It waits until a node has this MAC, or the attrib provisioner-unknown is\n"
               "echo discover and there is a discovery image, asking again every 30 s\n"
               "imgfree\n"
               ":hold\n"
               "sleep 30\n"
               "dhcp ||\n"
               "chain --replace --autofree "
               "http://10.0.0.1:8091/boot/52-54-00-00-00-99?t=TICKET || goto hold\n");
    CHECK(answer.node == 0 && answer.generation == 0 && str_eq(answer.bootenv, STR("hold")));
    rack_close(r);
}

TEST(the_file_autoexec_chains_the_script_of_the_mac)
{
    struct rack *r = rack_open();
    CHECK(str_eq(boot_script_autoexec(&r->site, &r->arena),
                 STR("#!ipxe\n"
                     "goto begin\n"
                     ":retry\n"
                     "sleep 5\n"
                     ":begin\n"
                     "isset ${netX/ip} || dhcp || goto retry\n"
                     "chain --replace --autofree "
                     "http://10.0.0.1:8091/boot/${netX/mac:hexhyp} || goto retry\n")));
    rack_close(r);
}

TEST(files_for_grub_and_pxelinux_load_images_but_no_installers)
{
    struct rack *r = rack_open();
    rack_configure(r, "{\"provisioner\":{\"console\":\"ttyS0,115200\"}}");
    rack_boot(r, "sledgehammer", 3);
    struct boot_request request = rack_request(RACK_MAC, RACK_OWN);
    request.form = BOOT_FORM_GRUB;
    struct boot_answer answer = rack_ask(r, request);
    check_text(r, &answer,
               "until linux /vmlinuz 'halligan.server=http://10.0.0.1:8091'"
               " 'halligan.ticket=TICKET' 'halligan.mac=52:54:00:00:00:01'"
               " 'halligan.generation=3' 'BOOTIF=01-52-54-00-00-00-01'"
               " 'console=ttyS0,115200'; do sleep 5; done\n"
               "until initrd /initrd.img; do sleep 5; done\n"
               "boot\n");
    request.form = BOOT_FORM_PXELINUX;
    answer = rack_ask(r, request);
    check_text(r, &answer,
               "DEFAULT halligan\n"
               "PROMPT 0\n"
               "LABEL halligan\n"
               "KERNEL /vmlinuz\n"
               "INITRD /initrd.img\n"
               "APPEND " N1_ARGS " console=ttyS0,115200\n");

    static const struct str plain[] = {{"i", 1}};
    rack_put_bootenv(r, 8,
                     (struct boot_bootenv){.name = STR("plain-install"),
                                           .kernel = STR("k"),
                                           .method = STR("installer"),
                                           .initrd_count = 1,
                                           .initrds = plain});
    static const char *const bootenvs[] = {"plain-install", "local", "debian-12-install",
                                           "nothing"};
    for (uint32_t i = 0; i < 4; i++) {
        rack_boot(r, bootenvs[i], 3);
        request.form = BOOT_FORM_GRUB;
        answer = rack_ask(r, request);
        check_text(r, &answer, "exit\n");
        CHECK(str_eq(answer.bootenv, STR("local")));
        CHECK((answer.reason.len != 0) == (i != 1));
        request.form = BOOT_FORM_PXELINUX;
        answer = rack_ask(r, request);
        check_text(r, &answer, "DEFAULT halligan\nPROMPT 0\nLABEL halligan\nLOCALBOOT 0\n");
    }
    static const struct str odd[] = {{"a/2 3", 5}}, two[] = {{"a", 1}, {"b/c", 3}};
    struct boot_bootenv image = {.name = STR("image"), .kernel = STR("k"), .initrds = odd};
    rack_boot(r, "image", 3);
    image.initrd_count = 1;
    rack_put_bootenv(r, 9, image);
    answer = rack_ask(r, request);
    CHECK(str_eq(answer.bootenv, STR("local")) && answer.reason.len);
    image.kernel = STR("");
    image.initrd_count = 0;
    rack_put_bootenv(r, 9, image);
    CHECK(str_eq(rack_ask(r, request).bootenv, STR("local")));
    image.kernel = STR("k");
    image.initrds = two;
    image.initrd_count = 2;
    rack_put_bootenv(r, 9, image);
    CHECK(str_has(rack_ask(r, request).text, STR("KERNEL /k\nINITRD /a,/b/c\nAPPEND hall")));
    request.form = BOOT_FORM_GRUB;
    CHECK(str_has(rack_ask(r, request).text, STR("until initrd /a /b/c; do")));
    rack_configure(r, "{\"provisioner\":{\"unknown\":\"hold\"}}");
    request = rack_request(RACK_STRANGER, RACK_LEASED);
    request.form = BOOT_FORM_GRUB;
    answer = rack_ask(r, request);
    check_text(r, &answer, "exit\n");
    CHECK(str_eq(answer.reason, STR("only iPXE can wait")));
    rack_close(r);
}

/* ---- what is booted ---- */

TEST(the_environment_decides_what_is_booted)
{
    static const struct {
        const char *bootenv, *booted, *reason;
    } rows[] = {
        {"sledgehammer", "sledgehammer", ""},
        {"SLEDGEHAMMER", "sledgehammer", ""},
        {"debian-12-install", "debian-12-install", ""},
        {"local", "local", ""},
        {"Local", "local", ""},
        {"", "local", "no barclamp defines the environment "},
        {"debian-13-install", "local", "no barclamp defines the environment debian-13-install"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rack *r = rack_open();
        rack_boot(r, rows[i].bootenv, 2);
        const struct boot_answer answer = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
        CHECK(answer.kind == BOOT_ANSWER_TEXT && answer.node == 7);
        CHECK(str_eq(answer.bootenv, str_from(rows[i].booted)));
        CHECK(str_eq(answer.reason, str_from(rows[i].reason)));
        CHECK(str_has(answer.text, STR("boots its disk")) == str_eq(answer.bootenv, STR("local")));
        rack_close(r);
    }
}

TEST(an_installer_is_one_by_its_name_or_by_its_method)
{
    static const struct {
        const char *name, *method;
        bool is_installer;
    } rows[] = {{"x-install", "image", true},
                {"X-INSTALL", "discovery", true},
                {"x", "installer", true},
                {"x-installer", "image", false},
                {"x", "", false}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rack *r = rack_open();
        rack_put_bootenv(r, 9,
                         (struct boot_bootenv){.name = str_from(rows[i].name),
                                               .kernel = STR("k"),
                                               .method = str_from(rows[i].method)});
        rack_boot(r, rows[i].name, 2);
        const struct boot_answer answer = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
        CHECK(str_has(answer.text, STR("\nboot ")) == !rows[i].is_installer);
        CHECK(str_has(answer.text, STR("/install?t=")) == rows[i].is_installer);
        rack_close(r);
    }
}

TEST(machines_that_are_no_nodes_boot_what_their_network_says)
{
    static const struct {
        const char *settings, *booted;
    } rows[] = {
        {"{}", "sledgehammer"},
        {"{\"provisioner\":{\"unknown\":\"local\"}}", "local"},
        {"{\"provisioner\":{\"unknown\":\"hold\"}}", "hold"},
        {"{\"provisioner\":{\"unknown\":\"local\","
         "\"networks\":{\"Admin\":{\"unknown\":\"hold\"}}}}",
         "hold"},
        {"{\"provisioner\":{\"unknown\":\"local\","
         "\"networks\":{\"bmc\":{\"unknown\":\"hold\"}}}}",
         "local"},
    };
    struct rack *r = rack_open();
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rack_configure(r, rows[i].settings);
        const struct boot_answer answer = rack_ask(r, rack_request(RACK_STRANGER, RACK_LEASED));
        CHECK(str_eq(answer.bootenv, str_from(rows[i].booted)) && answer.node == 0);
    }
    rack_close(r);
}

TEST(an_address_outside_of_all_ranges_belongs_to_the_network_of_its_subnet)
{
    struct rack *r = rack_open();
    struct boot_entry e = {.key = {BOOT_LEASE, 6},
                           .lease = {.mac = RACK_STRANGER,
                                     .network = 3,
                                     .range = 4,
                                     .address = STR("10.0.0.100/24"),
                                     .state = LEASE_LIVE,
                                     .left_ms = 1000}};
    rack_put(r, &e);
    e.key.id = 8;
    e.lease.address = STR("10.0.1.100/24");
    rack_put(r, &e);
    rack_configure(r, "{\"provisioner\":{\"networks\":{\"admin\":{\"unknown\":\"hold\"}}}}");
    CHECK(str_eq(rack_ask(r, rack_request(RACK_STRANGER, 0x0a000064)).bootenv, STR("hold")));
    CHECK(
        str_eq(rack_ask(r, rack_request(RACK_STRANGER, 0x0a000164)).bootenv, STR("sledgehammer")));
    rack_close(r);
}

TEST(discovery_is_the_first_environment_by_name_and_never_an_installer)
{
    struct rack *r = rack_open();
    const struct boot_request request = rack_request(RACK_STRANGER, RACK_LEASED);
    struct boot_bootenv bootenv = {.name = STR("Alpha"), .method = STR("discovery")};
    rack_put_bootenv(r, 9, bootenv);
    CHECK(str_eq(rack_ask(r, request).bootenv, STR("Alpha")));
    bootenv.name = STR("a-install");
    rack_put_bootenv(r, 9, bootenv);
    CHECK(str_eq(rack_ask(r, request).bootenv, STR("sledgehammer")));
    view_remove(&r->view, (struct boot_key){BOOT_BOOTENV, 1});
    const struct boot_answer answer = rack_ask(r, request);
    CHECK(str_eq(answer.bootenv, STR("hold")) && answer.reason.len);
    rack_close(r);
}

TEST(the_disk_is_booted_as_settings_and_options_say)
{
    static const struct {
        const char *settings, *options;
        bool is_omitted;
    } rows[] = {
        {"{}", "", false},
        {"{\"dhcp\":{\"local_boot\":\"omit\"}}", "", true},
        {"{\"dhcp\":{\"local_boot\":\"chain\"}}", "", false},
        {"{\"dhcp\":{\"local_boot\":\"omit\"}}", "{\"local_boot\":\"auto\"}", false},
        {"{\"dhcp\":{\"local_boot\":\"omit\"}}", "{\"local_boot\":\"chain\"}", false},
        {"{}", "{\"local_boot\":\"omit\"}", true},
        {"{}", "{\"local_boot\":7}", false},
    };
    struct rack *r = rack_open();
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rack_configure(r, rows[i].settings);
        r->machine.options = str_from(rows[i].options);
        rack_put_machine(r);
        const struct boot_answer answer = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
        CHECK(str_has(answer.text, STR("sanboot")) == !rows[i].is_omitted);
        CHECK(str_has(answer.text, STR("grubx64.efi")) == !rows[i].is_omitted);
        CHECK(str_ends(answer.text, STR("exit 1\n")));
    }
    rack_close(r);
}

/* ---- who may ask ---- */

TEST(only_the_address_of_the_machine_gets_its_script)
{
    static const struct {
        uint64_t mac;
        uint32_t source;
        int64_t now_ms;
        bool is_answered;
    } rows[] = {
        {RACK_MAC, RACK_OWN, 0, true},
        {RACK_MAC, RACK_OWN + 1, 0, false},
        {RACK_MAC, RACK_LEASED, 0, false}, /* a lease of another MAC */
        {RACK_MAC, 0, 0, false},
        {RACK_STRANGER, RACK_LEASED, 999, true},
        {RACK_STRANGER, RACK_LEASED, 1000, false}, /* it has ended */
        {RACK_STRANGER, RACK_OWN, 0, false},
        {RACK_STRANGER + 1, RACK_LEASED, 0, false},
    };
    struct rack *r = rack_open();
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t form = 0; form < 3; form++)
            for (uint32_t has_ticket = 0; has_ticket < 2; has_ticket++) {
                struct boot_request request = rack_request(rows[i].mac, rows[i].source);
                request.now_ms = rows[i].now_ms;
                request.form = (enum boot_form)form;
                if (has_ticket)
                    request.ticket = rack_ticket(r, rows[i].mac, rows[i].mac == RACK_MAC ? 7 : 0,
                                                 rows[i].mac == RACK_MAC);
                const struct boot_answer answer = rack_ask(r, request);
                CHECK((answer.kind == BOOT_ANSWER_TEXT) == rows[i].is_answered);
                CHECK((answer.text.len != 0) == rows[i].is_answered);
                CHECK((answer.ticket.len != 0) == rows[i].is_answered);
                CHECK((answer.reason.len != 0) == !rows[i].is_answered);
                request.is_install = true;
                CHECK((rack_ask(r, request).kind == BOOT_ANSWER_FORBIDDEN) == !rows[i].is_answered);
            }
    rack_close(r);
}

TEST(a_live_lease_of_a_mac_of_a_node_is_its_address_too)
{
    struct rack *r = rack_open();
    struct boot_entry e = {.key = {BOOT_LEASE, 6},
                           .lease = {.mac = RACK_MAC,
                                     .network = 3,
                                     .range = 4,
                                     .address = STR("10.0.0.201/24"),
                                     .state = LEASE_LIVE,
                                     .left_ms = 1000}};
    rack_put(r, &e);
    CHECK(rack_ask(r, rack_request(RACK_MAC, 0x0a0000c9)).kind == BOOT_ANSWER_TEXT);
    e.lease.state = LEASE_DECLINED;
    rack_put(r, &e);
    CHECK(rack_ask(r, rack_request(RACK_MAC, 0x0a0000c9)).kind == BOOT_ANSWER_FORBIDDEN);
    rack_close(r);
}

TEST(in_proxy_mode_a_ticket_of_the_mac_replaces_the_address)
{
    struct rack *r = rack_open();
    struct boot_request request = rack_request(RACK_MAC, RACK_OWN + 1);
    r->site.is_proxy = true;
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_FORBIDDEN);
    request.ticket = rack_ticket(r, RACK_STRANGER, 0, 0);
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_FORBIDDEN);
    request.ticket = rack_ticket(r, RACK_MAC, 7, 1);
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_TEXT);
    /* It was no node when it got its ticket: the new one is that of the node. */
    request.ticket = rack_ticket(r, RACK_MAC, 0, 0);
    const struct boot_answer answer = rack_ask(r, request);
    struct ticket ticket;
    CHECK(answer.kind == BOOT_ANSWER_TEXT);
    CHECK(ticket_parse(answer.ticket, &rack_key, RACK_NOW_S, &ticket) && ticket.node == 7);
    request.now_s += TICKET_LIFE_S;
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_FORBIDDEN);
    rack_close(r);
}

TEST(a_ticket_is_kept_while_it_is_current_and_replaced_otherwise)
{
    struct rack *r = rack_open();
    const struct ticket_key other_key = {{9}};
    const struct ticket of_another_key = {RACK_MAC, 7, 1, RACK_NOW_S, 1};
    struct boot_request request = rack_request(RACK_MAC, RACK_OWN);
    request.ticket = rack_ticket(r, RACK_MAC, 7, 1);
    CHECK(str_eq(rack_ask(r, request).ticket, request.ticket));
    const struct str replaced[] = {rack_ticket(r, RACK_MAC, 7, 0),
                                   rack_ticket(r, RACK_MAC, 7, 2),
                                   rack_ticket(r, RACK_MAC, 0, 1),
                                   ticket_format(&r->arena, &other_key, &of_another_key),
                                   STR(""),
                                   STR("x"),
                                   str_slice(request.ticket, 1, TICKET_LEN)};
    for (uint32_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        struct ticket ticket;
        request.ticket = replaced[i];
        const struct boot_answer answer = rack_ask(r, request);
        CHECK(answer.kind == BOOT_ANSWER_TEXT && !str_eq(answer.ticket, replaced[i]));
        CHECK(ticket_parse(answer.ticket, &rack_key, RACK_NOW_S, &ticket));
        CHECK(ticket.mac == RACK_MAC && ticket.node == 7 && ticket.generation == 1);
    }
    request.ticket = rack_ticket(r, RACK_STRANGER, 7, 1);
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_FORBIDDEN);
    request = rack_request(RACK_STRANGER, RACK_LEASED);
    request.ticket = rack_ticket(r, RACK_STRANGER, 0, 0);
    CHECK(str_eq(rack_ask(r, request).ticket, request.ticket));
    rack_close(r);
}

TEST(a_grant_is_asked_for_only_with_a_current_ticket_and_environment)
{
    struct rack *r = rack_open();
    rack_boot(r, "debian-12-install", 3);
    struct boot_request request = rack_request(RACK_MAC, RACK_OWN);
    request.is_install = true;
    const struct str tickets[] = {STR(""), STR("x"), rack_ticket(r, RACK_MAC, 7, 2),
                                  rack_ticket(r, RACK_MAC, 7, 4), rack_ticket(r, RACK_MAC, 8, 3)};
    for (uint32_t i = 0; i < sizeof tickets / sizeof *tickets; i++) {
        request.ticket = tickets[i];
        const struct boot_answer answer = rack_ask(r, request);
        CHECK(answer.kind == BOOT_ANSWER_TEXT);
        CHECK(str_has(answer.text, STR("asks again what to boot")));
        CHECK(!str_has(answer.text, STR("\nboot")) && !str_has(answer.text, STR("/install")));
    }
    request.ticket = rack_ticket(r, RACK_MAC, 7, 3);
    CHECK(rack_ask(r, request).kind == BOOT_ANSWER_GRANT);
    static const char *const others[] = {"local", "sledgehammer", "debian-13-install"};
    for (uint32_t i = 0; i < 3; i++) {
        rack_boot(r, others[i], 3);
        CHECK(str_has(rack_ask(r, request).text, STR("asks again what to boot")));
    }
    request = rack_request(RACK_STRANGER, RACK_LEASED);
    request.is_install = true;
    request.ticket = rack_ticket(r, RACK_STRANGER, 0, 0);
    CHECK(str_has(rack_ask(r, request).text, STR("asks again what to boot")));
    rack_close(r);
}
