/* Goal: the DHCP server answers clients as RFC 2131 and its header describe.
 * Method: dialogs in text (dhcp_dialog.h), one for each rule. */
#include "tests/unit/boot/dhcp_dialog.h"

#define N3  "> machine id=3 name=n3.example.com env=sledgehammer gen=5 macs=3,4 at=10.0.0.7/24@1\n"
#define PXE " class=PXEClient:Arch:00007 arch=7"

/* ---- known machines ---- */

TEST(a_known_machine_gets_its_reservation_and_nothing_is_written)
{
    dialog_with(N3 "> discover mac=3" PXE "\n"
                   "< probe 10.0.0.7 mac=3\n"
                   "> probed clear\n"
                   "< offer 10.0.0.7 hardware server=10.0.0.1 lease=3600 t1=1800 t2=3150 "
                   "mask=255.255.255.0 router=10.0.0.254 dns=10.0.0.53 host=n3 domain=example.com "
                   "last=10.0.0.255 next=10.0.0.1 file=snponly.efi 66=10.0.0.1 67=snponly.efi "
                   "size=332 !class !mtu !ntp\n"
                   "> request mac=3 server=10.0.0.1 want=10.0.0.7" PXE "\n"
                   "< ack 10.0.0.7 hardware server=10.0.0.1 lease=3600\n"
                   "> wait 1800\n"
                   "< discover 0.0.0.0 broadcast\n"
                   "> request mac=3 ci=10.0.0.7 from=10.0.0.7 to=10.0.0.1\n"
                   "< ack 10.0.0.7 to=10.0.0.7:68 lease=3600 ci=10.0.0.7\n"
                   "> request mac=3 ci=10.0.0.7 from=10.0.0.7\n"
                   "< ack 10.0.0.7 to=10.0.0.7:68\n");
}

TEST(the_probe_before_an_offer_is_repeated_only_after_some_time)
{
    dialog_with(N3 "> discover mac=3\n"
                   "< probe 10.0.0.7\n"
                   "> discover mac=3\n" /* the same probe is awaited */
                   "> probed clear\n"
                   "< offer 10.0.0.7\n" /* with the xid of the second message */
                   "> probed clear\n"
                   "> discover mac=3\n"
                   "< offer 10.0.0.7\n"
                   "> wait 299\n"
                   "< discover 0.0.0.0\n"
                   "> discover mac=3\n"
                   "< offer 10.0.0.7\n"
                   "> wait 1\n"
                   "> discover mac=3\n" /* it was offered to this MAC less than 30 s ago */
                   "< offer 10.0.0.7\n"
                   "> wait 30\n"
                   "> discover mac=3\n"
                   "< probe 10.0.0.7\n");
}

TEST(a_reservation_that_another_host_has_is_not_offered)
{
    dialog_with(N3 "> discover mac=3\n"
                   "< probe 10.0.0.7\n"
                   "> probed 99\n"
                   "< observe reservation-conflict 10.0.0.7 mac=3 node=3 other=99\n"
                   "> discover mac=3\n"
                   "> wait 60\n"
                   "> discover mac=3\n"
                   "< probe 10.0.0.7\n"
                   "> probed 3\n" /* its own MAC is no other host */
                   "< offer 10.0.0.7\n");
}

