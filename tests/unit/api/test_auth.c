/* Authentication: passwords, tokens, lockout, and changes of both during a request. */
#include "tests/unit/api/api_world.h"

#define ANY "/api/v2/deployments/system"

/* Basic credentials in base64: correct, wrong password, unknown user, locked user, empty password.
 */
#define ADMIN  "Basic YWRtaW46c2VjcmV0"
#define WRONG  "Basic YWRtaW46d3Jvbmc="
#define NOBODY "Basic bm9ib2R5OnNlY3JldA=="
#define LOCKED "Basic bG9ja2VkOnNlY3JldA=="
#define EMPTY  "Basic YWRtaW46"

static struct asked *request_with_auth(struct front *f, const char *target,
                                       const char *authorization)
{
    struct asked *a = asked_new(f, HTTP_GET, target);
    if (*authorization)
        asked_header(a, "Authorization", authorization);
    asked_send(f, a);
    return a;
}

static void check_refused(struct front *f, struct asked *a)
{
    front_wait(f, a);
    PROBLEM(f, a, 401, "unauthorized", "absent");
    SAID(a, "WWW-Authenticate: Basic realm=\"Crowbar\"");
}

TEST(a_request_without_credentials_is_refused)
{
    struct front *f = front_open();
    check_refused(f, request_with_auth(f, ANY, ""));
    check_refused(f, request_with_auth(f, "/nowhere", ""));
    check_refused(f, request_with_auth(f, "/api/v2/deployments/nix", ""));
    check_refused(f, request_with_auth(f, ANY, "Nonsense"));
    check_refused(f, request_with_auth(f, ANY, "Basic !!!"));
    check_refused(f, request_with_auth(f, ANY, "Digest username=\"admin\""));
    front_close(f);
}

TEST(a_correct_password_is_accepted)
{
    struct front *f = front_open();
    struct asked *a = request_with_auth(f, ANY, ADMIN);
    CHECK(!a->answers);
    front_wait(f, a);
    STATUS(a, 200);
    a = request_with_auth(f, ANY, ADMIN); /* cached: no verification needed */
    STATUS(a, 200);
    front_close(f);
}

TEST(wrong_passwords_and_unknown_users_get_the_same_reply)
{
    struct front *f = front_open();
    struct asked *wrong = request_with_auth(f, ANY, WRONG),
                 *nobody = request_with_auth(f, ANY, NOBODY);
    CHECK(!wrong->answers && !nobody->answers); /* both are verified on the worker */
    check_refused(f, wrong);
    check_refused(f, nobody);
    EXPECT_STR(wrong->body, nobody->body);
    check_refused(f, request_with_auth(f, ANY, EMPTY));
    front_close(f);
}

TEST(a_locked_user_is_refused_even_with_the_right_password)
{
    struct front *f = front_open();
    const int64_t id = front_user(f, "locked");
    DONE(f->w,
         CMD(USER_UPDATE, user_update, .id = id, .given = GIVEN_USER_IS_LOCKED, .is_locked = true));
    check_refused(f, request_with_auth(f, ANY, LOCKED));
    front_close(f);
}

TEST(a_user_locked_during_the_check_is_refused)
{
    struct front *f = front_open();
    const int64_t id = front_user(f, "locked");
    struct asked *a = request_with_auth(f, ANY, LOCKED);
    DONE(f->w,
         CMD(USER_UPDATE, user_update, .id = id, .given = GIVEN_USER_IS_LOCKED, .is_locked = true));
    check_refused(f, a);
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = id, .given = GIVEN_USER_IS_LOCKED));
    a = request_with_auth(f, ANY, LOCKED); /* the password is cached by now */
    STATUS(a, 200);
    front_close(f);
}

TEST(a_password_changed_during_the_check_is_wrong)
{
    struct front *f = front_open();
    struct asked *a = request_with_auth(f, ANY, ADMIN);
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = 1, .given = GIVEN_USER_PASSWORD_HASH,
                   .password_hash = STR("$argon2id$other")));
    check_refused(f, a);
    front_close(f);
}

TEST(a_user_deleted_during_the_check_is_unknown)
{
    struct front *f = front_open();
    struct asked *a = request_with_auth(f, ANY, ADMIN);
    DONE(f->w, CMD(USER_CREATE, user_create, .username = STR("boss"), .is_admin = true));
    DONE(f->w, CMD(USER_DELETE, user_delete, .id = 1));
    check_refused(f, a);
    front_close(f);
}

