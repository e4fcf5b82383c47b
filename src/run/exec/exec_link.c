#include "run/exec/exec_link.h"

err exec_link_take(struct link *l, struct exec_message *out_message)
{
    struct str body;
    const err e = link_take(l, EXEC_BODY_MAX, &body);
    return e == OK ? exec_decode(body, out_message) : e;
}

err exec_link_put(struct link *l, const struct exec_message *message)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    err e = exec_encode(message, &bytes);
    if (e == OK)
        e = link_put(l, buf_str(&bytes), EXEC_WAITING_MAX);
    arena_fini(&arena);
    return e;
}
