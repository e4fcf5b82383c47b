/* Goal: a file as an answer arrives complete, its descriptor is closed in every case, and a long
 * download is not evicted while its client reads.
 * Method: requests are held by the server and answered with a temporary file. */
#include "tests/unit/http/http_world.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "http/http_private.h"

enum { FILE_SIZE = 8 << 20 };

static int last_fd;
static uint64_t file_offset, file_size;

static int make_file(void)
{
    char path[] = "/tmp/halligan-file-XXXXXX", block[4096];
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    for (uint32_t i = 0; i < FILE_SIZE / sizeof block; i++) {
        memset(block, 'a' + (int)(i % 26), sizeof block);
        CHECK(write(fd, block, sizeof block) == sizeof block);
    }
    return fd;
}

static void answer_with_file(struct world *w)
{
    const struct http_header header = {"X-Kind", STR("file")};
    for (uint32_t i = 0; i < w->held_count; i++) {
        last_fd = make_file();
        http_answer_file(w->held[i],
                         &(struct http_answer){.status = 206,
                                               .content_type = "application/octet-stream",
                                               .headers = &header,
                                               .header_count = 1},
                         (struct http_file){last_fd, file_offset, file_size});
    }
    uv_mutex_lock(&w->mutex);
    w->held_count = 0;
    uv_mutex_unlock(&w->mutex);
}

static bool is_closed(int fd)
{
    struct stat status;
    return fstat(fd, &status) != 0 && errno == EBADF;
}

static void check_part(struct world *w, uint64_t offset, uint64_t size)
{
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    file_offset = offset;
    file_size = size;
    in_loop(w, answer_with_file);
    const struct received r = read_answer(&t);
    CHECK(r.status == 206 && has_text(r.head, "X-Kind: file") && r.body.len == size);
    for (uint64_t i = 0; i < size; i++)
        CHECK(r.body.at[i] == (char)('a' + (offset + i) / 4096 % 26));
    /* The connection is still usable. */
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    CHECK(is_closed(last_fd));
    hang_up(&t);
}

TEST(a_part_of_a_file_is_sent)
{
    struct world *w = world_open((struct http_options){.sends_files = true});
    check_part(w, 0, FILE_SIZE);
    check_part(w, 4095, 2);
    check_part(w, FILE_SIZE - 1, 1);
    world_close(w);
}

TEST(a_head_request_gets_no_bytes)
{
    struct world *w = world_open((struct http_options){.sends_files = true});
    struct talk t = dial(w);
    send_text(&t, "HEAD /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    file_offset = 0;
    file_size = FILE_SIZE;
    in_loop(w, answer_with_file);
    const struct received r = read_one_answer(&t, false);
    CHECK(r.status == 206 && has_text(r.head, "Content-Length: 8388608"));
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200 && is_closed(last_fd));
    hang_up(&t);
    world_close(w);
}

TEST(the_file_of_a_client_that_left_is_closed)
{
    struct world *w = world_open((struct http_options){.sends_files = true});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    hang_up(&t);
    wait_gone(w, 1);
    file_size = FILE_SIZE;
    in_loop(w, answer_with_file);
    /* It is closed with the connection; until then no other descriptor is opened here. */
    for (int i = 0; i < PATIENCE_S * 1000 && !is_closed(last_fd); i++)
        CHECK(usleep(1000) == 0);
    CHECK(is_closed(last_fd));
    t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(a_server_that_closes_cuts_files)
{
    struct world *w = world_open((struct http_options){.sends_files = true});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    file_offset = 0;
    file_size = FILE_SIZE;
    in_loop(w, answer_with_file);
    in_loop(w, close_server); /* the client has not read anything */
    CHECK(is_closed(last_fd));
    hang_up(&t);
    world_close(w);
}
