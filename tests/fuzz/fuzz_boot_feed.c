/* Goal: no sequence of messages of a daemon damages a boot server. Method: the input is a sequence
 * of messages with their lengths; each that can be decoded is given to the view, as after a
 * connection, which ends at the first one that is refused. Lookups work after each message. */
#include <stdlib.h>
#include <string.h>

#include "boot/server/view_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lookups(const struct view_feed *feed)
{
    struct arena a = {0};
    struct boot_entry entry;
    for (int64_t id = 0; (id = view_next_id(feed->view, BOOT_MACHINE, id)) != 0;)
        if (!view_get(feed->view, (struct boot_key){BOOT_MACHINE, id}, &a, &entry))
            abort();
    const struct view_range *range = view_range_of_address(feed->view, 0x0a000001);
    if (range && (range->first > 0x0a000001 || range->last < 0x0a000001))
        abort();
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view_feed feed;
    size_t at = 0;
    if (size > 65536)
        return 0;
    view_feed_init(&feed);
    while (size - at >= 4) {
        const uint32_t len = data[at] | (uint32_t)data[at + 1] << 8;
        struct boot_message message;
        at += 4;
        if (len == 0 || len > size - at)
            break;
        if (boot_message_decode((struct str){(const char *)data + at, len}, &message) == OK &&
            view_feed_take(&feed, &message, 1000) == FEED_BAD)
            view_feed_reset(&feed);
        check_lookups(&feed);
        at += len;
    }
    view_feed_fini(&feed);
    return 0;
}
