/* Goal: an uploaded barclamp is parsed like a file, all its problems are reported together with
 * their lines, and it cannot refer to files of the host.
 * Method: the real reader and a real core; problems are joined into one text. */
#include "base/json/json.h"
#include "core/core.h"
#include "import/barclamp_upload.h"
#include "tests/world/world.h"

#include <string.h>

static const struct core *core_of(void *self)
{
    const struct world *w = self;
    return w->core;
}

static err rehearse(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                    struct outcome *outcomes)
{
    const struct world *w = self;
    core_import_dry_run(w->core, barclamps, count, arena, outcomes);
    return OK;
}

static struct api_barclamp upload(struct world *w, const char *text, bool is_json)
{
    const struct barclamp_upload_callbacks callbacks = {
        .self = w, .core = core_of, .dry_run = rehearse, .folder = "/data/uploads"};
    struct api_barclamp sent = {.arena = &w->arena,
                                .text = is_json ? world_json(w, text) : str_from(text),
                                .is_json = is_json};
    CHECK(barclamp_upload_read(&callbacks, &sent) == OK);
    CHECK((sent.document.len == 0) == (sent.problems != NULL));
    return sent;
}

/* "CODE FIELD: TEXT" of each problem, a line for each. */
static const char *problems_text(struct world *w, const struct api_barclamp *sent)
{
    struct buf b = buf_in(&w->arena);
    for (const struct problem *p = sent->problems; p; p = p->next) {
        buf_put_str(&b, problem_code_name(p->code));
        buf_put_c(&b, ' ');
        buf_put_str(&b, p->field);
        buf_put_z(&b, ": ");
        buf_put_str(&b, p->text);
        buf_put_c(&b, '\n');
    }
    return str_z(&w->arena, buf_str(&b));
}

TEST(an_upload_becomes_a_document_with_a_source_path)
{
    struct world *w = world_open();
    struct api_barclamp sent = upload(w,
                                      "barclamp: {name: fresh, source_path: /etc}\n"
                                      "roles:\n  - {name: one, jig: script}\n",
                                      false);
    EXPECT_STR(problems_text(w, &sent), "");
    EXPECT_STR(shown(w, sent.document),
               "{'barclamp':{'name':'fresh','source_path':'/data/uploads/fresh'},"
               "'roles':[{'jig':'script','name':'one'}]}");
    sent = upload(w,
                  "{'barclamp':{'name':'fresh','source_path':'/etc'},"
                  "'roles':[{'name':'one','jig':'script','hooks':['on_todo']}]}",
                  true);
    EXPECT_STR(shown(w, sent.document),
               "{'barclamp':{'name':'fresh','source_path':'/data/uploads/fresh'},"
               "'roles':[{'jig':'script','name':'one'}]}");
    world_close(w);
}

TEST(a_stored_barclamp_keeps_its_source_path_and_hooks)
{
    struct world *w = world_open();
    DONE(w,
         cmd_import(w, "{'barclamp':{'name':'old','source_path':'/old'},"
                       "'roles':[{'name':'one','jig':'script','hooks':['on_todo','sysdata']}]}"));
    DONE(w, cmd_import(w, "{'barclamp':{'name':'strange','source_path':'/s'},"
                          "'roles':[{'name':'two','jig':'script','hooks':['on_todo']}]}"));
    struct api_barclamp sent = upload(w,
                                      "barclamp: {name: old}\n"
                                      "roles:\n  - {name: one, jig: script, flags: [implicit]}\n"
                                      "  - {name: three, jig: script, hooks: [on_error]}\n",
                                      false);
    EXPECT_STR(problems_text(w, &sent), "");
    EXPECT_STR(
        shown(w, sent.document),
        "{'barclamp':{'name':'old','source_path':'/old'},'roles':[{'flags':['implicit'],'hooks':["
        "'on_todo','sysdata'],'jig':'script','name':'one'},{'jig':'script','name':'three'}]}");
    DONE(w, ((struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = sent.document}}));
    CHECK(read_role(w, "one").hooks != 0 && read_role(w, "three").hooks == 0);
    /* A role of another barclamp has no hooks here; naming it is refused elsewhere. */
    sent = upload(w, "barclamp: {name: old}\nroles:\n  - {name: two, jig: script}\n", false);
    CHECK(sent.problems != NULL || !strstr(shown(w, sent.document), "hooks"));
    world_close(w);
}

