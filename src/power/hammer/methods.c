/* methods.c - which hammer of a node performs a method, and which methods its hammers offer.
 * Stateless. A hammer of an unknown class offers nothing. */
#include "base/json/json.h"
#include "power/hammer/hammer_ops.h"

uint32_t hammers_choose(const struct hammer_bound *list, uint32_t count,
                        enum hammer_category category, struct str method)
{
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct hammer_class *klass = hammer_class_find(list[i].klass);
        if (klass && hammer_words_have(hammer_class_words(klass, category), method) &&
            (best == count || list[i].priority > list[best].priority))
            best = i;
    }
    return best;
}

/* The successor of `after` by descending priority, then ascending index. `after` == count: the
 * first. Returns `count` at the end. */
static uint32_t hammers_next_by_priority(const struct hammer_bound *list, uint32_t count,
                                         uint32_t after)
{
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_later = after == count || list[i].priority < list[after].priority ||
                              (list[i].priority == list[after].priority && i > after);
        if (is_later && (best == count || list[i].priority > list[best].priority))
            best = i;
    }
    return best;
}

static bool json_array_has_string(const struct json *array, struct str text)
{
    for (const struct json *item = array->first; item; item = item->next)
        if (str_eq(item->text, text))
            return true;
    return false;
}

static void json_array_add_words(struct arena *a, struct json *array, struct str words)
{
    while (words.len) {
        const struct str word = hammer_next_word(&words);
        if (!json_array_has_string(array, word))
            json_append(array, json_make_string(a, word));
    }
}

struct str hammers_methods(struct arena *a, const struct hammer_bound *list, uint32_t count)
{
    struct json *all = json_make(a, JSON_OBJECT);
    for (int c = 0; c < HAMMER_CATEGORY_COUNT; c++) {
        const enum hammer_category category = (enum hammer_category)c;
        struct json *array = json_make(a, JSON_ARRAY);
        for (uint32_t i = hammers_next_by_priority(list, count, count); i < count;
             i = hammers_next_by_priority(list, count, i)) {
            const struct hammer_class *klass = hammer_class_find(list[i].klass);
            if (klass)
                json_array_add_words(a, array, hammer_class_words(klass, category));
        }
        if (array->count)
            json_set(all, str_from(hammer_category_name(category)), array);
    }
    return json_write(a, all);
}
