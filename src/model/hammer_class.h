/* hammer_class.h - the ways to reach into a machine, and what each of them can do.
 *
 * A hammer kind is a row that names its class; the class is code. The actions a class offers stand
 * in one table here, by category: power, boot (which device it starts from, kept over restarts
 * unless "once" is asked for), run (commands) and xfer (files). Classes of the ancestors lead to
 * the same entries. An unknown class offers nothing.
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

/* Each list is words with single spaces between; NULL when there are none. */
struct hammer_class {
    const char *name;
    const char *power;
    const char *boot;
    const char *run;
    const char *xfer;
    bool has_no_user; /* it logs in nowhere, and needs no username */
};

/* By our name or by an ancestor's; NULL when it is not known. */
const struct hammer_class *hammer_class_find(struct str klass);

const char *hammer_category_name(enum hammer_category category);
/* Its list of that category; empty when there is none. */
struct str hammer_class_words(const struct hammer_class *klass, enum hammer_category category);
/* The first word of *rest, which moves behind it. Empty at the end. */
struct str hammer_next_word(struct str *rest);
/* Is the word among these? */
bool hammer_words_have(struct str words, struct str word);

/* Does it offer this power action? */
bool hammer_class_offers(struct str klass, struct str action);
/* Does any? */
bool hammer_class_any_offers(struct str action);
/* Can it say what the machine starts from? */
bool hammer_class_boots(struct str klass);
