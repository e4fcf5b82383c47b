#include "run/jig/jig_tools.h"

#include <sys/stat.h>
#include <unistd.h>

#include "model/jig_class.h"
#include "run/jig/launch_spec_private.h"

/* The programs that each jig class starts on this machine, with the Debian packages that contain
 * them, so that a refusal names what to install. */

/* clang-format off */
static const struct {
    const char *class_name, *program, *package;
} needs[] = {
    {"script",  "sh",               "dash"},
    {"script",  "tar",              "tar"},
    {"script",  "ssh",              "openssh-client"},
    {"puppet",  "sh",               "dash"},
    {"puppet",  "tar",              "tar"},
    {"puppet",  "ssh",              "openssh-client"}, /* puppet itself is needed on the nodes */
    {"ansible", "sh",               "dash"},
    {"ansible", "tar",              "tar"},
    {"ansible", "ansible-playbook", "ansible-core"},
    {"ansible", "ssh",              "openssh-client"},
};
/* clang-format on */

static bool jig_tools_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *jig_tools_find(struct arena *a, const char *path, const char *program)
{
    const struct str directories = str_from(path);
    for (uint32_t from = 0; from < directories.len;) {
        const uint32_t to = str_find(directories, ':', from);
        const struct str directory = str_slice(directories, from, to);
        from = to + 1;
        if (!str_starts(directory, STR("/")))
            continue;
        const char *found = str_z(a, STR_CONCAT(a, directory, STR("/"), str_from(program)));
        if (jig_tools_is_program(found))
            return found;
    }
    return NULL;
}

err jig_tools_check(struct arena *a, const char *path, struct str jig_class, struct reason *out_why)
{
    const struct jig_class *klass = jig_class_find(jig_class);
    const struct str name = klass ? str_from(klass->name) : jig_class;
    for (uint32_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (!str_eq(name, str_from(needs[i].class_name)) ||
            jig_tools_find(a, path, needs[i].program))
            continue;
        *out_why =
            (struct reason){.code = REASON_TOOL_MISSING, .subject = str_from(needs[i].program)};
        return launch_spec_refuse(a, out_why, "%s is not installed here (package %s)",
                                  needs[i].program, needs[i].package);
    }
    return OK;
}
