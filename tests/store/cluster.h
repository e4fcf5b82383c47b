/* cluster.h - a PostgreSQL server for the tests: made by tools/postgres when the first database is
 * asked for, gone when the program ends. It is reached through a unix socket only.
 *
 * The tool is looked for in $HALLIGAN_SOURCE/tools, or in ./tools.
 */
#pragma once

/* The URL of a new, empty database; to be freed. */
char *cluster_new_database(void);
