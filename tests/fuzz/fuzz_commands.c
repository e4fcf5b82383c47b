/* Goal: no sequence of commands breaks an invariant of the core. After each command core_check
 * finds nothing, and a refused command has changed nothing. A dry run of an import changes nothing,
 * and an import succeeds only if its dry run did. At the end the core is saved and loaded into a
 * second core, which must have the same digest.
 * Method: the input is decoded into commands to a small world. One byte selects the kind of a
 * command. For each field one byte selects the source of its value: a small range, a dictionary, or
 * the raw bytes that follow. So every input is valid, and a mutation changes few fields. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "core/core.h"
#include "port/batch.h"
#include "sim/store/memory_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COMMANDS_MAX = 200, HOOK_COMMANDS_MAX = 4, ROUNDS_MAX = 3 };

/* ---- initial world ---- */

static const char barclamp[] =
    "{\"barclamp\":{\"name\":\"fuzz\",\"source_path\":\"/\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"script\",\"class\":\"script\"},"
    "{\"name\":\"test\",\"class\":\"test\"}],"
    "\"hammers\":[{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":3}],"
    "\"attribs\":[{\"name\":\"serial\",\"map\":\"dmi/serial\",\"writable\":true}],\"roles\":["
    "{\"name\":\"base\",\"jig\":\"noop\",\"flags\":[\"implicit\",\"discovery\",\"milestone\"]},"
    "{\"name\":\"disk\",\"jig\":\"script\",\"flags\":[\"destructive\"],\"requires\":[\"base\"],"
    "\"hooks\":[\"on_todo\",\"on_active\"]},"
    "{\"name\":\"store\",\"jig\":\"script\",\"flags\":[\"cluster\",\"server\"],"
    "\"requires\":[\"disk\"],\"attribs\":[{\"name\":\"size\",\"map\":\"store/size\","
    "\"schema\":{\"type\":\"int\"},\"default\":1}]},"
    "{\"name\":\"shop\",\"jig\":\"script\",\"requires\":[\"store\"],"
    "\"wants-attribs\":[\"size\",\"serial\"],\"hooks\":[\"on_proposed\",\"on_commit\","
    "\"on_node_bind\",\"on_node_change\",\"on_error\"],\"provides\":[\"market\"]},"
    "{\"name\":\"market\",\"jig\":\"noop\",\"flags\":[\"powersave\"],\"conflicts\":[\"disk\"]}]}";

static const char *const texts[] = {
    "",           "admin",  "n1.fuzz.local", "n9.fuzz.local",
    "base",       "shop",   "reboot",        "off",
    "local",      "on",     "site",          "a b",
    "\xff\xfe",   "script", "noop",          "ui",
    "rack",       "x",      "a@b.cc",        "12",
    "app/seen/x", "//",     "reset",         "fuzz",
};

