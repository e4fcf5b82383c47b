/* redfish_documents.c - parsing of service root, systems, collections, tasks and errors. Stateless,
 * without error results: a value that is missing or invalid is an empty string, an empty list or an
 * unknown state. */
#include "power/hammer/redfish_documents.h"

enum {
    PATH_MAX_LEN = 512, /* bytes of a path */
    ERROR_MAX = 400,    /* bytes of an error text of the service */
    NAMES_MAX = 20      /* systems that a message lists */
};

const char *redfish_power_word(enum redfish_power power)
{
    static const char *const words[] = {
        [REDFISH_POWER_UNKNOWN] = "unknown",
        [REDFISH_POWER_ON] = "on",
        [REDFISH_POWER_OFF] = "off",
        [REDFISH_POWER_CHANGING] = "changing",
    };
    return words[power];
}

/* ---- values ---- */

bool redfish_is_path(struct str text)
{
    if (text.len == 0 || text.len > PATH_MAX_LEN || text.at[0] != '/' ||
        str_starts(text, STR("//")))
        return false;
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>')
            return false;
    }
    return true;
}

struct str redfish_text(const struct json *object, const char *key)
{
    const struct json *found = object ? json_get(object, str_from(key)) : NULL;
    return found && found->kind == JSON_STRING ? found->text : STR("");
}

struct str redfish_link(const struct json *object)
{
    const struct str path = redfish_text(object, "@odata.id");
    return redfish_is_path(path) ? path : STR("");
}

static const struct json *json_child(const struct json *object, const char *key)
{
    return object ? json_get(object, str_from(key)) : NULL;
}

static void redfish_read_words(const struct json *array, struct redfish_words *out_words)
{
    out_words->count = 0;
    if (!array || array->kind != JSON_ARRAY)
        return;
    for (const struct json *item = array->first; item; item = item->next)
        if (item->kind == JSON_STRING && item->text.len && item->text.len <= 64 &&
            out_words->count < REDFISH_WORDS_MAX)
            out_words->at[out_words->count++] = item->text;
}

static struct str json_first_key(const struct json *object)
{
    const struct json *first = object && object->kind == JSON_OBJECT ? object->first : NULL;
    return first ? first->key : STR("");
}

/* ---- documents ---- */

void redfish_root_read(const struct json *document, struct redfish_root *out_root)
{
    *out_root = (struct redfish_root){
        .systems = redfish_link(json_child(document, "Systems")),
        .sessions = redfish_link(json_child(json_child(document, "Links"), "Sessions")),
        .vendor = redfish_text(document, "Vendor"),
        .product = redfish_text(document, "Product"),
        .oem = json_first_key(json_child(document, "Oem")),
    };
}

static enum redfish_power redfish_parse_power(struct str word)
{
    if (str_eq_nocase(word, STR("On")))
        return REDFISH_POWER_ON;
    if (str_eq_nocase(word, STR("Off")))
        return REDFISH_POWER_OFF;
    if (str_eq_nocase(word, STR("PoweringOn")) || str_eq_nocase(word, STR("PoweringOff")))
        return REDFISH_POWER_CHANGING;
    return REDFISH_POWER_UNKNOWN;
}

void redfish_system_read(const struct json *document, struct redfish_system *out_system)
{
    struct redfish_system *s = out_system;
    *s = (struct redfish_system){
        .id = redfish_text(document, "Id"),
        .manufacturer = redfish_text(document, "Manufacturer"),
        .oem = json_first_key(json_child(document, "Oem")),
        .power_word = redfish_text(document, "PowerState"),
        .etag = redfish_text(document, "@odata.etag"),
    };
    s->power = redfish_parse_power(s->power_word);
    /* Read the reset action: its target, and where its allowed values are listed. */
    const struct json *reset = json_child(json_child(document, "Actions"), "#ComputerSystem.Reset");
    const struct str target = redfish_text(reset, "target");
    const struct str info = redfish_text(reset, "@Redfish.ActionInfo");
    s->reset_path = redfish_is_path(target) ? target : STR("");
    s->reset_info = redfish_is_path(info) ? info : STR("");
    redfish_read_words(json_child(reset, "ResetType@Redfish.AllowableValues"), &s->reset_types);
    /* Read the boot override, and the settings object, to which a refused change is sent. */
    const struct json *boot = json_child(document, "Boot");
    const struct json *settings = json_child(document, "@Redfish.Settings");
    s->has_boot = boot && boot->kind == JSON_OBJECT;
    s->boot_target = redfish_text(boot, "BootSourceOverrideTarget");
    s->boot_enabled = redfish_text(boot, "BootSourceOverrideEnabled");
    s->boot_mode = redfish_text(boot, "BootSourceOverrideMode");
    redfish_read_words(json_child(boot, "BootSourceOverrideTarget@Redfish.AllowableValues"),
                       &s->boot_targets);
    redfish_read_words(json_child(boot, "BootSourceOverrideEnabled@Redfish.AllowableValues"),
                       &s->boot_enableds);
    s->settings = redfish_link(json_child(settings, "SettingsObject"));
    /* Read the indicator LED: LocationIndicatorActive replaces the deprecated IndicatorLED. */
    const struct json *active = json_child(document, "LocationIndicatorActive");
    s->has_location = active && (active->kind == JSON_TRUE || active->kind == JSON_FALSE);
    s->has_led = redfish_text(document, "IndicatorLED").len > 0;
    redfish_read_words(json_child(document, "IndicatorLED@Redfish.AllowableValues"), &s->leds);
}

