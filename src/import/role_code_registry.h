/* role_code_registry.h - which code the roles have in this process.
 *
 * Nothing of it is stored: the Lua file of a role is looked for when its code is first needed, when
 * its barclamp was imported, and on every reload. So it is known before the first hook of a start
 * is delivered, whatever else is still being read, and hooks that an import causes meet the code it
 * came with. A file that is wrong leaves the code there was; one that is gone takes it away: a role
 * without hooks needs none, and of one that should have some the calls fail. What goes wrong is
 * logged with file and line, and told to whoever makes such a call.
 *
 * Belongs to the loop's thread, which only finds out where the file lies. It is read, compiled and
 * run in the thread of the hooks; role_code_registry_loaded() hears what came of that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/record.h"

struct code;
struct core;
struct hooks;
struct hooks_report;

struct role_code_registry_seams {
    void *self;
    const struct core *(*core)(void *self); /* NULL: there is none for now */
    /* Where a barclamp's files lie, if that is better known than in the core; else empty. */
    struct str (*source_path)(void *self, struct str barclamp);
};

struct role_code_registry {
    struct hooks *hooks;
    struct role_code_registry_seams seams;
    struct arena arena;
    struct code *list; /* by role_id */
    uint32_t count, cap;
};

/* The role is about to be called: see to its code, unless that is done already. */
void role_code_registry_need(struct role_code_registry *c, int64_t role_id);
/* Have the code of this role read again, or, when its file is the same as the last time, only if it
 * could not be used then. False when there is no such role. */
bool role_code_registry_read_again(struct role_code_registry *c, struct str role, bool is_same);
/* What hooks_seams.loaded() was told. */
void role_code_registry_loaded(struct role_code_registry *c, int64_t role_id, err error,
                               const struct hooks_report *report);
void role_code_registry_fini(struct role_code_registry *c);
