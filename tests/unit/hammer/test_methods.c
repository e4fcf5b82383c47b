/* Goal: the right hammer is chosen for a method. Method: lists of bound hammers. */
#include "power/hammer/hammer_ops.h"
#include "tests/check.h"

#define COUNT(list) (uint32_t)(sizeof(list) / sizeof(list)[0])

static struct hammer_bound bound(const char *klass, int64_t priority)
{
    return (struct hammer_bound){.klass = str_from(klass), .priority = priority};
}

static bool methods_are(const struct hammer_bound *list, uint32_t count, const char *wanted)
{
    struct arena a = {0};
    const bool same = str_eq(hammers_methods(&a, list, count), str_from(wanted));
    arena_fini(&a);
    return same;
}

TEST(without_hammers_no_method_is_offered)
{
    CHECK(methods_are(NULL, 0, "{}"));
    CHECK(hammers_choose(NULL, 0, HAMMER_POWER, STR("on")) == 0);
}

TEST(methods_are_listed_once_by_priority)
{
    const struct hammer_bound list[] = {bound("ssh", 0), bound("wol", 1), bound("redfish", 9)};
    CHECK(methods_are(list, COUNT(list),
                      "{\"boot\":[\"pxe\",\"disk\"],"
                      "\"power\":[\"status\",\"on\",\"off\",\"cycle\",\"reset\",\"halt\","
                      "\"pxeboot\",\"identify\",\"reboot\"],"
                      "\"run\":[\"run\"],\"xfer\":[\"copy_from\",\"copy_to\"]}"));
    const struct hammer_bound other[] = {bound("wol", 5), bound("ssh", 9)};
    CHECK(methods_are(other, COUNT(other),
                      "{\"power\":[\"reboot\",\"status\",\"on\"],\"run\":[\"run\"],"
                      "\"xfer\":[\"copy_from\",\"copy_to\"]}"));
}

TEST(the_hammer_with_the_highest_priority_that_offers_a_method_is_chosen)
{
    const struct hammer_bound list[] = {bound("ssh", 0), bound("ipmi", 4), bound("redfish", 9),
                                        bound("wol", 20)};
    CHECK(hammers_choose(list, 4, HAMMER_POWER, STR("on")) == 3);
    CHECK(hammers_choose(list, 4, HAMMER_POWER, STR("off")) == 2);
    CHECK(hammers_choose(list, 4, HAMMER_RUN, STR("invoke")) == 1);
    CHECK(hammers_choose(list, 4, HAMMER_POWER, STR("reboot")) == 0);
    CHECK(hammers_choose(list, 4, HAMMER_POWER, STR("dance")) == 4);
    CHECK(hammers_choose(list, 4, HAMMER_BOOT, STR("on")) == 4);
    CHECK(hammers_choose(list, 4, HAMMER_POWER, STR("")) == 4);
}

TEST(of_equal_priorities_the_first_hammer_is_chosen)
{
    const struct hammer_bound list[] = {bound("ipmi", 3), bound("redfish", 3), bound("ssh", 3)};
    CHECK(hammers_choose(list, 3, HAMMER_POWER, STR("on")) == 0);
    CHECK(methods_are(list, 3,
                      "{\"boot\":[\"pxe\",\"disk\"],"
                      "\"power\":[\"status\",\"on\",\"off\",\"cycle\",\"reset\",\"halt\","
                      "\"pxeboot\",\"identify\",\"reboot\"],"
                      "\"run\":[\"invoke\",\"run\"],\"xfer\":[\"copy_from\",\"copy_to\"]}"));
}

TEST(priorities_may_be_negative_and_classes_unknown)
{
    const struct hammer_bound list[] = {bound("strange", INT64_MAX), bound("wol", INT64_MIN),
                                        bound("BarclampIpmi::IpmiHammer", -1)};
    CHECK(hammers_choose(list, 3, HAMMER_POWER, STR("on")) == 2);
    CHECK(hammers_choose(list, 1, HAMMER_POWER, STR("on")) == 1);
    CHECK(methods_are(list, 2, "{\"power\":[\"on\"]}"));
}

TEST(every_end_has_a_distinct_word)
{
    for (int i = 0; i < HAMMER_END_COUNT; i++)
        for (int k = 0; k < i; k++)
            CHECK(!str_eq(str_from(hammer_end_word((enum hammer_end)i)),
                          str_from(hammer_end_word((enum hammer_end)k))));
    CHECK(str_eq(str_from(hammer_end_word(HAMMER_END_NOT_OFFERED)), STR("not_offered")));
}
