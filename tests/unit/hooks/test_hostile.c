/* Malicious or wrong code: whatever it tries, the call ends within its limits, its commands are
 * discarded, and the text states which hook failed and why. */
#include "hooks/role_code.h"

#include <stdio.h>
#include <string.h>

#include "base/text/buf.h"
#include "model/limits.h"
#include "model/record.h"
#include "tests/check.h"

static struct arena arena;

/* The clock is left out where the reason matters, or it would depend on the machine. */
enum { NO_CLOCK = 3600000 };
static struct sandbox_limits limits = {
    .instructions = 2000000, .memory_size = 16u << 20, .cpu_ms = NO_CLOCK};

static struct role_code *load(const char *source)
{
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text = {0};
    const struct role_source file = {
        .chunk = "bad.lua", .text = str_from(source), .limits = limits};
    if (role_code_new(&file, &arena, &code, &functions, &text) != OK)
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(text));
    CHECK(code);
    return code;
}

static struct task tell(struct role_code *code)
{
    struct task task = {.arena = &arena, .kind = TASK_NOTIFY, .function = "on_todo"};
    task.arguments[0] = STR("{\"id\":7,\"name\":\"n1\"}");
    role_code_call(code, &task);
    return task;
}

static bool has(struct str text, const char *part)
{
    const struct str wanted = str_from(part);
    for (uint32_t at = 0; at + wanted.len <= text.len; at++)
        if (memcmp(text.at + at, wanted.at, wanted.len) == 0)
            return true;
    return false;
}

/* The body of a hook: runs it, and gives back what came of it. */
static struct task run(const char *body)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "return { on_todo = function(nr) halligan.enqueue(nr); ");
    buf_put_z(&b, body);
    buf_put_z(&b, "\nend }");
    struct role_code *code = load(str_z(&arena, buf_str(&b)));
    const struct task task = tell(code);
    role_code_free(code);
    return task;
}

static void fails(const char *body, const char *why)
{
    const struct task task = run(body);
    if (!task.failed || !has(task.text, why))
        fprintf(stderr, "%s\n  gave: %.*s\n", body, STR_FMT_ARGS(task.text));
    CHECK(task.failed);
    CHECK(has(task.text, why));
    CHECK(has(task.text, "in on_todo"));
    CHECK(task.commands.count == 0);
    CHECK(task.text.len < RUNLOG_MAX);
    CHECK(str_is_clean(task.text));
    arena_reset(&arena);
}

/* It ends, whichever limit is reached first. */
static void ends(const char *body)
{
    limits.cpu_ms = 300;
    fails(body, "");
    limits.cpu_ms = NO_CLOCK;
}

static void works(const char *body)
{
    const struct task task = run(body);
    if (task.failed)
        fprintf(stderr, "%s\n  gave: %.*s\n", body, STR_FMT_ARGS(task.text));
    CHECK(!task.failed);
    CHECK(task.commands.count == 1);
    arena_reset(&arena);
}

/* ---- endless loops ---- */

TEST(a_loop_without_end_is_ended_and_says_where)
{
    fails("while true do end", "bad.lua:1: it took more than 2000000 instructions");
    fails("\n\nrepeat until false", "bad.lua:3: it took more than");
    fails("::top:: goto top", "it took more than");
    fails("for i = 1, math.huge do end", "it took more than");
    fails("for i = 1, math.maxinteger do end", "it took more than");
    fails("for i = math.maxinteger - 1, math.maxinteger do i = i - 1 end while 1 do end",
          "it took more than");
}

TEST(nothing_catches_the_end)
{
    fails("pcall(function() while true do end end)", "it took more than");
    fails("while true do pcall(function() while true do end end) end", "it took more than");
    fails("while true do pcall(pcall, pcall, error) end", "it took more than");
    fails("while true do pcall(error) end", "it took more than");
    ends("local function f() pcall(f) f() end f()");
    ends("local function f() while true do pcall(f) end end f()");
    fails("table.sort({1, 2, 3}, function() while true do end end)", "it took more than");
    fails("pcall(table.sort, {1, 2, 3}, function() return pcall(function() while true do end end) "
          "end)",
          "it took more than");
}

