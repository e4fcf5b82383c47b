/* subject.h - which object a command is about. */
#pragma once

#include "model/command.h"
#include "model/record.h"

struct subject {
    enum table table; /* TABLE_COUNT: of none; the engine talks to itself, or see its parts */
    int64_t id;       /* 0: it is about to make one */
};

struct subject command_subject(const struct command *command);
