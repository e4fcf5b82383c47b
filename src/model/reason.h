/* reason.h - causes of failures, as codes that programs can compare.
 *
 * The module that detects a failure (a jig, the runner, a hook, a hammer, the engine itself) names
 * its code and the subject the code is about: the exit status, the task of a playbook, the attrib
 * without a value. Both are stored with the noderole, its ended run or the node, together with a
 * sentence. docs/runbook.md lists the codes, the subject of each, and what to do.
 *
 * The numbers are stored: a new code is added at the end of its list, and none is removed.
 */
#pragma once

#include "base/text/str.h"

/* name, text in the API, kind of the object it is reported for: a noderole, its node, its role
 * or an attrib of its role. The kind NONE marks a fault of the installation, which the daemon
 * detects and which is never stored. */
#define REASONS(X)                                                                                 \
    X(NONE, "none", NONE)                                                                          \
    /* how a process ended; the subject is the number */                                           \
    X(EXIT_STATUS, "exit_status", NODEROLE)                                                        \
    X(SIGNAL, "signal", NODEROLE)                                                                  \
    X(DEADLINE, "deadline", NODEROLE)         /* in seconds                                 */     \
    X(MEMORY_LIMIT, "memory_limit", NODEROLE) /* oom_kill, or the line of the log           */     \
    X(DISK_FULL, "disk_full", NODEROLE)       /* the path of the file system                */     \
    X(DISK_ERROR, "disk_error", NODEROLE)     /* the same                                   */     \
    X(NOT_STARTED, "not_started", NODEROLE)                                                        \
    X(CANCELLED, "cancelled", NODEROLE) /* the user */                                             \
    X(RUN_LOST, "run_lost", NODEROLE)                                                              \
    X(SUPERVISOR_LOST, "supervisor_lost", NODEROLE)                                                \
    X(SUPERVISOR_DOWN, "supervisor_down", NODEROLE)                                                \
    /* ssh; the subject is the address */                                                          \
    X(SSH_KEY_REFUSED, "ssh_key_refused", NODE)                                                    \
    X(SSH_KEY_UNUSABLE, "ssh_key_unusable", NODE)                                                  \
    X(HOST_KEY_CHANGED, "host_key_changed", NODE)                                                  \
    X(HOST_KEY_UNKNOWN, "host_key_unknown", NODE)                                                  \
    X(HOST_KEY_REFUSED, "host_key_refused", NODE)                                                  \
    X(CONNECTION_REFUSED, "connection_refused", NODE)                                              \
    X(CONNECTION_TIMEOUT, "connection_timeout", NODE)                                              \
    X(CONNECTION_LOST, "connection_lost", NODE)                                                    \
    X(UNREACHABLE, "unreachable", NODE)                                                            \
    X(NAME_UNRESOLVED, "name_unresolved", NODE)                                                    \
    X(SSH_FAILED, "ssh_failed", NODE)                                                              \
    /* files of a role, and the result of its run */                                               \
    X(ROLE_FILES, "role_files", ROLE)             /* the path         */                           \
    X(TOOL_MISSING, "tool_missing", ROLE)         /* the program      */                           \
    X(DATA_TOO_LARGE, "data_too_large", NODEROLE) /* bytes            */                           \
    X(WALL_INVALID, "wall_invalid", NODEROLE)     /* path of a value  */                           \
    X(RESULT_INVALID, "result_invalid", NODEROLE)                                                  \
    X(PLAYBOOK_TASK, "playbook_task", NODEROLE) /* name of the task */                             \
    X(PUPPET_RESOURCES, "puppet_resources", NODEROLE)                                              \
    /* Lua code of roles; the subject is the function */                                           \
    X(HOOK_ERROR, "hook_error", NODEROLE)                                                          \
    X(HOOK_LIMIT, "hook_limit", NODEROLE)                                                          \
    X(HOOK_REFUSED, "hook_refused", NODEROLE)                                                      \
    X(HOOK_MISSING, "hook_missing", ROLE)                                                          \
    X(ROLE_FAILED, "role_failed", NODEROLE)                                                        \
    X(TEST_FAILED, "test_failed", NODEROLE)                                                        \
    /* data; the subject is the name of the attrib */                                              \
    X(ATTRIB_MISSING, "attrib_missing", ATTRIB)                                                    \
    /* power and boot; the subject is the action */                                                \
    X(POWER_REFUSED, "power_refused", NODE)                                                        \
    X(POWER_UNREACHABLE, "power_unreachable", NODE)                                                \
    X(POWER_TIMEOUT, "power_timeout", NODE)                                                        \
    X(POWER_TLS, "power_tls", NODE)                                                                \
    X(POWER_AUTH, "power_auth", NODE)                                                              \
    X(POWER_NOT_OFFERED, "power_not_offered", NODE)                                                \
    X(POWER_BUSY, "power_busy", NODE)                                                              \
    X(POWER_LOST, "power_lost", NODE)                                                              \
    X(POWER_FAILED, "power_failed", NODE)                                                          \
    X(POWER_SETTING, "power_setting", NODE)                                                        \
    X(POWER_INTERRUPTED, "power_interrupted", NODE)                                                \
    X(POWER_RETRYING, "power_retrying", NONE)                                                      \
    X(BOOT_NOT_SERVED, "boot_not_served", NODE)                                                    \
    /* faults of the installation; the subject is the part of it */                                \
    X(STORE_DOWN, "store_down", NONE)                                                              \
    X(STORE_STALLED, "store_stalled", NONE)                                                        \
    X(STORE_FULL, "store_full", NONE)                                                              \
    X(CLOCK_BEHIND, "clock_behind", NONE)                                                          \
    X(CLOCK_AHEAD, "clock_ahead", NONE)                                                            \
    X(STOPPING, "stopping", NONE)                                                                  \
    /* ssh again; the subject is the node that the key is pinned for */                            \
    X(HOST_KEY_TAKEN, "host_key_taken", NODE)                                                      \
    /* a script found another disk than the committed one; the subject is the name of the disk */  \
    X(DISK_DIFFERS, "disk_differs", NODEROLE)                                                      \
    /* installations; the subject is the environment, the generation of the stamp, or the cause */ \
    X(INSTALLER_SILENT, "installer_silent", NODE)                                                  \
    X(DISK_STAMPED, "disk_stamped", NODE)                                                          \
    X(COMMIT_OUTDATED, "commit_outdated", NODEROLE)                                                \
    /* a boot server cannot serve what was committed */                                            \
    X(BOOT_SERVER, "boot_server", NODEROLE)                                                        \
    /* what boot servers report about a machine; the subject is the event, or a MAC or address */  \
    X(BOOT_SILENT, "boot_silent", NONE)                                                            \
    X(ADDRESS_IN_USE, "address_in_use", NONE)                                                      \
    X(FOREIGN_DHCP, "foreign_dhcp", NONE)

enum reason_code {
#define X(name, text, object) REASON_##name,
    REASONS(X)
#undef X
        REASON_COUNT
};

enum reason_object {
    REASON_OF_NONE,
    REASON_OF_NODEROLE,
    REASON_OF_NODE,
    REASON_OF_ROLE,
    REASON_OF_ATTRIB
};

enum { REASON_SUBJECT_MAX = 255, REASON_TEXT_MAX = 1000 };

/* A failure. `subject` and `text` may be empty. */
struct reason {
    enum reason_code code;
    struct str subject;
    struct str text; /* a sentence */
};

const char *reason_name(enum reason_code code);
enum reason_object reason_object(enum reason_code code);
