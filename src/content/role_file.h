/* role_file.h - finds the files of a role: Lua code, scripts, manifests, playbooks, templates.
 *
 * The files of a barclamp are below its source path, in one of two layouts. That of Halligan:
 *
 *   SOURCE/roles/ROLE.lua   SOURCE/scripts/ROLE/   SOURCE/templates/   SOURCE/puppet/roles/ROLE/
 *   SOURCE/ansible/roles/ROLE.yml, or SOURCE/ansible/ROLE/playbook.yml
 *
 * and that of an OpenCrowbar checkout, where scripts are in SOURCE/script/roles/ROLE/; Lua files
 * and templates can be added to it. Nothing is cached: each call reads the file system. Lua files
 * are read by the daemon, so a symbolic link to a file outside of the source path is refused, and
 * likewise for templates, which no program of this version reads. Scripts, manifests and playbooks
 * are run by their jig without this check.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

enum role_file {
    ROLE_FILE_LUA,      /* a file */
    ROLE_FILE_SCRIPTS,  /* a directory */
    ROLE_FILE_PUPPET,   /* a directory */
    ROLE_FILE_PLAYBOOK, /* a file; anything else at its path is ignored */
};

/* ERR_NOT_FOUND: the role has none. ERR_REFUSED: the name is not a valid role name, or the path is
 * a link to the outside of the source path. ERR_LIMIT: the path is too long. ERR_EXISTS: at the
 * path of the Lua file there is a directory, a pipe or something else that is not a regular file.
 */
NODISCARD err content_role_file(struct arena *a, struct str source_path, struct str role,
                                enum role_file which, const char **out_path);
/* The path that the Lua file of a role has, if it exists. */
struct str content_lua_path(struct arena *a, struct str source_path, struct str role);

/* The template with this name, which may contain directories ("pxe/default"). Errors as above. */
NODISCARD err content_template_file(struct arena *a, struct str source_path, struct str name,
                                    const char **out_path);
