/* Goal: values of Redfish documents are extracted, hostile documents are harmless. Method: small
 * documents written with ' for ", with right and with wrong types. */
#include "power/hammer/power_op.h"
#include "power/hammer/redfish_documents.h"
#include "tests/check.h"

static struct arena arena;

static const struct json *doc(const char *text)
{
    struct json *value;
    uint32_t at;
    const char *why;
    struct str copy = str_copy(&arena, str_from(text));
    char *bytes = (char *)(uintptr_t)copy.at;
    for (uint32_t i = 0; i < copy.len; i++)
        if (bytes[i] == '\'')
            bytes[i] = '"';
    CHECK(json_read(&arena, copy, &value, &at, &why) == OK);
    return value;
}

static bool is(struct str s, const char *wanted)
{
    return str_eq(s, str_from(wanted));
}

TEST(only_paths_on_the_same_host_are_accepted)
{
    CHECK(redfish_is_path(STR("/redfish/v1/Systems/1")) && redfish_is_path(STR("/")));
    CHECK(redfish_is_path(STR("/redfish/v1/Systems?$skip=50")));
    CHECK(!redfish_is_path(STR("")) && !redfish_is_path(STR("redfish")));
    CHECK(!redfish_is_path(STR("//evil.example/x")));
    CHECK(!redfish_is_path(STR("https://evil.example/")));
    CHECK(!redfish_is_path(STR("/a b")) && !redfish_is_path(STR("/a\r\nX: y")));
    CHECK(!redfish_is_path(STR("/a\"b")) && !redfish_is_path(STR("/a\\b")));
    CHECK(!redfish_is_path(STR("/\xc3\xa4")) && !redfish_is_path(STR("/a\x7f")));
    char longest[514];
    for (uint32_t i = 0; i < sizeof longest; i++)
        longest[i] = i ? 'a' : '/';
    CHECK(redfish_is_path((struct str){longest, 512}));
    CHECK(!redfish_is_path((struct str){longest, 513}));
}

TEST(the_service_root_is_read)
{
    struct redfish_root r;
    redfish_root_read(doc("{'Systems':{'@odata.id':'/s'},'Links':{'Sessions':{'@odata.id':'/l'}},"
                          "'Vendor':'Dell','Product':'P','Oem':{'Dell':{}}}"),
                      &r);
    CHECK(is(r.systems, "/s") && is(r.sessions, "/l") && is(r.vendor, "Dell"));
    CHECK(is(r.product, "P") && is(r.oem, "Dell"));
    arena_fini(&arena);
}

TEST(a_root_with_wrong_types_is_empty)
{
    static const char *const shapes[] = {
        "{}",
        "[]",
        "null",
        "'x'",
        "{'Systems':'/s','Links':[],'Vendor':7,'Oem':'x'}",
        "{'Systems':{'@odata.id':'//evil/'},'Links':{'Sessions':{'@odata.id':['/x']}},'Oem':{}}",
        "{'Systems':{'@odata.id':'http://evil/'}}"};
    struct redfish_root r;
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        redfish_root_read(doc(shapes[i]), &r);
        CHECK(!r.systems.len && !r.sessions.len && !r.vendor.len && !r.oem.len);
    }
    redfish_root_read(NULL, &r);
    CHECK(!r.systems.len);
    arena_fini(&arena);
}

TEST(all_fields_of_a_system_are_read)
{
    struct redfish_system s;
    redfish_system_read(
        doc("{'Id':'1','Manufacturer':'HPE','PowerState':'On','@odata.etag':'W/1',"
            "'Actions':{'#ComputerSystem.Reset':{'target':'/t','@Redfish.ActionInfo':'/i',"
            "'ResetType@Redfish.AllowableValues':['On','ForceOff']}},"
            "'Boot':{'BootSourceOverrideTarget':'Pxe','BootSourceOverrideEnabled':'Once',"
            "'BootSourceOverrideMode':'UEFI',"
            "'BootSourceOverrideTarget@Redfish.AllowableValues':['Pxe','Hdd'],"
            "'BootSourceOverrideEnabled@Redfish.AllowableValues':['Once']},"
            "'@Redfish.Settings':{'SettingsObject':{'@odata.id':'/st'}},"
            "'IndicatorLED':'Off','LocationIndicatorActive':false}"),
        &s);
    CHECK(is(s.id, "1") && is(s.manufacturer, "HPE") && s.power == REDFISH_POWER_ON);
    CHECK(is(s.reset_path, "/t") && is(s.reset_info, "/i") && s.reset_types.count == 2);
    CHECK(is(s.reset_types.at[1], "ForceOff") && s.has_boot && is(s.boot_target, "Pxe"));
    CHECK(is(s.boot_enabled, "Once") && is(s.boot_mode, "UEFI") && s.boot_targets.count == 2);
    CHECK(s.boot_enableds.count == 1 && is(s.settings, "/st") && is(s.etag, "W/1"));
    CHECK(s.has_led && s.has_location && s.leds.count == 0);
    arena_fini(&arena);
}

