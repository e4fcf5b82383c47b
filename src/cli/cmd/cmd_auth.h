/* cmd_auth.h - the verbs with secrets: login, logout, tokens and passwords.
 *
 * A secret is asked for on the terminal, or read from the environment or stdin. login and password
 * do not accept it as an argument, because every user of the machine can read the arguments of
 * processes. create_user does not prevent a pair password=TEXT.
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_auth_login(struct cli_request *req);
enum cli_exit cmd_auth_logout(struct cli_request *req);
enum cli_exit cmd_auth_create_user(struct cli_request *req);
enum cli_exit cmd_auth_set_password(struct cli_request *req);
enum cli_exit cmd_auth_create_token(struct cli_request *req);
enum cli_exit cmd_auth_create_node_token(struct cli_request *req);
