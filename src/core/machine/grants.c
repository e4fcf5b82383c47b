#include "core/machine/grants.h"

#include "core/boot/boot_service.h"
#include "core/network/network_private.h"

/* Grants of installations, and the installers that run (docs/spec/machines.md, "Grants"; ADR 0089).
 *
 * An installer destroys the content of a disk, so it is started once for each run that asked for
 * it. The run of an installing role sets an `-install` environment while it is parked; that makes a
 * grant, which belongs to its noderole and to the boot generation. The first ticket uses the grant.
 * This file owns the fields grant_... and stamp_generation of a node, and core.installs, the
 * deadlines of installers.
 *
 * A grant has no generation of its own: a change of the environment opens the next generation and
 * replaces the grant in the same step. It is void when its noderole is proposed, deleted or in
 * ERROR, when its installer is silent, and when the store was restored or imported (the copy does
 * that, grant_void_record()). A void grant has no ticket.
 *
 * The time of an installer is that of the monotonic clock. It begins with the use of the grant,
 * again when the same ticket asks again, and at every load (ADR 0033).
 *
 * Failure: a question is checked before a field is written. Every other answer than "granted" is
 * harmless for the disk, so nothing else is needed when one is lost. */

enum { TIMER_BITS = 21, EXPIRED_MAX = 256, STAMP_BITS = 53 };
_Static_assert(NODES_MAX < 1u << TIMER_BITS, "the index of a node must fit below the deadline");

static bool grant_is_open(const struct node *node)
{
    return node->grant_noderole && node->grant_void == GRANT_VOID_NONE;
}

static bool grant_is_used(const struct node *node)
{
    return grant_is_open(node) && node->grant_ticket;
}

bool grant_is_unused(const struct core *c, node_ix n)
{
    return grant_is_open(node_at(c, n)) && !node_at(c, n)->grant_ticket;
}

/* ---- the time of the installer ---- */

static uint64_t install_timer_key(const struct core *c, node_ix n)
{
    return (uint64_t)node_at(c, n)->install_deadline << TIMER_BITS | n.v;
}

static void install_stop_timer(struct core *c, node_ix n)
{
    if (!node_at(c, n)->install_deadline)
        return;
    omap_remove(&c->installs, install_timer_key(c, n));
    node_derive(c, n)->install_deadline = 0;
}

static void install_start_timer(struct core *c, node_ix n)
{
    const int64_t wait_ms = (int64_t)core_settings(c)->install_wait_s * 1000;
    install_stop_timer(c, n);
    if (!wait_ms || !grant_is_used(node_at(c, n)))
        return;
    node_derive(c, n)->install_deadline = c->mono_ms + wait_ms;
    omap_put(&c->installs, install_timer_key(c, n), n.v);
}

/* ---- the life of a grant ---- */

static void grant_clear(struct core *c, node_ix n)
{
    install_stop_timer(c, n);
    boot_service_unwatch(c, n);
    if (!node_at(c, n)->grant_noderole)
        return;
    struct node *node = node_edit(c, n);
    node->grant_noderole = node->grant_at = 0;
    node->grant_void = GRANT_VOID_NONE;
    put_text(c, &node->grant_ticket, STR(""));
}

static void grant_make_void(struct core *c, node_ix n, enum grant_void why)
{
    install_stop_timer(c, n);
    boot_service_unwatch(c, n);
    struct node *node = node_edit(c, n);
    node->grant_void = why;
    put_text(c, &node->grant_ticket, STR(""));
}

/* The noderole whose parked run sets the environment of the node; none if it is of another node. */
static bool grant_may_belong_to(const struct core *c, node_ix n, noderole_ix by)
{
    return by.v && noderole_at(c, by)->node.v == n.v;
}

bool grant_is_needed(const struct core *c, node_ix n, noderole_ix by)
{
    const struct node *node = node_at(c, n);
    return grant_may_belong_to(c, n, by) && grant_is_for(text_of(c, node->bootenv)) &&
           !grant_is_open(node);
}

bool grant_has_reason(uint32_t reason)
{
    return reason == REASON_INSTALLER_SILENT || reason == REASON_DISK_STAMPED;
}

void grant_follow_environment(struct core *c, node_ix n, noderole_ix by)
{
    const struct node *node = node_at(c, n);
    const bool installs = grant_is_for(text_of(c, node->bootenv));
    const bool is_given = installs && grant_may_belong_to(c, n, by);
    if (grant_has_reason(node->reason))
        node_set_status(c, n, NULL);
    if (node->stamp_generation && node->stamp_generation < node->boot_generation)
        node_edit(c, n)->stamp_generation = 0;
    if (installs && !is_given && grant_is_open(node))
        grant_make_void(c, n, GRANT_VOID_REPLACED);
    else if (!installs || is_given)
        grant_clear(c, n);
    if (is_given) {
        node_edit(c, n)->grant_noderole = noderole_at(c, by)->o.id;
        boot_service_watch(c, n);
    }
}

