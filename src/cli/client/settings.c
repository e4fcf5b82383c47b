#include "cli/client/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output/prompt.h"
#include "sys/files.h"

/* Finds URL, CA and credentials, and owns the configuration file: this module reads and replaces
 * it. Values are in the arena of the caller or in the environment.
 *
 * Order: the URL is determined before the credentials, because those of the file are used only for
 * the URL of the file. Credentials are chosen in this order: the token of --token-file;
 * HALLIGAN_TOKEN, unless --user is given; the user of --user or HALLIGAN_USER with a password; the
 * token of the file; the user of the file. The password is asked for last, so that no other setting
 * can be wrong after it.
 *
 * Failure: the error is printed and the exit status returned. A missing file is not an error. A
 * file with a secret that other users can read is refused as a whole, because the secret must be
 * considered known. Without a terminal a missing password is not an error here: the request is sent
 * without credentials, and the server refuses it. */

enum { FILE_SIZE_MAX = 64 << 10 }; /* bytes */

/* ---- the configuration file ---- */

const char *settings_path(struct arena *a)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        return str_z(a, STR_CONCAT(a, str_from(config), STR("/halligan/config")));
    if (!home || !home[0])
        return NULL;
    return str_z(a, STR_CONCAT(a, str_from(home), STR("/.config/halligan/config")));
}

/* True if the group or other users have any access. */
static bool settings_is_exposed(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_mode & 077;
}

enum cli_exit settings_read_file(struct arena *a, const char *prog, struct settings *out_settings)
{
    struct str text;
    uint32_t line;
    const char *path = settings_path(a);
    *out_settings = (struct settings){0};
    const err e = path ? file_read(a, path, FILE_SIZE_MAX, &text) : ERR_NOT_FOUND;
    if (e == ERR_NOT_FOUND || (e != OK && errno == ENOTDIR))
        return CLI_OK;
    if (e != OK) {
        fprintf(stderr, "%s: cannot read %s: %s\n", prog, path, strerror(errno));
        return CLI_IO_ERROR;
    }
    const char *wrong = settings_parse(a, text, out_settings, &line);
    if (wrong) {
        fprintf(stderr, "%s: %s:%u: %s\n", prog, path, line, wrong);
        return CLI_IO_ERROR;
    }
    if (settings_have_secret(out_settings) && settings_is_exposed(path)) {
        fprintf(stderr,
                "%s: %s contains a secret and other users can read it; the file is not used.\n"
                "Run `chmod 600 %s`, and replace the secret if another user may have read it.\n",
                prog, path, path);
        return CLI_IO_ERROR;
    }
    return CLI_OK;
}

/* Create the missing directories above the file. False: errno has the reason. */
static bool settings_make_dirs(const char *path)
{
    char folder[4096];
    const size_t len = strlen(path);
    for (size_t i = 1; i < len && i < sizeof folder; i++) {
        if (path[i] != '/')
            continue;
        memcpy(folder, path, i);
        folder[i] = 0;
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return false;
    }
    return true;
}

enum cli_exit settings_write_file(struct arena *a, const char *prog,
                                  const struct settings *settings)
{
    const char *path = settings_path(a);
    if (!path) {
        fprintf(stderr, "%s: cannot store the settings: HOME is not set\n", prog);
        return CLI_IO_ERROR;
    }
    if (settings_make_dirs(path) && file_write(path, settings_format(a, settings), 0600) == OK)
        return CLI_OK;
    fprintf(stderr, "%s: cannot write %s: %s\n", prog, path, strerror(errno));
    return CLI_IO_ERROR;
}

/* ---- options, environment and file combined ---- */

