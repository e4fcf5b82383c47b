/* Goal: a TFTP session sends what RFC 1350, 2347, 2348, 2349 and 7440 say.
 * Method: dialogs that are drawn as text, and tables of requests. */
#include "base/text/buf.h"
#include "tests/check.h"
#include "tests/unit/boot/tftp_content.h"

#include <string.h>

/* ---- dialogs ---- */

static void put_number(struct buf *b, uint32_t number)
{
    buf_put_c(b, (char)(number >> 8));
    buf_put_c(b, (char)number);
}

/* "read NAME MODE [OPTION VALUE]...", "ack N", "error", "data" */
static struct str packet_of_text(struct str line, struct arena *a)
{
    struct buf b = buf_in(a);
    int64_t number = 0;
    const struct str word = str_slice(line, 0, str_find(line, ' ', 0));
    struct str rest = str_slice(line, word.len + 1, line.len);
    if (str_eq(word, STR("read"))) {
        put_number(&b, 1);
        while (rest.len) {
            const uint32_t end = str_find(rest, ' ', 0);
            buf_put_str(&b, str_slice(rest, 0, end));
            buf_put_c(&b, 0);
            rest = str_slice(rest, end + 1, rest.len);
        }
    } else if (str_eq(word, STR("ack"))) {
        CHECK(str_parse_i64(rest, &number));
        put_number(&b, 4);
        put_number(&b, (uint32_t)number);
    } else {
        put_number(&b, str_eq(word, STR("error")) ? 5 : 3);
        put_number(&b, 0);
        buf_put_c(&b, 0);
    }
    return buf_str(&b);
}

/* "< data 1 512", "< oack blksize 1024", "< error 2 the message" */
static void put_packet(struct buf *b, const uint8_t *packet, uint32_t size, uint64_t block_offset)
{
    const uint32_t op = packet[1], number = (uint32_t)packet[2] << 8 | packet[3];
    CHECK(size >= 4 && packet[0] == 0);
    if (op == 3) {
        buf_put_z(b, "< data ");
        buf_put_u64(b, number);
        buf_put_c(b, ' ');
        buf_put_u64(b, size - 4);
        for (uint32_t i = 4; i < size; i++)
            CHECK(packet[i] == content_byte(block_offset + i - 4));
    } else if (op == 5) {
        CHECK(size <= TFTP_ERROR_SIZE_MAX && packet[size - 1] == 0);
        buf_put_z(b, "< error ");
        buf_put_u64(b, number);
        buf_put_c(b, ' ');
        buf_put(b, packet + 4, size - 5);
    } else {
        CHECK(op == 6 && packet[size - 1] == 0);
        buf_put_z(b, "< oack");
        for (uint32_t i = 2; i < size; i++)
            if (packet[i] == 0 || i == 2) {
                buf_put_c(b, i + 1 < size ? ' ' : '\n');
                if (i == 2)
                    buf_put_c(b, (char)packet[i]);
            } else {
                buf_put_c(b, (char)packet[i]);
            }
        return;
    }
    buf_put_c(b, '\n');
}

struct dialog {
    struct tftp_session session;
    struct buf text;
    uint64_t size, readable;
    uint32_t mtu;
    bool is_open;
};

static void dialog_pull(struct dialog *d)
{
    static uint8_t packet[TFTP_BLOCK_MAX + 4];
    for (;;) {
        const uint64_t offset = (d->session.next - 1) * d->session.block_size;
        const uint32_t capacity = d->session.block_size + 4 > TFTP_ERROR_SIZE_MAX
                                      ? d->session.block_size + 4
                                      : TFTP_ERROR_SIZE_MAX;
        const uint32_t size = tftp_next_packet(&d->session, packet, capacity);
        if (!size)
            return;
        put_packet(&d->text, packet, size, offset);
    }
}

