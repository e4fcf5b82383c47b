#include "content/yaml.h"

#include <string.h>

#include "content/scalar.h"
#include "content/yaml_private.h"

/* Converts the events of libyaml into a tree of JSON values with positions. It owns the struct
 * reader of one call; the tree is in the arena of the report and is not changed after yaml_read(),
 * except for the marks of broken values.
 *
 * Order. The size and the encoding are checked before libyaml gets the text. A value is counted
 * before it is created, so that the limits bound the memory. An anchor is recorded when its value
 * begins, so that an alias inside of that value is recognized as circular; a list or map is added
 * to its container when it ends, after yaml_end_map() has sorted and merged a map.
 *
 * Failure. Errors are of two kinds. After one about a single value the value is marked as broken
 * and reading continues, so that further errors are found. yaml_stop ends the reading: after a
 * syntax error, or when a limit is exceeded, the rest cannot be interpreted. Aliases are expanded
 * as copies, so each is charged with all values and bytes that it expands to; that bounds the
 * memory for files with nested aliases ("billion laughs"). */

/* ---- positions and errors ---- */

static struct text_position yaml_mark_position(yaml_mark_t mark)
{
    return (struct text_position){.line = (uint32_t)mark.line + 1,
                                  .column = (uint32_t)mark.column + 1};
}

static void yaml_stop(struct reader *r, struct text_position at, const char *what)
{
    if (!r->stopped)
        YAML_ERROR(r, at, "%s", what);
    r->stopped = true;
}

/* ---- nodes ---- */

/* Count one value and its text. False: a limit is exceeded, and reading is stopped. */
static bool yaml_count_value(struct reader *r, uint32_t text_size, struct text_position at)
{
    r->values++;
    r->text_size += text_size;
    if (r->values > YAML_VALUES_MAX)
        yaml_stop(r, at, "too many values in the file, including those of expanded aliases");
    else if (r->text_size > YAML_TEXT_MAX)
        yaml_stop(r, at, "too much text in the file, including that of expanded aliases");
    return !r->stopped;
}

static struct node *yaml_make_node(struct reader *r, enum json_kind kind, struct text_position at)
{
    struct node *node = arena_new(r->arena, struct node);
    node->value.kind = kind;
    node->at = at;
    return node;
}

void yaml_append(struct json *container, struct json *child)
{
    if (container->last)
        container->last->next = child;
    else
        container->first = child;
    container->last = child;
    container->count++;
}

/* A deep copy that shares the strings. The recursion is bounded by JSON_DEPTH_MAX. */
struct node *yaml_copy(struct reader *r, const struct node *from)
{
    if (!yaml_count_value(r, from->value.key.len + from->value.text.len, from->at))
        return NULL;
    struct node *copy = arena_copy(r->arena, from, sizeof *from);
    copy->value.first = copy->value.last = copy->value.next = NULL;
    copy->value.count = 0;
    for (const struct json *child = from->value.first; child; child = child->next) {
        struct node *twin = yaml_copy(r, (const struct node *)child);
        if (!twin)
            return NULL;
        yaml_append(&copy->value, &twin->value);
    }
    return copy;
}

/* ---- anchors ---- */

static void yaml_add_anchor(struct reader *r, const yaml_char_t *name, struct node *node)
{
    if (!name)
        return;
    if (r->anchor_count == YAML_ANCHORS_MAX) {
        yaml_stop(r, node->at, "too many anchors in the file");
        return;
    }
    r->anchors[r->anchor_count++] =
        (struct anchor){.name = str_copy(r->arena, str_from((const char *)name)), .node = node};
}

/* The last anchor with this name. */
static const struct node *yaml_find_anchor(const struct reader *r, struct str name)
{
    for (uint32_t i = r->anchor_count; i > 0; i--)
        if (str_eq(r->anchors[i - 1].name, name))
            return r->anchors[i - 1].node;
    return NULL;
}

static bool yaml_is_open(const struct reader *r, const struct node *node)
{
    for (uint32_t i = 0; i < r->depth; i++)
        if (r->open[i].node == node)
            return true;
    return false;
}

