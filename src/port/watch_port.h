/* watch_port.h - the port to observers of the turn: event stream, recorder, simulator.
 *
 * Every callback may be NULL. Observers must not change anything.
 */
#pragma once

struct batch;
struct command;
struct outcome;

struct watch_port {
    void *self;
    /* A command was stepped. Its changes are not durable yet. */
    void (*stepped)(void *self, const struct command *command, const struct outcome *outcome);
    /* A batch is durable, and none of its effects has been performed yet. */
    void (*durable)(void *self, const struct batch *batch);
    /* A command is about to be stepped; a batch is about to be submitted to the store. */
    void (*stepping)(void *self, const struct command *command);
    void (*submitting)(void *self, const struct batch *batch);
    /* A part of a COMMAND_BATCH was stepped; the outcome of the batch itself follows. */
    void (*part)(void *self, const struct command *part, const struct outcome *outcome);
};
