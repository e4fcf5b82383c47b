/* check.h - TEST and CHECK: sentences as test names, over cmocka.
 *
 * TEST(a_sentence) { ... } registers itself; check_main.c runs all of a binary in the order
 * written. CHECK stops the test that fails. Each binary takes name prefixes as arguments to run
 * only those.
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
