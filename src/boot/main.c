/* main.c - the program halligan-boot: command line, standard descriptors and log.
 *
 * Everything else is in boot/server/boot_server.c. All problems of the arguments are printed before
 * anything is opened. */
#define _GNU_SOURCE /* closefrom */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "boot/server/boot_options.h"
#include "boot/server/boot_server.h"
#include "sys/log.h"

#ifndef HALLIGAN_VERSION
#define HALLIGAN_VERSION "unreleased"
#endif

/* Closes inherited descriptors, and opens /dev/null for standard ones that are closed: otherwise a
 * socket would get a number from 0 to 2. */
static bool main_prepare_descriptors(void)
{
    int fd;
    closefrom(STDERR_FILENO + 1);
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        ignore(close(fd), "its number is above the standard descriptors");
    return fd >= 0;
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    const struct boot_options options = boot_options_parse(argc, argv);
    if (options.help) {
        fputs(boot_options_usage, stdout);
        return BOOT_EXIT_OK;
    }
    if (options.version) {
        puts("halligan-boot " HALLIGAN_VERSION);
        return BOOT_EXIT_OK;
    }
    if (options.problems) {
        fputs("halligan-boot --help lists the options\n", stderr);
        return BOOT_EXIT_USAGE;
    }
    if (!main_prepare_descriptors()) {
        log_print(LOG_ERROR, "\"/dev/null\" cannot be opened; halligan-boot cannot start");
        return BOOT_EXIT_FAILED;
    }
    log_setup(LOG_INFO, LOG_TEXT);
    ignore(setrlimit(RLIMIT_CORE, &no_core), "the sandbox forbids core dumps as well");
    ignore(umask(077), "it has no failure");
    return boot_server_run(&options, HALLIGAN_VERSION);
}