TEST(a_core_lost_during_the_check_is_a_503)
{
    struct front *f = front_open();
    struct asked *a = request_with_auth(f, ANY, ADMIN);
    f->is_down = true;
    f->trouble = "/var/lib/secret: disk full";
    front_wait(f, a);
    STATUS(a, 503);
    CHECK(!strstr(a->body, "secret") && !strstr(a->body, "disk"));
    f->is_down = false;
    front_close(f);
}

TEST(passwords_are_accepted_from_the_host_or_over_tls)
{
    struct front *f = front_open();
    struct asked *a = asked_new(f, HTTP_GET, ANY);
    asked_header(a, "Authorization", ADMIN);
    a->request.is_loopback = false;
    asked_send(f, a);
    PROBLEM(f, a, 403, "forbidden", "absent");
    HAS(a->body, "TLS");
    a = asked_new(f, HTTP_GET, ANY);
    asked_header(a, "Authorization", ADMIN);
    a->request.is_loopback = false;
    a->request.is_secure = true;
    asked_send(f, a);
    front_wait(f, a);
    STATUS(a, 200);
    a = asked_new(f, HTTP_GET, ANY);
    asked_header(a, "Authorization", f->bearer);
    a->request.is_loopback = false;
    asked_send(f, a);
    STATUS(a, 200);
    front_close(f);
}

TEST(too_many_passwords_at_once_are_a_429)
{
    struct front *f = front_open();
    struct asked *all[PASSWORDS_SHARE_MAX + 1];
    for (uint32_t i = 0; i <= PASSWORDS_SHARE_MAX; i++)
        all[i] = request_with_auth(f, ANY, ADMIN);
    struct asked *last = all[PASSWORDS_SHARE_MAX];
    PROBLEM(f, last, 429, "limit", "absent");
    SAID(last, "Retry-After: 1");
    struct asked *other = asked_new(f, HTTP_GET, ANY);
    asked_header(other, "Authorization", ADMIN);
    other->request.address[15] = 7;
    asked_send(f, other);
    all[PASSWORDS_SHARE_MAX] = other;
    for (uint32_t i = 0; i <= PASSWORDS_SHARE_MAX; i++) {
        front_wait(f, all[i]);
        STATUS(all[i], 200);
    }
    front_close(f);
}

TEST(a_write_with_a_password_is_executed_after_the_check)
{
    struct front *f = front_open();
    struct asked *a = asked_new(f, HTTP_POST, "/api/v2/deployments");
    asked_header(a, "Authorization", ADMIN);
    asked_body(f, a, "{'name':'mine'}");
    asked_send(f, a);
    CHECK(f->line_count == 0);
    front_wait(f, a);
    CHECK(f->line_count == 1 && str_eq(f->line[0].actor, STR("user admin")));
    front_take(f);
    STATUS(a, 200);
    front_close(f);
}

/* The server sets the address of the peer; only requests of tests may have none. */
TEST(a_command_has_the_address_of_its_client)
{
    static const struct {
        uint8_t client[16];
        const char *text;
    } cases[] = {
        {{[10] = 0xff, 0xff, 192, 0, 2, 7}, "192.0.2.7"},
        {{0x20, 0x01, 0x0d, 0xb8, [15] = 7}, "2001:db8::7"},
        {{0}, ""},
    };
    struct front *f = front_open();
    for (uint32_t i = 0; i < 3; i++) {
        struct asked *a = asked_new(f, HTTP_PUT, ANY "/commit");
        asked_header(a, "Authorization", f->bearer);
        memcpy(a->request.client, cases[i].client, sizeof cases[i].client);
        asked_send(f, a);
        CHECK(f->line_count == 1 && str_eq(f->line[0].address, str_from(cases[i].text)));
        front_take(f);
        STATUS(a, 200);
    }
    front_close(f);
}

TEST(an_actor_with_a_very_long_name_is_truncated)
{
    struct front *f = front_open();
    char name[256];
    memset(name, 'x', 255);
    name[255] = 0;
    memcpy(name + 249, "\xc3\xa4", 2); /* a character across the limit */
    const char *bearer = front_token(f, front_user(f, name), 0);
    struct asked *a = asked_new(f, HTTP_PUT, ANY "/commit");
    asked_header(a, "Authorization", bearer);
    asked_send(f, a);
    CHECK(f->line_count == 1 && f->line[0].actor.len == 254);
    CHECK(str_is_clean(f->line[0].actor));
    front_take(f);
    STATUS(a, 200);
    front_close(f);
}

