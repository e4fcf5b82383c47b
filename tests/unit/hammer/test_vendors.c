/* Goal: the table of vendors yields the right row and the right word. */
#include "power/hammer/redfish_vendors.h"
#include "tests/check.h"

static bool is_row(const char *text, const char *name)
{
    const struct str texts[] = {STR(""), str_from(text)};
    return str_eq(str_from(redfish_vendor_find(texts, 2)->name), str_from(name));
}

TEST(vendors_are_recognised_by_a_keyword)
{
    CHECK(is_row("Dell Inc.", "dell") && is_row("DELL", "dell"));
    CHECK(is_row("HPE", "hpe") && is_row("Hewlett-Packard", "hpe") && is_row("Hp", "hpe"));
    CHECK(is_row("Supermicro", "supermicro") && is_row("Lenovo", "lenovo"));
}

TEST(unknown_vendors_get_the_generic_row)
{
    CHECK(is_row("", "generic") && is_row("Sharp", "generic") && is_row("Modell", "generic"));
    CHECK(is_row("HPC Systems", "generic") && is_row("QEMU", "generic"));
    CHECK(redfish_vendor_find(NULL, 0) != NULL);
}

TEST(the_first_text_with_a_keyword_decides)
{
    const struct str texts[] = {STR("Lenovo"), STR("Dell")};
    CHECK(str_eq(str_from(redfish_vendor_find(texts, 2)->name), STR("lenovo")));
}

static bool picks(const char *wanted, const char *offered_one, const char *offered_two,
                  const char *result)
{
    const struct str offered[] = {str_from(offered_one), str_from(offered_two)};
    return str_eq(redfish_pick(str_from(wanted), offered, 2), str_from(result));
}

TEST(the_preferred_offered_word_is_picked)
{
    CHECK(picks("PowerCycle ForceRestart", "ForceRestart", "PowerCycle", "PowerCycle"));
    CHECK(picks("PowerCycle ForceRestart", "ForceRestart", "On", "ForceRestart"));
    CHECK(picks("PowerCycle", "On", "ForceOff", ""));
    CHECK(picks("", "On", "ForceOff", "") && picks("On", "on", "ForceOn", ""));
    CHECK(str_eq(redfish_pick(STR("On"), NULL, 0), STR("")));
}

TEST(a_sequence_needs_all_of_its_parts)
{
    CHECK(picks("PowerCycle ForceOff+On", "On", "ForceOff", "ForceOff+On"));
    CHECK(picks("ForceOff+On ForceRestart", "ForceOff", "ForceRestart", "ForceRestart"));
    CHECK(picks("ForceOff+On", "On", "Nmi", ""));
}

TEST(every_row_can_switch_what_its_vendor_offers)
{
    static const char *const makers[] = {"", "Dell", "HPE", "Supermicro", "Lenovo"};
    static const struct str usual[] = {
        {"On", 2}, {"ForceOff", 8}, {"GracefulShutdown", 16}, {"ForceRestart", 12}};
    for (uint32_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        const struct str maker = str_from(makers[i]);
        const struct redfish_vendor *v = redfish_vendor_find(&maker, 1);
        CHECK(str_eq(redfish_pick(str_from(v->on), usual, 4), STR("On")));
        CHECK(str_eq(redfish_pick(str_from(v->off), usual, 4), STR("ForceOff")));
        CHECK(str_eq(redfish_pick(str_from(v->cycle), usual, 4), STR("ForceOff+On")));
        CHECK(str_eq(redfish_pick(str_from(v->reset), usual, 4), STR("ForceRestart")));
        CHECK(str_eq(redfish_pick(str_from(v->halt), usual, 4), STR("GracefulShutdown")));
        CHECK(v->poll_ms > 0);
    }
}
