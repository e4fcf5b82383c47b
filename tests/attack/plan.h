/* plan.h - what one connection of the campaign sends, made from a seed and a number.
 *
 * plan_make is a function of (corpus, seed, number) alone: the same three give the same bytes, the
 * same cuts and the same end, so that a finding is repeated by its number. Every plan whose number
 * is a multiple of PLAN_CONTROL_EVERY is a control: one valid request whose status is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "tests/attack/corpus.h"

enum { PLAN_CONTROL_EVERY = 64, PLAN_CUTS_MAX = 2048 };

enum plan_end {
    PLAN_WAIT,   /* read the answers, then close */
    PLAN_HALF,   /* shut down the sending side, then read the answers */
    PLAN_RESET,  /* reset the connection as soon as the last byte is sent */
    PLAN_UNREAD, /* close in the ordinary way without reading an answer */
};

struct plan {
    uint64_t number;
    struct str bytes;
    uint32_t cuts[PLAN_CUTS_MAX]; /* ascending offsets where one write ends and the next begins */
    uint32_t cuts_count;
    uint32_t requests;
    enum plan_end end;
    bool is_control;
    int control_status;
    bool has_head; /* the last request is a HEAD, whose answer has no body */
};

void plan_make(struct plan *p, struct arena *a, const struct corpus *c, uint64_t seed,
               uint64_t number);
