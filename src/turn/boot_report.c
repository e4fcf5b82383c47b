#include "turn/turn_private.h"

/* Reports to the boot port what a boot server must know: that a core was loaded, and which entries
 * of the boot view a durable batch changed.
 *
 * While a batch is in flight the core is not stepped, so when the batch is durable the entries are
 * those of exactly that turn. They are built in the arena of the turn; without a receiver none is
 * built. A batch in doubt that turned out to be committed is not reported: the load that follows
 * covers it. The turn of a load is the one that the core knows, not that of the store: a batch that
 * only deleted rows leaves no row with its turn, and the core refuses an acknowledgement of a turn
 * that it does not know. */

bool turn_report_boot_load(struct turn *t)
{
    const struct boot_port *port = &t->ports.boot;
    uint32_t count;
    int64_t turn;
    ignore(core_boot_changes(t->core, &count, &turn), "only the turn is needed");
    if (turn_crashes_at(t, TURN_POINT_BOOT_LOADED_BEFORE))
        return false;
    if (port->loaded)
        port->loaded(port->self, turn);
    return !turn_crashes_at(t, TURN_POINT_BOOT_LOADED_AFTER);
}

bool turn_report_boot_changes(struct turn *t)
{
    const struct boot_port *port = &t->ports.boot;
    uint32_t count;
    int64_t turn;
    const struct boot_key *keys = core_boot_changes(t->core, &count, &turn);
    if (!count)
        return true;
    must(turn == t->batch.turn);
    if (turn_crashes_at(t, TURN_POINT_BOOT_CHANGED_BEFORE))
        return false;
    if (port->changed) {
        struct boot_change *changes = arena_array(&t->arena, struct boot_change, count);
        for (uint32_t i = 0; i < count; i++) {
            struct boot_entry *entry = arena_new(&t->arena, struct boot_entry);
            changes[i].key = keys[i];
            changes[i].entry = core_boot_view(t->core, keys[i], &t->arena, entry) ? entry : NULL;
        }
        port->changed(port->self, turn, changes, count);
    }
    return !turn_crashes_at(t, TURN_POINT_BOOT_CHANGED_AFTER);
}