TEST(a_reservation_is_given_to_one_mac_of_a_node_at_a_time)
{
    dialog_with(N3 "> discover mac=3" PXE "\n"
                   "< probe 10.0.0.7\n"
                   "> probed clear\n"
                   "< offer 10.0.0.7\n"
                   "> discover mac=4 want=10.0.0.101" PXE "\n"
                   "< observe reservation-in-use 10.0.0.7 mac=4 node=3 other=3\n"
                   "< probe 10.0.0.101\n"
                   "> probed clear\n"
                   "< offer 10.0.0.101 lease=600 host=n3\n"
                   "> request mac=3 server=10.0.0.1 want=10.0.0.7" PXE "\n"
                   "< ack 10.0.0.7\n"
                   "> request mac=4 server=10.0.0.1 want=10.0.0.7" PXE "\n"
                   "< nak 0.0.0.0 broadcast\n"
                   "> request mac=4 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                   "< take 10.0.0.101 mac=4 range=12 lease=600\n"
                   "> taken granted\n"
                   "< ack 10.0.0.101 lease=600\n"
                   "> release mac=3 ci=10.0.0.7 server=10.0.0.1 from=10.0.0.7 to=10.0.0.1\n"
                   "> discover mac=4" PXE "\n"
                   "< offer 10.0.0.7\n"
                   "> wait 3630\n"
                   "< discover 0.0.0.0\n"
                   "> discover mac=3" PXE "\n"
                   "< probe 10.0.0.7\n");
}

TEST(after_a_restart_the_probe_finds_the_mac_that_has_the_reservation)
{
    dialog_with(N3 "> discover mac=3 want=10.0.0.101" PXE "\n"
                   "< probe 10.0.0.7\n"
                   "> probed 4\n"
                   "< observe reservation-in-use 10.0.0.7 mac=3 node=3 other=4\n"
                   "< probe 10.0.0.101\n");
}

TEST(another_mac_of_the_node_at_an_address_of_a_pool_is_a_conflict)
{
    dialog_with("> machine id=5 name=n5 env=sledgehammer macs=5,6 at=10.9.0.7/24@3\n"
                "> discover mac=5 want=10.0.0.102" PXE "\n"
                "< observe no-reservation mac=5 node=5\n"
                "< probe 10.0.0.102\n"
                "> probed 6\n"
                "< observe pool-conflict 10.0.0.102 mac=5 node=5 other=6\n"
                "< probe 10.*\n"
                "> probed 5\n"
                "< offer 10.*\n");
}

TEST(a_known_machine_without_an_address_on_the_segment_gets_a_lease)
{
    dialog_with("> machine id=5 name=n5 env=sledgehammer macs=5 at=10.9.0.7/24@3\n"
                "> discover mac=5 want=10.0.0.102" PXE "\n"
                "< observe no-reservation mac=5 node=5\n"
                "< probe 10.0.0.102\n"
                "> discover mac=5 want=10.0.0.102" PXE "\n"
                "> probed clear\n"
                "< offer 10.0.0.102 lease=600\n"
                "> discover mac=5 class=udhcp\n"); /* not eligible */
}

TEST(a_hinted_address_counts_in_the_subnet_of_the_segment_only)
{
    dialog_with("> machine id=5 name=n5 env=local macs=5 at=10.0.0.9/32@0\n"
                "> machine id=6 name=n6 env=local macs=6 at=172.16.0.9/24@0\n"
                "> machine id=7 name=n7 env=local macs=7 at=10.9.0.9/24@0\n"
                "> discover mac=5\n"
                "< probe 10.0.0.9\n"
                "> probed clear\n"
                "< offer 10.0.0.9 mask=255.255.255.0 router=10.0.0.254\n"
                "> discover mac=6\n"
                "< observe no-reservation mac=6\n"
                "> discover mac=7\n"
                "< observe no-reservation mac=7\n");
}

TEST(of_several_reservations_on_a_segment_the_wanted_one_is_given)
{
    dialog_with("> machine id=5 name=n5 env=local macs=5,6 at=10.0.0.7/24@1,10.1.0.7/16@2\n"
                "> request mac=5 ci=10.1.0.7 from=10.1.0.7\n"
                "< ack 10.1.0.7 server=10.1.0.1 mask=255.255.0.0 !router\n"
                "> request mac=5 want=10.0.0.8\n"
                "< nak 0.0.0.0\n"
                "> discover mac=5\n"
                "< offer 10.1.0.7\n"
                "> discover mac=5 want=10.0.0.7\n"
                "< probe 10.0.0.7\n"
                "> discover mac=6\n" /* the other one is free */
                "< probe 10.0.0.7\n");
}

/* ---- REQUEST ---- */