/* ---- tokens ---- */

TEST(a_token_is_accepted_until_it_expires)
{
    struct front *f = front_open();
    const char *bearer = front_token(f, 1, f->w->now_ms + 60000);
    STATUS(request_with_auth(f, ANY, bearer), 200);
    f->w->wall_ahead_ms = -60000; /* expiry uses the wall clock, not the time stamps of the core */
    f->w->now_ms += 60000;
    STATUS(request_with_auth(f, ANY, bearer), 200);
    f->w->wall_ahead_ms = 0;
    check_refused(f, request_with_auth(f, ANY, bearer));
    check_refused(f, request_with_auth(f, ANY, "Bearer hlg_unknown"));
    front_close(f);
}

TEST(a_token_of_a_locked_user_is_refused)
{
    struct front *f = front_open();
    const int64_t id = front_user(f, "locked");
    const char *bearer = front_token(f, id, 0);
    STATUS(request_with_auth(f, ANY, bearer), 200);
    DONE(f->w,
         CMD(USER_UPDATE, user_update, .id = id, .given = GIVEN_USER_IS_LOCKED, .is_locked = true));
    check_refused(f, request_with_auth(f, ANY, bearer));
    front_close(f);
}

TEST(a_new_token_is_shown_once)
{
    struct front *f = front_open();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci'}");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.token.obj+json; version=2.0");
    EXPECT_STR(
        keys(a, body_of(a)),
        "access,created_at,deployment_id,expires_at,id,kind,name,node_id,token,updated_at,user_id");
    EXPECT_STR(at(f, a, "expires_at"), "null");
    const struct str secret = json_get(body_of(a), STR("token"))->text;
    const char *bearer = str_z(&a->kept, STR_CONCAT(&a->kept, STR("Bearer "), secret));
    STATUS(request_with_auth(f, ANY, bearer), 200);
    struct asked *list = get(f, "/api/v2/tokens");
    STATUS(list, 200);
    EXPECT_STR(list->type, "application/vnd.crowbar.token.list+json; version=2.0");
    EXPECT_STR(
        keys(list, body_of(list)->first),
        "access,created_at,deployment_id,expires_at,id,kind,name,node_id,updated_at,user_id");
    EXPECT_STR(column(list, "name"), "t,ci");
    CHECK(!strstr(list->body, str_z(&a->kept, secret)));
    front_close(f);
}

TEST(a_token_may_have_an_expiry)
{
    struct front *f = front_open();
    struct asked *a =
        ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':'2033-01-02T03:04:05Z'}");
    EXPECT_STR(at(f, a, "expires_at"), "'2033-01-02T03:04:05.000Z'");
    a = ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':1988150645678}");
    EXPECT_STR(at(f, a, "expires_at"), "'2033-01-01T00:04:05.678Z'");
    a = ask(f, HTTP_POST, "/api/v2/tokens", "name=ci&expires_at=1988150645678");
    EXPECT_STR(at(f, a, "expires_at"), "'2033-01-01T00:04:05.678Z'");
    STATUS(ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':null}"), 200);
    const char *const past[] = {"0", "-1", "'0'", "1", "'1970-01-01T00:00:00Z'", "false", "''"};
    for (uint32_t i = 0; i < sizeof past / sizeof *past; i++) {
        char body[96];
        snprintf(body, sizeof body, "{'name':'ci','expires_at':%s}", past[i]);
        PROBLEM(f, ask(f, HTTP_POST, "/api/v2/tokens", body), 400, "bad_value", "expires_at");
    }
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/tokens", "name=ci&expires_at=0"), 400, "bad_value",
            "expires_at");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':'soon'}"), 400,
            "bad_value", "expires_at");
    PROBLEM(
        f, ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':'2001-01-01T00:00:00Z'}"),
        400, "bad_value", "expires_at");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/tokens", "{}"), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci','expires_at':true}"), 400,
            "bad_value", "expires_at");
    front_close(f);
}

TEST(the_reply_can_be_reduced_to_the_new_token)
{
    struct front *f = front_open();
    struct asked *a = ask_with(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci'}",
                               "x-return-attributes: [\"token\"]");
    EXPECT_STR(keys(a, body_of(a)), "token");
    a = ask_with(f, HTTP_POST, "/api/v2/tokens", "{'name':'ci'}",
                 "x-return-attributes: [\"name\"]");
    EXPECT_STR(a->body, "{\"name\":\"ci\"}");
    front_close(f);
}

