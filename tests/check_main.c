/* The main program of test binaries: runs every TEST of the binary, or those whose names begin with
 * one of the arguments. Exit status 0: all passed; 1: a test failed; 2: no test matched. */
#include "tests/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TESTS_MAX = 2000 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;

void check_register(const char *name, void (*body)(void **))
{
    if (test_count == TESTS_MAX) {
        fprintf(stderr, "more than %d tests in one binary\n", TESTS_MAX);
        __builtin_trap();
    }
    tests[test_count++] = (struct CMUnitTest){.name = name, .test_func = body};
}

void check_failed(const char *file, int line, const char *text)
{
    print_error("%s:%d: CHECK(%s)\n", file, line, text);
    _fail(file, line);
    __builtin_unreachable(); /* _fail jumps back into cmocka */
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < test_count; i++)
            for (int a = 1; a < argc; a++)
                if (strncmp(tests[i].name, argv[a], strlen(argv[a])) == 0) {
                    tests[kept++] = tests[i];
                    break;
                }
        test_count = kept;
    }
    if (test_count == 0) {
        fprintf(stderr, "no test of that name\n");
        return 2;
    }
    return _cmocka_run_group_tests(argv[0], tests, test_count, NULL, NULL) ? 1 : 0;
}
