/* Goal: each kind of firmware, and iPXE, gets the boot file that its machine must have, and replies
 * fit into what the client accepts.
 * Method: dialogs in text (dhcp_dialog.h). INFORM is used where only the options matter, because it
 * needs no probe and no lease. */
#include "tests/unit/boot/dhcp_dialog.h"

#define MACHINE(env)                                                                               \
    "> machine id=3 name=n3.example.com env=" env " gen=5 macs=3 at=10.0.0.7/24@1\n"
#define INFORM "> inform mac=3 ci=10.0.0.7 "
#define TICKET "/boot/52-54-00-00-00-03?t=t3.5.*"
#define IPXE   "ipxe=130101"

TEST(firmware_gets_the_loader_of_its_architecture)
{
    static const struct {
        const char *arch, *class, *reply;
    } cases[] = {
        {"0", "PXEClient:Arch:00000:UNDI:002001", "file=undionly.kpxe 67=undionly.kpxe !class"},
        {"7", "PXEClient:Arch:00007:UNDI:003016", "file=snponly.efi 67=snponly.efi !class"},
        {"9", "PXEClient:Arch:00009:UNDI:003016", "file=snponly.efi 67=snponly.efi"},
        {"16", "HTTPClient:Arch:00016:UNDI:003001",
         "file=http://10.0.0.1:8091/files/snponly.efi class=HTTPClient "
         "67=http://10.0.0.1:8091/files/snponly.efi next=10.0.0.1"},
        {"11", "PXEClient:Arch:00011", "file=snponly-arm64.efi next=10.0.0.1 66=10.0.0.1"},
        {"19", "HTTPClient:Arch:00019",
         "67=http://10.0.0.1:8091/files/snponly-arm64.efi class=HTTPClient"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%sclass=%s arch=%s\n< ack 0.0.0.0 !175 %s\n",
                 MACHINE("sledgehammer"), INFORM, cases[i].class, cases[i].arch, cases[i].reply);
        dialog_with(text);
    }
}

TEST(firmware_without_a_file_of_the_site_gets_an_address_only)
{
    dialog_with(MACHINE("sledgehammer") INFORM "class=PXEClient:Arch:00006 arch=6\n"
                                               "< observe no-boot-file mac=3 node=3 arch=6\n"
                                               "< ack 0.0.0.0 !file !66 !67 !next !class\n" INFORM
                                               "class=HTTPClient:Arch:00015 arch=15\n"
                                               "< ack 0.0.0.0 !67 !class\n");
}

TEST(firmware_that_sends_no_architecture_is_bios)
{
    dialog_with(MACHINE("sledgehammer") INFORM "class=PXEClient\n"
                                               "< ack 0.0.0.0 file=undionly.kpxe\n");
}

TEST(systems_get_no_boot_options)
{
    dialog_with(MACHINE("sledgehammer") INFORM "\n"
                                               "< ack 0.0.0.0 !file !67 !175\n" INFORM
                                               "class=dhcpcd-9.4.1 arch=7\n"
                                               "< ack 0.0.0.0 !file !67 !175 !next\n");
}

TEST(ipxe_gets_its_script_and_is_not_to_wait_for_a_proxy)
{
    dialog_with(MACHINE("sledgehammer") INFORM
                "user=iPXE " IPXE " arch=0\n"
                "< ack 0.0.0.0 67=http://10.0.0.1:8091" TICKET
                " 175=b00101 next=10.0.0.1 66=10.0.0.1 !file\n" INFORM
                "user=iPXE class=PXEClient:Arch:00007 arch=7\n"
                "< ack 0.0.0.0 67=http://10.0.0.1:8091" TICKET " 175=b00101 !class\n" INFORM IPXE
                "\n"
                "< ack 0.0.0.0 67=http://10.0.0.1:8091" TICKET "\n");
}

TEST(the_user_class_of_ipxe_may_have_its_length_before_it)
{
    dialog_with(MACHINE("sledgehammer") INFORM "user=\004iPXE\n"
                                               "< ack 0.0.0.0 67=http*\n" INFORM "user=gPXE\n"
                                               "< ack 0.0.0.0 !67\n");
}

