/* boot_texts.c - writes scripts. Stateless.
 *
 * Everything that is not a literal here passes boot_args_clean(), is an argument list of
 * boot_args_make(), or is percent-encoded. */
#include "boot/script/boot_texts.h"

#include <string.h>

#include "base/text/buf.h"

/* ---- pieces ---- */

/* A path below /files, percent-encoded; leading slashes are dropped. */
static void text_put_path(struct buf *b, struct str path)
{
    static const char hex[] = "0123456789ABCDEF", plain[] = "-_.~/";
    uint32_t i = 0;
    while (i < path.len && path.at[i] == '/')
        i++;
    for (; i < path.len; i++) {
        const char c = path.at[i];
        if (char_is_letter(c) || char_is_digit(c) || memchr(plain, c, sizeof plain - 1)) {
            buf_put_c(b, c);
        } else {
            buf_put_c(b, '%');
            buf_put_c(b, hex[(uint8_t)c >> 4]);
            buf_put_c(b, hex[(uint8_t)c & 15]);
        }
    }
}

static void text_put_file_url(struct buf *b, const struct boot_subject *s, struct str path)
{
    buf_put_str(b, s->url);
    buf_put_z(b, "/files/");
    text_put_path(b, path);
}

/* "http://SERVER:PORT/boot/MAC?t=TICKET" */
static void text_put_script_url(struct buf *b, const struct boot_subject *s, const char *suffix)
{
    buf_put_str(b, s->url);
    buf_put_z(b, "/boot/");
    buf_put_str(b, boot_args_hyphenated(s->mac, b->arena));
    buf_put_z(b, suffix);
    if (s->ticket.len) {
        buf_put_z(b, "?t=");
        buf_put_str(b, boot_args_clean(s->ticket, b->arena));
    }
}

/* Words of a message; each one is cleaned. */
static void text_put_words(struct buf *b, struct str text)
{
    for (uint32_t from = 0; from <= text.len;) {
        const uint32_t to = str_find(text, ' ', from);
        if (from)
            buf_put_c(b, ' ');
        buf_put_str(b, boot_args_clean(str_slice(text, from, to), b->arena));
        from = to + 1;
    }
}

/* The machine, in a message. */
static void text_put_machine(struct buf *b, const struct boot_subject *s)
{
    if (s->name.len)
        buf_put_str(b, boot_args_clean(s->name, b->arena));
    else
        buf_put_z(b, "machine");
    buf_put_z(b, " ");
    buf_put_str(b, boot_args_mac(s->mac, b->arena));
}

static struct buf text_begin(const struct boot_subject *s, struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "#!ipxe\necho Halligan: ");
    text_put_machine(&b, s);
    return b;
}

/* Request a script until there is an answer; the pause comes first. iPXE does not renew its lease,
 * and the node of the machine may be deleted meanwhile: the address is requested again each time,
 * because a script is answered only to the machine's own. */
static void text_put_ask(struct buf *b, const struct boot_subject *s, const char *label,
                         const char *pause_s, const char *suffix)
{
    buf_put_c(b, ':');
    buf_put_z(b, label);
    buf_put_z(b, "\nsleep ");
    buf_put_z(b, pause_s);
    buf_put_z(b, "\ndhcp ||\nchain --replace --autofree ");
    text_put_script_url(b, s, suffix);
    buf_put_z(b, " || goto ");
    buf_put_z(b, label);
    buf_put_c(b, '\n');
}

/* ---- iPXE ---- */

/* The part of a script that loads kernel and initrds, however often it takes. */
static struct buf text_begin_load(const struct boot_subject *s, const struct boot_bootenv *bootenv,
                                  struct str args, struct arena *a)
{
    struct buf b = text_begin(s, a);
    buf_put_z(&b, " loads ");
    buf_put_str(&b, boot_args_clean(bootenv->name, a));
    buf_put_z(&b, "\ngoto load\n"
                  ":retry\n"
                  "echo Loading failed, trying again in 5 s\n"
                  "sleep 5\n"
                  "dhcp ||\n"
                  ":load\n"
                  "imgfree\n"
                  "kernel --name kernel ");
    text_put_file_url(&b, s, bootenv->kernel);
    buf_put_c(&b, ' ');
    buf_put_str(&b, args);
    buf_put_z(&b, " || goto retry\n");
    for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
        buf_put_z(&b, "initrd --name initrd");
        buf_put_i64(&b, i);
        buf_put_c(&b, ' ');
        text_put_file_url(&b, s, bootenv->initrds[i]);
        buf_put_z(&b, " || goto retry\n");
    }
    return b;
}

struct str boot_text_load(const struct boot_subject *s, const struct boot_bootenv *bootenv,
                          struct str args, struct arena *a)
{
    struct buf b = text_begin_load(s, bootenv, args, a);
    buf_put_z(&b, "boot kernel ||\n"
                  "echo The kernel could not be started, asking again\n"
                  "imgfree\n");
    text_put_ask(&b, s, "again", "5", "");
    return buf_str(&b);
}

struct str boot_text_installer(const struct boot_subject *s, const struct boot_bootenv *bootenv,
                               struct str args, struct arena *a)
{
    struct buf b = text_begin_load(s, bootenv, args, a);
    buf_put_z(&b, "echo The installer is loaded, asking for permission to start it\n"
                  "goto ask\n"
                  ":wait\n"
                  "echo No answer, asking again in 5 s\n"
                  "sleep 5\n"
                  "dhcp ||\n"
                  ":ask\n"
                  "chain --replace --autofree ");
    text_put_script_url(&b, s, "/install");
    buf_put_z(&b, " || goto wait\n");
    return buf_str(&b);
}

