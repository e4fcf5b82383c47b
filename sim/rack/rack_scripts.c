#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

/* What the shipped scripts (barclamps/.../scripts) do, read line by line: from the staged data
 * alone and from what the machine remembers, to its disks, to what is served, to the wall. Scripts
 * that only write files on their machine do nothing here. */

enum { PARK_MS = 30 * RACK_MINUTE, WIPED_SIZE = 32 };

/* ---- reading what a run is given ---- */

static const struct json *staged(struct rack *r, const struct rack_work *work)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&r->scratch, work->data, &tree, &offset, &what) != OK)
        impossible("staged data that are no JSON");
    return tree;
}

/* read_attribute of a text; empty when it fails. */
static struct str text_at(const struct json *data, const char *path)
{
    const struct json *value = json_at(data, str_from(path));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static struct command result(const struct rack_work *work, enum run_result what)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = work->run_id;
    command.run_done.attempt = work->attempt;
    command.run_done.result = what;
    return command;
}

static struct command die(const struct rack_work *work, struct str log)
{
    struct command command = result(work, RESULT_FAILED);
    command.run_done.runlog = log;
    return command;
}

static void put_wall(struct rack *r, struct command *command, const char *path,
                     const struct json *value)
{
    command->run_done.has_wall = true;
    command->run_done.wall = json_write(&r->story, json_wrap(&r->story, str_from(path), value));
}

/* From a wipe until something else is served again, the machine may boot the installer as often as
 * its power fails. */
static void serve(struct rack *r, uint32_t machine)
{
    struct rack_machine *m = &r->machines[machine];
    const bool installs =
        str_ends(rack_served(r, r->provisioner, machine), STR("-install")) ||
        (r->second_provisioner.len &&
         str_ends(rack_served(r, r->second_provisioner, machine), STR("-install")));
    m->may_install = installs && m->may_install;
    for (uint32_t i = 0; i < m->disk_count; i++)
        m->may_install = m->may_install || (installs && m->disks[i].wiped);
}

/* ---- databases ---- */

static void copy_number(struct rack *r, struct json *to, const struct json *from, const char *key)
{
    const struct json *number = json_get(from, str_from(key));
    if (number)
        json_set(to, str_from(key), json_clone(&r->scratch, number));
}

/* {"NODE":{"bootenv":"...","generation":N,"node_id":N}} of every client that has the first. */
static struct json *published(struct rack *r, const struct json *clients)
{
    struct json *out = json_make(&r->scratch, JSON_OBJECT);
    for (const struct json *c = clients ? clients->first : NULL; c; c = c->next) {
        const struct json *bootenv = json_get(c, STR("bootenv"));
        if (!bootenv || bootenv->kind != JSON_STRING)
            continue;
        struct json *entry = json_make(&r->scratch, JSON_OBJECT);
        json_set(entry, STR("bootenv"), json_make_string(&r->scratch, bootenv->text));
        copy_number(r, entry, c, "generation");
        copy_number(r, entry, c, "node_id");
        json_set(out, c->key, entry);
    }
    return out;
}

static const struct json *publish(struct rack *r, const struct rack_work *work, const char *path,
                                  struct str *served)
{
    const struct json *clients = json_at(staged(r, work), str_from(path));
    *served = clients ? json_write(&r->story, clients) : STR("{}");
    rack_reach(r, RACK_REACHED_DATABASE_PUBLISHED);
    return clients;
}

/* Whose clients a run publishes: those of the admin node it runs on. */
static bool is_second(const struct rack_work *work)
{
    return str_eq(work->node, STR(RACK_SECOND_NAME));
}

static struct command publish_dhcp(struct rack *r, const struct rack_work *work)
{
    struct command command = result(work, RESULT_OK);
    const struct json *clients =
        publish(r, work, "crowbar/dhcp/clients", is_second(work) ? &r->second_dhcp : &r->dhcp);
    put_wall(r, &command, "crowbar_wall/dhcp/clients", published(r, clients));
    return command;
}

static struct command publish_provisioner(struct rack *r, const struct rack_work *work)
{
    struct command command = result(work, RESULT_OK);
    const struct json *clients =
        publish(r, work, "crowbar/provisioner/clients",
                is_second(work) ? &r->second_provisioner : &r->provisioner);
    for (uint32_t i = 0; i < r->draw.machines; i++)
        serve(r, i);
    put_wall(r, &command, "crowbar_wall/provisioner/clients", published(r, clients));
    return command;
}

/* Every installer lies where it should. */
static struct command look_for_images(struct rack *r, const struct rack_work *work)
{
    struct command command = result(work, RESULT_OK);
    const struct json *images = json_at(staged(r, work), STR("provisioner/images"));
    struct json *found = json_make(&r->scratch, JSON_ARRAY);
    for (const struct json *os = images ? images->first : NULL; os; os = os->next)
        json_append(found, json_make_string(&r->scratch, os->key));
    put_wall(r, &command, "crowbar_wall/provisioner/available_oses", found);
    return command;
}

/* ---- installing ---- */

static struct rack_disk *disk_of(struct rack_machine *m, struct str name)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (str_eq(name, str_from(m->disks[i].name)))
            return &m->disks[i];
    return NULL;
}