TEST(a_mac_that_is_moved_to_another_node_has_no_reservation_of_the_old_one)
{
    dialog_with(N3 "> request mac=3 want=10.0.0.7\n"
                   "< ack 10.0.0.7\n"
                   "> wait 200\n"
                   "> request mac=4 want=10.0.0.7\n"
                   "< observe reservation-in-use 10.0.0.7 other=3\n"
                   "< nak 0.0.0.0\n"
                   "> machine id=3 name=n3 env=local macs=4 at=10.0.0.7/24@1\n"
                   "> discover mac=4\n"
                   "< probe 10.0.0.7\n"
                   "> release mac=3 ci=10.0.0.7 server=10.0.0.1 from=10.0.0.7 to=10.0.0.1\n");
}

TEST(a_client_that_selects_another_server_frees_its_offer)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> discover mac=10 want=10.0.0.101" PXE "\n"
                "< probe 10.*\n"
                "> request mac=9 server=10.0.0.9 want=10.0.0.101\n"
                "> discover mac=11 want=10.0.0.101" PXE "\n"
                "< offer 10.0.0.101\n");
}

TEST(a_request_that_names_another_server_is_not_answered)
{
    dialog_with(N3 "> request mac=3 server=10.0.0.9 want=10.0.0.7\n"
                   "> request mac=9 server=10.0.0.9 want=10.0.0.101\n"
                   "> request mac=3 server=10.1.0.1 want=10.0.0.7\n"
                   "< ack 10.0.0.7\n");
}

TEST(a_known_machine_that_asks_for_another_address_gets_a_nak)
{
    dialog_with(N3 "> request mac=3 server=10.0.0.1 want=10.0.0.8 id=0102\n"
                   "< nak 0.0.0.0 broadcast server=10.0.0.1 61=0102 !lease !mask\n"
                   "> request mac=3 want=192.168.0.8\n"
                   "< nak 0.0.0.0 broadcast\n"
                   "> request mac=3 ci=10.0.0.8 from=10.0.0.8\n"
                   "< nak 0.0.0.0 broadcast\n"
                   "> request mac=3\n"); /* no address at all */
}

TEST(an_unknown_machine_is_never_refused)
{
    dialog_with("> request mac=9 want=10.0.0.101\n" /* INIT-REBOOT */
                "> request mac=9 want=10.0.0.101" PXE "\n"
                "> request mac=9 want=192.168.0.8\n"
                "> request mac=9 ci=10.0.0.101 from=10.0.0.101\n"
                "> request mac=9 ci=10.0.0.101 from=10.0.0.101 to=10.0.0.1" PXE "\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.50" PXE "\n");
}

/* ---- unknown machines ---- */

TEST(an_unknown_machine_that_boots_gets_a_lease)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101 mac=9\n"
                "> probed clear\n"
                "< offer 10.0.0.101 lease=600 t1=300 t2=525 file=snponly.efi !host\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101 mac=9 range=12 lease=600\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "> taken granted\n"
                "< ack 10.0.0.101 lease=600\n"
                "> taken granted\n");
}

TEST(what_is_no_firmware_is_answered_only_while_it_has_a_lease)
{
    dialog_with("> discover mac=9 want=10.0.0.101\n"
                "> discover mac=9 want=10.0.0.101 class=MSFT\n"
                "> lease id=1 mac=9 at=10.0.0.102/24 left=2400\n"
                "> discover mac=9 want=10.0.0.101 class=MSFT\n"
                "< offer 10.0.0.102 lease=600 !file !67 !next\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.102 class=MSFT\n"
                "< ack 10.0.0.102 lease=600\n"
                "> request mac=9 want=10.0.0.102\n"
                "< ack 10.0.0.102 lease=600\n"
                "> request mac=9 want=10.0.0.101\n"
                "< nak 0.0.0.0\n"
                "> wait 2400\n"
                "< discover 0.0.0.0\n"
                "> discover mac=9 class=MSFT\n");
}