struct str boot_text_start(const struct boot_subject *s, struct arena *a)
{
    struct buf b = text_begin(s, a);
    buf_put_z(&b, " starts its installer\n"
                  "boot kernel ||\n"
                  "echo The installer could not be started, asking again\n"
                  "imgfree\n");
    text_put_ask(&b, s, "again", "5", "");
    return buf_str(&b);
}

struct str boot_text_again(const struct boot_subject *s, struct arena *a)
{
    struct buf b = text_begin(s, a);
    buf_put_z(&b, " asks again what to boot\n"
                  "imgfree\n");
    text_put_ask(&b, s, "again", "1", "");
    return buf_str(&b);
}

struct str boot_text_local(const struct boot_subject *s, struct str reason, struct arena *a)
{
    struct buf b = text_begin(s, a);
    buf_put_z(&b, " boots its disk\n");
    if (reason.len) {
        buf_put_z(&b, "echo Reason: ");
        text_put_words(&b, reason);
        buf_put_c(&b, '\n');
    }
    /* A boot manager of UEFI shows its menu if an option succeeds, and tries the next one if it
     * fails: so exit 1 continues with the disk. */
    buf_put_z(&b, "imgfree\n"
                  "iseq ${platform} pcbios || goto efi\n");
    if (s->local_boot != LOCAL_BOOT_OMIT)
        buf_put_z(&b, "sanboot --no-describe --drive 0x80 ||\n");
    buf_put_z(&b, "exit\n"
                  ":efi\n");
    if (s->local_boot != LOCAL_BOOT_OMIT) {
        buf_put_z(&b, "chain --autofree ");
        text_put_file_url(&b, s, STR("local/grubx64.efi"));
        buf_put_z(&b, " ||\n");
    }
    buf_put_z(&b, "exit 1\n");
    return buf_str(&b);
}

struct str boot_text_hold(const struct boot_subject *s, struct arena *a)
{
    struct buf b = text_begin(s, a);
    buf_put_z(&b, " is not a node\n"
                  "echo It waits until a node has this MAC, or the attrib provisioner-unknown is\n"
                  "echo discover and there is a discovery image, asking again every 30 s\n"
                  "imgfree\n");
    text_put_ask(&b, s, "hold", "30", "");
    return buf_str(&b);
}

struct str boot_text_autoexec(struct str url, struct arena *a)
{
    /* iPXE may start this file before it has an address. netX is the interface used last. */
    return STR_CONCAT(a,
                      STR("#!ipxe\n"
                          "goto begin\n"
                          ":retry\n"
                          "sleep 5\n"
                          ":begin\n"
                          "isset ${netX/ip} || dhcp || goto retry\n"
                          "chain --replace --autofree "),
                      url, STR("/boot/${netX/mac:hexhyp} || goto retry\n"));
}

/* ---- by TFTP ---- */

static bool text_path_is_plain(struct str path)
{
    static const char plain[] = "-_.+/";
    for (uint32_t i = 0; i < path.len; i++)
        if (!char_is_letter(path.at[i]) && !char_is_digit(path.at[i]) &&
            !memchr(plain, path.at[i], sizeof plain - 1))
            return false;
    return path.len && path.at[0] != '/';
}

bool boot_text_paths_are_plain(const struct boot_bootenv *bootenv)
{
    bool are_plain = text_path_is_plain(bootenv->kernel);
    for (uint32_t i = 0; i < bootenv->initrd_count; i++)
        are_plain = are_plain && text_path_is_plain(bootenv->initrds[i]);
    return are_plain;
}

struct str boot_text_grub(const struct boot_bootenv *bootenv, struct str args, struct arena *a)
{
    struct buf b = buf_in(a);
    if (!bootenv)
        return STR("exit\n");
    buf_put_z(&b, "until linux /");
    buf_put_str(&b, bootenv->kernel);
    /* Single quotes keep every byte; no argument has one. */
    for (uint32_t from = 0; from < args.len;) {
        const uint32_t to = str_find(args, ' ', from);
        buf_put_z(&b, " '");
        buf_put_str(&b, str_slice(args, from, to));
        buf_put_c(&b, '\'');
        from = to + 1;
    }
    buf_put_z(&b, "; do sleep 5; done\n");
    if (bootenv->initrd_count) {
        buf_put_z(&b, "until initrd");
        for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
            buf_put_z(&b, " /");
            buf_put_str(&b, bootenv->initrds[i]);
        }
        buf_put_z(&b, "; do sleep 5; done\n");
    }
    buf_put_z(&b, "boot\n");
    return buf_str(&b);
}

struct str boot_text_pxelinux(const struct boot_bootenv *bootenv, struct str args, struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "DEFAULT halligan\n"
                  "PROMPT 0\n"
                  "LABEL halligan\n");
    if (!bootenv) {
        buf_put_z(&b, "LOCALBOOT 0\n");
        return buf_str(&b);
    }
    buf_put_z(&b, "KERNEL /");
    buf_put_str(&b, bootenv->kernel);
    buf_put_c(&b, '\n');
    for (uint32_t i = 0; i < bootenv->initrd_count; i++) {
        buf_put_z(&b, i ? "," : "INITRD ");
        buf_put_c(&b, '/');
        buf_put_str(&b, bootenv->initrds[i]);
    }
    buf_put_z(&b, bootenv->initrd_count ? "\nAPPEND " : "APPEND ");
    buf_put_str(&b, args);
    buf_put_c(&b, '\n');
    return buf_str(&b);
}