static void dialog_event(struct dialog *d, struct str line, struct arena *a)
{
    struct tftp_request request;
    struct tftp_refusal refusal;
    if (str_eq(line, STR("! timeout"))) {
        tftp_timeout(&d->session);
    } else if (!d->is_open) {
        const struct str packet = packet_of_text(str_slice(line, 2, line.len), a);
        uint8_t error[TFTP_ERROR_SIZE_MAX];
        switch (tftp_parse_request(packet, &request, &refusal)) {
        case TFTP_READ:
            tftp_open(&d->session, &request,
                      (struct tftp_content){&d->readable, d->size, content_read}, d->mtu);
            d->is_open = true;
            break;
        case TFTP_REFUSED:
            put_packet(&d->text, error, tftp_put_error(error, refusal.code, refusal.message), 0);
            return;
        case TFTP_IGNORED: return;
        }
    } else {
        const struct tftp_session before = d->session;
        const bool progress =
            tftp_receive(&d->session, packet_of_text(str_slice(line, 2, line.len), a));
        CHECK(progress == (memcmp(&before, &d->session, sizeof before) != 0));
    }
    dialog_pull(d);
}

/* A dialog about a content of `size` bytes. Lines with > and ! are events, lines with < what is
 * sent, the last line is the state. */
static void check_dialog(uint64_t size, const char *drawn)
{
    struct arena a = {0};
    struct dialog d = {.text = buf_in(&a), .size = size, .readable = size, .mtu = 1500};
    const struct str text = str_from(drawn);
    static const char *const states[] = {"sending\n", "done\n", "failed\n"};
    for (uint32_t from = 0; from < text.len;) {
        const uint32_t to = str_find(text, '\n', from);
        const struct str line = str_slice(text, from, to);
        if (line.at[0] == '>' || line.at[0] == '!') {
            buf_put_str(&d.text, line);
            buf_put_c(&d.text, '\n');
            dialog_event(&d, line, &a);
        }
        from = to + 1;
    }
    buf_put_z(&d.text, d.is_open ? states[d.session.state] : "refused\n");
    CHECK(str_eq(buf_str(&d.text), text));
    arena_fini(&a);
}

TEST(a_file_is_sent_block_by_block)
{
    check_dialog(1200, "> read a octet\n"
                       "< data 1 512\n"
                       "> ack 1\n"
                       "< data 2 512\n"
                       "> ack 2\n"
                       "< data 3 176\n"
                       "> ack 3\n"
                       "done\n");
    check_dialog(1024, "> read a NetASCII\n"
                       "< data 1 512\n"
                       "> ack 1\n"
                       "< data 2 512\n"
                       "> ack 2\n"
                       "< data 3 0\n"
                       "> ack 3\n"
                       "> ack 3\n"
                       "! timeout\n"
                       "done\n");
    check_dialog(0, "> read a octet\n"
                    "< data 1 0\n"
                    "> ack 1\n"
                    "done\n");
}

TEST(a_repeated_acknowledgement_sends_nothing)
{
    check_dialog(5000, "> read a octet\n"
                       "< data 1 512\n"
                       "> ack 0\n"
                       "> ack 2\n"
                       "> ack 65535\n"
                       "> ack 1\n"
                       "< data 2 512\n"
                       "> ack 1\n"
                       "> ack 1\n"
                       "> ack 0\n"
                       "! timeout\n"
                       "< data 2 512\n"
                       "> ack 2\n"
                       "< data 3 512\n"
                       "> ack 2\n"
                       "sending\n");
}

TEST(options_are_acknowledged_before_the_first_block)
{
    check_dialog(3000, "> read a octet BLKSIZE 1428 tsize 0 timeout 5 windowsize 2 other 7\n"
                       "< oack blksize 1428 tsize 3000 timeout 5 windowsize 2\n"
                       "> ack 1\n"
                       "! timeout\n"
                       "< oack blksize 1428 tsize 3000 timeout 5 windowsize 2\n"
                       "> ack 0\n"
                       "< data 1 1428\n"
                       "< data 2 1428\n"
                       "> ack 0\n"
                       "> ack 2\n"
                       "< data 3 144\n"
                       "> ack 3\n"
                       "done\n");
    /* Firmware asks for the size and gives up. */
    check_dialog(3000, "> read a octet tsize 0\n"
                       "< oack tsize 3000\n"
                       "> error\n"
                       "> ack 0\n"
                       "! timeout\n"
                       "failed\n");
    check_dialog(3000, "> read a octet unknown 1\n"
                       "< data 1 512\n"
                       "sending\n");
}

