/* subject.h - the object that a command changes, for audit events and preconditions. */
#pragma once

#include "model/command.h"
#include "model/record.h"

struct subject {
    enum table table; /* TABLE_COUNT: none (internal command), or a batch with several objects */
    int64_t id;       /* 0: the command creates the object */
};

struct subject command_subject(const struct command *command);