TEST(ipxe_without_http_gets_the_loader)
{
    dialog_with(MACHINE("sledgehammer") INFORM "user=iPXE ipxe=b105018086100e arch=0\n"
                                               "< ack 0.0.0.0 67=undionly.kpxe 175=b00101\n" INFORM
                                               "user=iPXE ipxe=130100 arch=7\n"
                                               "< ack 0.0.0.0 67=snponly.efi\n" INFORM
                                               "user=iPXE ipxe=1300 arch=7\n"
                                               "< ack 0.0.0.0 67=snponly.efi\n");
}

TEST(local_boot_omits_the_file_on_bios_and_chains_on_uefi)
{
    dialog_with(MACHINE("local") INFORM
                "class=PXEClient arch=0\n"
                "< ack 0.0.0.0 !file !66 !67 !175 !next\n" INFORM "class=PXEClient arch=7\n"
                "< ack 0.0.0.0 67=snponly.efi\n" INFORM "class=HTTPClient arch=16\n"
                "< ack 0.0.0.0 67=http://10.0.0.1:8091/files/snponly.efi\n" INFORM "user=iPXE " IPXE
                " arch=0\n"
                "< ack 0.0.0.0 !67 !66 !next 175=b00101\n" INFORM "user=iPXE " IPXE " arch=7\n"
                "< ack 0.0.0.0 67=http://10.0.0.1:8091" TICKET " 175=b00101\n");
}

TEST(settings_and_options_of_the_node_change_local_boot)
{
    dialog_with(
        "> settings {\"dhcp\":{\"local_boot\":\"omit\"},\"provisioner\":{}}\n" MACHINE("LOCAL")
            INFORM "class=PXEClient arch=7\n"
                   "< ack 0.0.0.0 !67\n"
                   "> machine id=3 name=n3 env=local gen=5 macs=3 at=10.0.0.7/24@1 "
                   "options={\"local_boot\":\"chain\"}\n" INFORM "class=PXEClient arch=0\n"
                   "< ack 0.0.0.0 67=undionly.kpxe\n"
                   "> machine id=3 name=n3 env=local gen=5 macs=3 at=10.0.0.7/24@1 "
                   "options={\"local_boot\":\"auto\"}\n" INFORM "class=PXEClient arch=7\n"
                   "< ack 0.0.0.0 67=snponly.efi\n"
                   "> machine id=3 name=n3 env=local gen=5 macs=3 at=10.0.0.7/24@1 "
                   "options={\"local_boot\":7}\n" INFORM "class=PXEClient arch=7\n"
                   "< ack 0.0.0.0 !67\n"
                   "> settings {\"dhcp\":{\"local_boot\":\"chain\"},\"provisioner\":{}}\n" INFORM
                   "class=PXEClient arch=0\n"
                   "< ack 0.0.0.0 67=undionly.kpxe\n");
}

TEST(an_unknown_environment_is_the_disk_and_is_observed_once)
{
    dialog_with(MACHINE("gone") INFORM "class=PXEClient arch=0\n"
                                       "< observe unknown-bootenv mac=3 node=3\n"
                                       "< ack 0.0.0.0 !67\n" INFORM "class=PXEClient arch=7\n"
                                       "< ack 0.0.0.0 67=snponly.efi\n"
                                       "> wait 600\n"
                                       "< discover 0.0.0.0\n" INFORM "class=PXEClient arch=0\n"
                                       "< observe unknown-bootenv mac=3\n"
                                       "< ack 0.0.0.0 !67\n");
}

