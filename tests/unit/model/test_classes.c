/* The tables of jig and hammer classes: what each name leads to. */
#include "model/hammer_class.h"
#include "model/jig_class.h"
#include "tests/check.h"

static bool leads_to(const char *name, const char *class)
{
    const struct jig_class *found = jig_class_find(str_from(name));
    return found ? str_eq(str_from(found->name), str_from(class)) : !class;
}

static const char *const jig_classes[] = {"noop",    "test",  "script", "role-provided", "puppet",
                                          "ansible", "agent", "chef",   "chef-solo"};
enum { JIG_CLASSES = sizeof jig_classes / sizeof jig_classes[0] };

TEST(every_jig_class_is_found_by_its_own_name)
{
    for (uint32_t i = 0; i < JIG_CLASSES; i++)
        CHECK(leads_to(jig_classes[i], jig_classes[i]));
}

TEST(jig_classes_of_the_ancestors_are_known)
{
    CHECK(leads_to("NoopJig", "noop") && leads_to("BarclampTest::Jig", "test"));
    CHECK(leads_to("TestJig", "test") && leads_to("BarclampCrowbar::TestJig", "test"));
    CHECK(leads_to("BarclampCrowbar::Jig", "script") && leads_to("ScriptJig", "script"));
    CHECK(leads_to("BarclampRebar::Jig", "script"));
    CHECK(leads_to("BarclampCrowbar::RoleProvidedJig", "role-provided"));
    CHECK(leads_to("RoleProvidedJig", "role-provided"));
    CHECK(leads_to("BarclampChef::Jig", "chef") && leads_to("BarclampChef::SoloJig", "chef-solo"));
    CHECK(leads_to("BarclampPuppet::SaJig", "puppet") && leads_to("puppet-sa", "puppet"));
    CHECK(leads_to("BarclampRebar::AnsibleJig", "ansible"));
    CHECK(leads_to("BarclampRebar::AnsiblePlaybookJig", "ansible"));
}

TEST(other_jig_classes_are_not)
{
    CHECK(leads_to("", NULL) && leads_to("Jig", NULL) && leads_to("noop ", NULL));
    CHECK(leads_to("Noop", NULL) && leads_to("BarclampSalt::Jig", NULL));
    CHECK(leads_to("BarclampCrowbar::", NULL));
}

TEST(only_the_test_class_has_to_be_asked_for)
{
    for (uint32_t i = 0; i < JIG_CLASSES; i++) {
        const struct jig_class *class = jig_class_find(str_from(jig_classes[i]));
        CHECK(class->starts_active == !class->is_test);
        CHECK(class->is_noop == (i == 0) && class->is_test == (i == 1));
        CHECK(class->stays_itself == (i <= 1 || i == 3));
    }
}

static bool offers(const char *klass, const char *action)
{
    return hammer_class_offers(str_from(klass), str_from(action));
}

TEST(hammers_offer_what_their_table_says)
{
    static const char *const actions[] = {"status", "on",      "off",      "cycle", "reset",
                                          "halt",   "pxeboot", "identify", "reboot"};
    static const struct {
        const char *klass;
        const char *row; /* one mark per action */
    } drawn[] = {
        {"ssh", "x.......x"},   {"ipmi", "xxxxxxxx."}, {"wsman", "xxxxxx..."},
        {"amt", "xxxx....."},   {"wol", ".x......."},  {"redfish", "xxxxxxxx."},
        {"local", "........."}, {"none", "........."},
    };
    for (uint32_t k = 0; k < sizeof drawn / sizeof drawn[0]; k++)
        for (uint32_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
            CHECK(offers(drawn[k].klass, actions[i]) == (drawn[k].row[i] == 'x'));
    CHECK(!offers("ipmi", "") && !offers("ipmi", "o") && !offers("ipmi", "on off"));
    CHECK(!offers("ipmi", "status on") && !offers("", "on"));
}

TEST(hammer_classes_of_the_ancestors_are_known)
{
    CHECK(offers("SecureShellHammer", "reboot") && !offers("SecureShellHammer", "on"));
    CHECK(offers("BarclampCrowbar::SecureShellHammer", "reboot"));
    CHECK(offers("BarclampIpmi::IpmiHammer", "pxeboot"));
    CHECK(offers("BarclampIpmi::WsmanHammer", "reset") && offers("BarclampAmt::AmtHammer", "off"));
    CHECK(!hammer_class_find(STR("BarclampRaid::RaidHammer")) && !hammer_class_find(STR("")));
}

TEST(some_hammers_say_what_a_machine_boots_from)
{
    CHECK(hammer_class_boots(STR("ipmi")) && hammer_class_boots(STR("redfish")));
    CHECK(!hammer_class_boots(STR("ssh")) && !hammer_class_boots(STR("wol")));
    CHECK(!hammer_class_boots(STR("nothing")));
}

TEST(a_class_lists_its_methods_by_category)
{
    const struct hammer_class *ssh = hammer_class_find(STR("ssh"));
    CHECK(str_eq(hammer_class_words(ssh, HAMMER_POWER), STR("reboot status")));
    CHECK(hammer_class_words(ssh, HAMMER_BOOT).len == 0);
    CHECK(str_eq(hammer_class_words(ssh, HAMMER_RUN), STR("run")));
    CHECK(str_eq(hammer_class_words(ssh, HAMMER_XFER), STR("copy_from copy_to")));
    CHECK(hammer_class_words(hammer_class_find(STR("local")), HAMMER_POWER).len == 0);
    CHECK(str_eq(str_from(hammer_category_name(HAMMER_POWER)), STR("power")));
    CHECK(str_eq(str_from(hammer_category_name(HAMMER_XFER)), STR("xfer")));
}

TEST(words_are_taken_one_by_one)
{
    struct str rest = STR("one two");
    CHECK(str_eq(hammer_next_word(&rest), STR("one")) && str_eq(rest, STR("two")));
    CHECK(str_eq(hammer_next_word(&rest), STR("two")) && rest.len == 0);
    CHECK(hammer_next_word(&rest).len == 0);
    CHECK(hammer_words_have(STR("one two"), STR("two")) &&
          !hammer_words_have(STR("one"), STR("on")));
    CHECK(!hammer_words_have(STR(""), STR("")) && !hammer_words_have(STR("one"), STR("")));
}