/* ---- adding a value to the open list or map ---- */

/* Add the value of the current key to the map, or keep it for the end of the map if the key is
 * "<<". The position of a member is that of its key. */
static void yaml_put_member(struct level *level, struct node *node)
{
    struct node *key = level->key;
    level->key = NULL;
    if (level->key_merges) {
        level->node->is_broken = level->node->is_broken || node->is_broken;
        level->merged = &node->value;
        level->merged_at = key->at;
        return;
    }
    node->value.key = key->value.text;
    node->at = key->at;
    node->is_broken = node->is_broken || key->is_broken;
    yaml_append(&level->node->value, &node->value);
}

/* The next value of a map is a key, which must be a scalar. */
static void yaml_put_key(struct reader *r, struct level *level, struct node *node, bool merges)
{
    if (node->value.kind != JSON_STRING && node->value.kind != JSON_NUMBER) {
        yaml_stop(r, node->at, "a key must be a scalar");
        return;
    }
    if (merges && level->merged)
        YAML_ERROR(r, node->at,
                   "the key << is repeated in one map; use one << with a list of maps");
    level->key = node;
    level->key_merges = merges;
}

static bool yaml_wants_key(const struct reader *r)
{
    const struct level *level = r->depth ? &r->open[r->depth - 1] : NULL;
    return level && level->node->value.kind == JSON_OBJECT && !level->key;
}

/* Add a complete value: as the root, an item, the value of a key, or a key (an alias). */
static void yaml_put_value(struct reader *r, struct node *node)
{
    struct level *level = r->depth ? &r->open[r->depth - 1] : NULL;
    if (!level)
        r->root = node;
    else if (level->node->value.kind == JSON_ARRAY)
        yaml_append(&level->node->value, &node->value);
    else if (level->key)
        yaml_put_member(level, node);
    else
        yaml_put_key(r, level, node, false);
}

/* ---- tags ---- */

static bool yaml_has_tag(const yaml_char_t *tag, const char *name)
{
    return tag && strcmp((const char *)tag, name) == 0;
}

static void yaml_refuse_tag(struct reader *r, const yaml_char_t *tag, struct text_position at)
{
    const struct str text = str_from((const char *)tag);
    const struct str shown = str_is_clean(text) ? diagnostics_brief(text) : STR("(not UTF-8)");
    YAML_ERROR(r, at, "the tag %.*s is not supported", STR_FMT_ARGS(shown));
}

/* A list or map may only have the tag of its own type. */
static void yaml_check_tag(struct reader *r, const yaml_char_t *tag, const char *own,
                           struct text_position at)
{
    if (tag && !yaml_has_tag(tag, "!") && !yaml_has_tag(tag, own))
        yaml_refuse_tag(r, tag, at);
}

static bool yaml_kind_fits(enum json_kind kind, const yaml_char_t *tag)
{
    if (yaml_has_tag(tag, YAML_NULL_TAG))
        return kind == JSON_NULL;
    if (yaml_has_tag(tag, YAML_BOOL_TAG))
        return kind == JSON_TRUE || kind == JSON_FALSE;
    return kind == JSON_NUMBER;
}

/* ---- scalars ---- */

static void yaml_warn_scalar(struct reader *r, struct text_position at, struct str plain,
                             const struct scalar *scalar)
{
    const struct str written = diagnostics_brief(plain), read = diagnostics_brief(scalar->text);
    if (scalar->kind == JSON_NUMBER)
        diagnostics_warning(r->report, r->file, at,
                            "%.*s is read as the number %.*s; put it in quotes if it is a string",
                            STR_FMT_ARGS(written), STR_FMT_ARGS(read));
    else
        diagnostics_warning(r->report, r->file, at,
                            "%.*s is not a number that JSON can represent; read as a string",
                            STR_FMT_ARGS(written));
}