/* Looks at every disk of the list before it touches any. Empty: go ahead. */
static struct str look_at_disks(struct rack *r, const struct rack_work *work,
                                const struct json *data, const struct json *list)
{
    struct rack_machine *m = &r->machines[work->machine];
    const struct json *claims = json_at(data, STR("hints/claimed-disks"));
    for (const struct json *place = list->first; place; place = place->next) {
        const struct str name = text_at(place, "name");
        const struct json *owner = json_get(claims, name);
        if (!disk_of(m, name))
            return STR("a disk is on the list, but not on this machine");
        if (owner && owner->kind == JSON_STRING && !str_eq(owner->text, STR("operating system")))
            return STR("a disk belongs to somebody else: nothing was wiped");
    }
    return STR("");
}

static void wipe(struct rack *r, const struct rack_work *work, const struct json *list)
{
    struct rack_machine *m = &r->machines[work->machine];
    for (const struct json *place = list->first; place; place = place->next) {
        struct rack_disk *disk = disk_of(m, text_at(place, "name"));
        if (!disk)
            continue;
        rack_check_wipe(r, work, disk);
        disk->wiped = true;
        disk->has_os = false;
        disk->wipes++;
    }
    rack_reach(r, m->wipes ? RACK_REACHED_WIPED_AGAIN : RACK_REACHED_WIPED);
    m->wipes++;
    m->was_cut = false;
    m->permit_wiped = m->permits;
    serve(r, (uint32_t)work->machine);
}

static struct command park(struct rack *r, const struct rack_work *work)
{
    struct rack_machine *m = &r->machines[work->machine];
    struct command command = result(work, RESULT_PARKED);
    snprintf(m->marker, sizeof m->marker, "wipe-%u", ++r->wipe_serial);
    command.run_done.park_ms = PARK_MS;
    put_wall(r, &command, "crowbar_wall/provisioner/wiped",
             json_make_string(&r->scratch, str_copy(&r->story, str_from(m->marker))));
    rack_reach(r, RACK_REACHED_PARKED);
    return command;
}

/* The second run: is it the installer that would be booted? */
static struct command go_on(struct rack *r, const struct rack_work *work, const struct json *data,
                            struct str wanted)
{
    struct rack_machine *m = &r->machines[work->machine];
    const bool boots = str_eq(text_at(data, "hints/provisioner-active-bootstate"), wanted);
    const bool dhcp = str_eq(text_at(data, "hints/dhcp-active-bootstate"), wanted);
    struct command command = result(work, RESULT_OK);
    if (!boots || !dhcp)
        command = die(work, STR("the machine is not rebooted, because it would not boot that"));
    put_wall(r, &command, "crowbar_wall/provisioner/wiped",
             json_make_string(&r->scratch, str_copy(&r->story, str_from(m->marker))));
    m->marker[0] = 0;
    if (command.run_done.result == RESULT_OK) {
        command.run_done.node_dead = !r->flaws.stays_alive;
        command.run_done.power = STR("reboot");
    }
    return command;
}

static struct command install(struct rack *r, const struct rack_work *work)
{
    struct rack_machine *m = &r->machines[work->machine];
    const struct json *data = staged(r, work);
    const struct json *list = json_at(data, STR("provisioner/wipe"));
    const struct str target = text_at(data, "provisioner/target_os");
    if (m->place == PLACE_LOCAL && !r->flaws.ignores_join) { /* it has joined */
        rack_reach(r, RACK_REACHED_SKIPPED);
        return result(work, RESULT_OK);
    }
    if (!list || !list->first)
        return result(work, RESULT_OK);
    if (!target.len)
        return die(work, STR("nobody says what is to be installed"));
    const struct str wanted = STR_CONCAT(&r->scratch, target, STR("-install"));
    const struct str told = text_at(data, "hints/crowbar_wall/provisioner/wiped");
    if (m->marker[0] && str_eq(told, str_from(m->marker)))
        return go_on(r, work, data, wanted);
    m->marker[0] = 0;
    const struct str wrong = look_at_disks(r, work, data, list);
    if (wrong.len)
        return die(work, wrong);
    wipe(r, work, list);
    return park(r, work);
}

/* ---- which is which ---- */

static bool is(const struct rack_work *work, const char *role)
{
    return str_eq(work->role, str_from(role));
}

struct command rack_script(struct rack *r, struct rack_work *work)
{
    if (is(work, "dhcp-database"))
        return publish_dhcp(r, work);
    if (is(work, "provisioner-database"))
        return publish_provisioner(r, work);
    if (is(work, "provisioner-base-images"))
        return look_for_images(r, work);
    if (is(work, "provisioner-os-install") && work->machine >= 0)
        return install(r, work);
    if (is(work, "rack-application"))
        rack_reach(r, RACK_REACHED_APPLICATION_RAN);
    return result(work, RESULT_OK);
}

void rack_script_broken(struct rack *r, struct rack_work *work)
{
    if (prng_chance(&r->chance, 500))
        ignore(rack_script(r, work).kind == COMMAND_COUNT, "nobody is there to hear of it");
}
