#include "api/call/iso8601.h"

#include "api/call/api.h"
#include "api/call/call.h"

/* Conversion between ms since 1970 and ISO 8601 by the algorithms "days from civil" and "civil from
 * days" of H. Hinnant. It also has the clock accessors of calls. The functions have no state; only
 * parsing can fail, and then leaves its output unchanged. */

/* DAYS_TO_1970: days from 0000-03-01 to 1970-01-01. */
enum { MS_PER_DAY = 86400000, DAYS_TO_1970 = 719468, DAYS_PER_ERA = 146097 };

struct date {
    int64_t year;
    uint32_t month; /* 1 to 12 */
    uint32_t day;   /* 1 to 31 */
};

/* Division that rounds towards minus infinity, for times before 1970. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Years are counted from March, so that the leap day is the last day of a year. 400 years, an era,
 * always have the same number of days. */
static struct date iso8601_date_of_days(int64_t days_since_1970)
{
    const int64_t days = days_since_1970 + DAYS_TO_1970;
    const int64_t era = floor_div(days, DAYS_PER_ERA);
    const uint32_t day_of_era = (uint32_t)(days - era * DAYS_PER_ERA);
    const uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint32_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint32_t month_from_march = (5 * day_of_year + 2) / 153;
    const uint32_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    return (struct date){.year = year_of_era + era * 400 + (month <= 2),
                         .month = month,
                         .day = day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

static int64_t iso8601_days_of_date(struct date d)
{
    const int64_t year = d.year - (d.month <= 2);
    const int64_t era = floor_div(year, 400);
    const int64_t year_of_era = year - era * 400;
    const int64_t month_from_march = d.month > 2 ? d.month - 3 : d.month + 9;
    const int64_t day_of_year = (153 * month_from_march + 2) / 5 + d.day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

static void iso8601_put_digits(struct buf *b, uint32_t value, uint32_t digits)
{
    char *at = buf_room(b, digits);
    for (uint32_t i = digits; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
    b->len += digits;
}

void iso8601_format(struct buf *b, int64_t ms)
{
    const int64_t day = floor_div(ms, MS_PER_DAY);
    const int64_t behind = ms % MS_PER_DAY; /* not ms - day * MS_PER_DAY, which may overflow */
    const uint32_t in_day = (uint32_t)(behind < 0 ? behind + MS_PER_DAY : behind);
    const struct date d = iso8601_date_of_days(day);
    if (d.year >= 0 && d.year <= 9999)
        iso8601_put_digits(b, (uint32_t)d.year, 4);
    else
        buf_put_i64(b, d.year);
    buf_put_c(b, '-');
    iso8601_put_digits(b, d.month, 2);
    buf_put_c(b, '-');
    iso8601_put_digits(b, d.day, 2);
    buf_put_c(b, 'T');
    iso8601_put_digits(b, in_day / 3600000, 2);
    buf_put_c(b, ':');
    iso8601_put_digits(b, in_day / 60000 % 60, 2);
    buf_put_c(b, ':');
    iso8601_put_digits(b, in_day / 1000 % 60, 2);
    buf_put_c(b, '.');
    iso8601_put_digits(b, in_day % 1000, 3);
    buf_put_c(b, 'Z');
}

/* Parses `digits` digits at *at, followed by the character `after`. */
static bool iso8601_take_digits(struct str text, uint32_t *at, uint32_t digits, char after,
                                uint32_t *out_value)
{
    uint32_t value = 0;
    if (*at + digits + 1 > text.len)
        return false;
    for (uint32_t i = 0; i < digits; i++) {
        const char c = text.at[*at + i];
        if (!char_is_digit(c))
            return false;
        value = value * 10 + (uint32_t)(c - '0');
    }
    if (text.at[*at + digits] != after)
        return false;
    *at += digits + 1;
    *out_value = value;
    return true;
}

/* Parses the digits between the dot and the Z as ms; digits beyond the third are dropped. */
static bool iso8601_take_fraction(struct str text, uint32_t at, uint32_t *out_ms)
{
    uint32_t ms = 0, weight = 100;
    if (text.len < at + 2 || text.at[text.len - 1] != 'Z')
        return false;
    for (uint32_t i = at; i + 1 < text.len; i++) {
        if (!char_is_digit(text.at[i]))
            return false;
        ms += (uint32_t)(text.at[i] - '0') * weight;
        weight /= 10;
    }
    *out_ms = ms;
    return true;
}

bool iso8601_parse(struct str text, int64_t *out_ms)
{
    uint32_t at = 0, year, month, day, hour, minute, second, ms = 0;
    if (!iso8601_take_digits(text, &at, 4, '-', &year) ||
        !iso8601_take_digits(text, &at, 2, '-', &month) ||
        !iso8601_take_digits(text, &at, 2, 'T', &day) ||
        !iso8601_take_digits(text, &at, 2, ':', &hour) ||
        !iso8601_take_digits(text, &at, 2, ':', &minute))
        return false;
    if (iso8601_take_digits(text, &at, 2, '.', &second)) {
        if (!iso8601_take_fraction(text, at, &ms))
            return false;
    } else if (!iso8601_take_digits(text, &at, 2, 'Z', &second) || at != text.len) {
        return false;
    }
    if (hour > 23 || minute > 59 || second > 59 || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    const int64_t days = iso8601_days_of_date((struct date){year, month, day});
    const struct date back = iso8601_date_of_days(days);
    if (back.month != month || back.day != day) /* the 31st of a shorter month */
        return false;
    *out_ms = days * MS_PER_DAY + hour * 3600000ll + minute * 60000ll + second * 1000ll + ms;
    return true;
}

/* ---- clocks ---- */

int64_t call_now_ms(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    return engine->now_ms(engine->self);
}

int64_t call_mono_ms(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    return engine->mono_ms(engine->self);
}

int64_t call_stamp_ms(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    return engine->stamp_ms(engine->self);
}