/* The type and value of a scalar without a tag or with a core tag. */
static struct scalar yaml_resolve_scalar(struct reader *r, const yaml_event_t *event,
                                         struct str text, struct text_position at)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    const bool is_text = tag ? yaml_has_tag(tag, "!") || yaml_has_tag(tag, YAML_STR_TAG)
                             : event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct scalar scalar = {.kind = JSON_STRING, .text = text};
    if (is_text)
        return scalar;
    if (tag && !yaml_has_tag(tag, YAML_NULL_TAG) && !yaml_has_tag(tag, YAML_BOOL_TAG) &&
        !yaml_has_tag(tag, YAML_INT_TAG) && !yaml_has_tag(tag, YAML_FLOAT_TAG)) {
        yaml_refuse_tag(r, tag, at);
        return scalar;
    }
    scalar = scalar_read(r->arena, text);
    if (tag && !yaml_kind_fits(scalar.kind, tag))
        YAML_ERROR(r, at, "%.*s does not have the type of its tag",
                   STR_FMT_ARGS(diagnostics_brief(text)));
    else if (scalar.is_unexpected)
        yaml_warn_scalar(r, at, text, &scalar);
    return scalar;
}

/* A key stays a string as written; any other scalar gets its type from tag, quotes or spelling. */
static void yaml_on_scalar(struct reader *r, const yaml_event_t *event)
{
    const struct text_position at = yaml_mark_position(event->start_mark);
    const size_t length = event->data.scalar.length;
    if (length > UINT32_MAX || !event->data.scalar.value) {
        YAML_ERROR(r, at, "the scalar is too long");
        r->stopped = true;
        return;
    }
    const struct str raw = {(const char *)event->data.scalar.value, (uint32_t)length};
    const uint32_t errors_before = r->report->errors;
    if (!str_is_clean(raw)) {
        /* The escape "\0" produces it, although the text of the file was checked. */
        struct node *unclean = yaml_make_node(r, JSON_STRING, at);
        YAML_ERROR(r, at, "U+0000 is not allowed in a string");
        unclean->is_broken = true;
        yaml_put_value(r, unclean);
        return;
    }
    if (!yaml_count_value(r, raw.len, at))
        return;
    const struct str text = str_copy(r->arena, raw);
    const bool is_key = yaml_wants_key(r);
    struct node *node = yaml_make_node(r, JSON_STRING, at);
    node->value.text = text;
    if (!is_key) {
        const struct scalar scalar = yaml_resolve_scalar(r, event, text, at);
        node->value.kind = scalar.kind;
        node->value.text =
            scalar.kind == JSON_STRING || scalar.kind == JSON_NUMBER ? scalar.text : STR("");
    } else if (event->data.scalar.tag) {
        yaml_check_tag(r, event->data.scalar.tag, YAML_STR_TAG, at);
    }
    node->is_broken = r->report->errors > errors_before;
    yaml_add_anchor(r, event->data.scalar.anchor, node);
    if (is_key)
        yaml_put_key(r, &r->open[r->depth - 1], node,
                     event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                         !event->data.scalar.tag && str_eq(text, STR("<<")));
    else
        yaml_put_value(r, node);
}

/* ---- collections and aliases ---- */

static void yaml_begin_collection(struct reader *r, const yaml_event_t *event)
{
    const struct text_position at = yaml_mark_position(event->start_mark);
    const bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag =
        is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const uint32_t errors_before = r->report->errors;
    yaml_check_tag(r, tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG, at);
    if (yaml_wants_key(r)) {
        yaml_stop(r, at, "a key must be a scalar");
        return;
    }
    if (r->depth == JSON_DEPTH_MAX) {
        yaml_stop(r, at, "lists and maps are nested too deeply");
        return;
    }
    if (!yaml_count_value(r, 0, at))
        return;
    struct node *node = yaml_make_node(r, is_map ? JSON_OBJECT : JSON_ARRAY, at);
    node->is_broken = r->report->errors > errors_before;
    yaml_add_anchor(
        r, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, node);
    r->open[r->depth++] = (struct level){.node = node};
}

