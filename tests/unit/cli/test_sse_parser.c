/* Goal: a stream gives the same events for pieces of any size, and is resumed after a break. */
#include "cli/client/sse_parser.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

static char seen[1000];

static void hear(void *self, struct str data)
{
    const struct sse_parser *s = self;
    const size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%s=%.*s;", s->last_id, STR_FMT_ARGS(data));
}

static struct sse_parser stream;

static void begin(void)
{
    seen[0] = 0;
    stream = (struct sse_parser){.on_event = hear, .self = &stream};
}

static const char story[] = ": hello\n\n"
                            "id: 7.1\r\ndata: {\"a\":1}\r\n\r\n"
                            "event: x\nid:7.2\ndata:one\ndata: two\n\n"
                            "id: 7.3\n\n"
                            "data: last\rdata:  line\r\r";

TEST(events_come_in_any_pieces)
{
    for (uint32_t size = 1; size < sizeof story; size++) {
        begin();
        for (uint32_t at = 0; at < sizeof story - 1; at += size)
            sse_parser_feed(&stream, str_slice(str_from(story), at, at + size));
        CHECK(strcmp(seen, "7.1={\"a\":1};7.2=one\ntwo;7.3=last\n line;") == 0);
    }
}

TEST(a_broken_stream_forgets_half_an_event_but_not_where_it_was)
{
    begin();
    sse_parser_feed(&stream, STR("id: 3.1\ndata: a\n\nid: 3.2\ndata: b\nda"));
    sse_parser_reset(&stream);
    sse_parser_feed(&stream, STR("data: c\n\n"));
    CHECK(strcmp(seen, "3.1=a;3.1=c;") == 0);
}

TEST(what_is_too_long_is_cut)
{
    static char line[SSE_LINE_SIZE * 2];
    begin();
    memset(line, 'x', sizeof line);
    sse_parser_feed(&stream, STR("id: "));
    sse_parser_feed(&stream, (struct str){line, sizeof line});
    sse_parser_feed(&stream, STR("\ndata: fine\n\n"));
    CHECK(strcmp(seen, "=fine;") == 0);
}
