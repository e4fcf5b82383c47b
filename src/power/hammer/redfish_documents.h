/* redfish_documents.h - what we read out of the documents of a Redfish service.
 *
 * Pure: a tree in, facts out. Nothing in a document is trusted: what has the wrong shape counts as
 * absent, a path that could lead elsewhere as none. Texts point into the tree; copy what is to
 * outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

#define REDFISH_WORDS_MAX 32u

enum redfish_power {
    REDFISH_POWER_UNKNOWN,
    REDFISH_POWER_ON,
    REDFISH_POWER_OFF,
    REDFISH_POWER_MOVING, /* on its way to either */
};

const char *redfish_power_word(enum redfish_power power);

struct redfish_words {
    struct str at[REDFISH_WORDS_MAX];
    uint32_t count;
};

struct redfish_root {
    struct str systems;  /* path; empty: none */
    struct str sessions; /* path; empty: none */
    struct str vendor;
    struct str product;
    struct str oem; /* the first key of Oem */
};

struct redfish_system {
    struct str id;
    struct str manufacturer;
    struct str oem;
    enum redfish_power power;
    struct str power_word; /* as it says it */

    struct str reset_path;
    struct str reset_info; /* path of the ActionInfo; empty: none */
    struct redfish_words reset_types;

    bool has_boot;
    struct str boot_target;
    struct str boot_enabled;
    struct str boot_mode;
    struct redfish_words boot_targets;
    struct redfish_words boot_enableds;
    struct str settings; /* path of the settings object; empty: none */
    struct str etag;     /* in the document */

    bool has_location; /* LocationIndicatorActive */
    bool has_led;      /* IndicatorLED */
    struct redfish_words leds;
};

enum redfish_task { REDFISH_TASK_NONE, REDFISH_TASK_RUNS, REDFISH_TASK_DONE, REDFISH_TASK_FAILED };

/* "/a/b" on the same host: not empty, no "//", printable ASCII without quotes or backslashes. */
bool redfish_is_path(struct str text);
/* The path in {"@odata.id": ...}; empty when it is none. */
struct str redfish_link(const struct json *object);
/* The text under a key; empty when it is none. */
struct str redfish_text(const struct json *object, const char *key);

void redfish_root_read(const struct json *document, struct redfish_root *out_root);
void redfish_system_read(const struct json *document, struct redfish_system *out_system);
/* The allowed values of ResetType in an ActionInfo. */
void redfish_info_read(const struct json *document, struct redfish_words *out_words);
enum redfish_task redfish_task_read(const struct json *document);

/* Looks through one page of the collection for a member whose path, or the last part of it, is
 * `wanted`. Counts the members (bad ones too) into *count, keeps the path of the last good one in
 * *out_path; true when `wanted` was found. */
bool redfish_members_read(const struct json *document, struct str wanted, uint32_t *count,
                          struct str *out_path);
/* Path of the next page; empty: this was the last. */
struct str redfish_next_page(const struct json *document);
/* The last parts of all members' paths: "1, 2, 3". */
struct str redfish_member_names(struct arena *a, const struct json *document);

/* What an error document says, for a sentence: bounded, never empty. */
struct str redfish_error_text(struct arena *a, const struct json *document);
/* "a, b, c", or "nothing". */
struct str redfish_words_list(struct arena *a, const struct redfish_words *words);
