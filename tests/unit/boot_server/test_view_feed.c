/* Goal: a boot server has the view of one turn of the daemon, never a part of it.
 * Method: sequences of messages, legal and illegal; after each the view is compared. */
#include <string.h>

#include "boot/server/view_feed.h"
#include "tests/check.h"

static struct arena arena;
static struct view_feed feed;

static struct boot_entry machine(int64_t id, const char *bootenv)
{
    return (struct boot_entry){
        .key = {BOOT_MACHINE, id},
        .machine = {.name = STR("n.example.com"), .bootenv = str_from(bootenv), .generation = 1}};
}

static struct str list_of(struct boot_entry entry)
{
    struct buf bytes = buf_in(&arena), list = buf_in(&arena);
    boot_entry_encode(&entry, &bytes);
    boot_list_add(&list, buf_str(&bytes));
    return buf_str(&list);
}

static enum feed_result take(struct boot_message message)
{
    return view_feed_take(&feed, &message, 1000);
}

static enum feed_result take_base(void)
{
    return take((struct boot_message){.kind = BOOT_MESSAGE_BASE, .at.turn = 1});
}

static enum feed_result take_entry(int64_t id, const char *bootenv)
{
    return take((struct boot_message){.kind = BOOT_MESSAGE_ENTRIES,
                                      .entries.entries = list_of(machine(id, bootenv))});
}

static enum feed_result take_removed(int64_t id)
{
    struct buf keys = buf_in(&arena);
    boot_key_encode((struct boot_key){BOOT_MACHINE, id}, &keys);
    return take(
        (struct boot_message){.kind = BOOT_MESSAGE_REMOVED, .removed.keys = buf_str(&keys)});
}

static enum feed_result take_at(int64_t turn)
{
    return take((struct boot_message){.kind = BOOT_MESSAGE_AT, .at.turn = turn});
}

static enum feed_result take_config(const char *document)
{
    struct buf list = buf_in(&arena);
    boot_list_add(&list, str_from(document));
    return take(
        (struct boot_message){.kind = BOOT_MESSAGE_CONFIG, .config.documents = buf_str(&list)});
}

/* With the digest of the given machines. */
static enum feed_result take_sealed(int64_t turn, const struct boot_entry *entries, uint32_t count)
{
    struct digest128 sum = {0};
    struct buf digest = buf_in(&arena);
    for (uint32_t i = 0; i < count; i++)
        digest_add(&sum, boot_entry_hash(&entries[i], &arena));
    boot_digest_write(sum, &digest);
    return take((struct boot_message){.kind = BOOT_MESSAGE_SEALED,
                                      .digest = {.turn = turn, .digest = buf_str(&digest)}});
}

/* The environment of a machine; "-" if it is not in the view. */
static bool boots(int64_t id, const char *bootenv)
{
    struct boot_entry entry;
    if (!view_get(feed.view, (struct boot_key){BOOT_MACHINE, id}, &arena, &entry))
        return strcmp(bootenv, "-") == 0;
    return str_eq(entry.machine.bootenv, str_from(bootenv));
}

static void begin(void)
{
    arena_reset(&arena);
    view_feed_init(&feed);
}

/* Machine 1 boots "local". */
static void begin_sealed(void)
{
    const struct boot_entry one = machine(1, "local");
    begin();
    CHECK(take_config("{\"provisioner\": {}}") == FEED_WAITS);
    CHECK(take_base() == FEED_WAITS && take_entry(1, "local") == FEED_WAITS);
    CHECK(take_sealed(5, &one, 1) == FEED_APPLIED && feed.turn == 5);
}

static void end(void)
{
    view_feed_fini(&feed);
    arena_fini(&arena);
}

TEST(a_base_image_is_served_when_it_is_sealed)
{
    const struct boot_entry one = machine(1, "local");
    begin();
    CHECK(!feed.is_sealed && boots(1, "-"));
    CHECK(take_config("{\"dhcp\": {}}") == FEED_WAITS);
    CHECK(take_base() == FEED_WAITS && take_entry(1, "local") == FEED_WAITS);
    CHECK(boots(1, "-") && !feed.view->settings.has_dhcp);
    CHECK(take_sealed(5, &one, 1) == FEED_APPLIED);
    CHECK(feed.is_sealed && boots(1, "local") && feed.view->settings.has_dhcp && feed.turn == 5);
    end();
}

TEST(a_turn_is_applied_at_its_end)
{
    begin_sealed();
    CHECK(take_entry(2, "local") == FEED_WAITS && take_removed(1) == FEED_WAITS);
    CHECK(take_config("{\"dhcp\": {}}") == FEED_WAITS);
    CHECK(boots(1, "local") && boots(2, "-") && feed.view->settings.has_provisioner);
    CHECK(take_at(6) == FEED_APPLIED && feed.turn == 6);
    CHECK(boots(1, "-") && boots(2, "local") && !feed.view->settings.has_provisioner);
    CHECK(take_at(7) == FEED_APPLIED && feed.turn == 7);
    end();
}

