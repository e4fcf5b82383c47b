/* Goal: kernel arguments are made as boot_args.h describes, and nothing in the view can add a
 * command to a script.
 * Method: drawn tables of texts, values with every byte, lengths around the bound. */
#include "boot/script/boot_args.h"
#include "boot/script/boot_texts.h"
#include "model/limits.h"
#include "tests/unit/boot/boot_rack.h"

/* The arguments after those of Halligan itself. */
static struct str more_args(struct rack *r, struct str *out_reason)
{
    const struct boot_answer answer = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
    const struct str text = answer.text;
    const struct str before = STR("BOOTIF=01-52-54-00-00-00-01 initrd=initrd0");
    uint32_t from = 0;
    *out_reason = answer.reason;
    while (!str_starts(str_slice(text, from, text.len), before)) {
        from++;
        CHECK(from < text.len);
    }
    from += before.len;
    const uint32_t to = str_find(text, '\n', from);
    CHECK(str_ends(str_slice(text, from, to), STR(" || goto retry")));
    return str_slice(text, from + 1, to > from + 14 ? to - 14 : from);
}

static void put_args(struct rack *r, struct str args)
{
    static const struct str one[] = {{"initrd.img", 10}};
    rack_put_bootenv(r, 1,
                     (struct boot_bootenv){.name = STR("sledgehammer"),
                                           .kernel = STR("vmlinuz"),
                                           .args = args,
                                           .method = STR("discovery"),
                                           .initrd_count = 1,
                                           .initrds = one});
    rack_boot(r, "sledgehammer", 3);
}

TEST(arguments_come_from_template_settings_and_options)
{
    static const struct {
        const char *args, *settings, *options, *expected;
    } rows[] = {
        {"", "{}", "", ""},
        {"a  b\tc", "{}", "", "a b c"},
        {"n={name} m={mac} i={node_id} g={generation} s={server} p={port} u={url}", "{}", "",
         "n=n1.example.com m=52:54:00:00:00:01 i=7 g=3 s=10.0.0.1 p=8091"
         " u=http://10.0.0.1:8091"},
        {"{other} {name {} {{name}} }name{", "{}", "", "{other} {name {} {n1.example.com} }name{"},
        {"t",
         "{\"provisioner\":{\"console\":\"tty0 console=ttyS1\","
         "\"kernel_args\":{\"*\":\"all\",\"Sledgehammer\":\"own\",\"x\":\"no\"}}}",
         "", "console=tty0 console=ttyS1 t all own"},
        {"t", "{\"provisioner\":{\"console\":\"tty0\"}}",
         "{\"console\":\"ttyS2\",\"kernel_args\":\"k={node_id}\"}", "console=ttyS2 t k=7"},
        {"t", "{\"provisioner\":{\"console\":\"tty0\"}}", "{\"console\":\"\"}", "t"},
        {"t", "{\"provisioner\":{\"console\":\"tty0\"}}", "{\"console\":7,\"kernel_args\":7}",
         "console=tty0 t"},
        {"t", "{}", "{\"kernel_args\":{\"*\":\"a\",\"SLEDGEHAMMER\":\"b\",\"x\":\"c\"}}", "t a b"},
        {"t", "{}", "{\"kernel_args\":{\"*\":1,\"sledgehammer\":[]}}", "t"},
        {"a=1&b=2 *!~^?[]()%@,+ #c d#e", "{}", "", "a=1&b=2 *!~^?[]()%@,+ d#e"},
    };
    struct rack *r = rack_open();
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str reason;
        rack_configure(r, rows[i].settings);
        r->machine.options = str_from(rows[i].options);
        put_args(r, str_from(rows[i].args));
        CHECK(str_eq(more_args(r, &reason), str_from(rows[i].expected)));
    }
    rack_close(r);
}