void grant_noderole_changed(struct core *c, noderole_ix nr, enum grant_void why)
{
    const node_ix n = noderole_at(c, nr)->node;
    const struct node *node = node_at(c, n);
    if (grant_is_open(node) && node->grant_noderole == noderole_at(c, nr)->o.id)
        grant_make_void(c, n, why);
}

/* What has happened to the machine since the commit is not known. */
static void grant_fail_outdated(struct core *c, noderole_ix nr, struct str what)
{
    const uint32_t barred = noderole_at(c, nr)->grant_barred;
    const struct str how = str_from(grant_void_name((enum grant_void)barred));
    const struct str text =
        STR_CONCAT(c->arena, STR("committed before the store was "), how, STR(": "), what,
                   STR(" only after it is proposed and committed again"));
    noderole_fail(
        c, nr,
        &(struct failure){.status = text,
                          .runlog = text,
                          .why = {.code = REASON_COMMIT_OUTDATED, .subject = how, .text = text}});
}

bool grant_fail_barred(struct core *c, noderole_ix nr, struct str bootenv)
{
    if (!nr.v || !noderole_at(c, nr)->grant_barred || !grant_is_for(bootenv))
        return false;
    grant_fail_outdated(c, nr, STR("the installer is started"));
    return true;
}

bool grant_bars_destruction(const struct core *c, noderole_ix nr)
{
    return nr.v && noderole_at(c, nr)->grant_barred &&
           role_at(c, noderole_at(c, nr)->role)->flags & ROLE_DESTRUCTIVE;
}

bool grant_fail_destruction(struct core *c, noderole_ix nr)
{
    if (!grant_bars_destruction(c, nr))
        return false;
    grant_fail_outdated(c, nr, STR("it destroys data"));
    return true;
}

void grant_forget_node(struct core *c, node_ix n)
{
    install_stop_timer(c, n);
}

/* ---- the question of a machine ---- */

/* Ids of nodes and boot generations are used again after a restore, so a boot server with an older
 * view may ask for another machine. The MAC decides which machine it is. */
static enum grant_answer grant_use(struct core *c, node_ix n, uint64_t mac,
                                   const struct grant_use_command *p)
{
    const struct node *node = node_at(c, n);
    const nic_ix nic = nic_find(c, mac);
    if (p->generation != node->boot_generation || !nic.v || nic_at(c, nic)->node.v != n.v)
        return GRANT_STALE;
    if (!grant_is_open(node))
        return GRANT_LOCAL;
    if (!node->grant_ticket) {
        struct node *row = node_edit(c, n);
        put_text(c, &row->grant_ticket, p->ticket);
        boot_service_unwatch(c, n);
        row->grant_at = c->now_ms;
    } else if (!str_eq(text_of(c, node->grant_ticket), p->ticket)) {
        return GRANT_LOCAL;
    }
    install_start_timer(c, n);
    return GRANT_GRANTED;
}

void do_grant_use(struct core *c, const struct grant_use_command *p)
{
    const node_ix n = node_by_id(c, p->node_id);
    struct mac mac;
    c->out->id = p->node_id;
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if (p->generation < 0)
        refuse(c, PROBLEM_BAD_VALUE, STR("generation"), STR("generation must not be negative"));
    if (!grant_ticket_is_valid(p->ticket))
        refuse(c, PROBLEM_BAD_VALUE, STR("ticket"),
               STR("ticket must be a SHA-256 as 64 lower-case hexadecimal digits"));
    if (!nic_parse_mac(c, p->mac, &mac) || refused(c))
        return;
    c->out->doc = grant_answer_doc(grant_use(c, n, mac_number(mac), p));
}

/* ---- stamps of earlier installations ---- */

void grant_check_stamp(struct core *c, int64_t stamp)
{
    if (stamp < 1 || stamp > INT64_C(1) << STAMP_BITS)
        refuse(c, PROBLEM_BAD_VALUE, STR("stamp_generation"),
               STR("stamp_generation must be from 1 to 9007199254740992"));
}

/* A stamp below the boot generation does not stop an installer, so it is not kept. */
void grant_report_stamp(struct core *c, node_ix n, int64_t stamp)
{
    const struct node *node = node_at(c, n);
    if (stamp < node->boot_generation || stamp <= node->stamp_generation)
        return;
    node_edit(c, n)->stamp_generation = stamp;
    const struct reason why = {
        .code = REASON_DISK_STAMPED,
        .subject = str_from_i64(c->arena, stamp),
        .text =
            STR_CONCAT(c->arena,
                       STR("the installer stopped: the disk has the stamp of boot "
                           "generation "),
                       str_from_i64(c->arena, stamp), STR(" of this installation, and ours is "),
                       str_from_i64(c->arena, node->boot_generation))};
    node_set_status(c, n, &why);
}

