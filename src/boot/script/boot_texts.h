/* boot_texts.h - the scripts that machines get: for iPXE, GRUB and PXELINUX. Stateless.
 *
 * An iPXE script never ends because something cannot be loaded: it frees its images, sleeps and
 * begins again, for ever, so that a machine starts by itself when the server is back. It goes on
 * with another script by `chain --replace`, because without that iPXE would nest one script
 * in the other each time. Paths in URLs are percent-encoded; boot_args.h describes the other texts.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "boot/script/boot_args.h"
#include "model/boot_view.h"

/* ---- iPXE ---- */

/* Load kernel and initrds, and boot. If that fails, ask again what to boot. */
struct str boot_text_load(const struct boot_subject *s, const struct boot_bootenv *bootenv,
                          struct str args, struct arena *a);
/* Load kernel and initrds of an installer, and ask whether it may start. */
struct str boot_text_installer(const struct boot_subject *s, const struct boot_bootenv *bootenv,
                               struct str args, struct arena *a);
/* Boot what boot_text_installer() has loaded. */
struct str boot_text_start(const struct boot_subject *s, struct arena *a);
/* Free what was loaded, and ask again what to boot. */
struct str boot_text_again(const struct boot_subject *s, struct arena *a);
/* Boot the disk. `reason` is printed. */
struct str boot_text_local(const struct boot_subject *s, struct str reason, struct arena *a);
/* Wait, and ask again. */
struct str boot_text_hold(const struct boot_subject *s, struct arena *a);
/* Chain the script of the MAC of the machine. */
struct str boot_text_autoexec(struct str url, struct arena *a);

/* ---- by TFTP ---- */

/* True if the paths of the environment consist of letters, digits and - _ . + /, so that they need
 * no quoting in files for GRUB and PXELINUX. */
bool boot_text_paths_are_plain(const struct boot_bootenv *bootenv);
/* Boot the environment; NULL: the disk. */
struct str boot_text_grub(const struct boot_bootenv *bootenv, struct str args, struct arena *a);
struct str boot_text_pxelinux(const struct boot_bootenv *bootenv, struct str args, struct arena *a);
