/* redfish_documents.h - extraction of values from the documents of a Redfish service.
 *
 * Pure functions from a JSON tree to structures. Documents are not trusted: a value of the wrong
 * type counts as absent, and so does a path that could lead to another host. Strings point into the
 * tree; the caller copies those that must outlive it.
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
    REDFISH_POWER_CHANGING, /* PoweringOn or PoweringOff */
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
    struct str power_word; /* PowerState, unchanged */

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

/* An absolute path on the same host: "/a/b", not starting with "//", of printable ASCII without
 * quotes, backslashes or angle brackets. */
bool redfish_is_path(struct str text);
/* The path in {"@odata.id": ...}; empty if absent or invalid. */
struct str redfish_link(const struct json *object);
/* The string of a key; empty if absent. */
struct str redfish_text(const struct json *object, const char *key);

void redfish_root_read(const struct json *document, struct redfish_root *out_root);
void redfish_system_read(const struct json *document, struct redfish_system *out_system);
/* The allowed values of ResetType in an ActionInfo. */
void redfish_info_read(const struct json *document, struct redfish_words *out_words);
enum redfish_task redfish_task_read(const struct json *document);

/* Searches one page of the collection for a member whose path, or the last part of it, is `wanted`.
 * Adds the number of members, including invalid ones, to *count and stores the path of the last
 * valid one in *out_path. True if `wanted` was found; *out_path is then its path. */
bool redfish_members_read(const struct json *document, struct str wanted, uint32_t *count,
                          struct str *out_path);
/* Path of the next page; empty: this was the last. */
struct str redfish_next_page(const struct json *document);
/* The last parts of all members' paths: "1, 2, 3". */
struct str redfish_member_names(struct arena *a, const struct json *document);

/* The message of an error document: at most 400 bytes, never empty. */
struct str redfish_error_text(struct arena *a, const struct json *document);
/* "a, b, c", or "nothing". */
struct str redfish_words_list(struct arena *a, const struct redfish_words *words);