TEST(the_order_within_a_turn_is_kept)
{
    begin_sealed();
    CHECK(take_removed(1) == FEED_WAITS && take_entry(1, "x") == FEED_WAITS);
    CHECK(take_entry(1, "y") == FEED_WAITS && take_entry(2, "z") == FEED_WAITS);
    CHECK(take_removed(2) == FEED_WAITS && take_at(6) == FEED_APPLIED);
    CHECK(boots(1, "y") && boots(2, "-"));
    end();
}

TEST(settings_alone_are_applied_at_once)
{
    begin_sealed();
    CHECK(take_config("{\"dhcp\": {}}") == FEED_CONFIGURED);
    CHECK(feed.view->settings.has_dhcp && !feed.view->settings.has_provisioner && feed.turn == 5);
    end();
}

TEST(changes_during_a_base_image_belong_to_it)
{
    const struct boot_entry all[] = {machine(1, "b"), machine(3, "local")};
    begin_sealed();
    CHECK(take_base() == FEED_WAITS && take_entry(1, "a") == FEED_WAITS);
    CHECK(take_entry(2, "local") == FEED_WAITS && take_removed(2) == FEED_WAITS);
    CHECK(take_entry(1, "b") == FEED_WAITS && take_at(8) == FEED_WAITS);
    CHECK(take_config("{\"dhcp\": {}}") == FEED_WAITS && take_entry(3, "local") == FEED_WAITS);
    CHECK(boots(1, "local") && boots(3, "-") && !feed.view->settings.has_dhcp && feed.turn == 5);
    CHECK(take_sealed(9, all, 2) == FEED_APPLIED && feed.turn == 9);
    CHECK(boots(1, "b") && boots(2, "-") && boots(3, "local") && feed.view->settings.has_dhcp);
    end();
}

TEST(a_base_image_replaces_one_that_is_not_sealed)
{
    const struct boot_entry two = machine(2, "local");
    begin_sealed();
    CHECK(take_base() == FEED_WAITS && take_entry(7, "local") == FEED_WAITS);
    CHECK(take_base() == FEED_WAITS && take_entry(2, "local") == FEED_WAITS);
    CHECK(take_sealed(6, &two, 1) == FEED_APPLIED && boots(7, "-") && boots(1, "-"));
    end();
}

TEST(a_wrong_digest_is_refused_and_the_old_view_is_served)
{
    const struct boot_entry two = machine(2, "local");
    begin_sealed();
    CHECK(take_base() == FEED_WAITS && take_entry(1, "local") == FEED_WAITS);
    CHECK(take_sealed(6, &two, 1) == FEED_BAD);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_SEALED}) == FEED_BAD);
    view_feed_reset(&feed);
    CHECK(boots(1, "local") && feed.turn == 5 && feed.is_sealed);
    end();
}

TEST(what_was_not_applied_is_dropped_with_the_connection)
{
    begin_sealed();
    CHECK(take_entry(2, "local") == FEED_WAITS && take_config("{}") == FEED_WAITS);
    view_feed_reset(&feed);
    CHECK(take_at(6) == FEED_APPLIED && boots(2, "-") && feed.view->settings.has_provisioner);
    end();
}

TEST(messages_that_make_no_sense_are_refused)
{
    begin();
    CHECK(take_entry(1, "local") == FEED_BAD); /* before a base image */
    CHECK(take_removed(1) == FEED_BAD && take_at(1) == FEED_BAD);
    CHECK(take_sealed(1, NULL, 0) == FEED_BAD);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_HELLO}) == FEED_BAD);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_CONFIG,
                                     .config.documents = STR("\005{}")}) == FEED_BAD);
    CHECK(take_base() == FEED_WAITS);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_ENTRIES,
                                     .entries.entries = STR("\001x")}) == FEED_BAD);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_ENTRIES,
                                     .entries.entries = STR("\377")}) == FEED_BAD);
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_REMOVED, .removed.keys = STR("\377")}) ==
          FEED_BAD);
    end();
}

TEST(a_turn_with_an_illegal_entry_needs_a_new_base_image)
{
    begin_sealed();
    CHECK(take((struct boot_message){.kind = BOOT_MESSAGE_ENTRIES,
                                     .entries.entries = STR("\001x")}) == FEED_WAITS);
    CHECK(take_at(6) == FEED_BAD && !feed.is_sealed);
    CHECK(take_at(7) == FEED_BAD);
    end();
}

TEST(the_number_of_documents_is_bounded)
{
    struct buf list = buf_in(&arena);
    begin_sealed();
    list = buf_in(&arena);
    for (uint32_t i = 0; i < 1024; i++)
        boot_list_add(&list, STR("{}"));
    const struct boot_message most = {.kind = BOOT_MESSAGE_CONFIG,
                                      .config.documents = buf_str(&list)};
    CHECK(take(most) == FEED_CONFIGURED);
    boot_list_add(&list, STR("{}"));
    const struct boot_message more = {.kind = BOOT_MESSAGE_CONFIG,
                                      .config.documents = buf_str(&list)};
    CHECK(take(more) == FEED_BAD);
    end();
}
