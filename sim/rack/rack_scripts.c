#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"

/* C versions of the shipped scripts (barclamps/.../scripts), transcribed line by line. Their input
 * is the staged data (the document that a run receives) and the memory of the machine; they change
 * its disks and the wall data (the data that a run returns). Scripts that only write files on their
 * machine do nothing here. A change of a shipped script must be repeated here. Databases that are
 * published are those of a site (rack_served.c). */

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

/* ---- provisioner-base-images ---- */

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
    if (!disk->keeps_stamp)
        disk->stamp = 0;
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
}

static int64_t script_read_number(const struct json *data, const char *path)
{
    int64_t number = 0;
    const struct json *value = json_at(data, str_from(path));
    return value && json_as_i64(value, &number) ? number : 0;
}

/* How long the run waits for what serves the installer; with boot-wait 0 an hour. */
static int64_t script_wait_ms(const struct json *data)
{
    const int64_t wait_s = script_read_number(data, "boot/wait_s");
    return wait_s > 0 ? wait_s * RACK_SECOND : RACK_HOUR;
}

/* The marker of the last wipe is part of every result. */
static struct command script_park(struct rack *r, const struct rack_attempt *attempt, int64_t ms)
{
    struct command command = script_result(attempt, RESULT_PARKED);
    command.run_done.park_ms = ms;
    script_put_wall(r, &command, "crowbar_wall/provisioner/wiped",
                    json_make_string(&r->scratch, str_from(r->machines[attempt->machine].marker)));
    rack_count_reached(r, RACK_REACHED_PARKED);
    return command;
}

static struct command script_fail_unserved(struct rack *r, const struct rack_attempt *attempt,
                                           const struct json *data, struct str wanted)
{
    struct command command =
        script_die(attempt, STR_CONCAT(&r->arena, STR("the machine is not rebooted into "), wanted,
                                       STR(": "), script_read_attribute(data, "boot/problem")));
    command.run_done.reason = REASON_BOOT_NOT_SERVED;
    command.run_done.reason_subject = STR("reboot");
    script_put_wall(r, &command, "crowbar_wall/provisioner/wiped",
                    json_make_string(&r->scratch, str_from(r->machines[attempt->machine].marker)));
    rack_count_reached(r, RACK_REACHED_NOT_SERVED);
    return command;
}

/* The second execution: reboot if everything that serves boots serves the installer; fail if
 * something cannot, or has not within boot-wait; otherwise park again. */
static struct command script_reboot(struct rack *r, const struct rack_attempt *attempt,
                                    const struct json *data, struct str wanted)
{
    enum { AGAIN_MS = 10 * RACK_SECOND };
    struct rack_machine *m = &r->machines[attempt->machine];
    const int64_t left_ms = m->wiped_ms + script_wait_ms(data) - r->mono_ms;
    struct command command = script_result(attempt, RESULT_OK);
    const bool is_served =
        json_is_true(json_at(data, STR("boot/served"))) || r->flaws.ignores_served;
    if (is_served && str_eq(script_read_attribute(data, "boot/bootenv"), wanted)) {
        script_put_wall(r, &command, "crowbar_wall/provisioner/wiped",
                        json_make_string(&r->scratch, str_from(m->marker)));
        command.run_done.node_dead = !r->flaws.stays_alive;
        command.run_done.power = STR("reboot");
    } else if (left_ms > 0 && !json_is_true(json_at(data, STR("boot/failed")))) {
        return script_park(r, attempt, left_ms < AGAIN_MS ? left_ms : AGAIN_MS);
    } else {
        command = script_fail_unserved(r, attempt, data, wanted);
    }
    m->marker[0] = 0; /* the next execution is a first one */
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
    snprintf(m->marker, sizeof m->marker, "wipe-%u", ++r->wipe_serial);
    m->wiped_ms = r->mono_ms;
    return script_park(r, attempt, script_wait_ms(data));
}

/* ---- dispatch by role ---- */

static bool script_is_role(const struct rack_attempt *attempt, const char *role)
{
    return str_eq(attempt->role, str_from(role));
}

struct command rack_script(struct rack *r, struct rack_attempt *attempt)
{
    if (rack_publishes(r, attempt)) {
        rack_publish(r, attempt, false);
        return script_result(attempt, RESULT_OK);
    }
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
    if (!prng_chance(&r->rng, 500))
        return;
    if (rack_publishes(r, attempt))
        rack_publish(r, attempt, prng_chance(&r->rng, 500));
    else
        ignore(rack_script(r, attempt).kind == COMMAND_COUNT,
               "an interrupted script has no result");
}