TEST(a_role_for_each_network_keeps_its_hooks_without_a_network)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'old','source_path':'/old'},"
                          "'roles':[{'name':'net-{name}','per':'network','jig':'script',"
                          "'hooks':['sysdata']}]}"));
    struct api_barclamp sent =
        upload(w,
               "barclamp: {name: old}\n"
               "roles:\n  - {name: 'net-{name}', per: network, jig: script}\n"
               "  - {name: 'other-{name}', per: network, jig: script, hooks: [on_todo]}\n",
               false);
    EXPECT_STR(problems_text(w, &sent), "");
    EXPECT_STR(world_path(w, sent.document, "roles"),
               "[{'hooks':['sysdata'],'jig':'script','name':'net-{name}','per':'network'},"
               "{'jig':'script','name':'other-{name}','per':'network'}]");
    sent =
        upload(w, "barclamp: {name: old}\nroles:\n  - {name: 'net-{name}', jig: script}\n", false);
    HAS(problems_text(w, &sent), "contains {name}, which is replaced only in an entry with per");
    world_close(w);
}

/* Also problems that only the core finds, though the document cannot be imported yet. */
TEST(all_problems_are_reported_with_their_lines)
{
    struct world *w = world_open();
    struct api_barclamp sent = upload(w,
                                      "barclamp:\n"
                                      "  name: fresh\n"
                                      "  parent: nix\n"
                                      "roles:\n"
                                      "  - name: two\n"
                                      "    jig: script\n"
                                      "    requires: 7\n"
                                      "attribs:\n"
                                      "  - name: [x]\n",
                                      false);
    const char *text = problems_text(w, &sent);
    HAS(text, "value: line 7: ");
    HAS(text, "value: line 9: ");
    HAS(text, "value: line 3: ");
    world_close(w);
}

TEST(refusals_of_the_core_have_their_codes)
{
    struct world *w = world_open();
    world_node_attrib(w, "taken", "");
    struct api_barclamp sent = upload(w,
                                      "barclamp:\n"
                                      "  name: fresh\n"
                                      "attribs:\n"
                                      "  - map: a/b\n"
                                      "    name: taken\n",
                                      false);
    HAS(problems_text(w, &sent), "owner_differs attribs/0/name: line 5: ");
    sent = upload(w, "barclamp:\n  name: fresh\n  parent: nix\n", false);
    HAS(problems_text(w, &sent), "not_found barclamp/parent: line 3: ");
    /* JSON objects have no lines. */
    sent = upload(w, "{'barclamp':{'name':'fresh'},'attribs':[{'name':'taken'}]}", true);
    HAS(problems_text(w, &sent), "owner_differs attribs/0/name: ");
    CHECK(!strstr(problems_text(w, &sent), "line"));
    world_close(w);
}

TEST(a_text_that_is_no_barclamp_is_refused)
{
    struct world *w = world_open();
    const char *const texts[] = {"", "hello", "[1, 2]", "a: [", "{}", "barclamp: 7", "a: b\na: c"};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct api_barclamp sent = upload(w, texts[i], false);
        CHECK(sent.problems != NULL);
    }
    const char *const objects[] = {"{}", "{'barclamp':7}", "{'barclamp':{'name':'../x'}}",
                                   "{'barclamp':{'name':'a'},'roles':[7]}",
                                   "{'barclamp':{'name':'a'},'roles':{'a':1}}"};
    for (uint32_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        struct api_barclamp sent = upload(w, objects[i], true);
        CHECK(sent.problems != NULL);
    }
    world_close(w);
}
