/* cmd_auth.h - the verbs that deal in secrets: login, logout, tokens and passwords.
 *
 * A secret is asked for on the terminal or read from the environment or stdin; it never stands on a
 * command line, where everybody on the machine could read it.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit people_login(struct errand *e);
enum cli_exit people_logout(struct errand *e);
enum cli_exit people_create_user(struct errand *e);
enum cli_exit people_set_password(struct errand *e);
enum cli_exit people_create_token(struct errand *e);
enum cli_exit people_create_node_token(struct errand *e);
