#include "content/yaml.h"

#include <string.h>

#include "content/scalar.h"
#include "content/yaml_private.h"

/* ---- saying ---- */

static struct text_place place_of(yaml_mark_t mark)
{
    return (struct text_place){.line = (uint32_t)mark.line + 1,
                               .column = (uint32_t)mark.column + 1};
}

static void stop(struct reader *r, struct text_place at, const char *what)
{
    if (!r->stopped)
        SAY_ERROR(r, at, "%s", what);
    r->stopped = true;
}

/* ---- nodes ---- */

/* Bounded: the text has a bound, and each alias pays for all that it stands for. */
static bool afford(struct reader *r, uint32_t text_size, struct text_place at)
{
    r->values++;
    r->text_size += text_size;
    if (r->values > YAML_VALUES_MAX)
        stop(r, at, "there are too many values in this file, aliases counted for what they stand");
    else if (r->text_size > YAML_TEXT_MAX)
        stop(r, at, "the texts of this file are too long, aliases counted for what they stand");
    return !r->stopped;
}

static struct node *make_node(struct reader *r, enum json_kind kind, struct text_place at)
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

/* A copy that shares the texts. Bounded by JSON_DEPTH_MAX, which everything read obeys. */
struct node *yaml_copy(struct reader *r, const struct node *from)
{
    if (!afford(r, from->value.key.len + from->value.text.len, from->at))
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

static void add_anchor(struct reader *r, const yaml_char_t *name, struct node *node)
{
    if (!name)
        return;
    if (r->anchor_count == YAML_ANCHORS_MAX) {
        stop(r, node->at, "there are too many anchors in this file");
        return;
    }
    r->anchors[r->anchor_count++] =
        (struct anchor){.name = str_copy(r->arena, str_from((const char *)name)), .node = node};
}

/* The last one of that name counts. */
static const struct node *find_anchor(const struct reader *r, struct str name)
{
    for (uint32_t i = r->anchor_count; i > 0; i--)
        if (str_eq(r->anchors[i - 1].name, name))
            return r->anchors[i - 1].node;
    return NULL;
}

static bool is_open(const struct reader *r, const struct node *node)
{
    for (uint32_t i = 0; i < r->depth; i++)
        if (r->open[i].node == node)
            return true;
    return false;
}

/* ---- where a value goes ---- */

static void put_member(struct level *level, struct node *node)
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

/* The next value of a map is a key: of which only scalars will do. */
static void put_key(struct reader *r, struct level *level, struct node *node, bool merges)
{
    if (node->value.kind != JSON_STRING && node->value.kind != JSON_NUMBER) {
        stop(r, node->at, "a key must be a text");
        return;
    }
    if (merges && level->merged)
        SAY_ERROR(r, node->at, "the key << comes twice in one map; give it a list of maps");
    level->key = node;
    level->key_merges = merges;
}

static bool wants_key(const struct reader *r)
{
    const struct level *level = r->depth ? &r->open[r->depth - 1] : NULL;
    return level && level->node->value.kind == JSON_OBJECT && !level->key;
}

static void put(struct reader *r, struct node *node)
{
    struct level *level = r->depth ? &r->open[r->depth - 1] : NULL;
    if (!level)
        r->root = node;
    else if (level->node->value.kind == JSON_ARRAY)
        yaml_append(&level->node->value, &node->value);
    else if (level->key)
        put_member(level, node);
    else
        put_key(r, level, node, false);
}

/* ---- tags ---- */

static bool has_tag(const yaml_char_t *tag, const char *name)
{
    return tag && strcmp((const char *)tag, name) == 0;
}

static void refuse_tag(struct reader *r, const yaml_char_t *tag, struct text_place at)
{
    const struct str text = str_from((const char *)tag);
    const struct str shown = str_is_clean(text) ? diagnostics_brief(text) : STR("of this kind");
    SAY_ERROR(r, at, "the tag %.*s means nothing here", STR_FMT_ARGS(shown));
}

/* A collection may only say what it is anyway. */
static void check_tag(struct reader *r, const yaml_char_t *tag, const char *own,
                      struct text_place at)
{
    if (tag && !has_tag(tag, "!") && !has_tag(tag, own))
        refuse_tag(r, tag, at);
}

static bool kind_fits(enum json_kind kind, const yaml_char_t *tag)
{
    if (has_tag(tag, YAML_NULL_TAG))
        return kind == JSON_NULL;
    if (has_tag(tag, YAML_BOOL_TAG))
        return kind == JSON_TRUE || kind == JSON_FALSE;
    return kind == JSON_NUMBER;
}

/* ---- scalars ---- */

static void say_surprise(struct reader *r, struct text_place at, struct str plain,
                         const struct scalar *scalar)
{
    const struct str written = diagnostics_brief(plain), read = diagnostics_brief(scalar->text);
    if (scalar->kind == JSON_NUMBER)
        diagnostics_warning(r->report, r->file, at,
                            "%.*s is read as the number %.*s; put it into quotes if it is a text",
                            STR_FMT_ARGS(written), STR_FMT_ARGS(read));
    else
        diagnostics_warning(r->report, r->file, at,
                            "%.*s is no number that fits here; read as a text",
                            STR_FMT_ARGS(written));
}

/* What a scalar without a tag, or with the tag of a kind, means. */
static struct scalar resolve(struct reader *r, const yaml_event_t *event, struct str text,
                             struct text_place at)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    const bool is_text = tag ? has_tag(tag, "!") || has_tag(tag, YAML_STR_TAG)
                             : event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct scalar scalar = {.kind = JSON_STRING, .text = text};
    if (is_text)
        return scalar;
    if (tag && !has_tag(tag, YAML_NULL_TAG) && !has_tag(tag, YAML_BOOL_TAG) &&
        !has_tag(tag, YAML_INT_TAG) && !has_tag(tag, YAML_FLOAT_TAG)) {
        refuse_tag(r, tag, at);
        return scalar;
    }
    scalar = scalar_read(r->arena, text);
    if (tag && !kind_fits(scalar.kind, tag))
        SAY_ERROR(r, at, "%.*s is not of the kind that its tag says",
                  STR_FMT_ARGS(diagnostics_brief(text)));
    else if (scalar.surprises)
        say_surprise(r, at, text, &scalar);
    return scalar;
}