static const char *settings_getenv(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static const char *settings_first_set(const char *a, const char *b, const char *c)
{
    return a ? a : b ? b : c;
}

static const char *settings_trim_url(struct arena *a, const char *url)
{
    struct str s = str_from(url);
    while (s.len && s.at[s.len - 1] == '/')
        s.len--;
    return str_z(a, s);
}

/* URL and CA from options, environment and file, in this order. Resets *out. */
static enum cli_exit settings_resolve_server(struct arena *a, const char *prog,
                                             const struct options *options,
                                             const struct settings *file, struct settings *out)
{
    const char *url = settings_first_set(options->url, settings_getenv("HALLIGAN_URL"), file->url);
    *out = (struct settings){
        .url = settings_trim_url(a, url ? url : SETTINGS_URL),
        .ca = settings_first_set(options->ca, settings_getenv("HALLIGAN_CA"), file->ca),
    };
    const struct str said = str_from(out->url);
    const char *wrong = NULL;
    if (!str_starts(said, STR("http://")) && !str_starts(said, STR("https://")))
        wrong = "the URL must begin with http:// or https://";
    else if (strpbrk(out->url, "@?# "))
        wrong = "the URL may have a host, a port and a path only";
    if (wrong)
        fprintf(stderr, "%s: %s: %s\n", prog, wrong, out->url);
    return wrong ? CLI_USAGE : CLI_OK;
}

static enum cli_exit settings_read_token(struct arena *a, const char *prog, const char *path,
                                         const char **out_token)
{
    struct str text;
    const err e = file_read_private(a, path, FILE_SIZE_MAX, &text);
    if (e == ERR_REFUSED)
        fprintf(stderr,
                "%s: %s is not used: a token file must be a regular file that only its owner can "
                "read\n",
                prog, path);
    else if (e != OK)
        fprintf(stderr, "%s: cannot read %s: %s\n", prog, path, strerror(errno));
    else if (settings_trim(text).len == 0)
        fprintf(stderr, "%s: %s is empty; it must contain a token\n", prog, path);
    else
        *out_token = str_z(a, settings_trim(text));
    return *out_token ? CLI_OK : CLI_IO_ERROR;
}

/* `own` has the settings of the file if they are for the URL in *out, otherwise nothing. */
static enum cli_exit settings_resolve_credentials(struct arena *a, const char *prog,
                                                  const struct options *options,
                                                  const struct settings *file, struct settings *out)
{
    static const struct settings nothing;
    const char *file_url = settings_trim_url(a, file->url ? file->url : SETTINGS_URL);
    const struct settings *own = strcmp(file_url, out->url) == 0 ? file : &nothing;
    if (options->token_file)
        return settings_read_token(a, prog, options->token_file, &out->token);
    if (!options->user)
        out->token = settings_getenv("HALLIGAN_TOKEN");
    if (out->token)
        return CLI_OK;
    out->user = settings_first_set(options->user, settings_getenv("HALLIGAN_USER"), NULL);
    if (!out->user && own->token) {
        out->token = own->token;
        out->token_id = own->token_id;
        return CLI_OK;
    }
    out->user = out->user ? out->user : own->user;
    if (!out->user)
        return CLI_OK;
    /* The password of the environment, or of the file if it is for the same user; otherwise it is
     * asked for on the terminal, if there is one. */
    const bool is_own = own->user && strcmp(own->user, out->user) == 0;
    out->password = settings_first_set(settings_getenv("HALLIGAN_PASSWORD"),
                                       is_own ? own->password : NULL, NULL);
    if (!out->password)
        out->password = prompt_secret(a, "Password of ", out->user);
    return CLI_OK;
}

enum cli_exit settings_read_server(struct arena *a, const char *prog, const struct options *options,
                                   struct settings *out_settings)
{
    struct settings file;
    const enum cli_exit status = settings_read_file(a, prog, &file);
    return status ? status : settings_resolve_server(a, prog, options, &file, out_settings);
}

enum cli_exit settings_read(struct arena *a, const char *prog, const struct options *options,
                            struct settings *out_settings)
{
    struct settings file;
    enum cli_exit status = settings_read_file(a, prog, &file);
    if (status == CLI_OK)
        status = settings_resolve_server(a, prog, options, &file, out_settings);
    if (status == CLI_OK)
        status = settings_resolve_credentials(a, prog, options, &file, out_settings);
    return status;
}
