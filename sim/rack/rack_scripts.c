#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

/* C versions of the shipped scripts (barclamps/.../scripts), transcribed line by line. Their input
 * is the staged data (the document that a run receives) and the memory of the machine; they change
 * its disks, the published clients and the wall data (the data that a run returns). Scripts that
 * only write files on their machine do nothing here. A change of a shipped script must be repeated
 * here.
 */

enum { PARK_MS = 30 * RACK_MINUTE, WIPED_SIZE = 32 };

/* ---- input and result of a run ---- */

static const struct json *script_staged_data(struct rack *r, const struct rack_attempt *attempt)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&r->scratch, attempt->data, &tree, &offset, &what) != OK)
        impossible("staged data is not JSON");
    return tree;
}

/* read_attribute of a string; empty if it fails. */
static struct str script_read_attribute(const struct json *data, const char *path)
{
    const struct json *value = json_at(data, str_from(path));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static struct command script_result(const struct rack_attempt *attempt, enum run_result what)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = attempt->run_id;
    command.run_done.attempt = attempt->attempt;
    command.run_done.result = what;
    return command;
}

static struct command script_die(const struct rack_attempt *attempt, struct str log)
{
    struct command command = script_result(attempt, RESULT_FAILED);
    command.run_done.runlog = log;
    return command;
}

static void script_put_wall(struct rack *r, struct command *command, const char *path,
                            const struct json *value)
{
    command->run_done.has_wall = true;
    command->run_done.wall = json_write(&r->arena, json_wrap(&r->arena, str_from(path), value));
}

/* Update whether the machine may boot the installer: it may from the wipe on until another
 * environment is published, several times if its power fails in between. */
static void script_update_may_install(struct rack *r, uint32_t machine)
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

/* ---- dhcp-database, provisioner-database, provisioner-base-images ---- */

static void script_copy_number(struct rack *r, struct json *to, const struct json *from,
                               const char *key)
{
    const struct json *number = json_get(from, str_from(key));
    if (number)
        json_set(to, str_from(key), json_clone(&r->scratch, number));
}

/* {"NODE":{"bootenv":"...","generation":N,"node_id":N}} of every client that has a bootenv. */
static struct json *script_published_clients(struct rack *r, const struct json *clients)
{
    struct json *out = json_make(&r->scratch, JSON_OBJECT);
    for (const struct json *c = clients ? clients->first : NULL; c; c = c->next) {
        const struct json *bootenv = json_get(c, STR("bootenv"));
        if (!bootenv || bootenv->kind != JSON_STRING)
            continue;
        struct json *entry = json_make(&r->scratch, JSON_OBJECT);
        json_set(entry, STR("bootenv"), json_make_string(&r->scratch, bootenv->text));
        script_copy_number(r, entry, c, "generation");
        script_copy_number(r, entry, c, "node_id");
        json_set(out, c->key, entry);
    }
    return out;
}

static const struct json *script_publish(struct rack *r, const struct rack_attempt *attempt,
                                         const char *path, struct str *served)
{
    const struct json *clients = json_at(script_staged_data(r, attempt), str_from(path));
    *served = clients ? json_write(&r->arena, clients) : STR("{}");
    rack_count_reached(r, RACK_REACHED_DATABASE_PUBLISHED);
    return clients;
}

/* True if the run publishes the clients of the second admin node. */
static bool script_is_second(const struct rack_attempt *attempt)
{
    return str_eq(attempt->node, STR(RACK_SECOND_NAME));
}

static struct command script_dhcp_database(struct rack *r, const struct rack_attempt *attempt)
{
    struct command command = script_result(attempt, RESULT_OK);
    const struct json *clients = script_publish(
        r, attempt, "crowbar/dhcp/clients", script_is_second(attempt) ? &r->second_dhcp : &r->dhcp);
    script_put_wall(r, &command, "crowbar_wall/dhcp/clients", script_published_clients(r, clients));
    return command;
}