static void take_scalar(struct reader *r, const yaml_event_t *event)
{
    const struct text_place at = place_of(event->start_mark);
    const size_t length = event->data.scalar.length;
    if (length > UINT32_MAX || !event->data.scalar.value) {
        SAY_ERROR(r, at, "the text is too long");
        r->stopped = true;
        return;
    }
    const struct str raw = {(const char *)event->data.scalar.value, (uint32_t)length};
    const uint32_t errors_before = r->report->errors;
    if (!str_is_clean(raw)) {
        struct node *unclean = make_node(r, JSON_STRING, at);
        SAY_ERROR(r, at, "U+0000 may not stand in a text");
        unclean->is_broken = true;
        put(r, unclean);
        return;
    }
    if (!afford(r, raw.len, at))
        return;
    const struct str text = str_copy(r->arena, raw);
    const bool is_key = wants_key(r);
    struct node *node = make_node(r, JSON_STRING, at);
    node->value.text = text;
    if (!is_key) {
        const struct scalar scalar = resolve(r, event, text, at);
        node->value.kind = scalar.kind;
        node->value.text =
            scalar.kind == JSON_STRING || scalar.kind == JSON_NUMBER ? scalar.text : STR("");
    } else if (event->data.scalar.tag) {
        check_tag(r, event->data.scalar.tag, YAML_STR_TAG, at);
    }
    node->is_broken = r->report->errors > errors_before;
    add_anchor(r, event->data.scalar.anchor, node);
    if (is_key)
        put_key(r, &r->open[r->depth - 1], node,
                event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag &&
                    str_eq(text, STR("<<")));
    else
        put(r, node);
}