TEST(words_that_could_end_a_command_are_left_out_and_reported)
{
    struct rack *r = rack_open();
    for (uint32_t c = 1; c < 128; c++) {
        const char text[] = {'a', '=', (char)c, 'b', ' ', 'c', 0};
        const bool is_space = c <= ' ';
        const bool is_illegal = c == 127 || strchr("\"'$;<>\\`|", (int)c);
        struct str reason;
        put_args(r, str_from(text));
        const struct str args = more_args(r, &reason);
        const char kept[] = {'a', '=', (char)c, 'b', ' ', 'c', 0};
        CHECK(str_eq(args, is_space ? STR("a= b c") : is_illegal ? STR("c") : str_from(kept)));
        CHECK((reason.len != 0) == is_illegal);
    }
    static const char *const rows[][2] = {
        {"&&", ""},       {"||", ""},          {"a && b", "a b"}, {"a&&b", ""}, {"#", ""},
        {"a # b", "a b"}, {"${net0/mac}", ""}, {"\xc3\xa4", ""},  {"&", "&"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str reason;
        put_args(r, str_from(rows[i][0]));
        CHECK(str_eq(more_args(r, &reason), str_from(rows[i][1])));
        CHECK((reason.len != 0) == !str_eq(str_from(rows[i][0]), str_from(rows[i][1])));
    }
    rack_close(r);
}

TEST(names_cannot_break_a_script)
{
    static const char *const names[] = {"a && reboot", "${x}", "a\nreboot", "a || b",  "a\x7f",
                                        "# a",         "a;b",  "a\tb",      "\xc3\xa4"};
    struct rack *r = rack_open();
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str reason;
        r->machine.name = str_from(names[i]);
        put_args(r, STR("n={name}.x"));
        const struct str clean = boot_args_clean(r->machine.name, &r->arena);
        CHECK(str_eq(more_args(r, &reason), STR_CONCAT(&r->arena, STR("n="), clean, STR(".x"))));
        CHECK(str_starts(rack_ask(r, rack_request(RACK_MAC, RACK_OWN)).text,
                         STR_CONCAT(&r->arena, STR("#!ipxe\necho Halligan: "), clean,
                                    STR(" 52:54:00:00:00:01 loads sledgehammer\n"))));
        r->machine.bootenv = str_from(names[i]);
        rack_put_machine(r);
        const struct str text = rack_ask(r, rack_request(RACK_MAC, RACK_OWN)).text;
        for (uint32_t k = 0; k < text.len; k++)
            CHECK(text.at[k] == '\n' || (text.at[k] >= ' ' && text.at[k] <= '~'));
        CHECK(!str_has(text, STR("&&")) && !str_has(text, STR("${x}")));
    }
    CHECK(str_eq(boot_args_clean(STR("aZ09+,-./:=@_ \n&|"), &r->arena), STR("aZ09+,-./:=@_____")));
    rack_close(r);
}

TEST(paths_are_percent_encoded)
{
    struct rack *r = rack_open();
    rack_put_bootenv(r, 1,
                     (struct boot_bootenv){.name = STR("sledgehammer"),
                                           .kernel = STR("//a b&&c/${x}%41\xc3\xa4+~.-_"),
                                           .method = STR("discovery")});
    rack_boot(r, "sledgehammer", 3);
    CHECK(str_has(rack_ask(r, rack_request(RACK_MAC, RACK_OWN)).text,
                  STR("kernel --name kernel http://10.0.0.1:8091/files/"
                      "a%20b%26%26c/%24%7Bx%7D%2541%C3%A4%2B~.-_ halligan")));
    rack_close(r);
}

TEST(long_arguments_are_cut_at_a_space_and_reported)
{
    struct rack *r = rack_open();
    struct str reason;
    put_args(r, STR(""));
    struct buf b = buf_in(&r->arena);
    const struct boot_answer plain = rack_ask(r, rack_request(RACK_MAC, RACK_OWN));
    const uint32_t from = str_find(plain.text, 'h', 0);
    CHECK(from < plain.text.len);
    /* halligan.server=http://10.0.0.1:8091 halligan.ticket=TICKET halligan.mac=52:54:00:00:00:01
     * halligan.generation=3 BOOTIF=01-52-54-00-00-00-01 initrd=initrd0 */
    const uint32_t own = 36 + 1 + 16 + TICKET_LEN + 1 + 30 + 1 + 21 + 1 + 27 + 1 + 14;
    for (uint32_t len = BOOT_ARGS_LEN_MAX - own - 2; len <= BOOT_ARGS_LEN_MAX - own; len++) {
        b.len = 0;
        buf_put_z(&b, "a ");
        while (b.len < len)
            buf_put_c(&b, 'b');
        put_args(r, buf_str(&b));
        const struct str args = more_args(r, &reason);
        const bool fits = own + 1 + len <= BOOT_ARGS_LEN_MAX;
        CHECK(str_eq(args, fits ? buf_str(&b) : STR("a")));
        CHECK(str_eq(reason, fits ? STR("") : STR("the kernel arguments were cut at 2000 bytes")));
    }
    /* A template that is too long by itself: the end of it is no complete word. */
    for (uint32_t more = 0; more < 2; more++) {
        b.len = 0;
        buf_put_z(&b, "a");
        while (b.len < BOOT_ARGS_LEN_MAX - 1)
            buf_put_c(&b, ' ');
        buf_put_z(&b, more ? "bb" : "b");
        put_args(r, buf_str(&b));
        CHECK(str_eq(more_args(r, &reason), more ? STR("a") : STR("a b")));
        CHECK((reason.len != 0) == (more == 1));
    }
    rack_close(r);
}