TEST(power_states_are_distinguished)
{
    static const struct {
        const char *word;
        enum redfish_power power;
    } states[] = {{"On", REDFISH_POWER_ON},
                  {"off", REDFISH_POWER_OFF},
                  {"PoweringOn", REDFISH_POWER_CHANGING},
                  {"PoweringOff", REDFISH_POWER_CHANGING},
                  {"Paused", REDFISH_POWER_UNKNOWN},
                  {"", REDFISH_POWER_UNKNOWN}};
    for (uint32_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct redfish_system s;
        struct json *d = json_make(&arena, JSON_OBJECT);
        json_set(d, STR("PowerState"), json_make_string(&arena, str_from(states[i].word)));
        redfish_system_read(d, &s);
        CHECK(s.power == states[i].power);
    }
    CHECK(is(str_from(redfish_power_word(REDFISH_POWER_OFF)), "off"));
    arena_fini(&arena);
}

TEST(a_hostile_system_document_is_read_as_empty)
{
    static const char *const shapes[] = {
        "{}", "[1]", "{'PowerState':{},'Actions':[],'Boot':'x','@Redfish.Settings':[]}",
        "{'Actions':{'#ComputerSystem.Reset':{'target':'http://evil/','@Redfish.ActionInfo':'//x',"
        "'ResetType@Redfish.AllowableValues':'On'}},'IndicatorLED':1,"
        "'LocationIndicatorActive':'yes'}",
        ("{'Actions':{'#ComputerSystem.Reset':{"
         "'ResetType@Redfish.AllowableValues':[1,{},'',null]}}}")};
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct redfish_system s;
        redfish_system_read(doc(shapes[i]), &s);
        CHECK(s.power == REDFISH_POWER_UNKNOWN && !s.reset_path.len && !s.reset_info.len);
        CHECK(!s.reset_types.count && !s.has_boot && !s.has_led && !s.has_location);
        CHECK(!s.settings.len);
    }
    arena_fini(&arena);
}

TEST(a_long_list_is_truncated)
{
    struct json *d = json_make(&arena, JSON_OBJECT);
    struct json *p = json_make(&arena, JSON_OBJECT);
    struct json *list = json_make(&arena, JSON_ARRAY);
    struct json *parameters = json_make(&arena, JSON_ARRAY);
    struct redfish_words words;
    for (uint32_t i = 0; i < 1000; i++)
        json_append(list, json_make_string(&arena, STR("On")));
    json_set(p, STR("Name"), json_make_string(&arena, STR("ResetType")));
    json_set(p, STR("AllowableValues"), list);
    json_append(parameters, p);
    json_set(d, STR("Parameters"), parameters);
    redfish_info_read(d, &words);
    CHECK(words.count == REDFISH_WORDS_MAX);
    arena_fini(&arena);
}

TEST(an_action_info_lists_the_reset_types)
{
    struct redfish_words words;
    redfish_info_read(doc("{'Parameters':[{'Name':'Other','AllowableValues':['x']},"
                          "{'Name':'ResetType','AllowableValues':['On','Nmi']}]}"),
                      &words);
    CHECK(words.count == 2 && is(words.at[1], "Nmi"));
    CHECK(is(redfish_words_list(&arena, &words), "On, Nmi"));
    redfish_info_read(doc("{'Parameters':{'Name':'ResetType'}}"), &words);
    CHECK(words.count == 0 && is(redfish_words_list(&arena, &words), "nothing"));
    redfish_info_read(doc("{'Parameters':[7,[],{'Name':'ResetType'}]}"), &words);
    CHECK(words.count == 0);
    arena_fini(&arena);
}

TEST(members_are_found_by_name_or_path)
{
    const struct json *d = doc("{'Members':[{'@odata.id':'/s/A/'},{'@odata.id':'/s/B'},{'x':1},"
                               "'no'],'Members@odata.nextLink':'/s?skip=4'}");
    uint32_t count = 0;
    struct str path = STR("");
    CHECK(!redfish_members_read(d, STR(""), &count, &path) && count == 4 && is(path, "/s/B"));
    count = 0;
    CHECK(redfish_members_read(d, STR("A"), &count, &path) && is(path, "/s/A/"));
    CHECK(redfish_members_read(d, STR("/s/B"), &count, &path) && is(path, "/s/B"));
    CHECK(!redfish_members_read(d, STR("s"), &count, &path));
    CHECK(is(redfish_member_names(&arena, d), "A, B") && is(redfish_next_page(d), "/s?skip=4"));
    CHECK(!redfish_next_page(doc("{'Members@odata.nextLink':'https://evil/'}")).len);
    count = 0;
    CHECK(!redfish_members_read(doc("{'Members':{}}"), STR("A"), &count, &path) && count == 0);
    CHECK(is(redfish_member_names(&arena, doc("{}")), "none"));
    arena_fini(&arena);
}

