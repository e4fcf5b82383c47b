/* counts.h - what the worlds have reached: faults, crash points, refusals, cells of the table.
 *
 * A simulator finds only what its worlds produce. So everything that should happen is counted over
 * all seeds, and a large run in which something never happened fails: the list of what cannot
 * happen stands in counts.c, each with its reason. Plain numbers, so that processes can add up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/command.h"
#include "model/problem.h"
#include "sim/model/model.h"
#include "sim/scenario/options.h"
#include "turn/turn.h"

/* Worlds are sorted into so many sizes, to tell the median. */
#define COUNTS_SIZES 4096u

struct counts {
    uint64_t worlds;
    uint64_t turns;
    uint64_t reloads; /* checks of I1 */
    uint64_t whys;
    uint64_t simulated_ms;
    uint64_t faults[FAULT_COUNT];
    uint64_t points[TURN_POINT_COUNT]; /* crashes at each */
    uint64_t refusals[PROBLEM_COUNT];
    uint64_t done[COMMAND_COUNT];
    uint64_t refused[COMMAND_COUNT];
    struct model_counts model;
    uint32_t noderoles[COUNTS_SIZES]; /* worlds by their largest number of noderoles */
    uint32_t commands[COUNTS_SIZES];  /* worlds by the commands of operators */
};

void counts_add(struct counts *sum, const struct counts *part);
void counts_add_model(struct counts *sum, const struct model_counts *part);
void counts_size(uint32_t *sizes, uint64_t value);
void counts_print(const struct counts *counts, FILE *out);
/* What never happened and could have: names them on `out`, returns how many. */
uint32_t counts_missing(const struct counts *counts, const struct options *options, FILE *out);
