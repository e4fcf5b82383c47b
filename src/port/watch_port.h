/* watch_port.h - the seam to those who only look on: event stream, recorder, simulator. */
#pragma once

struct batch;
struct command;
struct outcome;

struct watch_port {
    void *self;
    /* A command was stepped. What came of it is not durable yet. NULL = nobody cares. */
    void (*stepped)(void *self, const struct command *command, const struct outcome *outcome);
    /* A batch is in, and none of its effects has left yet. NULL = nobody cares. */
    void (*durable)(void *self, const struct batch *batch);
    /* A command is about to be stepped; a batch is about to be handed to the store. NULL = nobody
     * cares. */
    void (*stepping)(void *self, const struct command *command);
    void (*submitting)(void *self, const struct batch *batch);
    /* A part of a COMMAND_BATCH was stepped; the batch itself follows, done or not. NULL = nobody
     * cares. */
    void (*part)(void *self, const struct command *part, const struct outcome *outcome);
};