TEST(a_long_list_of_members_is_abbreviated)
{
    struct json *d = json_make(&arena, JSON_OBJECT);
    struct json *list = json_make(&arena, JSON_ARRAY);
    for (uint32_t i = 0; i < 21; i++) {
        struct json *member = json_make(&arena, JSON_OBJECT);
        json_set(member, STR("@odata.id"), json_make_string(&arena, STR("/s/x")));
        json_append(list, member);
    }
    json_set(d, STR("Members"), list);
    CHECK(str_ends(redfish_member_names(&arena, d), STR("x, ...")));
    arena_fini(&arena);
}

TEST(the_message_of_an_error_document_is_extracted)
{
    CHECK(is(redfish_error_text(&arena, doc("{'error':{'message':'m',"
                                            "'@Message.ExtendedInfo':[{'Message':'inner'}]}}")),
             "inner"));
    CHECK(is(redfish_error_text(&arena, doc("{'error':{'message':'m'}}")), "m"));
    CHECK(is(redfish_error_text(&arena, doc("{'error':{'@Message.ExtendedInfo':"
                                            "[{'MessageId':'Base.1'}]}}")),
             "Base.1"));
    CHECK(is(redfish_error_text(&arena, doc("{'TaskState':'Exception','Messages':"
                                            "[{'Message':'task'}]}")),
             "task"));
    static const char *const silent[] = {"{}", "[]", "{'error':'x'}", "{'error':{'message':''}}",
                                         "{'error':{'@Message.ExtendedInfo':{}}}"};
    for (uint32_t i = 0; i < sizeof silent / sizeof *silent; i++)
        CHECK(is(redfish_error_text(&arena, doc(silent[i])), "no reason is given"));
    CHECK(is(redfish_error_text(&arena, NULL), "no reason is given"));
    arena_fini(&arena);
}

TEST(a_long_error_is_truncated_at_a_character_boundary)
{
    char text[1000];
    for (uint32_t i = 0; i < sizeof text; i += 2) {
        text[i] = '\xc3';
        text[i + 1] = '\xa4';
    }
    struct json *d = json_make(&arena, JSON_OBJECT);
    struct json *error = json_make(&arena, JSON_OBJECT);
    json_set(error, STR("message"), json_make_string(&arena, (struct str){text + 1, 999}));
    json_set(error, STR("message"),
             json_make_string(&arena, STR_CONCAT(&arena, STR("x"), (struct str){text, 998})));
    json_set(d, STR("error"), error);
    const struct str said = redfish_error_text(&arena, d);
    CHECK(said.len == 399 && str_is_clean(said));
    arena_fini(&arena);
}

TEST(task_states_are_classified)
{
    CHECK(redfish_task_read(doc("{'TaskState':'Completed'}")) == REDFISH_TASK_DONE);
    CHECK(redfish_task_read(doc("{'TaskState':'Exception'}")) == REDFISH_TASK_FAILED);
    CHECK(redfish_task_read(doc("{'TaskState':'Cancelled'}")) == REDFISH_TASK_FAILED);
    CHECK(redfish_task_read(doc("{'TaskState':'Running'}")) == REDFISH_TASK_RUNS);
    CHECK(redfish_task_read(doc("{'TaskState':7}")) == REDFISH_TASK_NONE);
    CHECK(redfish_task_read(doc("{}")) == REDFISH_TASK_NONE);
    arena_fini(&arena);
}

/* ---- endpoints ---- */

static bool address_is(const char *text, const char *host, int64_t port, bool is_v6)
{
    struct power_op_address a;
    return power_op_address_parse(str_from(text), &a) && is(a.host, host) && a.port == port &&
           a.is_v6 == is_v6;
}

TEST(addresses_are_parsed_in_every_form)
{
    CHECK(address_is("bmc-1.example", "bmc-1.example", 0, false));
    CHECK(address_is("10.0.0.1:6230", "10.0.0.1", 6230, false));
    CHECK(address_is("[fe80::1]:22", "fe80::1", 22, true));
    CHECK(address_is("fe80::1%eth0", "fe80::1%eth0", 0, true) &&
          address_is("[::1]", "::1", 0, true));
}

TEST(ambiguous_addresses_are_refused)
{
    static const char *const wrong[] = {
        "",     "-oProxyCommand=x", "a b",  "a/b",  "user@host", "a:",   "a:0",    "a:65536", "a:x",
        "[::1", "[::1]x",           "[]:1", "a\nb", "a;b",       "$(x)", "[::1]:", "a:+1"};
    struct power_op_address a;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!power_op_address_parse(str_from(wrong[i]), &a));
}