TEST(the_end_of_the_memory_is_not_caught_either)
{
    fails("pcall(function() local t = {} for i = 1, 1e9 do t[i] = i end end)",
          "it needs more than 16384 KiB of memory");
    fails("while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) end",
          "it needs more than");
}

TEST(there_are_no_coroutines_to_hide_in)
{
    fails("coroutine.wrap(function() while true do end end)()", "nil value (global 'coroutine')");
    fails("coroutine.create(print)", "nil value (global 'coroutine')");
}

TEST(the_processor_time_ends_what_is_not_counted)
{
    limits.cpu_ms = 100;
    /* Each instruction compares megabytes: two equal texts that are not one. */
    fails("local a, b = {}, {}; "
          "for i = 1, 1000 do a[i] = ('x'):rep(3000) b[i] = ('x'):rep(3000) end "
          "a, b = table.concat(a), table.concat(b) local n = 0 "
          "for i = 1, 1000000 do if a == b then n = n + 1 end end",
          "it ran for more than 100 ms");
    fails("local s = (' '):rep(1000000) s = s .. s s = s .. s .. '1' "
          "for i = 1, 1000000 do local n = s + 1 end",
          "it ran for more than 100 ms");
    limits.cpu_ms = NO_CLOCK;
}

/* ---- memory ---- */

TEST(memory_is_bounded)
{
    fails("local t = {} for i = 1, 10000000 do t[i] = i end", "it needs more than");
    ends("local t = {} for i = 1, 1000000 do t['k' .. i] = i end");
    fails("local s = 'x' while true do s = s .. s end", "it needs more than");
    fails("local t = {} while true do t[#t + 1] = ('x'):rep(1000000) end", "it needs more than");
    fails("local s = ('x'):rep(1000000) local t = {} for i = 1, 1000 do t[i] = s end "
          "return table.concat(t)",
          "memory");
    fails("local s = ('x'):rep(1000000) return string.format(('%s'):rep(200), table.unpack("
          "(function() local t = {} for i = 1, 200 do t[i] = s end return t end)()))",
          "memory");
    fails("local s = ('x'):rep(1000000) return s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s "
          ".. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s",
          "memory");
}

TEST(a_table_of_a_million_entries_is_too_large_or_fits_and_is_gone_afterwards)
{
    struct role_code *code = load("kept = nil return { on_todo = function() "
                                  "local t = {} for i = 1, 300000 do t[i] = i end kept = t end }");
    for (int i = 0; i < 20; i++)
        CHECK(!tell(code).failed);
    role_code_free(code);
    fails("local t = {} for i = 1, 1000000 do t[i] = {} end", "it needs more than");
}

TEST(repeating_a_text_is_bounded_and_that_can_be_caught)
{
    fails("return ('x'):rep(1e9)", "longer than 1048576 bytes");
    fails("return ('x'):rep(math.maxinteger)", "longer than");
    fails("return ('x'):rep(2, ('y'):rep(1048576))", "longer than");
    fails("return (''):rep(math.maxinteger, 'xy')", "longer than");
    works("assert(not pcall(string.rep, 'x', 1 << 40))");
    works("assert(('ab'):rep(3, '-') == 'ab-ab-ab') assert(('x'):rep(-5) == '')"
          "assert((''):rep(1000) == '')");
    works("assert(#('x'):rep(1048576) == 1048576)");
}

TEST(garbage_alone_ends_no_hook)
{
    works("local t for i = 1, 100000 do t = { i, i + 1 } end");
    works("for i = 1, 60 do local s = ('x'):rep(1000000) end");
    works("local keep = {} for i = 1, 100 do keep[i] = ('y' .. i):rep(1000) end "
          "for i = 1, 30 do local s = ('x' .. i):rep(300000) .. 'z' end "
          "for i = 1, 100 do assert(#keep[i] == 1000 * (1 + #tostring(i))) end");
}

