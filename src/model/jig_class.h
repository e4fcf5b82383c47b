/* jig_class.h - the ways to execute a role on a node, and the properties of each.
 *
 * A jig (executor of roles) is a row that names its class; the class is implemented in src/run. All
 * properties that depend on the class are in one table here, so that no other module compares class
 * names. Barclamps written for OpenCrowbar use its class names ("BarclampChef::SoloJig"); those map
 * to the same entries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct jig_class {
    const char *name;
    bool is_noop;       /* no work: the run succeeds in the step that starts it             */
    bool is_native;     /* is_noop, and the daemon serves boots for it (docs/spec/boot.md)   */
    bool is_test;       /* simulates work; active only if the option test_jig is set        */
    bool stays_itself;  /* is never replaced by the test jig                                */
    bool starts_active; /* a jig of this class is active when it is imported                */
};

/* Finds a class by its name or by a class name of OpenCrowbar; NULL if it is unknown. */
const struct jig_class *jig_class_find(struct str class_name);