TEST(users_see_and_delete_their_own_tokens_only)
{
    struct front *f = front_open();
    f->bearer = front_token(f, front_user(f, "other"), 0);
    EXPECT_STR(column(get(f, "/api/v2/tokens"), "id"), "2");
    PROBLEM(f, get(f, "/api/v2/tokens?all=true"), 403, "forbidden", "absent");
    PROBLEM(f, get(f, "/api/v2/tokens?user=admin"), 403, "forbidden", "absent");
    PROBLEM(f, get(f, "/api/v2/tokens/1"), 404, "not_found", "id");
    STATUS(get(f, "/api/v2/tokens/2"), 200);
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/tokens/1", ""), 404, "not_found", "id");
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/tokens/9", ""), 404, "not_found", "id");
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/tokens/t", ""), 404, "not_found", "id");
    struct asked *a = ask(f, HTTP_DELETE, "/api/v2/tokens/2", "");
    STATUS(a, 200);
    EXPECT_STR(a->body, "{\"message\":\"token 2 was deleted\"}");
    check_refused(f, request_with_auth(f, ANY, f->bearer));
    front_close(f);
}

TEST(an_admin_sees_and_deletes_all_tokens)
{
    struct front *f = front_open();
    front_token(f, front_user(f, "other"), 0);
    EXPECT_STR(column(get(f, "/api/v2/tokens"), "id"), "1");
    EXPECT_STR(column(get(f, "/api/v2/tokens?all=true"), "id"), "1,2");
    EXPECT_STR(column(get(f, "/api/v2/tokens?user=other&limit=5"), "id"), "2");
    EXPECT_STR(column(get(f, "/api/v2/tokens?all=false"), "id"), "1");
    PROBLEM(f, get(f, "/api/v2/tokens?user=nobody"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/tokens?users=other"), 400, "bad_value", "users");
    STATUS(ask(f, HTTP_DELETE, "/api/v2/tokens/2", ""), 200);
    EXPECT_STR(column(get(f, "/api/v2/tokens?all=true"), "id"), "1");
    front_close(f);
}

TEST(a_waiting_read_with_a_deleted_token_is_refused)
{
    struct front *f = front_open();
    f->held = 1;
    struct asked *a = get(f, ANY);
    DONE(f->w, CMD(TOKEN_DELETE, token_delete, .id = 1));
    f->held = 0;
    api_reloaded(f->api);
    STATUS(a, 401);
    front_close(f);
}

TEST(a_waiting_read_with_a_changed_password_is_refused)
{
    struct front *f = front_open();
    struct asked *a = request_with_auth(f, ANY, ADMIN);
    front_wait(f, a);
    f->held = 1;
    struct asked *held = request_with_auth(f, ANY, ADMIN), *same = request_with_auth(f, ANY, ADMIN);
    CHECK(!held->answers);
    api_reloaded(f->api);
    api_durable(f->api, f->w->turn + 1);
    STATUS(same, 200);
    held = request_with_auth(f, ANY, ADMIN);
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = 1, .given = GIVEN_USER_PASSWORD_HASH,
                   .password_hash = STR("$argon2id$other")));
    f->held = 0;
    api_reloaded(f->api);
    STATUS(held, 401);
    front_close(f);
}

/* ---- pages of other sites ---- */

static struct asked *request_with_headers(struct front *f, enum http_method method,
                                          const char *const *lines)
{
    struct asked *a = asked_new(f, method, "/api/v2/deployments");
    asked_header(a, "Authorization", f->bearer);
    asked_header(a, "Host", "Halligan.example:3000");
    for (; *lines; lines += 2)
        asked_header(a, lines[0], lines[1]);
    asked_body(f, a, "{'name':'lab'}");
    asked_send(f, a);
    while (f->line_count)
        front_take(f);
    return a;
}

