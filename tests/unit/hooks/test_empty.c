/* Goal: no call of Lua is reached with NULL in a way that it does not take. Method: texts of NULL
 * and 0 as a file, an argument and what a role's code hands back. */
#include "hooks/role_code.h"
#include "tests/unit/hooks/hooks_loop.h"

TEST(a_file_of_nothing_is_an_error)
{
    struct arena a = {0};
    struct role_code *code;
    struct role_functions functions;
    struct str text;
    const struct role_source source = {
        .chunk = "a.lua", .text = {NULL, 0}, .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&source, &a, &code, &functions, &text) == ERR_SYNTAX && text.len > 0);
    const struct role_source nameless = {.chunk = "", .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&nameless, &a, &code, &functions, &text) == ERR_SYNTAX && text.len > 0);
    arena_fini(&a);
}

TEST(an_error_of_nothing_is_an_error)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load_later(l, 3, "error('')");
    run_load(l);
    CHECK(l->loaded_role == 3 && l->loaded_error == ERR_SYNTAX);
    load_later(l, 3, "error()");
    run_load(l);
    CHECK(l->loaded_role == 3 && l->loaded_error == ERR_SYNTAX);
    hooks_set_missing(l->hooks, 3, (struct str){NULL, 0});
    close_loop(l);
}