TEST(unknown_machines_boot_what_the_network_says)
{
#define UNKNOWN "> inform mac=9 ci=10.0.0.44 user=iPXE " IPXE " arch=0\n"
    dialog_with(UNKNOWN "< ack 0.0.0.0 67=http://10.0.0.1:8091/boot/52-54-00-00-00-09?t=t0.0.*\n"
                        "> settings {\"dhcp\":{},\"provisioner\":{\"unknown\":\"hold\"}}\n" UNKNOWN
                        "< ack 0.0.0.0 67=http*\n"
                        "> settings {\"dhcp\":{},\"provisioner\":{\"unknown\":\"hold\","
                        "\"networks\":{\"admin\":{\"unknown\":\"local\"}}}}\n" UNKNOWN
                        "< ack 0.0.0.0 !67 175=b00101\n"
                        "> inform mac=9 ci=10.1.0.44 user=iPXE " IPXE " arch=0\n"
                        "< ack 0.0.0.0 67=http://10.1.0.1:8091/boot/*\n"
                        "> settings {\"dhcp\":{}}\n" UNKNOWN "< ack 0.0.0.0 !67 !175\n");
#undef UNKNOWN
}

/* ---- parameters ---- */

TEST(parameters_come_from_the_settings_of_the_network)
{
    dialog_with(
        "> settings {\"dhcp\":{\"lease_s\":7200,\"domain\":\"a.example\",\"mtu\":9000,"
        "\"timeservers\":[\"10.0.0.5\",\"10.0.0.6\"],\"networks\":{\"big\":{\"domain\":"
        "\"b.example\"}}}}\n"
        "> machine id=3 name=n3.a.example env=local macs=3 at=10.0.0.7/24@1,10.1.0.7/16@2\n"
        "> request mac=3 want=10.0.0.7 list=1,3,6,12,15,26,28,42,119,121,77,250\n"
        "< ack 10.0.0.7 lease=7200 t1=3600 t2=6300 router=10.0.0.254 host=n3 domain=a.example "
        "mtu=9000 last=10.0.0.255 ntp=10.0.0.5,10.0.0.6 "
        "119=0161076578616d706c6500 121=000a0000fe !dns !77 !250 "
        "order=53,54,51,58,59,1,3,12,15,26,28,42,119,121\n"
        "> request mac=3 want=10.1.0.7 list=119,12,15,3,121,28\n"
        "< ack 10.1.0.7 119=0162076578616d706c6500 host=n3.a.example domain=b.example "
        "last=10.1.255.255 !router !121\n");
}

TEST(a_router_outside_the_subnet_of_the_client_is_not_sent)
{
    struct dialog *d = dialog_new(false);
    struct boot_entry e = {.key = {BOOT_ROUTER, 2}};
    e.router = (struct boot_router){2, STR("172.16.0.1/16"), 10};
    dialog_put(d, &e);
    dialog_run(d, "> machine id=3 name=n3 env=local macs=3 at=10.1.0.7/16@2\n"
                  "> request mac=3 want=10.1.0.7 list=3,121,28\n"
                  "< ack 10.1.0.7 !router !121 last=10.1.255.255\n");
    dialog_free(d);
    dialog_with("> machine id=3 name=n3 env=local macs=3 at=10.0.0.0/31@1\n"
                "> request mac=3 want=10.0.0.0\n"
                "< ack 10.0.0.0 mask=255.255.255.254 !last !router\n");
}

TEST(a_machine_without_a_configured_domain_has_that_of_its_name)
{
    dialog_with("> settings {\"dhcp\":{}}\n"
                "> machine id=3 name=n3.x.example env=local macs=3 at=10.0.0.7/24@1\n"
                "> machine id=4 name=n4 env=local macs=4 at=10.0.0.8/24@1\n"
                "> request mac=3 want=10.0.0.7\n"
                "< ack 10.0.0.7 host=n3 domain=x.example\n"
                "> request mac=4 want=10.0.0.8\n"
                "< ack 10.0.0.8 host=n4 !domain\n");
}

TEST(the_client_id_and_the_machine_id_are_echoed)
{
    dialog_with(MACHINE("local") "> request mac=3 want=10.0.0.7 id=01525400000003 "
                                 "uuid=0000112233445566778899aabbccddeeff list=3\n"
                                 "< ack 10.0.0.7 61=01525400000003 "
                                 "97=0000112233445566778899aabbccddeeff !host\n");
}

