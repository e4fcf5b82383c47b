/* Goal: a conduit or IPv6 prefix that is accepted has one normal form, equals itself and obeys
 * its bounds, and what is refused has a phrase and at least one wrong member or a stated reason.
 * Method: the input, up to the first zero byte, is one conduit, and what follows is another;
 * both are parsed, formatted, parsed again and compared with each other. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/net/ip.h"
#include "model/conduit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* False if the text is no conduit. */
static bool check_conduit(struct arena *a, struct str text, struct conduit *out_conduit)
{
    struct conduit again;
    const char *wrong = conduit_parse(text, out_conduit);
    const struct str members = conduit_wrong_members(a, text);
    check(members.len <= 8 * (32 + 2));
    if (wrong) {
        check(strncmp(wrong, "must ", 5) == 0);
        return false;
    }
    check(members.len == 0 && out_conduit->count >= 1 && out_conduit->count <= CONDUIT_MEMBERS_MAX);
    for (uint32_t i = 0; i < out_conduit->count; i++) {
        const struct conduit_member *m = &out_conduit->members[i];
        check(m->is_bmc ? !m->speed && !m->index && !m->unit && !m->sign
                        : m->speed >= 1 && m->speed <= 999 && m->index <= 999);
    }
    const struct str written = conduit_format(a, out_conduit);
    check(!conduit_parse(written, &again) && conduit_eq(out_conduit, &again));
    check(str_eq(written, conduit_format(a, &again)) && !conduit_is_disjoint(out_conduit, &again));
    return true;
}

/* An accepted prefix makes two addresses of one subnet. */
static void check_prefix(struct arena *a, struct str text)
{
    struct ip first, last;
    const char *what;
    if (v6prefix_check(text))
        return;
    check(ip_parse(STR_CONCAT(a, text, STR("::1/64")), &first, &what));
    check(ip_parse(STR_CONCAT(a, text, STR(":ffff:ffff:ffff:fffe/64")), &last, &what));
    check(ip_is_in_subnet(first, last) && ip_cmp(first, last) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct conduit left, right;
    if (size > 4096)
        return 0;
    const struct str text = {(const char *)data, (uint32_t)size};
    const uint32_t end = str_find(text, 0, 0);
    const struct str first = str_slice(text, 0, end);
    const struct str second = end < text.len ? str_slice(text, end + 1, text.len) : STR("");
    const bool has_left = check_conduit(&a, first, &left);
    const bool has_right = check_conduit(&a, second, &right);
    if (has_left && has_right) {
        check(conduit_eq(&left, &right) == conduit_eq(&right, &left));
        check(conduit_is_disjoint(&left, &right) == conduit_is_disjoint(&right, &left));
        check(!(conduit_eq(&left, &right) && conduit_is_disjoint(&left, &right)));
    }
    check_prefix(&a, first);
    check_prefix(&a, second);
    arena_fini(&a);
    return 0;
}