TEST(copying_without_end_is_ended)
{
    fails("local s = ('x'):rep(1000000) while true do local t = s .. 'y' end",
          "it copied more than 256 MiB in memory");
    fails("local s = ('x'):rep(1000000) while true do local t = s:upper() end", "it copied more");
    fails("local s = ('x'):rep(1000000) while true do pcall(string.sub, s, 2) end",
          "it copied more");
    fails("local t = {} for i = 1, 200000 do t[i] = i end while true do table.insert(t, 1, 0) end",
          "it took more than");
    fails("local t = {} for i = 1, 200000 do t[i] = i end "
          "while true do table.remove(t, 1) table.insert(t, 0) end",
          "it took more than");
    fails("local t = {} for i = 1, 3 do t[i] = ('x'):rep(1000000) end "
          "while true do table.sort(t) end",
          "it took more than");
    ends("local t = {} for i = 1, 100000 do t['k' .. i] = i end "
         "while true do for k in pairs(t) do break end end");
}

TEST(hook_commands_are_limited)
{
    fails("for i = 1, 1000 do halligan.enqueue(i) end", "too many hook commands in one call");
    fails("local s = ('x'):rep(1000000) for i = 1, 5 do halligan.set_attrib('node', 1, 'a', s) end",
          "too many hook commands in one call");
    fails("local s = ('x'):rep(1000000) "
          "while true do pcall(halligan.set_attrib, 'node', 1, 'a', { s, pairs }) end",
          "it took more than");
    fails("while true do pcall(halligan.set_attrib, 'node', 1, 'a', ('x'):rep(1000000)) end",
          "it copied more than");
    fails("local t = {} for i = 1, 40 do t = { t, t } end halligan.set_attrib('node', 1, 'a', t)",
          "a document of more than 1048576 bytes");
    fails("local t = {} t.t = t halligan.set_attrib('node', 1, 'a', t)", "more than 48 levels");
}

TEST(string_search_is_charged)
{
    fails("while true do halligan.match(('a'):rep(60000), '(a|aa)*b') end", "it took more than");
    fails("halligan.match(('a'):rep(1000000), '((a{50}){50}){7}')", "it took more than");
    fails("local part = ('a'):rep(255) .. 'b' local text = ('a'):rep(1000000) "
          "while true do halligan.find(text, part) end",
          "it took more than");
    fails("while true do halligan.split(('a,'):rep(100000), ',') end", "it took more than");
    fails("halligan.find('abc', '')", "empty, or too long");
    fails("halligan.find('abc', ('x'):rep(257))", "empty, or too long");
    fails("halligan.match('a', '(')", "cannot be used");
    fails("halligan.match('a', '(?=a)')", "cannot be used");
    fails("halligan.match('\\xff', 'a')", "not UTF-8");
}

/* ---- too deep ---- */

TEST(deep_recursion_is_an_error)
{
    ends("local function f() return 1 + f() end f()");
    ends("local function f(...) return f(1, ...) end f()");
    ends("local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end f(1e9)");
    ends("local function f() pcall(f) end while true do f() end");
    fails("local function f() table.sort({1, 2}, f) end f()", "C stack overflow");
    fails("local function f() return f() end f()", "it took more than");
    works("local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end "
          "assert(f(5000) == 5000)");
}

TEST(deeply_nested_source_does_not_compile)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "return ");
    for (int i = 0; i < 50000; i++)
        buf_put_c(&b, '{');
    for (int i = 0; i < 50000; i++)
        buf_put_c(&b, '}');
    struct role_code *code;
    struct role_functions functions;
    struct str text;
    const struct role_source file = {
        .chunk = "deep.lua", .text = buf_str(&b), .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&file, &arena, &code, &functions, &text) == ERR_SYNTAX);
    CHECK(str_eq(text, STR("deep.lua: C stack overflow")));
    arena_reset(&arena);
}

/* ---- tricks ---- */