TEST(sizes_are_lowered_to_what_is_possible)
{
    check_dialog(9, "> read a octet blksize 1469\n"
                    "< oack blksize 1468\n"
                    "sending\n");
    check_dialog(9, "> read a octet blksize 1468\n"
                    "< oack blksize 1468\n"
                    "sending\n");
    check_dialog(9, "> read a octet blksize 99999999999 windowsize 65536\n"
                    "< oack blksize 1468 windowsize 64\n"
                    "sending\n");
    check_dialog(9, "> read a octet blksize 8 windowsize 1 timeout 255\n"
                    "< oack blksize 8 timeout 255 windowsize 1\n"
                    "> ack 0\n"
                    "< data 1 8\n"
                    "> ack 1\n"
                    "< data 2 1\n"
                    "sending\n");
}

TEST(a_window_is_sent_at_once_and_continues_after_the_block_that_was_received)
{
    check_dialog(8 * 7 + 1, "> read a octet blksize 8 windowsize 3\n"
                            "< oack blksize 8 windowsize 3\n"
                            "> ack 0\n"
                            "< data 1 8\n"
                            "< data 2 8\n"
                            "< data 3 8\n"
                            "> ack 3\n"
                            "< data 4 8\n"
                            "< data 5 8\n"
                            "< data 6 8\n"
                            "> ack 4\n" /* 5 was lost */
                            "< data 5 8\n"
                            "< data 6 8\n"
                            "< data 7 8\n"
                            "> ack 4\n"
                            "> ack 7\n"
                            "< data 8 1\n"
                            "> ack 6\n"
                            "! timeout\n"
                            "< data 8 1\n"
                            "> ack 8\n"
                            "done\n");
}

TEST(a_block_that_was_sent_before_the_window_was_repeated_may_be_acknowledged)
{
    uint64_t readable = 100;
    const struct tftp_request request = {.block_size = 8, .window = 4};
    struct tftp_session session;
    uint8_t packet[TFTP_ERROR_SIZE_MAX];
    tftp_open(&session, &request, (struct tftp_content){&readable, readable, content_read}, 1500);
    while (tftp_next_packet(&session, packet, sizeof packet))
        continue;
    CHECK(tftp_receive(&session, (struct str){"\0\4\0\1", 4}));
    CHECK(tftp_next_packet(&session, packet, sizeof packet) && packet[3] == 2);
    CHECK(tftp_receive(&session, (struct str){"\0\4\0\4", 4}));
    CHECK(tftp_next_packet(&session, packet, sizeof packet) && packet[3] == 5);
    CHECK(!tftp_receive(&session, (struct str){"\0\4\0\6", 4})); /* not sent yet */
}

TEST(a_client_that_does_not_answer_is_given_up)
{
    check_dialog(9, "> read a octet\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "< data 1 9\n"
                    "! timeout\n"
                    "failed\n");
    check_dialog(9, "> read a octet\n"
                    "< data 1 9\n"
                    "> error\n"
                    "failed\n");
    check_dialog(9, "> read a octet\n"
                    "< data 1 9\n"
                    "> data\n"
                    "< error 4 illegal TFTP operation\n"
                    "> ack 1\n"
                    "failed\n");
}

TEST(timeouts_are_counted_from_the_last_progress)
{
    uint64_t readable = 8 * 20;
    const struct tftp_request request = {
        .options = TFTP_OPTION_BLKSIZE, .block_size = 8, .window = 1};
    struct tftp_session session;
    uint8_t packet[TFTP_ERROR_SIZE_MAX];
    tftp_open(&session, &request, (struct tftp_content){&readable, readable, content_read}, 1500);
    for (uint32_t block = 0; block <= 21; block++) {
        for (uint32_t i = 0; i < TFTP_TRIES; i++) {
            CHECK(session.state == TFTP_SENDING);
            CHECK(tftp_next_packet(&session, packet, sizeof packet));
            if (i + 1 < TFTP_TRIES)
                tftp_timeout(&session);
        }
        const char ack[] = {0, 4, 0, (char)block};
        CHECK(tftp_receive(&session, (struct str){ack, 4}));
    }
    CHECK(session.state == TFTP_DONE);
}

TEST(a_content_that_cannot_be_read_is_an_error)
{
    struct arena a = {0};
    struct dialog d = {.text = buf_in(&a), .size = 1000, .readable = 600, .mtu = 1500};
    dialog_event(&d, STR("> read a octet"), &a);
    dialog_event(&d, STR("> ack 1"), &a);
    dialog_event(&d, STR("> ack 2"), &a);
    CHECK(str_eq(buf_str(&d.text), STR("< data 1 512\n"
                                       "< error 0 the file cannot be read\n")));
    CHECK(d.session.state == TFTP_FAILED);
    arena_fini(&a);
}