TEST(the_network_says_which_unknown_machines_are_answered)
{
    dialog_with("> settings {\"dhcp\":{\"unknown\":\"none\",\"networks\":{\"big\":{\"unknown\":"
                "\"all\"}}}}\n"
                "> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.1.0.*\n"
                "> discover mac=10 want=10.1.0.12\n"
                "< probe 10.1.0.12\n"
                "> settings {\"dhcp\":{\"unknown\":\"none\"}}\n"
                "> discover mac=11 want=10.0.0.101" PXE "\n"
                "> lease id=1 mac=11 at=10.0.0.102/24 left=2400\n"
                "> request mac=11 ci=10.0.0.102 from=10.0.0.102\n");
}

TEST(a_lease_is_renewed_from_memory_while_two_lease_times_are_left)
{
    dialog_with("> lease id=1 mac=9 at=10.0.0.102/24 left=1200\n"
                "> request mac=9 ci=10.0.0.102 from=10.0.0.102 to=10.0.0.1\n"
                "< ack 10.0.0.102 to=10.0.0.102:68 lease=600\n"
                "> wait 1\n"
                "> request mac=9 ci=10.0.0.102 from=10.0.0.102 to=10.0.0.1\n"
                "< take 10.0.0.102 mac=9 range=12 lease=600\n"
                "> taken granted\n"
                "< ack 10.0.0.102 lease=600\n");
}

TEST(while_the_daemon_is_away_live_leases_are_renewed_and_no_new_ones_are_given)
{
    dialog_with("> lease id=1 mac=9 at=10.0.0.102/24 left=700\n"
                "> request mac=9 ci=10.0.0.102 from=10.0.0.102\n"
                "< take 10.0.0.102\n"
                "> taken away\n"
                "< ack 10.0.0.102 lease=600\n"
                "> wait 400\n"
                "< discover 0.0.0.0\n"
                "> request mac=9 ci=10.0.0.102 from=10.0.0.102\n"
                "< take 10.0.0.102\n"
                "> wait 3\n"
                "> wait 1\n" /* no answer in time is the same */
                "< ack 10.0.0.102 lease=296\n"
                "> taken granted\n"
                "> discover mac=10 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> request mac=10 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> taken away\n"
                "> request mac=10 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> wait 4\n");
}

TEST(a_lease_that_the_daemon_refuses_is_a_nak_and_another_address_is_offered)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> taken refused\n"
                "< observe lease-refused 10.0.0.101 mac=9\n"
                "< nak 0.0.0.0 broadcast\n"
                "> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.*\n");
}

TEST(a_refused_address_is_not_the_former_address_any_more)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> taken granted\n"
                "< ack 10.0.0.101\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> taken refused\n"
                "< observe lease-refused 10.0.0.101\n"
                "< nak 0.0.0.0\n"
                "> wait 61\n"
                "> discover mac=9" PXE "\n"
                "< probe 10.1.0.17\n"); /* the hash of the MAC */
}

TEST(a_lease_that_has_ended_is_not_renewed)
{
    dialog_with("> lease id=1 mac=9 at=10.0.0.102/24 left=1\n"
                "> wait 1\n"
                "> request mac=9 ci=10.0.0.102 from=10.0.0.102\n"
                "> release mac=9 ci=10.0.0.102 server=10.0.0.1 from=10.0.0.102 to=10.0.0.1\n");
}

TEST(a_server_without_the_offer_takes_the_lease_if_the_client_selects_it)
{
    dialog_with("> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101 mac=9\n"
                "> request mac=10 server=10.0.0.1 want=10.0.0.102\n" /* not eligible */
                "> lease id=1 mac=10 at=10.0.0.103/24\n"
                "> request mac=10 server=10.0.0.1 want=10.0.0.102\n"
                "< nak 0.0.0.0\n");
}

/* ---- candidates ---- */

