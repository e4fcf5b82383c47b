#include "api/rest/url_escape.h"

/* A stateless helper; it cannot fail. */
void url_escape(struct buf *b, struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        const char c = s.at[i];
        if (char_is_letter(c) || char_is_digit(c) || str_find(STR("-._~"), c, 0) < 4) {
            buf_put_c(b, c);
        } else {
            buf_put_c(b, '%');
            buf_put_hex(b, (const uint8_t *)&c, 1);
        }
    }
}
