/* role_code_registry.h - the Lua code of roles that is loaded in this process.
 *
 * Nothing of it is stored: the Lua file of a role is looked up when its code is first needed, after
 * its barclamp was imported, and on every reload. So the code is known before the first hook of a
 * start is delivered, and hooks that an import causes use the code of that import. A file with
 * errors keeps the loaded code; a missing file unloads it: a role without hooks needs none, and the
 * hooks of other roles fail. Problems are logged with file and line and are the text of failed
 * calls.
 *
 * It belongs to the thread of the loop, which only determines the path. The file is read, compiled
 * and executed in the hook thread, which reports to role_code_registry_loaded().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/record.h"

struct code_lookup;
struct core;
struct hooks;
struct hooks_report;

struct role_code_registry_callbacks {
    void *self;
    const struct core *(*core)(void *self); /* returns NULL while no core is loaded */
    /* The source path of a barclamp whose import is pending; otherwise empty. */
    struct str (*source_path)(void *self, struct str barclamp);
};

struct role_code_registry {
    struct hooks *hooks;
    struct role_code_registry_callbacks callbacks;
    struct arena arena;
    struct code_lookup *list; /* sorted by role_id */
    uint32_t count, cap;
};

/* Load the code of a role before one of its hooks is called, unless it is up to date. */
void role_code_registry_need(struct role_code_registry *c, int64_t role_id);
/* Load the code of this role again; with `is_same` (file unchanged) only if it could not be loaded
 * before. False if there is no such role. */
bool role_code_registry_read_again(struct role_code_registry *c, struct str role, bool is_same);
/* The result of a load, from hooks_callbacks.loaded(). */
void role_code_registry_loaded(struct role_code_registry *c, int64_t role_id, err error,
                               const struct hooks_report *report);
void role_code_registry_fini(struct role_code_registry *c);