static const char *const docs[] = {
    "",
    "{}",
    "[]",
    "null",
    "7",
    "\"text\"",
    "{\"store\":{\"size\":3}}",
    "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
    "{",
    "{\"type\":\"int\"}",
    "{\"type\":\"seq\",\"sequence\":[{\"type\":\"str\"}]}",
    "{\"value\":1}",
    "[\"loud\"]",
    "{\"data\":[],\"members\":[]}",
    "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"/\"},\"roles\":[{\"name\":\"late\","
    "\"jig\":\"noop\",\"requires\":[\"shop\"]}]}",
    "{\"barclamp\":{\"name\":\"fuzz\",\"source_path\":\"/\"},\"roles\":[{\"name\":\"base\","
    "\"jig\":\"noop\",\"requires\":[\"shop\"]}]}",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- decoding of inputs ---- */

struct input {
    const uint8_t *at;
    size_t left;
    struct arena *arena;
};

static uint8_t take(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static uint64_t take_wide(struct input *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | take(in);
    return value;
}

static struct str take_raw(struct input *in)
{
    const size_t wanted = take(in);
    const uint32_t len = (uint32_t)(wanted < in->left ? wanted : in->left);
    struct str raw = str_copy(in->arena, (struct str){(const char *)in->at, len});
    in->at += len;
    in->left -= len;
    return raw;
}

static int64_t take_number(struct input *in)
{
    const uint8_t where = take(in);
    return where < 240 ? where % 16 : (int64_t)take_wide(in);
}

static struct command take_command(struct input *in, uint32_t depth);

static struct str take_hook_commands(struct input *in, uint32_t depth)
{
    struct buf b = buf_in(in->arena);
    const uint8_t count = take(in);
    if (count >= 200)
        return take_raw(in);
    for (uint32_t i = 0; depth == 0 && i < count % (HOOK_COMMANDS_MAX + 1u); i++) {
        const struct command hook_command = take_command(in, depth + 1);
        command_encode(&hook_command, &b);
    }
    return buf_str(&b);
}

static void take_field(struct input *in, const struct field *field, char *payload, uint32_t depth)
{
    void *where = payload + field->offset;
    struct str text;
    switch (field->kind) {
    case FIELD_I64: memcpy(where, &(int64_t){take_number(in)}, sizeof(int64_t)); return;
    case FIELD_U32: memcpy(where, &(uint32_t){(uint32_t)take_number(in)}, sizeof(uint32_t)); return;
    case FIELD_BOOL: memcpy(where, &(bool){take(in) & 1}, sizeof(bool)); return;
    case FIELD_TEXT: {
        const uint8_t from = take(in);
        text = from < 250 ? str_from(texts[from % COUNT(texts)]) : take_raw(in);
        break;
    }
    case FIELD_DOC: {
        const uint8_t from = take(in);
        text = from < 250 ? str_from(docs[from % COUNT(docs)]) : take_raw(in);
        break;
    }
    case FIELD_RAW: text = take_hook_commands(in, depth); break;
    default: return;
    }
    memcpy(where, &text, sizeof text);
}

static struct command take_command(struct input *in, uint32_t depth)
{
    struct command command = {.kind = (enum command_kind)(take(in) % COMMAND_COUNT)};
    const struct layout *layout = command_layout(command.kind);
    for (uint32_t i = 0; i < layout->count; i++)
        take_field(in, &layout->fields[i], command_payload(&command), depth);
    command.actor = STR("fuzz");
    return command;
}

/* ---- execution and checks ---- */

struct fuzz {
    struct core *core;
    struct arena arena;
    struct arena scratch;
    int64_t now_ms;
};

static void stop(const char *what, const struct command *command)
{
    fprintf(stderr, "after %s: %s\n", command_name(command->kind), what);
    abort();
}

static void check(struct fuzz *f, const struct command *command, const struct outcome *outcome,
                  struct digest128 before)
{
    if (outcome->verdict != VERDICT_DONE && !digest_eq(before, core_digest_now(f->core)))
        stop("a refusal changed something", command);
    if ((outcome->verdict == VERDICT_REFUSED) != (outcome->problems != NULL))
        stop("problems without a refusal, or a refusal without problems", command);
    const char *broken = core_check(f->core, &f->scratch);
    if (broken)
        stop(broken, command);
    arena_reset(&f->scratch);
}

/* Executes the dry run of an import and checks that it changed nothing. Returns true if it
 * succeeded. */
static bool dry_run_succeeds(struct fuzz *f, const struct command *command)
{
    struct outcome outcome = {0};
    const struct digest128 before = core_digest_now(f->core);
    const uint32_t changed = core_changed(f->core);
    core_import_dry_run(f->core, &command->import.barclamp, 1, &f->arena, &outcome);
    if (!digest_eq(before, core_digest_now(f->core)) || core_changed(f->core) != changed)
        stop("a dry run changed something", command);
    check(f, command, &outcome, before);
    return outcome.verdict == VERDICT_DONE;
}

/* Executes the command. If it needs veto requests, executes it again with the replies: a veto from
 * each hook whose bit is set in `vetoes`. */
static void step(struct fuzz *f, struct command *command, uint8_t vetoes)
{
    command->now_ms = command->wall_ms = command->mono_ms = ++f->now_ms;
    command->nonce[0] = command->nonce[1] = (uint64_t)f->now_ms;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        struct effects effects = {0};
        struct outcome outcome = {0};
        const bool is_fine = command->kind != COMMAND_IMPORT || dry_run_succeeds(f, command);
        const struct digest128 before = core_digest_now(f->core);
        core_step(f->core, command, &f->arena, &effects, &outcome);
        check(f, command, &outcome, before);
        if (outcome.verdict == VERDICT_DONE && !is_fine)
            stop("an import succeeded that its dry run refused", command);
        if (outcome.verdict != VERDICT_NEEDS_HOOKS)
            return;
        struct veto_reply *veto_replies =
            arena_array(&f->arena, struct veto_reply, outcome.veto_call_count);
        uint32_t count = 0;
        for (const struct veto_call *ask = outcome.veto_calls; ask; ask = ask->next, count++)
            veto_replies[count] = (struct veto_reply){
                .key = ask->key, .veto = vetoes >> (count % 8) & 1, .text = STR("no")};
        command->veto_replies = veto_replies;
        command->veto_reply_count = count;
    }
}

static void bootstrap_world(struct fuzz *f)
{
    f->core = core_new();
    f->now_ms = 1000;
    core_bootstrap(f->core, f->now_ms);
    struct command import = {.kind = COMMAND_IMPORT};
    import.import.barclamp = str_from(barclamp);
    step(f, &import, 0);
    for (uint32_t i = 0; i < 3; i++) {
        char name[] = "n1.fuzz.local";
        name[1] = (char)('1' + i);
        struct command node = {.kind = COMMAND_NODE_CREATE};
        node.node_create.name = str_from(name);
        node.node_create.admin = i == 0;
        node.node_create.deployment_id = 1;
        node.node_create.alive = node.node_create.available = true;
        step(f, &node, 0);
    }
    struct command site = {.kind = COMMAND_DEPLOYMENT_CREATE};
    site.deployment_create.name = STR("site");
    site.deployment_create.parent_id = 1;
    step(f, &site, 0);
    struct command bind = {.kind = COMMAND_NODEROLE_BIND};
    bind.noderole_bind.node_id = core_find(f->core, TABLE_NODE, STR("n2.fuzz.local"));
    bind.noderole_bind.role_id = core_find(f->core, TABLE_ROLE, STR("shop"));
    step(f, &bind, 0);
}

/* ---- save and load ---- */

struct saving {
    struct buf bytes;
    struct batch batch;
};

static void save_change(void *context, const struct change *change)
{
    struct saving *saving = context;
    batch_put(&saving->bytes, change);
    saving->batch.rows++;
}

static err load_record(void *self, const struct record *record)
{
    const char *what = "";
    return core_load(self, record, &what);
}

static void check_reload(struct fuzz *f)
{
    struct memory_store *store = memory_store_new();
    struct memory_session session;
    memory_session_init(&session, store);
    const struct store_port port = memory_session_port(&session);
    struct saving saving = {.bytes = buf_in(&f->scratch), .batch = {.turn = 1}};
    core_collect(f->core, 1, save_change, &saving);
    saving.batch.changes = buf_str(&saving.bytes);
    bool busy = false;
    must(port.submit(port.self, &saving.batch) == OK);
    must(port.poll(port.self, &busy) == OK && !busy);
    struct core *second = core_new();
    const char *what = "";
    must(memory_store_load(store, (struct record_callback){second, load_record}) == OK);
    must(core_load_end(second, f->now_ms, &what) == OK);
    must(digest_eq(core_digest(second), core_digest(f->core)));
    must(core_check(second, &f->scratch) == NULL);
    core_free(second);
    memory_session_crash(&session, false);
    memory_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = {0};
    struct input in = {data, size, &f.arena};
    bootstrap_world(&f);
    for (uint32_t i = 0; i < COMMANDS_MAX && in.left; i++) {
        struct command command = take_command(&in, 0);
        step(&f, &command, take(&in));
        arena_reset(&f.arena);
    }
    check_reload(&f);
    core_free(f.core);
    arena_fini(&f.arena);
    arena_fini(&f.scratch);
    return 0;
}