static void yaml_end_collection(struct reader *r)
{
    const struct level level = r->open[r->depth - 1];
    if (level.node->value.kind == JSON_OBJECT)
        yaml_end_map(r, &level);
    r->depth--;
    yaml_put_value(r, level.node);
}

/* Add a copy of the anchored value. An alias that cannot be resolved becomes a broken null. */
static void yaml_on_alias(struct reader *r, const yaml_event_t *event)
{
    const struct text_position at = yaml_mark_position(event->start_mark);
    const struct str name = str_from((const char *)event->data.alias.anchor);
    const struct str shown = diagnostics_brief(name);
    const struct node *anchored = yaml_find_anchor(r, name);
    if (!anchored || yaml_is_open(r, anchored)) {
        struct node *nothing = yaml_make_node(r, JSON_NULL, at);
        YAML_ERROR(r, at,
                   anchored ? "*%.*s refers to a value that contains it" : "unknown anchor &%.*s",
                   STR_FMT_ARGS(shown));
        nothing->is_broken = true;
        anchored = nothing;
    }
    if (r->depth + json_depth(&anchored->value) > JSON_DEPTH_MAX) {
        yaml_stop(r, at, "lists and maps are nested too deeply");
        return;
    }
    struct node *copy = yaml_copy(r, anchored);
    if (!copy)
        return;
    copy->value.key = STR("");
    copy->at = at;
    yaml_put_value(r, copy);
}

/* ---- the stream ---- */

static void yaml_report_syntax(struct reader *r, struct str text)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem                      ? p->problem
                          : p->error == YAML_MEMORY_ERROR ? "out of memory"
                                                          : "not valid YAML";
    if (p->error == YAML_READER_ERROR) {
        const size_t offset = p->problem_offset < text.len ? p->problem_offset : text.len;
        YAML_ERROR(r, text_position_of(text, (uint32_t)offset), "%s", problem);
    } else if (p->context && p->context_mark.line != p->problem_mark.line) {
        YAML_ERROR(r, yaml_mark_position(p->problem_mark), "%s, %s that begins in line %u", problem,
                   p->context, (uint32_t)p->context_mark.line + 1);
    } else if (p->context) {
        YAML_ERROR(r, yaml_mark_position(p->problem_mark), "%s, %s", problem, p->context);
    } else {
        YAML_ERROR(r, yaml_mark_position(p->problem_mark), "%s", problem);
    }
}

/* True if the next event is to be read. */
static bool yaml_on_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: yaml_on_scalar(r, event); break;
    case YAML_ALIAS_EVENT: yaml_on_alias(r, event); break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: yaml_begin_collection(r, event); break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: yaml_end_collection(r); break;
    case YAML_STREAM_END_EVENT: return false;
    case YAML_DOCUMENT_START_EVENT:
        if (!r->root)
            break;
        diagnostics_warning(r->report, r->file, yaml_mark_position(event->start_mark),
                            "only the first document of a file is read");
        return false;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return !r->stopped;
}

static void yaml_read_events(struct reader *r, struct str text)
{
    bool more = true;
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    /* libyaml asserts that the pointer is not NULL, also for a length of 0. */
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.len ? text.at : ""),
                                 text.len);
    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event)) {
            yaml_report_syntax(r, text);
            r->stopped = true;
            return;
        }
        more = yaml_on_event(r, &event);
        yaml_event_delete(&event);
    }
}

/* The offset of the first byte that is not part of valid UTF-8, or is U+0000; the length: none. */
static uint32_t yaml_find_invalid(struct str text)
{
    uint32_t at = 0;
    while (at < text.len) {
        uint32_t size = 1;
        while (size <= 4 && !str_is_clean(str_slice(text, at, at + size)))
            size++;
        if (size > 4)
            break;
        at += size;
    }
    return at;
}

static bool yaml_check_text(struct reader *r, struct str text)
{
    if (text.len > YAML_SIZE_MAX) {
        YAML_ERROR(r, (struct text_position){0}, "the file is larger than 4 MiB");
        return false;
    }
    if (str_is_clean(text))
        return true;
    const uint32_t bad = yaml_find_invalid(text);
    YAML_ERROR(r, text_position_of(text, bad),
               text.at[bad] ? "not valid UTF-8" : "U+0000 is not allowed in a string");
    return false;
}

