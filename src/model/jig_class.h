/* jig_class.h - the ways in which work can be done, and what each of them means.
 *
 * A jig is a row that names its class; the class is code. Everything that depends on which class
 * it is stands in one table here, so that no other chapter compares class names. Barclamps of the
 * lineage name their classes as the ancestors did ("BarclampChef::SoloJig"); those names lead to
 * the same entries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct jig_class {
    const char *name;
    bool is_noop;       /* there is nothing to do: succeeds in the step that starts it      */
    bool is_test;       /* pretends; active only where somebody asked for it                */
    bool stays_itself;  /* is never replaced by the test jig                                */
    bool starts_active; /* a jig of this class is active as soon as it is imported          */
};

/* By our name or by an ancestor's; NULL when nothing here can do such work. */
const struct jig_class *jig_class_find(struct str class_name);