TEST(what_reaches_outside_is_not_there)
{
    static const char *const absent[] = {
        "io",
        "os",
        "require",
        "package",
        "debug",
        "load",
        "loadstring",
        "dofile",
        "loadfile",
        "collectgarbage",
        "coroutine",
        "setmetatable",
        "getmetatable",
        "rawset",
        "rawget",
        "rawequal",
        "rawlen",
        "next",
        "xpcall",
        "print",
        "warn",
        "utf8",
        "_G",
        "_VERSION",
        "string.find",
        "string.match",
        "string.gmatch",
        "string.gsub",
        "string.dump",
        "string.pack",
        "string.unpack",
        "table.move",
        "math.random",
        "math.randomseed",
    };
    for (uint32_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char body[100];
        snprintf(body, sizeof body, "assert(%s == nil)", absent[i]);
        works(body);
    }
    fails("('x'):find('y')", "nil value (method 'find')");
    fails("('x'):gsub('y', 'z')", "nil value (method 'gsub')");
}

TEST(there_are_no_metatables_to_play_with)
{
    fails("setmetatable({}, { __gc = function() while true do end end })",
          "nil value (global 'setmetatable')");
    fails("setmetatable('', {})", "nil value (global 'setmetatable')");
    fails("local x <close> = {}", "got a non-closable value");
    works("local x <close> = nil local y <const> = 1");
    fails("error({})", "the error value is a table, not a string");
    fails("error(nil)", "the error value is a nil, not a string");
    fails("error(function() end)", "the error value is a function, not a string");
    fails("error(halligan.null)", "the error value is a userdata, not a string");
    fails("error('\\xff\\xc3bytes')", "??bytes");
    works("local ok, e = pcall(error, { code = 5 }) assert(not ok and e.code == 5)");
}

TEST(a_long_error_keeps_the_way_there)
{
    fails("local function inner() error(('e'):rep(100000)) end inner()",
          "eee...\nstack traceback:\n\t[C]: in ");
    fails("local function inner() error(('e'):rep(100000)) end inner()",
          "bad.lua:1: in local 'inner'");
    fails("error(('ü'):rep(1000))", "ü...\nstack traceback:");
    const struct task task = run("error(('e'):rep(784), 0)");
    CHECK(has(task.text, "e\nstack traceback:") && !has(task.text, "..."));
    arena_reset(&arena);
}

TEST(an_error_cannot_write_to_a_terminal)
{
    fails("error('\\27[31m\\0\\255 x')", "bad.lua:1: ?[31m?? x\nstack traceback:");
    fails("error('a\\0b\\rc\\8d\\127e\\u{9b}f\\u{a0}g\\th')",
          "a?b?c?d?e?f\u00a0g\th\nstack traceback:");
    fails("local t = { ['\\27x'] = function() error('y') end } t['\\27x']()", "'?x'");
    fails("halligan.set_bootenv('\\27', 5)", "string expected");
}

TEST(the_library_cannot_be_changed)
{
    fails("string.rep = nil", "the library cannot be changed");
    fails("halligan.log = function() end", "the library cannot be changed");
    fails("table.insert(string, 1)", "the library cannot be changed");
    fails("table.sort = 1", "the library cannot be changed");
    fails("('').x = 1", "attempt to index a string value");
    fails("halligan.array(string)", "cannot be marked");
    works("string = nil assert(('x'):upper() == 'X')");
}

TEST(addresses_are_not_shown)
{
    works("assert(tostring({}) == 'table') assert(tostring(print) == 'nil')");
    works("assert(tostring(pairs) == 'function') assert(tostring(halligan.null) == 'null')");
    works("assert(('%s %s %d'):format({}, pairs, 3) == 'table function 3')");
    works("assert(('%5.1f|%q|%%p'):format(1.25, 'a') == '  1.2|\"a\"|%p')");
    fails("('%p'):format({})", "'%p'");
    fails("('%5p'):format({})", "'%p'");
    fails("('%'):format(1)", "invalid conversion");
    fails("('%d'):format('x')", "number expected");
}