TEST(used_addresses_are_not_candidates)
{
    dialog_with("> settings {\"dhcp\":{\"networks\":{\"big\":{\"unknown\":\"none\"}}},"
                "\"provisioner\":{}}\n"
                "> machine id=3 name=n3 env=local macs=3 at=10.0.0.100/24@1\n"
                "> lease id=1 mac=8 at=10.0.0.101/24\n"
                "> lease id=2 mac=7 at=10.0.0.102/24 state=1 left=10\n"
                "> discover mac=9 want=10.0.0.100" PXE "\n"
                "< probe 10.0.0.103\n"
                "> discover mac=10 want=10.0.0.103" PXE "\n" /* outstanding offer */
                "< observe pool-full mac=10\n"
                "> wait 10\n"
                "> discover mac=10 want=10.0.0.103" PXE "\n" /* declined, but it has rested */
                "< probe 10.0.0.102\n"
                "> wait 31\n"
                "> discover mac=10 want=10.0.0.103" PXE "\n"
                "< probe 10.0.0.103\n"
                "> probed 77\n"
                "< observe pool-conflict 10.0.0.103 mac=10 other=77\n"
                "< probe 10.0.0.102\n"
                "> probed clear\n"
                "< offer 10.0.0.102\n");
}

TEST(the_own_address_comes_before_the_former_one_and_the_wanted_one)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> discover mac=9 want=10.0.0.102" PXE "\n"
                "< offer 10.0.0.101\n"
                "> request mac=9 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                "< take 10.0.0.101\n"
                "> taken granted\n"
                "< ack 10.0.0.101\n"
                "> wait 3600\n"
                "< discover 0.0.0.0\n"
                "> discover mac=9 want=10.0.0.102" PXE "\n" /* no lease any more */
                "< probe 10.0.0.101\n"
                "> lease id=1 mac=9 at=10.0.0.103/24\n"
                "> discover mac=9 want=10.0.0.102" PXE "\n"
                "< offer 10.0.0.103\n");
}

TEST(a_mac_has_the_same_candidate_each_time_and_offers_end)
{
    struct dialog *d = dialog_new(false);
    char line[LINE_SIZE];
    dialog_run(d, "> discover mac=9" PXE "\n< probe 10.*\n");
    memcpy(line, d->lines[0], sizeof line);
    dialog_run(d, "> wait 31\n> discover mac=9" PXE "\n< probe 10.*\n");
    CHECK(strcmp(line, d->lines[0]) == 0);
    dialog_free(d);
}

/* ---- DECLINE, RELEASE, INFORM ---- */

TEST(only_what_the_client_has_can_be_declined)
{
    dialog_with(N3 "> lease id=1 mac=9 at=10.0.0.102/24\n"
                   "> decline mac=10 want=10.0.0.102 server=10.0.0.1\n"
                   "> decline mac=9 want=10.0.0.103 server=10.0.0.1\n"
                   "> decline mac=9 want=10.0.0.102 server=10.0.0.9\n"
                   "> decline mac=9 server=10.0.0.1\n"
                   "> decline mac=9 want=10.0.0.102 server=10.0.0.1\n"
                   "< decline 10.0.0.102 mac=9 range=12\n"
                   "< observe declined 10.0.0.102 mac=9\n"
                   "> decline mac=3 want=10.0.0.7 server=10.0.0.1\n" /* it does not have it yet */
                   "> request mac=3 want=10.0.0.7\n"
                   "< ack 10.0.0.7\n"
                   "> decline mac=3 want=10.0.0.7 server=10.0.0.1\n"
                   "< observe declined 10.0.0.7 mac=3 node=3\n"
                   "> discover mac=3\n"
                   "> wait 61\n"
                   "> discover mac=3\n"
                   "< probe 10.0.0.7\n");
}