TEST(a_packet_fits_into_the_mtu)
{
    static const struct {
        uint32_t mtu, block_size;
    } rows[] = {{1500, 1468}, {9000, 8968}, {576, 544}, {65535, 65464}, {41, 9}, {40, 8}, {0, 8}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tftp_request request = {
            .options = TFTP_OPTION_BLKSIZE, .block_size = TFTP_BLOCK_MAX, .window = 1};
        struct tftp_session session;
        tftp_open(&session, &request, (struct tftp_content){NULL, 0, content_read}, rows[i].mtu);
        CHECK(session.block_size == rows[i].block_size);
    }
}

TEST(block_numbers_continue_with_0_after_65535)
{
    enum { BLOCKS = 65540 };
    uint64_t readable = 8 * BLOCKS;
    const struct tftp_request request = {
        .options = TFTP_OPTION_BLKSIZE, .block_size = 8, .window = 1};
    struct tftp_session session;
    uint8_t packet[TFTP_ERROR_SIZE_MAX];
    tftp_open(&session, &request, (struct tftp_content){&readable, readable, content_read}, 1500);
    CHECK(tftp_next_packet(&session, packet, sizeof packet) && packet[1] == 6);
    CHECK(tftp_receive(&session, (struct str){"\0\4\0\0", 4}));
    for (uint32_t block = 1; block <= BLOCKS + 1; block++) {
        const uint32_t size = tftp_next_packet(&session, packet, sizeof packet);
        CHECK(size == (block > BLOCKS ? 4 : 12) && packet[1] == 3);
        CHECK(packet[2] == (uint8_t)(block >> 8) && packet[3] == (uint8_t)block);
        for (uint32_t i = 4; i < size; i++)
            CHECK(packet[i] == content_byte((block - 1) * UINT64_C(8) + i - 4));
        CHECK(tftp_next_packet(&session, packet, sizeof packet) == 0);
        const char ack[] = {0, 4, (char)packet[2], (char)packet[3]};
        const char late[] = {0, 4, (char)((block - 1) >> 8), (char)(block - 1)};
        CHECK(!tftp_receive(&session, (struct str){late, 4}));
        CHECK(session.state == TFTP_SENDING);
        CHECK(tftp_receive(&session, (struct str){ack, 4}));
    }
    CHECK(session.state == TFTP_DONE);
}

/* ---- requests ---- */

static enum tftp_parsed parse(const char *bytes, uint32_t len, struct tftp_request *out,
                              struct tftp_refusal *refusal)
{
    return tftp_parse_request((struct str){bytes, len}, out, refusal);
}

#define PARSE(literal, out, refusal) parse(literal, sizeof(literal) - 1, out, refusal)

TEST(requests_that_are_not_legal_are_refused)
{
    static const struct {
        const char *bytes;
        uint32_t len;
        int code; /* -1 = ignored */
    } rows[] = {
#define ROW(literal, code) {literal, sizeof(literal) - 1, code}
        ROW("", -1),
        ROW("\0", -1),
        ROW("\0\5\0\1x\0", -1),
        ROW("\0\2a\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\3\0\1", TFTP_ERROR_OPERATION),
        ROW("\0\4\0\1", TFTP_ERROR_OPERATION),
        ROW("\0\6", TFTP_ERROR_OPERATION),
        ROW("\1\1a\0octet\0", TFTP_ERROR_OPERATION),
        ROW("\0\1", TFTP_ERROR_OPERATION),
        ROW("\0\1a", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0octet", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0mail\0", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0\0", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0octet\0blksize\0", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0octet\0blksize\0"
            "8",
            TFTP_ERROR_OPERATION),
        ROW("\0\1a\0octet\0blksize", TFTP_ERROR_OPERATION),
        ROW("\0\1a\0octet\0blksize\0"
            "7\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0blksize\0\0", TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0blksize\0-8\0", TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0blksize\0"
            "99999999999999999999\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0blksize\0"
            "8\0BlkSize\0"
            "8\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0tsize\0x\0", TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0timeout\0"
            "0\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0timeout\0"
            "256\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1a\0octet\0windowsize\0"
            "0\0",
            TFTP_ERROR_OPTION),
        ROW("\0\1\0octet\0", TFTP_ERROR_NOT_FOUND),
        ROW("\0\1/\0octet\0", TFTP_ERROR_NOT_FOUND),
        ROW("\0\1a/..\0octet\0", TFTP_ERROR_NOT_FOUND),
        ROW("\0\1..\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1/../a\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1a/../../b\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1..\\a\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1a\nb\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1a\x7f\0octet\0", TFTP_ERROR_ACCESS),
        ROW("\0\1a\xff\0octet\0", TFTP_ERROR_ACCESS),
#undef ROW
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tftp_request request;
        struct tftp_refusal refusal = {0};
        const enum tftp_parsed parsed = parse(rows[i].bytes, rows[i].len, &request, &refusal);
        CHECK(parsed == (rows[i].code < 0 ? TFTP_IGNORED : TFTP_REFUSED));
        CHECK(rows[i].code < 0 || (int)refusal.code == rows[i].code);
        CHECK((refusal.message.len != 0) == (rows[i].code >= 0));
    }
}