/* ---- sizes ---- */

TEST(what_does_not_fit_is_left_out_in_the_order_of_the_client)
{
    char text[2048], list[256];
    memset(list, 'd', sizeof list);
    for (uint32_t i = 50; i < 200; i += 50)
        list[i] = '.';
    list[199] = 0;
    snprintf(text, sizeof text,
             "> settings {\"dhcp\":{\"domain\":\"%s\"},\"provisioner\":{}}\n" MACHINE(
                 "sledgehammer") INFORM
             "user=iPXE " IPXE " list=3,15,6,119,28,12\n"
             "< ack 0.0.0.0 size=447 67=http* !119 !domain router=10.0.0.254 last=10.0.0.255 "
             "host=n3.example.com order=53,54,1,67,175,66,3,28,12\n" INFORM "list=3,119,15,28\n"
             "< ack 0.0.0.0 order=53,54,1,3,119,28\n" INFORM "list=3,15,119,28\n"
             "< ack 0.0.0.0 order=53,54,1,3,15,28\n" INFORM "size=1000 user=iPXE " IPXE
             " list=3,15,6,119,28,12\n"
             "< ack 0.0.0.0 order=53,54,1,67,175,66,3,15,119,28,12\n",
             list);
    struct dialog *d = dialog_new(false);
    dialog_run(d, text);
    dialog_free(d);
}

/* Datagrams, with 28 bytes of headers. */
TEST(replies_are_never_longer_than_the_client_accepts)
{
    static const struct {
        const char *size;
        uint32_t max;
    } cases[] = {{"", 576},         {"size=100", 576},   {"size=576", 576},   {"size=577", 577},
                 {"size=800", 800}, {"size=1500", 1500}, {"size=9000", 1500}, {"size=65535", 1500}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dialog *d = dialog_new(false);
        char text[LINE_SIZE], id[3000];
        memset(id, 'a', sizeof id);
        /* An id that just fits, and one that does not: 240 bytes before the options, then the type,
         * the server, the mask and the end take 16, and each 255 bytes of the id two more. */
        const uint32_t room = cases[i].max - 28 - 240 - 3 - 6 - 6 - 1;
        for (uint32_t extra = 0; extra < 2; extra++) {
            uint32_t len = 0;
            while (len + 1 + 2 * ((len + 1 + 254) / 255) <= room)
                len++;
            len += extra;
            id[2 * len] = 0;
            snprintf(text, sizeof text,
                     "> machine id=3 name=n3 env=local macs=3 at=10.0.0.7/24@1\n" INFORM
                     "%s id=%s list=250\n< ack 0.0.0.0\n",
                     cases[i].size, id);
            id[2 * len] = 'a';
            dialog_run(d, text);
            struct dhcp_message *m = arena_new(&d->arena, struct dhcp_message);
            const struct str bytes = d->out.first->bytes;
            CHECK(dhcp_parse(bytes, &d->arena, m));
            CHECK(bytes.len + 28 <= cases[i].max);
            CHECK(m->options[DHCP_OPTION_CLIENT_ID].len == (extra ? 0 : len));
            CHECK(extra || bytes.len + 28 + 2 >= cases[i].max);
        }
        dialog_free(d);
    }
}

TEST(the_relay_option_is_the_last_one_and_its_room_is_kept)
{
    char text[2048], relay[511];
    memset(relay, '0', sizeof relay);
    memcpy(relay, "02fd", 4); /* one sub-option of 253 bytes */
    relay[510] = 0;
    snprintf(text, sizeof text,
             "> machine id=5 name=n5 env=sledgehammer macs=5 at=10.9.0.7/24@3\n"
             "> discover mac=5 gi=10.9.0.2 local=10.0.0.1 class=PXEClient relay=%s\n"
             "< offer 10.9.0.7 lease=3600 mask=255.255.255.0 file=undionly.kpxe size=546 82=%s "
             "order=53,54,51,58,59,1,67,82 !router\n",
             relay, relay);
    dialog_with(text);
}