static struct command script_provisioner_database(struct rack *r,
                                                  const struct rack_attempt *attempt)
{
    struct command command = script_result(attempt, RESULT_OK);
    const struct json *clients =
        script_publish(r, attempt, "crowbar/provisioner/clients",
                       script_is_second(attempt) ? &r->second_provisioner : &r->provisioner);
    for (uint32_t i = 0; i < r->scenario.machines; i++)
        script_update_may_install(r, i);
    script_put_wall(r, &command, "crowbar_wall/provisioner/clients",
                    script_published_clients(r, clients));
    return command;
}

/* All images of the list exist. */
static struct command script_base_images(struct rack *r, const struct rack_attempt *attempt)
{
    struct command command = script_result(attempt, RESULT_OK);
    const struct json *images = json_at(script_staged_data(r, attempt), STR("provisioner/images"));
    struct json *found = json_make(&r->scratch, JSON_ARRAY);
    for (const struct json *os = images ? images->first : NULL; os; os = os->next)
        json_append(found, json_make_string(&r->scratch, os->key));
    script_put_wall(r, &command, "crowbar_wall/provisioner/available_oses", found);
    return command;
}

/* ---- provisioner-os-install ---- */

static struct rack_disk *script_find_disk(struct rack_machine *m, struct str name)
{
    for (uint32_t i = 0; i < m->disk_count; i++)
        if (str_eq(name, str_from(m->disks[i].name)))
            return &m->disks[i];
    return NULL;
}

static bool script_is_committed_disk(const struct rack *r, const struct rack_disk *disk,
                                     const struct json *entry)
{
    int64_t size = 0;
    const struct json *number = json_get(entry, STR("size"));
    return r->flaws.ignores_serial ||
           (str_eq(script_read_attribute(entry, "serial"), str_from(disk->serial)) && number &&
            json_as_i64(number, &size) && size == disk->size);
}

/* Check every disk of the list before any of them is changed. Empty: no problem. */
static struct str script_check_disks(struct rack *r, const struct rack_attempt *attempt,
                                     const struct json *data, const struct json *list)
{
    struct rack_machine *m = &r->machines[attempt->machine];
    const struct json *claims = json_at(data, STR("hints/claimed-disks"));
    for (const struct json *entry = list->first; entry; entry = entry->next) {
        const struct str name = script_read_attribute(entry, "name");
        const struct json *owner = json_get(claims, name);
        const struct rack_disk *disk = script_find_disk(m, name);
        if (owner && owner->kind == JSON_STRING && !str_eq(owner->text, STR("operating system")))
            return STR("a disk belongs to another owner. Nothing was wiped");
        if (!disk || !script_is_committed_disk(r, disk, entry))
            return STR("a disk differs from the committed one. Nothing was wiped");
    }
    return STR("");
}

static void script_wipe_disk(struct rack *r, const struct rack_attempt *attempt,
                             struct rack_disk *disk)
{
    rack_check_wipe(r, attempt, disk);
    disk->wiped = true;
    disk->has_os = false;
    disk->wipes++;
}

static void script_wipe(struct rack *r, const struct rack_attempt *attempt, const struct json *list)
{
    struct rack_machine *m = &r->machines[attempt->machine];
    for (const struct json *entry = list->first; entry; entry = entry->next) {
        struct rack_disk *disk = script_find_disk(m, script_read_attribute(entry, "name"));
        if (disk)
            script_wipe_disk(r, attempt, disk);
    }
    for (uint32_t i = 0; i < m->disk_count && r->flaws.wipes_all; i++)
        script_wipe_disk(r, attempt, &m->disks[i]);
    rack_count_reached(r, m->wipes ? RACK_REACHED_WIPED_AGAIN : RACK_REACHED_WIPED);
    m->wipes++;
    m->was_cut = false;
    m->wiped_for_request = m->install_requests;
    script_update_may_install(r, (uint32_t)attempt->machine);
}

static struct command script_park(struct rack *r, const struct rack_attempt *attempt)
{
    struct rack_machine *m = &r->machines[attempt->machine];
    struct command command = script_result(attempt, RESULT_PARKED);
    snprintf(m->marker, sizeof m->marker, "wipe-%u", ++r->wipe_serial);
    command.run_done.park_ms = PARK_MS;
    script_put_wall(r, &command, "crowbar_wall/provisioner/wiped",
                    json_make_string(&r->scratch, str_copy(&r->arena, str_from(m->marker))));
    rack_count_reached(r, RACK_REACHED_PARKED);
    return command;
}

