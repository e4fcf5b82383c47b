#include "cli/client/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output/prompt.h"
#include "sys/files.h"

enum { FILE_SIZE_MAX = 64 << 10 };

/* ---- the file ---- */

const char *settings_path(struct arena *a)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        return str_z(a, STR_CONCAT(a, str_from(config), STR("/halligan/config")));
    if (!home || !home[0])
        return NULL;
    return str_z(a, STR_CONCAT(a, str_from(home), STR("/.config/halligan/config")));
}

static bool is_readable_by_others(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_mode & 077;
}

enum cli_exit settings_read_file(struct arena *a, const char *whose, struct settings *out_settings)
{
    struct str text;
    uint32_t line;
    const char *path = settings_path(a);
    *out_settings = (struct settings){0};
    const err e = path ? file_read(a, path, FILE_SIZE_MAX, &text) : ERR_NOT_FOUND;
    if (e == ERR_NOT_FOUND || (e != OK && errno == ENOTDIR))
        return CLI_OK;
    if (e != OK) {
        fprintf(stderr, "%s: %s cannot be read: %s\n", whose, path, strerror(errno));
        return CLI_IO_ERROR;
    }
    const char *wrong = settings_parse(a, text, out_settings, &line);
    if (wrong) {
        fprintf(stderr, "%s: %s:%u: %s\n", whose, path, line, wrong);
        return CLI_IO_ERROR;
    }
    if (settings_have_secret(out_settings) && is_readable_by_others(path)) {
        fprintf(stderr,
                "%s: %s holds a secret and others may read it; it is not used.\n"
                "Make it yours alone (chmod 600 %s), and change the secret if others had a look.\n",
                whose, path, path);
        return CLI_IO_ERROR;
    }
    return CLI_OK;
}

static bool make_folders(const char *path)
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

enum cli_exit settings_write_file(struct arena *a, const char *whose,
                                  const struct settings *settings)
{
    const char *path = settings_path(a);
    if (!path) {
        fprintf(stderr, "%s: HOME is not set, so there is no place for the settings\n", whose);
        return CLI_IO_ERROR;
    }
    if (make_folders(path) && file_write(path, settings_format(a, settings), 0600) == OK)
        return CLI_OK;
    fprintf(stderr, "%s: %s cannot be written: %s\n", whose, path, strerror(errno));
    return CLI_IO_ERROR;
}

/* ---- all of it ---- */

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    return a ? a : b ? b : c;
}

static const char *without_slash(struct arena *a, const char *url)
{
    struct str s = str_from(url);
    while (s.len && s.at[s.len - 1] == '/')
        s.len--;
    return str_z(a, s);
}

static enum cli_exit settle_place(struct arena *a, const char *whose, const struct options *options,
                                  const struct settings *file, struct settings *out)
{
    const char *url = first_of(options->url, environment("HALLIGAN_URL"), file->url);
    *out = (struct settings){
        .url = without_slash(a, url ? url : SETTINGS_URL),
        .ca = first_of(options->ca, environment("HALLIGAN_CA"), file->ca),
    };
    const struct str said = str_from(out->url);
    const char *wrong = NULL;
    if (!str_starts(said, STR("http://")) && !str_starts(said, STR("https://")))
        wrong = "an address begins with http:// or https://";
    else if (strpbrk(out->url, "@?# "))
        wrong = "an address has a host, perhaps a port and a path, and nothing else";
    if (wrong)
        fprintf(stderr, "%s: %s: %s\n", whose, wrong, out->url);
    return wrong ? CLI_USAGE : CLI_OK;
}

static bool is_of_file(struct arena *a, const struct settings *file, const char *url)
{
    return strcmp(without_slash(a, file->url ? file->url : SETTINGS_URL), url) == 0;
}

static enum cli_exit read_token(struct arena *a, const char *whose, const char *path,
                                const char **out_token)
{
    struct str text;
    const err e = file_read_private(a, path, FILE_SIZE_MAX, &text);
    if (e == ERR_REFUSED)
        fprintf(stderr, "%s: %s holds a secret, but is not a file that its owner alone can read\n",
                whose, path);
    else if (e != OK)
        fprintf(stderr, "%s: %s cannot be read: %s\n", whose, path, strerror(errno));
    else if (settings_trim(text).len == 0)
        fprintf(stderr, "%s: there is no token in %s\n", whose, path);
    else
        *out_token = str_z(a, settings_trim(text));
    return *out_token ? CLI_OK : CLI_IO_ERROR;
}

/* A name without a password is worth a question, if there is somebody to ask. */
static void settle_password(struct arena *a, const struct settings *own, struct settings *out)
{
    const bool is_own = own->user && strcmp(own->user, out->user) == 0;
    out->password = first_of(environment("HALLIGAN_PASSWORD"), is_own ? own->password : NULL, NULL);
    if (!out->password)
        out->password = prompt_secret(a, "Password of ", out->user);
}

static enum cli_exit settle_caller(struct arena *a, const char *whose,
                                   const struct options *options, const struct settings *file,
                                   struct settings *out)
{
    static const struct settings nothing;
    const struct settings *own = is_of_file(a, file, out->url) ? file : &nothing;
    if (options->token_file)
        return read_token(a, whose, options->token_file, &out->token);
    if (!options->user)
        out->token = environment("HALLIGAN_TOKEN");
    if (out->token)
        return CLI_OK;
    out->user = first_of(options->user, environment("HALLIGAN_USER"), NULL);
    if (!out->user && own->token) {
        out->token = own->token;
        out->token_id = own->token_id;
        return CLI_OK;
    }
    out->user = out->user ? out->user : own->user;
    if (out->user)
        settle_password(a, own, out);
    return CLI_OK;
}

enum cli_exit settings_read_place(struct arena *a, const char *whose, const struct options *options,
                                  struct settings *out_settings)
{
    struct settings file;
    const enum cli_exit status = settings_read_file(a, whose, &file);
    return status ? status : settle_place(a, whose, options, &file, out_settings);
}

enum cli_exit settings_read(struct arena *a, const char *whose, const struct options *options,
                            struct settings *out_settings)
{
    struct settings file;
    enum cli_exit status = settings_read_file(a, whose, &file);
    if (status == CLI_OK)
        status = settle_place(a, whose, options, &file, out_settings);
    if (status == CLI_OK)
        status = settle_caller(a, whose, options, &file, out_settings);
    return status;
}
