/* hammer_class.h - the drivers that reach or switch a machine, and the actions of each.
 *
 * A hammer kind (driver) is a row that names its class; the class is implemented in src/power. This
 * table lists the actions of each class by category: power, boot (selects the boot device, until
 * changed or for one boot), run (commands) and xfer (file transfer). Class names of OpenCrowbar map
 * to the same entries. An unknown class has no actions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define HAMMER_CATEGORIES(X)                                                                       \
    X(POWER, power)                                                                                \
    X(BOOT, boot)                                                                                  \
    X(RUN, run)                                                                                    \
    X(XFER, xfer)

enum hammer_category {
#define X(name, lower) HAMMER_##name,
    HAMMER_CATEGORIES(X)
#undef X
        HAMMER_CATEGORY_COUNT
};

/* Each list is a string of words separated by single spaces; NULL if it is empty. */
struct hammer_class {
    const char *name;
    const char *power;
    const char *boot;
    const char *run;
    const char *xfer;
    bool has_no_user; /* the driver does not log in and needs no username */
};

/* Finds a class by its name or by a class name of OpenCrowbar; NULL if it is unknown. */
const struct hammer_class *hammer_class_find(struct str klass);

const char *hammer_category_name(enum hammer_category category);
/* The actions of that category; empty if there are none. */
struct str hammer_class_words(const struct hammer_class *klass, enum hammer_category category);
/* Removes the first word from *rest and returns it; empty at the end. */
struct str hammer_next_word(struct str *rest);
/* True if the list contains the word. */
bool hammer_words_have(struct str words, struct str word);

/* True if the class has this power action. */
bool hammer_class_offers(struct str klass, struct str action);
/* True if at least one class has this power action. */
bool hammer_class_any_offers(struct str action);
/* True if the class can select the boot device of the machine. */
bool hammer_class_boots(struct str klass);