TEST(an_answer_to_an_earlier_action_is_ignored)
{
    struct dialog *d = dialog_new(false);
#define SELECT "mac=9 gi=10.9.0.2 local=10.0.0.1 server=10.0.0.1 want=10.9.0.105" PXE "\n"
    dialog_run(d, "> request " SELECT "< take 10.9.0.105\n");
    const uint64_t earlier = d->token;
    dialog_run(d, "> request slot=1 " SELECT "< take 10.9.0.105\n");
    const uint64_t token = d->token;
    CHECK(token != earlier);
    d->token = earlier;
    dialog_run(d, "> taken granted\n");
    d->token = token;
    dialog_run(d, "> probed clear\n> taken granted\n< ack 10.9.0.105 slot=1\n");
#undef SELECT
    dialog_free(d);
}

TEST(an_offer_can_be_declined_and_the_next_address_is_another_one)
{
    dialog_with("> discover mac=9 want=10.0.0.101" PXE "\n"
                "< probe 10.0.0.101\n"
                "> probed clear\n"
                "< offer 10.0.0.101\n"
                "> decline mac=9 want=10.0.0.101 server=10.0.0.1\n"
                "< decline 10.0.0.101 mac=9 range=12\n"
                "< observe declined 10.0.0.101\n"
                "> discover mac=9 want=10.0.0.102" PXE "\n"
                "< probe 10.0.0.102\n");
}

TEST(a_release_is_passed_on_for_a_lease_of_the_client)
{
    dialog_with("> lease id=1 mac=9 at=10.0.0.102/24\n"
                "> release mac=10 ci=10.0.0.102 server=10.0.0.1 from=10.0.0.102 to=10.0.0.1\n"
                "> release mac=9 ci=10.0.0.102 server=10.0.0.9 from=10.0.0.102 to=10.0.0.1\n"
                "> release mac=9 server=10.0.0.1\n"
                "> release mac=9 ci=10.0.0.102 server=10.0.0.1 from=10.0.0.102 to=10.0.0.1\n"
                "< release 10.0.0.102 mac=9 range=12\n");
}

TEST(an_inform_is_answered_without_an_address)
{
    dialog_with(N3 "> inform mac=3 ci=10.0.0.44 from=10.0.0.44" PXE "\n"
                   "< ack 0.0.0.0 to=10.0.0.44:68 server=10.0.0.1 mask=255.255.255.0 "
                   "router=10.0.0.254 file=snponly.efi !lease !t1\n"
                   "> inform mac=3\n"
                   "> inform mac=3 ci=192.0.2.7 from=192.0.2.7\n"
                   "> inform mac=3 ci=10.9.0.44 from=10.9.0.44\n" /* not on this segment */
                   "> inform mac=9 ci=10.0.0.44 from=10.0.0.44\n"
                   "> inform mac=9 ci=10.0.0.44 from=10.0.0.44" PXE "\n"
                   "< ack 0.0.0.0 to=10.0.0.44:68\n");
}

/* ---- segments ---- */

TEST(only_our_networks_are_answered)
{
    dialog_with(N3 "> discover slot=1 mac=3\n"
                   "> discover slot=5 mac=3\n"
                   "> discover slot=4000000 mac=3\n"
                   "> discover mac=3 gi=192.0.2.9 local=10.0.0.1\n"
                   "> discover mac=3 gi=172.16.0.9 local=10.0.0.1\n"
                   "> settings {\"provisioner\":{}}\n"
                   "> discover mac=3\n");
}

TEST(a_relay_selects_the_network_and_gets_its_option_back)
{
    dialog_with("> machine id=5 name=n5 env=sledgehammer macs=5 at=10.9.0.7/24@3\n"
                "> discover mac=5 gi=10.9.0.2 local=10.0.0.1 relay=0104aabbccdd" PXE "\n"
                "< offer 10.9.0.7 to=10.9.0.2:67 server=10.0.0.1 next=10.0.0.1 82=0104aabbccdd\n"
                "> request mac=5 gi=10.9.0.2 local=10.0.0.1 server=10.0.0.1 want=10.9.0.7\n"
                "< ack 10.9.0.7 to=10.9.0.2:67\n"
                "> request mac=5 gi=10.9.0.2 local=10.0.0.1 want=10.0.0.8 relay=0101aa\n"
                "< nak 0.0.0.0 to=10.9.0.2:67 82=0101aa flag=b\n"
                "> request mac=5 ci=10.9.0.7 from=10.9.0.7 to=10.0.0.1 local=10.0.0.1\n"
                "< ack 10.9.0.7 to=10.9.0.7:68 server=10.0.0.1\n"
                "> discover slot=1 mac=5 gi=10.9.0.2 local=192.0.2.1\n"
                "< offer 10.9.0.7 slot=1 server=192.0.2.1\n"
                "> discover mac=5 gi=10.9.0.2\n"); /* no address of ours to name */
}

