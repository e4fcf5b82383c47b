/* Goal: messages without a text travel as they are, and no bytes are no message. Method: every kind
 * of message with texts of NULL and 0. */
#include "run/exec/protocol.h"
#include "tests/check.h"

TEST(every_message_of_nothing_is_encoded_and_decoded_or_refused)
{
    for (uint32_t kind = EXEC_NOTHING + 1; kind < EXEC_KIND_END; kind++) {
        struct arena a = {0};
        struct buf bytes = buf_in(&a);
        const struct exec_message m = {.kind = (enum exec_kind)kind};
        struct exec_message back;
        CHECK(exec_encode(&m, &bytes) == OK && bytes.len > 4);
        const err e = exec_decode(str_slice(buf_str(&bytes), 4, bytes.len), &back);
        CHECK((e == OK && back.kind == m.kind) || e == ERR_CORRUPT);
        arena_fini(&a);
    }
}

TEST(no_bytes_are_no_message)
{
    struct exec_message m;
    CHECK(exec_decode((struct str){NULL, 0}, &m) == ERR_CORRUPT);
}