void redfish_info_read(const struct json *document, struct redfish_words *out_words)
{
    const struct json *parameters = json_child(document, "Parameters");
    out_words->count = 0;
    if (!parameters || parameters->kind != JSON_ARRAY)
        return;
    for (const struct json *p = parameters->first; p; p = p->next)
        if (str_eq(redfish_text(p, "Name"), STR("ResetType"))) {
            redfish_read_words(json_child(p, "AllowableValues"), out_words);
            return;
        }
}

enum redfish_task redfish_task_read(const struct json *document)
{
    static const char *const good[] = {"Completed"};
    static const char *const bad[] = {"Exception", "Killed", "Cancelled", "Interrupted"};
    const struct str state = redfish_text(document, "TaskState");
    if (state.len == 0)
        return REDFISH_TASK_NONE;
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++)
        if (str_eq(state, str_from(good[i])))
            return REDFISH_TASK_DONE;
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (str_eq(state, str_from(bad[i])))
            return REDFISH_TASK_FAILED;
    return REDFISH_TASK_RUNS;
}

/* ---- collection of systems ---- */

static struct str redfish_path_last_part(struct str path)
{
    if (str_ends(path, STR("/")))
        path.len--;
    uint32_t from = path.len;
    while (from && path.at[from - 1] != '/')
        from--;
    return str_slice(path, from, path.len);
}

static const struct json *redfish_members(const struct json *document)
{
    const struct json *members = json_child(document, "Members");
    return members && members->kind == JSON_ARRAY ? members : NULL;
}

bool redfish_members_read(const struct json *document, struct str wanted, uint32_t *count,
                          struct str *out_path)
{
    const struct json *members = redfish_members(document);
    for (const struct json *m = members ? members->first : NULL; m; m = m->next) {
        const struct str path = redfish_link(m);
        (*count)++;
        if (path.len == 0)
            continue;
        *out_path = path;
        if (wanted.len && (str_eq(path, wanted) || str_eq(redfish_path_last_part(path), wanted)))
            return true;
    }
    return false;
}

struct str redfish_next_page(const struct json *document)
{
    const struct str path = redfish_text(document, "Members@odata.nextLink");
    return redfish_is_path(path) ? path : STR("");
}

struct str redfish_member_names(struct arena *a, const struct json *document)
{
    const struct json *members = redfish_members(document);
    struct buf b = buf_in(a);
    uint32_t count = 0;
    for (const struct json *m = members ? members->first : NULL; m; m = m->next) {
        const struct str path = redfish_link(m);
        if (path.len == 0)
            continue;
        if (count++ == NAMES_MAX) {
            buf_put_z(&b, ", ...");
            break;
        }
        buf_put_z(&b, b.len ? ", " : "");
        buf_put_str(&b, redfish_path_last_part(path));
    }
    return b.len ? buf_str(&b) : STR("none");
}

/* ---- messages ---- */

struct str redfish_error_text(struct arena *a, const struct json *document)
{
    const struct json *error = json_child(document, "error");
    const struct json *list = json_child(error ? error : document, "@Message.ExtendedInfo");
    if (!list)
        list = json_child(document, "Messages"); /* of a task */
    const struct json *first = list && list->kind == JSON_ARRAY ? list->first : NULL;
    struct str text = redfish_text(first, "Message");
    if (text.len == 0)
        text = redfish_text(error, "message");
    if (text.len == 0)
        text = redfish_text(first, "MessageId");
    if (text.len == 0)
        return STR("no reason is given");
    text = str_copy(a, str_slice(text, 0, ERROR_MAX));
    while (text.len && !str_is_clean(text)) /* truncated inside a UTF-8 sequence */
        text.len--;
    return text;
}

struct str redfish_words_list(struct arena *a, const struct redfish_words *words)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < words->count; i++) {
        buf_put_z(&b, i ? ", " : "");
        buf_put_str(&b, words->at[i]);
    }
    return b.len ? buf_str(&b) : STR("nothing");
}