TEST(a_relay_may_reach_us_at_an_address_of_another_interface)
{
    dialog_with(
        "> discover mac=9 gi=10.9.0.2 local=10.77.0.1 want=10.9.0.105" PXE "\n"
        "< offer 10.9.0.105 server=10.77.0.1\n"
        "> request mac=9 gi=10.9.0.2 local=10.77.0.1 server=10.77.0.1 want=10.9.0.105" PXE "\n"
        "< take 10.9.0.105\n"
        "> request mac=9 gi=10.9.0.2 local=10.77.0.1 server=10.77.0.1 want=10.9.0.105" PXE "\n"
        "> request slot=1 mac=9 gi=10.9.0.2 local=10.77.0.1 server=10.77.0.1 "
        "want=10.9.0.105" PXE "\n"
        "< take 10.9.0.105\n");
}

TEST(link_selection_of_a_relay_comes_before_its_address)
{
    dialog_with("> machine id=5 name=n5 env=sledgehammer macs=5 at=10.9.0.7/24@3\n"
                "> discover mac=5 gi=10.0.0.99 local=10.0.0.1 relay=05040a090002\n"
                "< offer 10.9.0.7 to=10.0.0.99:67 82=05040a090002\n"
                "> discover mac=5 gi=10.0.0.99 local=10.0.0.1 relay=0504c0000202\n" /* not ours */
                "> discover mac=5 gi=10.0.0.99 local=10.0.0.1 relay=05030a0900\n"
                "> discover mac=5 gi=172.16.0.9 local=10.0.0.1 relay=05040a090002\n"
                "> discover mac=9 gi=10.9.0.2 local=10.0.0.1 want=10.9.0.105" PXE "\n"
                "< offer 10.9.0.105 to=10.9.0.2:67\n");
}

TEST(a_client_whose_address_moved_to_another_segment_renews_there)
{
    dialog_with("> lease id=1 mac=9 at=10.9.0.105/24 range=31\n"
                "> request mac=9 ci=10.9.0.105 from=10.9.0.105 to=10.0.0.1 local=10.0.0.1\n"
                "< ack 10.9.0.105 to=10.9.0.105:68 lease=600\n"
                "> request mac=9 ci=10.9.0.105 from=10.9.0.105\n" /* rebinding, on our segment */
                "< nak 0.0.0.0 broadcast\n"
                "> request mac=9 ci=10.9.0.105 from=10.0.0.44 to=10.0.0.1 local=10.0.0.1\n"
                "< nak 0.0.0.0 broadcast\n"
                "> discover mac=9 ci=10.9.0.105 from=10.9.0.105 to=10.0.0.1 local=10.0.0.1 "
                "want=10.0.0.101\n"
                "< probe 10.0.0.101\n");
}

TEST(replies_go_where_the_client_receives_them)
{
    dialog_with(N3 "> request mac=3 want=10.0.0.7 flags=b\n"
                   "< ack 10.0.0.7 broadcast\n"
                   "> request mac=3 want=10.0.0.7\n"
                   "< ack 10.0.0.7 hardware\n"
                   "> discover mac=3 ci=10.0.0.44\n" /* not the address that it is given */
                   "< offer 10.0.0.7 hardware !ci\n"
                   "> request mac=3 server=10.0.0.1 want=10.0.0.8 ci=10.0.0.8\n"
                   "< nak 0.0.0.0 broadcast\n");
}