/* ---- collections and aliases ---- */

static void begin(struct reader *r, const yaml_event_t *event)
{
    const struct text_place at = place_of(event->start_mark);
    const bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag =
        is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const uint32_t errors_before = r->report->errors;
    check_tag(r, tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG, at);
    if (wants_key(r)) {
        stop(r, at, "a key must be a text");
        return;
    }
    if (r->depth == JSON_DEPTH_MAX) {
        stop(r, at, "lists and maps are nested too deeply");
        return;
    }
    if (!afford(r, 0, at))
        return;
    struct node *node = make_node(r, is_map ? JSON_OBJECT : JSON_ARRAY, at);
    node->is_broken = r->report->errors > errors_before;
    add_anchor(r, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
               node);
    r->open[r->depth++] = (struct level){.node = node};
}

static void end(struct reader *r)
{
    const struct level level = r->open[r->depth - 1];
    if (level.node->value.kind == JSON_OBJECT)
        yaml_end_map(r, &level);
    r->depth--;
    put(r, level.node);
}

static void take_alias(struct reader *r, const yaml_event_t *event)
{
    const struct text_place at = place_of(event->start_mark);
    const struct str name = str_from((const char *)event->data.alias.anchor);
    const struct str shown = diagnostics_brief(name);
    const struct node *anchored = find_anchor(r, name);
    if (!anchored || is_open(r, anchored)) {
        struct node *nothing = make_node(r, JSON_NULL, at);
        SAY_ERROR(r, at,
                  anchored ? "*%.*s refers to what it stands in" : "there is no anchor &%.*s",
                  STR_FMT_ARGS(shown));
        nothing->is_broken = true;
        anchored = nothing;
    }
    if (r->depth + json_depth(&anchored->value) > JSON_DEPTH_MAX) {
        stop(r, at, "lists and maps are nested too deeply");
        return;
    }
    struct node *copy = yaml_copy(r, anchored);
    if (!copy)
        return;
    copy->value.key = STR("");
    copy->at = at;
    put(r, copy);
}

/* ---- the stream ---- */

static void say_syntax(struct reader *r, struct str text)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem                      ? p->problem
                          : p->error == YAML_MEMORY_ERROR ? "there is no memory to read it"
                                                          : "this is not YAML";
    if (p->error == YAML_READER_ERROR) {
        const size_t offset = p->problem_offset < text.len ? p->problem_offset : text.len;
        SAY_ERROR(r, text_place_of(text, (uint32_t)offset), "%s", problem);
    } else if (p->context && p->context_mark.line != p->problem_mark.line) {
        SAY_ERROR(r, place_of(p->problem_mark), "%s, %s that begins in line %u", problem,
                  p->context, (uint32_t)p->context_mark.line + 1);
    } else if (p->context) {
        SAY_ERROR(r, place_of(p->problem_mark), "%s, %s", problem, p->context);
    } else {
        SAY_ERROR(r, place_of(p->problem_mark), "%s", problem);
    }
}

/* True when there is more to come. */
static bool take_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: take_scalar(r, event); break;
    case YAML_ALIAS_EVENT: take_alias(r, event); break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: begin(r, event); break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: end(r); break;
    case YAML_STREAM_END_EVENT: return false;
    case YAML_DOCUMENT_START_EVENT:
        if (!r->root)
            break;
        diagnostics_warning(r->report, r->file, place_of(event->start_mark),
                            "only the first document of a file is read");
        return false;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return !r->stopped;
}

static void read_events(struct reader *r, struct str text)
{
    bool more = true;
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    /* libyaml asserts that there is a pointer, also to no bytes. */
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.len ? text.at : ""),
                                 text.len);
    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event)) {
            say_syntax(r, text);
            r->stopped = true;
            return;
        }
        more = take_event(r, &event);
        yaml_event_delete(&event);
    }
}

