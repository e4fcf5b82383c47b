/* Goal: every numbered case of docs/spec/cases.md has a test here, in tests/api, in tests/runs, in
 * tests/vm, in tests/unit/core or in tests/unit/sim, or is listed below as later work. The cases of
 * later work are printed.
 * Method: tests are found by name: TEST(c086_...) in C, def test_case_86_...: and
 * def test_case_86_87_...: in tests/api, def test_c86_...: in tests/runs and tests/vm. The source
 * tree is $HALLIGAN_SOURCE, or else the working directory. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

struct range {
    int first;
    int last;
    const char *reason;
};

/* clang-format off */
/* Cases about HTTP replies or passwords: they need a test in tests/api. */
static const struct range outside[] = {
    { 17,  18, "password hashing and HTTP digest"          },
    { 20,  20, "length and hash of passwords"              },
    { 26,  27, "binding"                                   },
    { 86,  94, "runs, annealing, attribs"                  },
    { 96,  96, "discovery"                                 },
    {104, 104, "buckets"                                   },
    {106, 137, "objects"                                   },
    {159, 159, "DHCP clients"                              },
    {165, 165, "interface maps"                            },
    {184, 184, "snapshots"                                 },
};

static const struct range later[] = {
    { 22,  22, "translations: the user interface"          },
    { 95,  95, "node page: the user interface"             },
    {185, 239, "pages: the user interface"                 },
};

/* clang-format on */

enum {
    CASES = 253,
    LATER_COUNT = sizeof later / sizeof later[0],
    OUTSIDE_COUNT = sizeof outside / sizeof outside[0],
    FILES_MIN = 5, /* in each of the directories, so that a wrong path is noticed */
};

/* Counts one test for each number of a name such as "086_87_a_sentence". */
static void count_numbers(const char *at, int *tests)
{
    while (isdigit((unsigned char)*at)) {
        char *end;
        const long number = strtol(at, &end, 10);
        if (*end != '_') /* a word that begins with digits */
            return;
        CHECK(number >= 1 && number <= CASES);
        tests[number]++;
        at = end + 1;
    }
}

static void scan_file(const char *path, const char *mark, int *tests)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, mark, strlen(mark)) == 0)
            count_numbers(line + strlen(mark), tests);
    CHECK(!ferror(file) && fclose(file) == 0);
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t size = strlen(name), wanted = strlen(ending);
    return size > wanted && strcmp(name + size - wanted, ending) == 0;
}

static void scan_folder(const char *folder, const char *ending, const char *mark, int *tests)
{
    const char *source = getenv("HALLIGAN_SOURCE");
    char path[2048];
    int files = 0;
    snprintf(path, sizeof path, "%s/%s", source ? source : ".", folder);
    DIR *entries = opendir(path);
    CHECK(entries);
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (!ends_in(entry->d_name, ending))
            continue;
        files++;
        snprintf(path, sizeof path, "%s/%s/%s", source ? source : ".", folder, entry->d_name);
        scan_file(path, mark, tests);
    }
    closedir(entries);
    CHECK(files >= FILES_MIN);
}

static void mark(const struct range *list, int count, bool *marks)
{
    for (int i = 0; i < count; i++) {
        CHECK(list[i].first <= list[i].last && list[i].last <= CASES);
        for (int number = list[i].first; number <= list[i].last; number++)
            marks[number] = true;
    }
}

static void print(const struct range *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i].first == list[i].last)
            printf("    %d: %s\n", list[i].first, list[i].reason);
        else
            printf("    %d-%d: %s\n", list[i].first, list[i].last, list[i].reason);
}

TEST(every_case_has_a_test_or_is_left_to_a_later_issue)
{
    int here[CASES + 1] = {0}, through_http[CASES + 1] = {0}, in_runs[CASES + 1] = {0}, wrong = 0;
    bool is_later[CASES + 1] = {false}, is_outside[CASES + 1] = {false};
    scan_folder("tests/conformance", ".c", "TEST(c", here);
    scan_folder("tests/unit/core", ".c", "TEST(c", here);
    scan_folder("tests/unit/sim", ".c", "TEST(c", here);
    scan_folder("tests/api", ".py", "def test_case_", through_http);
    scan_folder("tests/runs", ".py", "def test_c", in_runs);
    scan_folder("tests/vm", ".py", "def test_c", in_runs);
    mark(later, LATER_COUNT, is_later);
    mark(outside, OUTSIDE_COUNT, is_outside);
    for (int number = 1; number <= CASES; number++) {
        const bool has_test =
            through_http[number] || in_runs[number] || (here[number] && !is_outside[number]);
        if (has_test != is_later[number])
            continue;
        wrong++;
        printf("case %d has %s\n", number,
               has_test             ? "tests, and is listed as left to later"
               : is_outside[number] ? "no test in tests/api"
                                    : "no test");
    }
    printf("left to later issues:\n");
    print(later, LATER_COUNT);
    CHECK(wrong == 0);
}
