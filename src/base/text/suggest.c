/* suggest.c - edit distance of words (Damerau-Levenshtein, restricted to swaps of neighbours). The
 * state is in the `struct suggestion` of the caller. A word that is too long is ignored. */
#include "base/text/suggest.h"

enum { WORD_LEN_MAX = 63 }; /* bytes */

static uint32_t suggest_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The edit distance: insertions, deletions, replacements and swaps of neighbours that turn one word
 * into the other. Each row of the table depends on the two rows before it only, so three are
 * kept. */
static uint32_t suggest_edit_distance(const char *a, uint32_t a_len, const char *b, uint32_t b_len)
{
    uint32_t rows[3][WORD_LEN_MAX + 1];
    for (uint32_t k = 0; k <= b_len; k++)
        rows[0][k] = k;
    for (uint32_t i = 1; i <= a_len; i++) {
        uint32_t *now = rows[i % 3];
        const uint32_t *above = rows[(i + 2) % 3], *beyond = rows[(i + 1) % 3];
        now[0] = i;
        for (uint32_t k = 1; k <= b_len; k++) {
            now[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
            now[k] = suggest_min(now[k], suggest_min(above[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = suggest_min(now[k], beyond[k - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

void suggest_offer_str(struct suggestion *n, struct str meant, struct str known)
{
    if (meant.len == 0 || meant.len > WORD_LEN_MAX || known.len > WORD_LEN_MAX)
        return;
    /* A third of the letters may be wrong; one of a short word may. */
    const uint32_t tolerated = known.len < 6 ? 1 : known.len / 3;
    if (meant.len > known.len + tolerated || known.len > meant.len + tolerated)
        return; /* each byte of the difference is an edit */
    const uint32_t distance = suggest_edit_distance(meant.at, meant.len, known.at, known.len);
    if (distance > tolerated || (n->word && distance >= n->distance))
        return;
    n->word = known.at;
    n->len = known.len;
    n->distance = distance;
}

void suggest_offer(struct suggestion *n, const char *meant, const char *known)
{
    suggest_offer_str(n, str_from(meant), str_from(known));
}

struct str suggest_str(const struct suggestion *n)
{
    return n->word ? (struct str){n->word, n->len} : STR("");
}