/* The first byte that no clean text may have there; the length when there is none. */
static uint32_t find_unclean(struct str text)
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

static bool text_will_do(struct reader *r, struct str text)
{
    if (text.len > YAML_SIZE_MAX) {
        SAY_ERROR(r, (struct text_place){0}, "the file is larger than 4 MiB");
        return false;
    }
    if (str_is_clean(text))
        return true;
    const uint32_t bad = find_unclean(text);
    SAY_ERROR(r, text_place_of(text, bad),
              text.at[bad] ? "this is not UTF-8" : "U+0000 may not stand in a text");
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
    if (!text_will_do(r, text))
        return ERR_SYNTAX;
    /* libyaml would count the mark as a column, and the second line would not line up. */
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_slice(text, 3, text.len);
    if (!yaml_parser_initialize(&r->parser)) {
        SAY_ERROR(r, (struct text_place){0}, "there is no memory to read it");
        return ERR_SYNTAX;
    }
    read_events(r, text);
    yaml_parser_delete(&r->parser);
    if (r->stopped)
        return ERR_SYNTAX;
    if (!r->root)
        r->root = make_node(r, JSON_NULL, (struct text_place){.line = 1, .column = 1});
    *out_value = &r->root->value;
    return report->errors > errors_before ? ERR_SYNTAX : OK;
}

/* ---- looking back ---- */

struct text_place yaml_place(const struct json *value)
{
    return ((const struct node *)value)->at;
}

static const struct json *step_into(const struct json *value, struct str step)
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

struct text_place yaml_place_at(const struct json *root, struct str path)
{
    const struct json *value = root;
    for (uint32_t from = 0; from < path.len;) {
        const uint32_t to = str_find(path, '/', from);
        const struct json *next = step_into(value, str_slice(path, from, to));
        if (!next)
            break;
        value = next;
        from = to + 1;
    }
    return yaml_place(value);
}

/* ---- what is broken ---- */

/* Every value of a tree lies in a node of ours, which nobody made const. */
void yaml_mark_broken(const struct json *value)
{
    ((struct node *)(uintptr_t)value)->is_broken = true;
}

bool yaml_is_broken(const struct json *value)
{
    return ((const struct node *)value)->is_broken;
}

bool yaml_is_sound_at(const struct json *root, struct str slash_path)
{
    const struct json *value = root;
    for (uint32_t from = 0; value && !yaml_is_broken(value) && from < slash_path.len;) {
        const uint32_t to = str_find(slash_path, '/', from);
        value = step_into(value, str_slice(slash_path, from, to));
        from = to + 1;
    }
    return value && !yaml_is_broken(value) && value->kind != JSON_NULL;
}

static bool is_plain_list(const struct json *value)
{
    const struct json *item = value->kind == JSON_ARRAY ? value->first : NULL;
    while (item && item->kind != JSON_ARRAY && item->kind != JSON_OBJECT)
        item = item->next;
    return value->kind == JSON_ARRAY && !item;
}

/* Of a list of plain values the sound ones. Whoever speaks of one later speaks of the list. */
static struct json *copy_sound_items(struct arena *a, const struct json *list)
{
    struct json *copy = json_make(a, JSON_ARRAY);
    copy->key = list->key;
    for (const struct json *item = list->first; item; item = item->next)
        if (!yaml_is_broken(item))
            json_append(copy, json_clone(a, item));
    return copy;
}

/* Bounded by JSON_DEPTH_MAX, which everything read obeys. */
struct json *yaml_sound_copy(struct arena *a, const struct json *value)
{
    struct json *copy = json_make(a, yaml_is_broken(value) ? JSON_NULL : value->kind);
    copy->key = value->key;
    if (copy->kind == JSON_NULL)
        return copy;
    if (is_plain_list(value))
        return copy_sound_items(a, value);
    copy->text = value->text;
    for (const struct json *child = value->first; child; child = child->next)
        yaml_append(copy, yaml_sound_copy(a, child));
    return copy;
}