TEST(a_change_sent_by_a_page_of_another_site_is_refused)
{
    struct front *f = front_open();
    const char *const foreign[][3] = {{"Sec-Fetch-Site", "cross-site"},
                                      {"Sec-Fetch-Site", "Cross-Site"},
                                      {"Origin", "https://evil.example"},
                                      {"Origin", "http://halligan.example"},
                                      {"Origin", "http://halligan.example:3001"},
                                      {"Origin", "http://evil.halligan.example:3000"},
                                      {"Origin", "http://halligan.example:3000.evil.example"},
                                      {"Origin", "halligan.example:3000"},
                                      {"Origin", "ftp://halligan.example:3000"},
                                      {"Origin", "null"}};
    for (uint32_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        PROBLEM(f, request_with_headers(f, HTTP_POST, foreign[i]), 403, "forbidden", "absent");
        PROBLEM(f, request_with_headers(f, HTTP_DELETE, foreign[i]), 403, "forbidden", "absent");
        STATUS(request_with_headers(f, HTTP_GET, foreign[i]), 200);
    }
    EXPECT_STR(column(get(f, "/api/v2/deployments"), "name"), "system");
    front_close(f);
}

TEST(same_origin_pages_and_programs_are_accepted)
{
    const char *const own[][5] = {
        {NULL},
        {"Sec-Fetch-Site", "same-origin"},
        {"Sec-Fetch-Site", "none"},
        {"Origin", "http://halligan.example:3000"},
        {"Origin", "https://HALLIGAN.example:3000"},
        {"Origin", "http://halligan.example:3000", "Sec-Fetch-Site", "same-origin"}};
    for (uint32_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct front *f = front_open();
        STATUS(request_with_headers(f, HTTP_POST, own[i]), 200);
        front_close(f);
    }
}

/* Browsers leave the default port out, proxies may add it, and the reverse. */
TEST(the_default_port_may_be_left_out)
{
    const struct {
        const char *origin, *host;
        int status;
    } cases[] = {
        {"http://a.example", "a.example:80", 200},  {"http://a.example:80", "a.example", 200},
        {"https://a.example", "a.example", 200},    {"https://a.example", "a.example:443", 200},
        {"https://a.example", "a.example:80", 403}, {"http://a.example", "a.example:443", 403},
        {"http://[::1]", "[::1]:80", 200},          {"http://a.example", "", 403}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct front *f = front_open();
        struct asked *a = asked_new(f, HTTP_POST, "/api/v2/deployments");
        asked_header(a, "Authorization", f->bearer);
        asked_header(a, "Origin", cases[i].origin);
        if (*cases[i].host)
            asked_header(a, "Host", cases[i].host);
        asked_body(f, a, "{'name':'lab'}");
        asked_send(f, a);
        while (f->line_count)
            front_take(f);
        STATUS(a, cases[i].status);
        front_close(f);
    }
}

/* ---- check of the headers ---- */

struct auth_state {
    enum http_method method;
    const char *target, *authorization, *more; /* "Name: value" or "" */
    int status;                                /* 0: read the body */
};

static int check_head(struct front *f, const struct auth_state *auth, const char *length)
{
    const struct http_handler handler = api_handler(f->api);
    struct http_answer answer = {0};
    struct asked *a = asked_new(f, auth->method, auth->target);
    if (*auth->authorization)
        asked_header(a, "Authorization", auth->authorization);
    if (*length)
        asked_header(a, strcmp(length, "chunked") ? "Content-Length" : "Transfer-Encoding", length);
    const struct str more = str_from(auth->more);
    const uint32_t colon = str_find(more, ':', 0);
    if (more.len)
        asked_header(a, str_z(&a->kept, str_slice(more, 0, colon)),
                     str_z(&a->kept, str_slice(more, colon + 2, more.len)));
    const int status = handler.admit(handler.self, &a->request, &answer);
    CHECK(status == answer.status && a->answers == 0);
    CHECK(status == 0 || (answer.body.len > 4 && answer.content_type));
    CHECK(status != 405 || str_eq(answer.headers[0].value, STR("GET, HEAD, POST")));
    http_answer(&a->request, &answer); /* ends the request */
    return status;
}