/* The second execution: reboot only if both databases would boot the installer. */
static struct command script_reboot(struct rack *r, const struct rack_attempt *attempt,
                                    const struct json *data, struct str wanted)
{
    struct rack_machine *m = &r->machines[attempt->machine];
    const bool boots =
        str_eq(script_read_attribute(data, "hints/provisioner-active-bootstate"), wanted);
    const bool dhcp = str_eq(script_read_attribute(data, "hints/dhcp-active-bootstate"), wanted);
    struct command command = script_result(attempt, RESULT_OK);
    if (!boots || !dhcp)
        command = script_die(attempt, STR_CONCAT(&r->arena,
                                                 STR("the machine is not rebooted, because it "
                                                     "would not boot "),
                                                 wanted));
    script_put_wall(r, &command, "crowbar_wall/provisioner/wiped",
                    json_make_string(&r->scratch, str_copy(&r->arena, str_from(m->marker))));
    m->marker[0] = 0;
    if (command.run_done.result == RESULT_OK) {
        command.run_done.node_dead = !r->flaws.stays_alive;
        command.run_done.power = STR("reboot");
    }
    return command;
}

static struct command script_os_install(struct rack *r, const struct rack_attempt *attempt)
{
    struct rack_machine *m = &r->machines[attempt->machine];
    const struct json *data = script_staged_data(r, attempt);
    const struct json *list = json_at(data, STR("announced/provisioner-os-install/wipe"));
    const struct str target = script_read_attribute(data, "provisioner/target_os");
    if (m->env == RACK_ENV_LOCAL && !r->flaws.ignores_join) { /* /etc/halligan/joined exists */
        rack_count_reached(r, RACK_REACHED_SKIPPED);
        return script_result(attempt, RESULT_OK);
    }
    if (json_is_true(json_at(data, STR("provisioner/runs_from_disk"))))
        return script_result(attempt, RESULT_OK);
    if (!list || !list->first)
        return script_die(attempt,
                          STR("no disk was committed for this machine. Nothing was wiped"));
    if (!target.len)
        return script_die(attempt,
                          STR("the attrib provisioner-target_os is not set. Nothing was wiped"));
    const struct str wanted = STR_CONCAT(&r->scratch, target, STR("-install"));
    const struct str wiped = script_read_attribute(data, "hints/crowbar_wall/provisioner/wiped");
    if (m->marker[0] && str_eq(wiped, str_from(m->marker)))
        return script_reboot(r, attempt, data, wanted);
    m->marker[0] = 0;
    const struct str wrong = script_check_disks(r, attempt, data, list);
    if (wrong.len)
        return script_die(attempt, wrong);
    script_wipe(r, attempt, list);
    return script_park(r, attempt);
}

/* ---- dispatch by role ---- */

static bool script_is_role(const struct rack_attempt *attempt, const char *role)
{
    return str_eq(attempt->role, str_from(role));
}

struct command rack_script(struct rack *r, struct rack_attempt *attempt)
{
    if (script_is_role(attempt, "dhcp-database"))
        return script_dhcp_database(r, attempt);
    if (script_is_role(attempt, "provisioner-database"))
        return script_provisioner_database(r, attempt);
    if (script_is_role(attempt, "provisioner-base-images"))
        return script_base_images(r, attempt);
    if (script_is_role(attempt, "provisioner-os-install") && attempt->machine >= 0)
        return script_os_install(r, attempt);
    if (script_is_role(attempt, "rack-application"))
        rack_count_reached(r, RACK_REACHED_APPLICATION_RAN);
    return script_result(attempt, RESULT_OK);
}

void rack_script_broken(struct rack *r, struct rack_attempt *attempt)
{
    if (prng_chance(&r->rng, 500))
        ignore(rack_script(r, attempt).kind == COMMAND_COUNT,
               "an interrupted script has no result");
}
