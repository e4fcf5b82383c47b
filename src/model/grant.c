#include "model/grant.h"

#include "base/err.h"
#include "model/record.h"

/* Names and texts of grants; without state, and nothing can fail. */

const char *grant_void_name(enum grant_void reason)
{
    static const char *const names[] = {
#define X(upper, name) [GRANT_VOID_##upper] = name,
        GRANT_VOIDS(X)
#undef X
    };
    must(reason < GRANT_VOID_COUNT);
    return names[reason];
}

const char *grant_state_name(enum grant_state state)
{
    static const char *const names[] = {[GRANT_NONE] = "none",
                                        [GRANT_UNUSED] = "unused",
                                        [GRANT_USED] = "used",
                                        [GRANT_VOID] = "void"};
    must(state < GRANT_STATE_COUNT);
    return names[state];
}

struct str grant_answer_doc(enum grant_answer answer)
{
    static const char *const docs[] = {[GRANT_GRANTED] = "{\"answer\":\"granted\"}",
                                       [GRANT_LOCAL] = "{\"answer\":\"local\"}",
                                       [GRANT_STALE] = "{\"answer\":\"stale\"}"};
    must(answer < GRANT_ANSWER_COUNT);
    return str_from(docs[answer]);
}

bool grant_ticket_is_valid(struct str ticket)
{
    enum { HEX_LEN = 64 };
    for (uint32_t i = 0; i < ticket.len; i++)
        if (!((ticket.at[i] >= '0' && ticket.at[i] <= '9') ||
              (ticket.at[i] >= 'a' && ticket.at[i] <= 'f')))
            return false;
    return ticket.len == HEX_LEN;
}

bool grant_is_for(struct str bootenv)
{
    return str_ends(bootenv, STR("-install"));
}

bool grant_void_record(struct record *record, enum grant_void reason)
{
    must(reason == GRANT_VOID_RESTORED || reason == GRANT_VOID_IMPORTED);
    if (record->table == TABLE_NODE && record->node.grant_noderole && !record->node.grant_void) {
        record->node.grant_void = reason;
        record->node.grant_ticket = STR("");
        return true;
    }
    if (record->table == TABLE_NODEROLE && record->noderole.state != NODEROLE_PROPOSED &&
        !record->noderole.grant_barred) {
        record->noderole.grant_barred = reason;
        return true;
    }
    return false;
}