TEST(a_refused_client_need_not_send_its_body)
{
    struct front *f = front_open();
    const char *expired = front_token(f, 1, f->w->now_ms + 60000);
    f->w->now_ms += 60000;
    const struct auth_state doors[] = {
        {HTTP_POST, "/api/v2/nodes", "", "", 401},
        {HTTP_POST, "/api/v2/nodes", "Nonsense", "", 401},
        {HTTP_POST, "/api/v2/nodes", "Basic !!!", "", 401},
        {HTTP_POST, "/api/v2/nodes", "Bearer hlg_unknown", "", 401},
        {HTTP_POST, "/api/v2/nodes", expired, "", 401},
        {HTTP_POST, "/nowhere", "", "", 401},
        {HTTP_POST, "/nowhere", f->bearer, "", 404},
        {HTTP_DELETE, "/api/v2/nodes", f->bearer, "", 405},
        {HTTP_POST, "/api/v2/nodes", f->bearer, "Sec-Fetch-Site: cross-site", 403},
        {HTTP_POST, "/api/v2/nodes", "", "Origin: https://evil.example", 403},
        {HTTP_POST, "/api/v2/nodes", f->bearer, "", 0},
        {HTTP_POST, "/api/v2/nodes", WRONG, "", 0}, /* decided after the body */
        {HTTP_POST, "/nowhere", WRONG, "", 0},
        {HTTP_GET, "/healthz", "", "", 0},
    };
    for (uint32_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        CHECK(check_head(f, &doors[i], "5") == doors[i].status);
        CHECK(check_head(f, &doors[i], "chunked") == doors[i].status);
        CHECK(check_head(f, &doors[i], "") == 0 && check_head(f, &doors[i], "0") == 0);
    }
    f->is_down = true;
    CHECK(check_head(f, &doors[10], "5") == 503 && check_head(f, &doors[0], "5") == 401);
    f->is_down = false;
    front_close(f);
}

/* ---- lockout ---- */

static struct asked *request_from_address(struct front *f, const char *authorization,
                                          uint8_t address)
{
    struct asked *a = asked_new(f, HTTP_GET, ANY);
    asked_header(a, "Authorization", authorization);
    a->request.address[15] = address;
    asked_send(f, a);
    front_wait(f, a);
    return a;
}

TEST(too_many_failed_logins_lock_out)
{
    struct front *f = front_open();
    for (int i = 0; i < 6; i++)
        check_refused(f, request_from_address(f, WRONG, 1));
    struct asked *a = request_from_address(f, ADMIN, 1);
    PROBLEM(f, a, 429, "locked_out", "absent");
    SAID(a, "Retry-After: 600");
    STATUS(request_from_address(f, ADMIN, 2), 200);
    STATUS(request_with_auth(f, ANY, f->bearer), 200); /* tokens are not locked out */
    f->w->wall_ahead_ms = INT64_MAX / 4; /* changes of the wall clock neither end nor extend it */
    SAID(request_from_address(f, ADMIN, 1), "Retry-After: 600");
    f->w->wall_ahead_ms = -f->w->now_ms;
    SAID(request_from_address(f, ADMIN, 1), "Retry-After: 600");
    f->w->now_ms += 599001;
    SAID(request_from_address(f, ADMIN, 1), "Retry-After: 1");
    f->w->now_ms += 999;
    STATUS(request_from_address(f, ADMIN, 1), 200);
    front_close(f);
}

TEST(unknown_user_names_are_locked_out_too)
{
    struct front *f = front_open();
    for (int i = 0; i < 6; i++)
        check_refused(f, request_from_address(f, NOBODY, 1));
    PROBLEM(f, request_from_address(f, NOBODY, 1), 429, "locked_out", "absent");
    front_close(f);
}

/* Six wrong passwords are being verified when the correct one is sent: the lockout comes first. */
TEST(a_correct_password_after_the_lockout_is_refused)
{
    struct front *f = front_open();
    struct asked *guesses[7];
    for (int i = 0; i < 7; i++)
        guesses[i] = request_with_auth(f, ANY, i < 6 ? WRONG : ADMIN);
    for (int i = 0; i < 7; i++)
        front_wait(f, guesses[i]);
    STATUS(guesses[5], 401);
    PROBLEM(f, guesses[6], 429, "locked_out", "absent");
    front_close(f);
}

TEST(a_locked_out_client_need_not_send_its_body)
{
    struct front *f = front_open();
    for (int i = 0; i < 6; i++)
        check_refused(f, request_from_address(f, WRONG, 0));
    struct asked *a = asked_new(f, HTTP_POST, "/api/v2/nodes");
    struct http_answer answer = {0};
    const struct http_handler handler = api_handler(f->api);
    asked_header(a, "Authorization", ADMIN);
    asked_header(a, "Content-Length", "100");
    CHECK(handler.admit(handler.self, &a->request, &answer) == 429);
    asked_send(f, a);
    STATUS(a, 429);
    front_close(f);
}
