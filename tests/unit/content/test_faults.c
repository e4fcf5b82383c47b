/* Goal: a parser that fails is an error of its file. Method: calls of libyaml fail on purpose
 * (tests/faults.h). */
#include <yaml.h>

#include "content/yaml.h"
#include "tests/faults.h"
#include "tests/unit/content/content_test.h"

FAULT(int, yaml_parser_initialize, (yaml_parser_t * p), (p), 0)

/* As libyaml does when malloc() fails: no place and no sentence. */
static int out_of_memory(yaml_parser_t *p)
{
    p->error = YAML_MEMORY_ERROR;
    return 0;
}

FAULT(int, yaml_parser_parse, (yaml_parser_t * p, yaml_event_t *e), (p, e), out_of_memory(p))

static const char text[] = "barclamp: {name: a}\nroles: [{name: b}]\n";

static err read_text(struct bench *b, const struct json **out)
{
    return yaml_read(&b->report, STR("a.yml"), str_from(text), out);
}

TEST(a_parser_that_cannot_be_made_is_an_error_of_its_file)
{
    struct bench b;
    const struct json *tree;
    bench_open(&b);
    fault_set("yaml_parser_initialize", 1);
    CHECK(read_text(&b, &tree) == ERR_SYNTAX && !tree && b.report.errors == 1 && fault_was_hit());
    CHECK(read_text(&b, &tree) == OK && tree);
    bench_close(&b);
}

TEST(each_event_may_fail_and_is_an_error_of_its_file)
{
    unsigned nth = 1;
    for (bool was_hit = true; was_hit; nth++) {
        struct bench b;
        const struct json *tree;
        bench_open(&b);
        fault_set("yaml_parser_parse", nth);
        const err e = read_text(&b, &tree);
        was_hit = fault_was_hit();
        CHECK(was_hit ? e == ERR_SYNTAX && !tree && b.report.errors == 1 : e == OK && tree);
        CHECK(read_text(&b, &tree) == OK && tree);
        bench_close(&b);
    }
    CHECK(nth > 15);
}
