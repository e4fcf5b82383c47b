/* Goal: requests for boot scripts are recognized in the forms that boot_path.h lists, and nothing
 * else is. Method: drawn tables. */
#include "boot/script/boot_path.h"
#include "tests/check.h"

#define MAC 0x5254000000ab

TEST(urls_of_scripts_are_recognized)
{
    static const struct {
        const char *path, *query;
        enum boot_path_kind kind;
        const char *ticket;
    } rows[] = {
        {"/boot/52:54:00:00:00:ab", "", BOOT_PATH_SCRIPT, ""},
        {"/boot/52-54-00-00-00-ab", "t=x", BOOT_PATH_SCRIPT, "x"},
        {"/boot/52-54-00-00-00-AB", "a=1&t=x&t=y", BOOT_PATH_SCRIPT, "x"},
        {"/boot/52%3A54%3a00%3A00%3A00%3AaB", "t=", BOOT_PATH_SCRIPT, ""},
        {"/boot/52%2D54-00-00-00-%61b", "tt=1", BOOT_PATH_SCRIPT, ""},
        {"/boot/52-54-00-00-00-ab/install", "&t=abc", BOOT_PATH_INSTALL, "abc"},
        {"/boot/52-54-00-00-00-ab/install", "x=t=1", BOOT_PATH_INSTALL, ""},
        {"/boot/52-54-00-00-00-ab/", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-ab/install/", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-ab/other", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-abinstall", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-a", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-abc", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54:00-00-00-ab", "", BOOT_PATH_NONE, ""},
        {"/boot/5254000000ab", "", BOOT_PATH_NONE, ""},
        {"/boot/00-00-00-00-00-00", "", BOOT_PATH_NONE, ""},
        {"/boot/ff-ff-ff-ff-ff-ff", "", BOOT_PATH_NONE, ""},
        {"/boot/52%3A54%3A00%3A00%3A00%3", "", BOOT_PATH_NONE, ""},
        {"/boot/52%3G54%3A00%3A00%3A00%3Aab", "", BOOT_PATH_NONE, ""},
        {"/boot/52%253A54-00-00-00-ab", "", BOOT_PATH_NONE, ""},
        {"/boot/52-54-00-00-00-ab%2Finstall", "", BOOT_PATH_NONE, ""},
        {"/boot/", "", BOOT_PATH_NONE, ""},
        {"/boot", "", BOOT_PATH_NONE, ""},
        {"boot/52-54-00-00-00-ab", "", BOOT_PATH_NONE, ""},
        {"//boot/52-54-00-00-00-ab", "", BOOT_PATH_NONE, ""},
        {"", "t=1", BOOT_PATH_NONE, ""},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct boot_path path =
            boot_path_of_url(str_from(rows[i].path), str_from(rows[i].query));
        CHECK(path.kind == rows[i].kind && str_eq(path.ticket, str_from(rows[i].ticket)));
        CHECK(path.mac == (rows[i].kind == BOOT_PATH_NONE ? 0 : MAC));
    }
}

TEST(nothing_behind_the_end_of_a_path_is_read)
{
    const struct str whole = STR("/boot/52-54-00-00-00-%61%62");
    CHECK(boot_path_of_url(whole, STR("")).mac == MAC);
    for (uint32_t len = 0; len < whole.len; len++)
        CHECK(boot_path_of_url(str_slice(whole, 0, len), STR("")).kind == BOOT_PATH_NONE);
}

TEST(names_of_scripts_are_recognized)
{
    static const struct {
        const char *name;
        enum boot_path_kind kind;
    } rows[] = {
        {"autoexec.ipxe", BOOT_PATH_AUTOEXEC},
        {"pxelinux.cfg/01-52-54-00-00-00-ab", BOOT_PATH_PXELINUX},
        {"grub/grub.cfg-01-52-54-00-00-00-ab", BOOT_PATH_GRUB},
        {"grub/grub.cfg-01-52-54-00-00-00-AB", BOOT_PATH_GRUB},
        {"grub/grub.cfg-01-52:54:00:00:00:ab", BOOT_PATH_NONE},
        {"grub/grub.cfg-01-52-54-00-00-00-%61b", BOOT_PATH_NONE},
        {"grub/grub.cfg-01-52-54-00-00-00-a", BOOT_PATH_NONE},
        {"grub/grub.cfg", BOOT_PATH_NONE},
        {"pxelinux.cfg/20-52-54-00-00-00-ab", BOOT_PATH_NONE},
        {"pxelinux.cfg/01-52-54-00-00-00-ab/x", BOOT_PATH_NONE},
        {"pxelinux.cfg/01-", BOOT_PATH_NONE},
        {"pxelinux.cfg/default", BOOT_PATH_NONE},
        {"x/autoexec.ipxe", BOOT_PATH_NONE},
        {"", BOOT_PATH_NONE},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct boot_path path = boot_path_of_file(str_from(rows[i].name));
        const bool has_mac = rows[i].kind == BOOT_PATH_PXELINUX || rows[i].kind == BOOT_PATH_GRUB;
        CHECK(path.kind == rows[i].kind && path.mac == (has_mac ? MAC : 0));
        CHECK(path.ticket.len == 0);
    }
}