err yaml_read(struct diagnostics *report, struct str file, struct str text,
              const struct json **out_value)
{
    const uint32_t errors_before = report->errors;
    struct reader *r = arena_new(report->arena, struct reader);
    *out_value = NULL;
    r->arena = report->arena;
    r->report = report;
    r->file = file;
    if (!yaml_check_text(r, text))
        return ERR_SYNTAX;
    /* Skip the byte order mark: libyaml would count it as a column of the first line. */
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_slice(text, 3, text.len);
    if (!yaml_parser_initialize(&r->parser)) {
        YAML_ERROR(r, (struct text_position){0}, "out of memory");
        return ERR_SYNTAX;
    }
    yaml_read_events(r, text);
    yaml_parser_delete(&r->parser);
    if (r->stopped)
        return ERR_SYNTAX;
    if (!r->root)
        r->root = yaml_make_node(r, JSON_NULL, (struct text_position){.line = 1, .column = 1});
    *out_value = &r->root->value;
    return report->errors > errors_before ? ERR_SYNTAX : OK;
}

/* ---- positions of values ---- */

struct text_position yaml_position(const struct json *value)
{
    return ((const struct node *)value)->at;
}

static const struct json *yaml_child(const struct json *value, struct str step)
{
    int64_t i;
    if (value->kind != JSON_ARRAY)
        return json_get(value, step);
    if (!str_parse_i64(step, &i) || i >= value->count)
        return NULL;
    const struct json *item = value->first;
    while (i--)
        item = item->next;
    return item;
}

struct text_position yaml_position_at(const struct json *root, struct str path)
{
    const struct json *value = root;
    for (uint32_t from = 0; from < path.len;) {
        const uint32_t to = str_find(path, '/', from);
        const struct json *next = yaml_child(value, str_slice(path, from, to));
        if (!next)
            break;
        value = next;
        from = to + 1;
    }
    return yaml_position(value);
}

/* ---- broken values ---- */

/* The cast is valid: every value of a tree is part of a node that was allocated as non-const. */
void yaml_mark_broken(const struct json *value)
{
    ((struct node *)(uintptr_t)value)->is_broken = true;
}

bool yaml_is_broken(const struct json *value)
{
    return ((const struct node *)value)->is_broken;
}

bool yaml_is_valid_at(const struct json *root, struct str slash_path)
{
    const struct json *value = root;
    for (uint32_t from = 0; value && !yaml_is_broken(value) && from < slash_path.len;) {
        const uint32_t to = str_find(slash_path, '/', from);
        value = yaml_child(value, str_slice(slash_path, from, to));
        from = to + 1;
    }
    return value && !yaml_is_broken(value) && value->kind != JSON_NULL;
}

static bool yaml_is_scalar_list(const struct json *value)
{
    const struct json *item = value->kind == JSON_ARRAY ? value->first : NULL;
    while (item && item->kind != JSON_ARRAY && item->kind != JSON_OBJECT)
        item = item->next;
    return value->kind == JSON_ARRAY && !item;
}

/* Recursive; the depth is bounded by JSON_DEPTH_MAX. */
struct json *yaml_copy_valid(struct arena *a, const struct json *value)
{
    struct json *copy = json_make(a, yaml_is_broken(value) ? JSON_NULL : value->kind);
    copy->key = value->key;
    if (copy->kind == JSON_NULL)
        return copy;
    /* A list of scalars is copied without the broken ones. Later problems about such an item are
     * reported for the list, because the indices have changed. */
    if (yaml_is_scalar_list(value)) {
        for (const struct json *item = value->first; item; item = item->next)
            if (!yaml_is_broken(item))
                json_append(copy, json_clone(a, item));
        return copy;
    }
    copy->text = value->text;
    for (const struct json *child = value->first; child; child = child->next)
        yaml_append(copy, yaml_copy_valid(a, child));
    return copy;
}
