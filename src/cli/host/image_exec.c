#include "cli/host/image_exec.h"

#include "cli/host/program_exec.h"

/* The verbs of halligan-image. Help is printed by cli.c from the table below, without the other
 * program. */

static enum cli_exit image_exec_build(struct args *args)
{
    return program_exec_run("halligan-image", "build", args);
}

static const char build_help[] =
    "Builds files for halligan-boot, on a host with Debian's packages:\n"
    "\n"
    "  loaders                iPXE for BIOS and UEFI (package ipxe): undionly.kpxe, snponly.efi\n"
    "  local                  the GRUB that starts the disk of a UEFI machine (packages\n"
    "                         grub-efi-amd64-bin, grub-common): local/grubx64.efi\n"
    "\n"
    "  -d, --dir DIR          directory of the boot server (/var/lib/halligan/tftpboot)\n"
    "\n"
    "Each file is replaced atomically. The exit status is 0 on success, 1 if a file cannot be\n"
    "built, 2 if the command line is wrong, and 3 if the directory cannot be written.\n";

static const struct cli_verb verbs[] = {
    {.name = "build",
     .operands = "loaders|local [...] [--dir DIR]",
     .summary = "Build files that boot servers send to machines",
     .help = build_help,
     .run_local = image_exec_build},
};

const struct cli_noun image_noun = {
    .name = "image",
    .summary = "files that boot servers send to machines",
    .verbs = verbs,
    .verb_count = sizeof verbs / sizeof verbs[0],
};
