/* role_file.h - where on the disk the things lie that a role brings with it.
 *
 * A barclamp's files lie below its source path, in one of two layouts. Ours:
 *
 *   SOURCE/roles/ROLE.lua   SOURCE/scripts/ROLE/   SOURCE/templates/   SOURCE/puppet/roles/ROLE/
 *   SOURCE/ansible/roles/ROLE.yml, or SOURCE/ansible/ROLE/playbook.yml
 *
 * and that of an OpenCrowbar checkout, which differs in the scripts, SOURCE/script/roles/ROLE/;
 * Lua and templates may be put beside what it has. Nothing is remembered: each call looks at the
 * disk. Lua files and templates are read into the daemon, so a link that leads out of the source
 * path is refused; scripts, manifests and playbooks are run by their jig as they are.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

enum role_file {
    ROLE_FILE_LUA,      /* a file */
    ROLE_FILE_SCRIPTS,  /* a directory */
    ROLE_FILE_PUPPET,   /* a directory */
    ROLE_FILE_PLAYBOOK, /* a file; what is no file there is not found */
};

/* ERR_NOT_FOUND: the role has none. ERR_REFUSED: the name is none a role can have, or the path
 * leads elsewhere. ERR_LIMIT: the path is too long. ERR_EXISTS: where the Lua file should lie there
 * is a directory, a pipe or another thing that is no file. */
NODISCARD err content_role_file(struct arena *a, struct str source_path, struct str role,
                                enum role_file which, const char **out_path);
/* Where its Lua file lies if it has one. */
struct str content_lua_path(struct arena *a, struct str source_path, struct str role);

/* The template of that name, which may have folders in it ("pxe/default"). Errors as above. */
NODISCARD err content_template_file(struct arena *a, struct str source_path, struct str name,
                                    const char **out_path);