/* ---- deadlines ---- */

static void grant_expire(struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    const struct reason why = {
        .code = REASON_INSTALLER_SILENT,
        .subject = STR_CONCAT(c->arena, text_of(c, node->bootenv)),
        .text =
            STR_CONCAT(c->arena, STR("the installer "), text_of(c, node->bootenv),
                       STR(" of boot generation "), str_from_i64(c->arena, node->boot_generation),
                       STR(" was started and has not reported within "),
                       str_from_i64(c->arena, core_settings(c)->install_wait_s), STR(" s"))};
    grant_make_void(c, n, GRANT_VOID_SILENT);
    node_set_status(c, n, &why);
}

/* A rack that was started at once is silent at once. What is left is due in the next turn. */
void grants_tick(struct core *c)
{
    uint64_t key;
    uint32_t ix;
    for (uint32_t i = 0; i < EXPIRED_MAX && omap_ceil(&c->installs, 0, &key, &ix) &&
                         (int64_t)(key >> TIMER_BITS) <= c->mono_ms;
         i++)
        grant_expire(c, (node_ix){ix});
}

int64_t grants_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    return omap_ceil(&c->installs, 0, &key, &ix) ? (int64_t)(key >> TIMER_BITS) : -1;
}

void grants_restart_timers(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        install_start_timer(c, (node_ix){ix});
}

void grants_load(struct core *c)
{
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    for (uint32_t ix = pool_next(nodes, 0); ix; ix = pool_next(nodes, ix))
        install_start_timer(c, (node_ix){ix});
}

/* ---- queries and checks ---- */

bool core_grant(const struct core *c, int64_t node_id, struct grant *out_grant)
{
    const node_ix n = node_by_id(c, node_id);
    if (!n.v)
        return false;
    const struct node *node = node_at(c, n);
    *out_grant = (struct grant){.state = !node->grant_noderole  ? GRANT_NONE
                                         : !grant_is_open(node) ? GRANT_VOID
                                         : node->grant_ticket   ? GRANT_USED
                                                                : GRANT_UNUSED,
                                .void_reason = (enum grant_void)node->grant_void,
                                .noderole_id = node->grant_noderole,
                                .generation = node->boot_generation,
                                .used_at = node->grant_at,
                                .ticket = text_of(c, node->grant_ticket),
                                .stamp_generation = node->stamp_generation};
    return true;
}

struct str grant_state_text(const struct core *c, node_ix n)
{
    struct grant grant;
    must(core_grant(c, node_at(c, n)->o.id, &grant));
    return str_from(grant_state_name(grant.state));
}

static const char *grant_check_node(const struct core *c, const struct node *node)
{
    const bool is_open = grant_is_open(node);
    const noderole_ix nr = is_open ? noderole_by_id(c, node->grant_noderole) : (noderole_ix){0};
    const struct noderole *owner = nr.v ? noderole_at(c, nr) : NULL;
    if (node->grant_void >= GRANT_VOID_COUNT)
        return "I20: a grant is void for an unknown reason";
    if (!node->grant_noderole && (node->grant_ticket || node->grant_at || node->grant_void))
        return "I20: a node without a grant has a field of one";
    if (node->grant_noderole && !grant_is_for(text_of(c, node->bootenv)))
        return "I20: a node that boots no installer has a grant";
    if (is_open && (!owner || node_at(c, owner->node)->o.id != node->o.id ||
                    owner->state == NODEROLE_PROPOSED || owner->state == NODEROLE_ERROR))
        return "I20: a grant is open without a committed noderole of its node";
    if (node->grant_ticket &&
        (!is_open || !node->grant_at || !grant_ticket_is_valid(text_of(c, node->grant_ticket))))
        return "I20: the ticket of a grant is damaged, or the grant is void";
    if (node->stamp_generation && node->stamp_generation < node->boot_generation)
        return "I20: a stamp is below the boot generation";
    return NULL;
}

const char *grants_check(const struct core *c)
{
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    uint32_t timed = 0;
    for (uint32_t ix = pool_next(nodes, 0); ix; ix = pool_next(nodes, ix)) {
        const struct node *node = node_at(c, (node_ix){ix});
        const char *what = grant_check_node(c, node);
        if (what)
            return what;
        const bool is_timed = grant_is_used(node) && core_settings(c)->install_wait_s;
        if (is_timed != (node->install_deadline != 0) ||
            (is_timed && omap_find(&c->installs, install_timer_key(c, (node_ix){ix})) != ix))
            return "C22: an installer that runs has no timer, or another one has one";
        timed += is_timed;
    }
    return timed == c->installs.count ? NULL : "C22: a timer is of no installer";
}