TEST(names_are_normalized)
{
    static const char *const rows[][2] = {
        {"a", "a"},
        {"/a", "a"},
        {"//a///b/", "a/b"},
        {"./a/./b/.", "a/b"},
        {"a/../b", "b"},
        {"a/b/../c", "a/c"},
        {"a/b/../../c", "c"},
        {"\\a\\b.0", "a/b.0"},
        {"a\\..\\b", "b"},
        {"...", "..."},
        {"..a/b..", "..a/b.."},
        {"a b", "a b"},
        {"\xc3\xa4", "\xc3\xa4"},
        {"/a/b/c/../../d", "a/d"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct buf b = buf_in(&a);
        struct tftp_request request;
        struct tftp_refusal refusal;
        put_number(&b, 1);
        buf_put_z(&b, rows[i][0]);
        buf_put(&b, "\0octet\0", 7);
        CHECK(tftp_parse_request(buf_str(&b), &request, &refusal) == TFTP_READ);
        CHECK(str_eq(tftp_name(&request), str_from(rows[i][1])));
        arena_fini(&a);
    }
}

TEST(names_are_bounded)
{
    for (uint32_t len = TFTP_NAME_MAX - 1; len <= TFTP_NAME_MAX + 1; len++)
        for (uint32_t dirs = 0; dirs < 2; dirs++) {
            struct arena a = {0};
            struct buf b = buf_in(&a);
            struct tftp_request request;
            struct tftp_refusal refusal;
            put_number(&b, 1);
            for (uint32_t i = 0; i < 1000; i++)
                buf_put_z(&b, "x/..//./"); /* removed, so it does not count */
            for (uint32_t i = 0; i < len; i++)
                buf_put_c(&b, dirs && i % 2 && i + 1 < len ? '/' : 'a');
            buf_put(&b, "\0octet\0", 7);
            const bool is_read = tftp_parse_request(buf_str(&b), &request, &refusal) == TFTP_READ;
            CHECK(is_read == (len <= TFTP_NAME_MAX));
            CHECK(is_read ? request.name_len == len : refusal.code == TFTP_ERROR_ACCESS);
            arena_fini(&a);
        }
}

TEST(a_request_may_end_with_zeros)
{
    struct tftp_request request;
    struct tftp_refusal refusal;
    CHECK(PARSE("\0\1a\0octet\0blksize\0"
                "16\0\0\0\0",
                &request, &refusal) == TFTP_READ);
    CHECK(request.options == TFTP_OPTION_BLKSIZE && request.block_size == 16);
    CHECK(request.window == 1);
}

TEST(errors_are_at_most_512_bytes_of_printable_text)
{
    uint8_t packet[TFTP_ERROR_SIZE_MAX];
    char text[600];
    memset(text, 'a', sizeof text);
    text[0] = '\n';
    for (uint32_t len = 506; len < 509; len++)
        CHECK(tftp_put_error(packet, TFTP_ERROR_OTHER, (struct str){text, len}) ==
              (len < 507 ? len + 5 : 512));
    CHECK(tftp_put_error(packet, TFTP_ERROR_ACCESS, (struct str){text, 600}) == 512);
    CHECK(packet[1] == 5 && packet[3] == 2 && packet[4] == '?' && packet[510] == 'a');
    CHECK(packet[511] == 0);
    CHECK(tftp_put_error(packet, TFTP_ERROR_NOT_FOUND, STR("")) == 5);
}
