#include "sim/rack/ipxe.h"

/* Stateless but for `struct ipxe`. A line is a command, a label (":x"), or begins with "#". After
 * "||" nothing follows, which ignores a failure, or "goto x"; without it a failure ends the script.
 * Of loops only as many rounds are executed as a script without end needs to be noticed. */

enum { STEPS_MAX = 200 };

static struct str ipxe_word(struct str *line)
{
    const uint32_t to = str_find(*line, ' ', 0);
    const struct str word = str_slice(*line, 0, to);
    *line = str_slice(*line, to < line->len ? to + 1 : to, line->len);
    return word;
}

/* The offset behind the label. */
static uint32_t ipxe_find_label(struct str script, struct str label)
{
    for (uint32_t at = 0; at < script.len;) {
        const uint32_t to = str_find(script, '\n', at);
        const struct str line = str_slice(script, at, to);
        if (line.len == label.len + 1 && line.at[0] == ':' &&
            str_eq(str_slice(line, 1, line.len), label))
            return to + 1;
        at = to + 1;
    }
    return script.len;
}

/* Splits "command || goto label"; true if there is a "||". */
static bool ipxe_split(struct str *line, struct str *out_label)
{
    *out_label = (struct str){"", 0};
    for (uint32_t i = 0; i + 1 < line->len; i++) {
        if (line->at[i] != '|' || line->at[i + 1] != '|')
            continue;
        struct str rest = str_slice(*line, i + 2, line->len);
        *line = str_slice(*line, 0, i);
        if (str_starts(rest, STR(" goto ")))
            *out_label = str_slice(rest, 6, rest.len);
        return true;
    }
    return false;
}

/* The word that begins with "http://", and what follows it. */
static struct str ipxe_find_url(struct str *line)
{
    struct str word = ipxe_word(line);
    while (line->len && !str_starts(word, STR("http://")))
        word = ipxe_word(line);
    return word;
}

/* What follows "/files/" of a URL; empty if it has none. */
static struct str ipxe_path(struct str url)
{
    for (uint32_t i = 0; i < url.len; i++)
        if (str_starts(str_slice(url, i, url.len), STR("/files/")))
            return str_slice(url, i + 7, url.len);
    return (struct str){"", 0};
}

enum ipxe_done { IPXE_OK, IPXE_FAILS, IPXE_ENDS };

static enum ipxe_done ipxe_chain(struct ipxe *ipxe, struct str line, enum ipxe_end *out_end)
{
    ipxe->url = ipxe_find_url(&line);
    *out_end = ipxe_path(ipxe->url).len ? IPXE_EXITS : IPXE_CHAINS;
    return *out_end == IPXE_CHAINS || ipxe->has_os ? IPXE_ENDS : IPXE_FAILS;
}

static enum ipxe_done ipxe_command(struct ipxe *ipxe, struct str line, enum ipxe_end *out_end)
{
    const struct str whole = line, command = ipxe_word(&line);
    if (str_eq(command, STR("echo")) || str_eq(command, STR("sleep")) ||
        str_eq(command, STR("dhcp")) || str_eq(command, STR("initrd")))
        return IPXE_OK;
    if (str_eq(command, STR("imgfree"))) {
        ipxe->kernel = (struct str){"", 0};
        return IPXE_OK;
    }
    if (str_eq(command, STR("kernel"))) {
        ipxe->kernel = ipxe_path(ipxe_find_url(&line));
        ipxe->arguments = line;
        return IPXE_OK;
    }
    if (str_eq(command, STR("iseq")))
        return ipxe->is_bios ? IPXE_OK : IPXE_FAILS;
    if (str_eq(command, STR("chain")))
        return ipxe_chain(ipxe, line, out_end);
    if (str_eq(command, STR("boot"))) {
        *out_end = IPXE_BOOTS;
        return ipxe->kernel.len ? IPXE_ENDS : IPXE_FAILS;
    }
    *out_end = IPXE_EXITS;
    if (str_eq(command, STR("sanboot")))
        return ipxe->has_os ? IPXE_ENDS : IPXE_FAILS;
    if (str_eq(command, STR("exit")))
        return IPXE_ENDS;
    *out_end = IPXE_BROKEN;
    ipxe->url = whole;
    return IPXE_ENDS;
}

enum ipxe_end ipxe_run(struct ipxe *ipxe, struct str script)
{
    uint32_t at = 0;
    for (uint32_t step = 0; step < STEPS_MAX && at < script.len; step++) {
        const uint32_t to = str_find(script, '\n', at);
        struct str line = str_slice(script, at, to), label;
        enum ipxe_end end = IPXE_BROKEN;
        at = to + 1;
        if (!line.len || line.at[0] == '#' || line.at[0] == ':')
            continue;
        const bool is_guarded = ipxe_split(&line, &label);
        if (str_starts(line, STR("goto "))) {
            at = ipxe_find_label(script, str_slice(line, 5, line.len));
            continue;
        }
        const enum ipxe_done done = ipxe_command(ipxe, line, &end);
        if (done == IPXE_ENDS)
            return end;
        if (done == IPXE_FAILS && !is_guarded)
            return IPXE_EXITS;
        if (done == IPXE_FAILS && label.len)
            at = ipxe_find_label(script, label);
    }
    ipxe->url = STR("the script has no end");
    return IPXE_BROKEN;
}
