#include "sim/rack/rack_private.h"

#include <string.h>

#include "base/err.h"

/* Backups of the store, and their restore: `halligand restore` of an older backup, and `halligand
 * import` of a copy of the present store (docs/operating.md, "Backup and restore").
 *
 * The daemon is stopped, the store is replaced, and a daemon starts with it. A history begins:
 * turns, rows and ids after the backup are lost, and ids are used again. So everything that is on
 * its way to the old daemon is dropped, and what was started for it has ended: the supervisors
 * follow only the new daemon. Disks, environments of machines, published databases and copies of
 * boot servers are those of the time after the backup. */

void rack_backup(struct rack *r)
{
    memory_store_free(r->backup);
    r->backup = memory_store_copy(r->store, GRANT_VOID_NONE);
}

/* Everything that is addressed to the daemon or was sent by it. Machines, boot servers and
 * operators repeat their requests. */
static bool restore_drops(const struct event *event)
{
    switch ((enum rack_event)event->kind) {
    case RACK_EVENT_COMMAND:
    case RACK_EVENT_INSIDE:
    case RACK_EVENT_POWER:
    case RACK_EVENT_ATTEMPT_ENDS:
    case RACK_EVENT_RESEND:
    case RACK_EVENT_SERVER_ASKS: return true;
    case RACK_EVENT_MACHINE:
    case RACK_EVENT_CALL:
    case RACK_EVENT_CALL_AGAIN:
    case RACK_EVENT_REPLY:
    case RACK_EVENT_CUT:
    case RACK_EVENT_BACK:
    case RACK_EVENT_OPERATOR:
    case RACK_EVENT_ADMIN:
    case RACK_EVENT_SERVER_SAYS:
    case RACK_EVENT_SERVER_GETS:
    case RACK_EVENT_SERVER_READS:
    case RACK_EVENT_SERVER_CONNECTS:
    case RACK_EVENT_SERVER_LOST:
    case RACK_EVENT_SERVER_TROUBLE:
    case RACK_EVENT_SERVER_TICKS:
    case RACK_EVENT_PROBED:
    case RACK_EVENT_DHCP_TO_SERVER:
    case RACK_EVENT_DHCP_TO_MACHINE:
    case RACK_EVENT_NET_TIMEOUT:
    case RACK_EVENT_PAGE_ASKED:
    case RACK_EVENT_PAGE_ARRIVES: return false;
    }
    return false;
}

static void restore_drop_events(struct rack *r)
{
    struct event_queue kept = {0};
    struct event event;
    while (event_queue_take(&r->events, &event))
        if (!restore_drops(&event))
            event_queue_add(&kept, event);
    event_queue_fini(&r->events);
    r->events = kept;
}

/* What the oracles remember by the ids and numbers of the store that was replaced. */
static void restore_forget(struct rack *r)
{
    grant_oracle_fini(&r->grants);
    r->released_count = r->waited_count = 0;
    for (uint32_t i = 0; i < RACK_ORDERS_MAX; i++)
        r->released[i] = r->waited[i] = 0;
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        struct rack_machine *m = &r->machines[i];
        if (m->env == RACK_ENV_INSTALLER)
            rack_count_reached(r, RACK_REACHED_RESTORED_INSTALLING);
        m->power_done_id = 0;
        memset(m->floors, 0, sizeof m->floors);
        m->is_committed = false;
        m->committed = (struct str){0};
        m->wiped_for_request = m->installed_for_request = 0;
        rack_allow_boots(r, i);
    }
}

void rack_replace_store(struct rack *r)
{
    const bool is_restore = r->restore_now && r->backup;
    const enum grant_void voids = is_restore ? GRANT_VOID_RESTORED : GRANT_VOID_IMPORTED;
    r->restore_now = r->import_now = false;
    rack_attempts_void(r); /* before the history begins */
    struct memory_store *store = memory_store_copy(is_restore ? r->backup : r->store, voids);
    memory_store_free(r->store);
    r->store = store;
    memory_session_init(&r->session, store);
    r->history++;
    rack_note(r, is_restore ? "restored" : "imported", r->history, memory_store_mark(store).turn);
    restore_drop_events(r);
    restore_forget(r);
}

void rack_restore(struct rack *r)
{
    r->restore_now = true;
    rack_kill(r); /* at the next point of the turn */
}

void rack_import(struct rack *r)
{
    r->import_now = true;
    rack_kill(r); /* at the next point of the turn */
}
