/* hammer_class.h - the ways to reach into a machine, and what each of them can do.
 *
 * A hammer kind is a row that names its class; the class is code. The actions a class offers stand
 * in one table here, by category: power, boot (which device it starts from, kept over restarts),
 * run (commands) and xfer (files). Classes of the ancestors lead to the same entries. An unknown
 * class offers nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Each list is words with single spaces between; NULL when there are none. */
struct hammer_class {
    const char *name;
    const char *power;
    const char *boot;
    const char *run;
    const char *xfer;
};

/* By our name or by an ancestor's; NULL when it is not known. */
const struct hammer_class *hammer_class_find(struct str klass);

/* Does it offer this power action? */
bool hammer_class_offers(struct str klass, struct str action);
/* Does any? */
bool hammer_class_any_offers(struct str action);
/* Can it say what the machine starts from? */
bool hammer_class_boots(struct str klass);
