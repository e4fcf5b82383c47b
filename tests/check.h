/* check.h - the macros TEST and CHECK, on top of cmocka.
 *
 * TEST(name) { ... } defines a test and registers it in a constructor; the name is a sentence that
 * states the rule under test. check_main.c runs all tests of a binary in the order of the file. A
 * CHECK that fails ends its test; the others still run. The arguments of a test binary are prefixes
 * of names: only tests with one of them run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void check_register(const char *name, void (*body)(void **));
__attribute__((noreturn)) void check_failed(const char *file, int line, const char *text);

#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        check_register(#name, name);                                                               \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

#define CHECK(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))
