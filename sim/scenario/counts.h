/* counts.h - coverage of the simulated worlds: faults, crash points, refusals, cells of the state
 * table.
 *
 * A simulator finds only defects in what its worlds execute. So every fault, refusal and transition
 * is counted over all seeds, and a large run in which one never occurred fails; counts.c lists
 * those that cannot occur, each with the reason. The struct holds plain numbers, so that the counts
 * of several processes can be added.
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

/* Number of size classes of worlds, for the median. */
#define COUNTS_SIZES 4096u

struct counts {
    uint64_t worlds;
    uint64_t turns;
    uint64_t reloads; /* checks of I1 */
    uint64_t whys;
    uint64_t simulated_ms;
    uint64_t faults[FAULT_COUNT];
    uint64_t points[TURN_POINT_COUNT]; /* crashes at each point of the turn */
    uint64_t refusals[PROBLEM_COUNT];
    uint64_t done[COMMAND_COUNT];
    uint64_t refused[COMMAND_COUNT];
    struct model_counts model;
    uint64_t boot_changes; /* changes of the boot view, compared with a base image */
    uint64_t boot_copies;  /* copies of boot servers, compared with the view of their turn */
    uint32_t noderoles[COUNTS_SIZES]; /* worlds by their largest number of noderoles */
    uint32_t commands[COUNTS_SIZES];  /* worlds by the commands of operators */
};

void counts_add(struct counts *sum, const struct counts *part);
void counts_add_model(struct counts *sum, const struct model_counts *part);
void counts_size(uint32_t *sizes, uint64_t value);
void counts_print(const struct counts *counts, FILE *out);
/* Prints what never occurred though it could have, and returns the number of lines. */
uint32_t counts_missing(const struct counts *counts, const struct options *options, FILE *out);