TEST(arithmetic_has_no_traps)
{
    works("assert(math.maxinteger + 1 == math.mininteger)");
    works("assert(math.mininteger // -1 == math.mininteger)");
    works("assert(math.mininteger % -1 == 0)");
    fails("return 1 // 0", "divide by zero");
    fails("return 1 % 0", "attempt to perform 'n%");
    works("assert(1 << 64 == 0) assert(1 << -1 == 0)");
    fails("for i = 1, 10, 0 do end", "'for' step is zero");
    works("local t = {} t[math.mininteger] = 1 t[-1] = 2 t[2^53] = 3 local n = 0 "
          "for k in pairs(t) do n = n + 1 end assert(n == 3)");
    fails("table.unpack({}, 1, 1e8)", "too many results");
    fails("table.unpack({}, math.mininteger, math.maxinteger)", "too many results");
    fails("return string.byte(('x'):rep(1000000), 1, -1)", "string slice too long");
    fails("select(-1)", "out of range");
    works("table.concat({}, 'x', math.maxinteger, math.maxinteger - 1)");
    fails("local t = {} t[0/0] = 1", "NaN");
}

TEST(walking_goes_in_order_and_survives_changes)
{
    works("local t = { z = 1, a = 2, [3] = 1, [1] = 1, [2.5] = 1, [true] = 1, [false] = 1, b = 3 } "
          "local s = {} for k in pairs(t) do s[#s + 1] = tostring(k) end "
          "assert(table.concat(s, ' ') == '1 2.5 3 a b z false true')");
    works("local t = { a = 1, b = 2, c = 3 } local n = 0 "
          "for k in pairs(t) do n = n + 1 t.b = nil t.c = nil t.d = 4 end assert(n == 1)");
    works("local s = '' for i, v in ipairs({ 'x', 'y', nil, 'z' }) do s = s .. i .. v end "
          "assert(s == '1x2y')");
    fails("for k in pairs(nil) do end", "table expected");
}

TEST(bytecode_is_not_taken)
{
    struct role_code *code;
    struct role_functions functions;
    struct str text;
    const struct role_source file = {
        .chunk = "x.lua", .text = STR("\x1bLua\x54\x00"), .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&file, &arena, &code, &functions, &text) == ERR_SYNTAX);
    CHECK(has(text, "binary chunk"));
    arena_reset(&arena);
}

/* ---- isolation of calls ---- */

TEST(every_call_begins_as_the_file_does)
{
    struct role_code *code = load("local calls = 0 seen = seen or {} "
                                  "return { on_todo = function(nr) "
                                  "calls = calls + 1 count = (count or 0) + 1 seen[nr.name] = true "
                                  "assert(calls == 1 and count == 1) "
                                  "local n = 0 for _ in pairs(seen) do n = n + 1 end "
                                  "assert(n == 1) end }");
    for (int i = 0; i < 5; i++)
        CHECK(!tell(code).failed);
    role_code_free(code);
    arena_reset(&arena);
}

TEST(a_role_works_again_after_it_was_ended)
{
    struct role_code *code =
        load("return { on_todo = function() local t = {} while true do t[#t + 1] = {} end end, "
             "on_active = function(nr) halligan.enqueue(nr) end }");
    for (int i = 0; i < 10; i++) {
        CHECK(tell(code).failed);
        struct task task = {.arena = &arena, .kind = TASK_NOTIFY, .function = "on_active"};
        task.arguments[0] = STR("{\"id\":7}");
        role_code_call(code, &task);
        CHECK(!task.failed && task.commands.count == 1);
    }
    role_code_free(code);
    arena_reset(&arena);
}

TEST(what_a_hook_returns_is_checked)
{
    fails("return 1", "on_todo returned a number; it must return nothing");
    fails("return {}", "on_todo returned a table");
    fails("return false", "on_todo returned a boolean");
    fails("return 'fine'", "on_todo returned a string");
    works("return nil");
    works("return");
}

TEST(a_stop_from_outside_ends_a_run)
{
    atomic_bool stop;
    atomic_init(&stop, false);
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text;
    const struct role_source file = {
        .chunk = "x.lua",
        .text = STR("return { on_todo = function() while true do end end }"),
        .limits = {.instructions = 2000000000, .memory_size = 1 << 20, .cpu_ms = 1000000},
        .stop = &stop};
    CHECK(role_code_new(&file, &arena, &code, &functions, &text) == OK);
    atomic_store(&stop, true);
    const struct task task = tell(code);
    CHECK(task.failed && has(task.text, "the daemon is stopping"));
    role_code_free(code);
    arena_fini(&arena);
}
