/* Goal: a session authenticates its user for as long as it should, and its cookie alone is not
 * enough for changes. Method: logins without a socket, with a simulated clock; tests/api has the
 * rest. */
#include "tests/unit/api/api_world.h"

#define SESSION "/api/v2/session"
#define ANY     "/api/v2/deployments/system"

struct browser_tab {
    const char *cookie, *csrf;
};

static struct asked *send_login(struct front *f, const char *body, const char *cookie, bool secure)
{
    struct asked *a = asked_new(f, HTTP_POST, SESSION);
    if (*cookie)
        asked_header(a, "Cookie", cookie);
    a->request.is_secure = secure;
    asked_body(f, a, body);
    asked_send(f, a);
    front_wait(f, a);
    while (f->line_count)
        front_take(f);
    return a;
}

static const char *set_cookie(const struct asked *a)
{
    for (uint32_t i = 0; i < a->said_count; i++)
        if (strncmp(a->said[i], "Set-Cookie: ", 12) == 0)
            return a->said[i] + 12;
    return "";
}

static struct browser_tab browser_tab_of(struct front *f, struct asked *a)
{
    STATUS(a, 200);
    const struct str whole = str_from(set_cookie(a));
    const char *cookie = str_z(&f->w->arena, str_slice(whole, 0, str_find(whole, ';', 0)));
    const struct json *csrf = json_get(body_of(a), STR("csrf_token"));
    return (struct browser_tab){cookie, str_z(&f->w->arena, csrf->text)};
}

static struct browser_tab login(struct front *f)
{
    return browser_tab_of(f, send_login(f, "{'username':'admin','password':'secret'}", "", false));
}

static struct asked *with_tab(struct front *f, enum http_method method, const char *target,
                              struct browser_tab tab)
{
    struct asked *a = asked_new(f, method, target);
    asked_header(a, "Cookie", tab.cookie);
    if (tab.csrf)
        asked_header(a, "X-CSRF-Token", tab.csrf);
    asked_send(f, a);
    while (f->line_count)
        front_take(f);
    return a;
}

static uint32_t tokens(const struct front *f)
{
    return core_count(f->w->core, TABLE_TOKEN);
}

TEST(a_login_creates_a_session_that_is_accepted)
{
    struct front *f = front_open();
    struct asked *a = send_login(f, "{'username':'ADMIN','password':'secret'}", "", false);
    const struct browser_tab tab = browser_tab_of(f, a);
    EXPECT_STR(keys(a, body_of(a)), "access,csrf_token,expires_at,is_admin,username");
    EXPECT_STR(a->type, "application/vnd.crowbar.session.obj+json; version=2.0");
    EXPECT_STR(at(f, a, "username"), "'admin'");
    HAS(set_cookie(a), "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    CHECK(!strstr(set_cookie(a), "Secure"));
    SAID(a, "Cache-Control: no-store");
    CHECK(tokens(f) == 2);
    STATUS(with_tab(f, HTTP_GET, ANY, (struct browser_tab){tab.cookie, NULL}), 200);
    EXPECT_STR(with_tab(f, HTTP_GET, SESSION, tab)->body, a->body);
    front_close(f);
}

TEST(over_tls_the_cookie_is_secure)
{
    struct front *f = front_open();
    HAS(set_cookie(send_login(f, "{'username':'admin','password':'secret'}", "", true)),
        "; Secure");
    front_close(f);
}

TEST(a_failed_login_creates_no_session)
{
    struct front *f = front_open();
    static const char *const wrong[] = {"{'username':'admin','password':'wrong'}",
                                        "{'username':'nobody','password':'secret'}",
                                        "{'username':'admin','password':null}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct asked *a = send_login(f, wrong[i], "", false);
        PROBLEM(f, a, 401, "unauthorized", "absent");
        EXPECT_STR(set_cookie(a), "");
    }
    PROBLEM(f, send_login(f, "{'username':'admin'}", "", false), 400, "missing", "password");
    PROBLEM(f, send_login(f, "{'username':1,'password':'x'}", "", false), 400, "bad_value",
            "username");
    STATUS(send_login(f, "nonsense{", "", false), 400);
    CHECK(tokens(f) == 1);
    front_close(f);
}

TEST(logins_without_tls_are_refused)
{
    struct front *f = front_open();
    struct asked *a = asked_new(f, HTTP_POST, SESSION);
    a->request.is_loopback = false;
    asked_body(f, a, "{'username':'admin','password':'secret'}");
    asked_send(f, a);
    PROBLEM(f, a, 403, "forbidden", "absent");
    front_close(f);
}

static int check_head(struct front *f, const char *length)
{
    struct asked *a = asked_new(f, HTTP_POST, SESSION);
    struct http_answer answer = {0};
    const struct http_handler handler = api_handler(f->api);
    asked_header(a, *length ? "Content-Length" : "Transfer-Encoding", *length ? length : "chunked");
    const int status = handler.admit(handler.self, &a->request, &answer);
    asked_send(f, a);
    front_wait(f, a);
    return status;
}

TEST(a_login_needs_a_small_content_length)
{
    struct front *f = front_open();
    CHECK(check_head(f, "100") == 0);
    CHECK(check_head(f, "16385") == 413);
    CHECK(check_head(f, "") == 411);
    front_close(f);
}

TEST(changes_need_the_csrf_token)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f), other = login(f);
    const char *const wrong[] = {NULL, "", "x", other.csrf};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct browser_tab forged = {tab.cookie, wrong[i]};
        PROBLEM(f, with_tab(f, HTTP_DELETE, "/api/v2/tokens/1", forged), 403, "forbidden",
                "absent");
        PROBLEM(f, with_tab(f, HTTP_DELETE, SESSION, forged), 403, "forbidden", "absent");
        PROBLEM(f, with_tab(f, HTTP_OTHER, ANY, forged), 403, "forbidden", "absent");
        STATUS(with_tab(f, HTTP_HEAD, ANY, forged), 200);
    }
    STATUS(with_tab(f, HTTP_DELETE, "/api/v2/tokens/1", tab), 200);
    front_close(f);
}

TEST(a_session_ends_by_logging_out)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f);
    struct asked *a = with_tab(f, HTTP_DELETE, SESSION, tab);
    STATUS(a, 200);
    HAS(set_cookie(a), "halligan_session=; ");
    HAS(set_cookie(a), "Max-Age=0");
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    CHECK(tokens(f) == 1);
    PROBLEM(f, ask(f, HTTP_DELETE, SESSION, ""), 404, "not_found", "session");
    front_close(f);
}

TEST(a_session_ends_after_twelve_hours_however_busy)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f);
    for (int i = 0; i < 48; i++) {
        STATUS(with_tab(f, HTTP_GET, ANY, tab), 200);
        f->w->now_ms += 15 * 60 * 1000;
    }
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    front_close(f);
}

TEST(a_session_idle_for_half_an_hour_is_deleted)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f);
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 200);
    f->w->now_ms += 30 * 60 * 1000;
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 200);
    f->w->now_ms += 30 * 60 * 1000 + 1;
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    CHECK(tokens(f) == 1); /* so it is not valid again after a restart */
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    front_close(f);
}

TEST(a_login_ends_the_session_of_its_cookie)
{
    struct front *f = front_open();
    front_user(f, "other");
    const struct browser_tab planted =
        browser_tab_of(f, send_login(f, "{'username':'other','password':'secret'}", "", false));
    const struct browser_tab own = browser_tab_of(
        f, send_login(f, "{'username':'admin','password':'secret'}", planted.cookie, false));
    CHECK(strcmp(own.cookie, planted.cookie) != 0);
    STATUS(with_tab(f, HTTP_GET, ANY, planted), 401);
    EXPECT_STR(at(f, with_tab(f, HTTP_GET, SESSION, own), "username"), "'admin'");
    CHECK(tokens(f) == 2);
    front_close(f);
}

TEST(a_token_is_no_session_and_a_session_no_token)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f);
    const char *secret = tab.cookie + strlen("halligan_session=");
    struct asked *a = asked_new(f, HTTP_GET, ANY);
    asked_header(a, "Authorization",
                 str_z(&a->kept, STR_CONCAT(&a->kept, STR("Bearer "), str_from(secret))));
    asked_send(f, a);
    STATUS(a, 401);
    const struct str bearer = str_from(f->bearer + strlen("Bearer "));
    const char *cookie =
        str_z(&f->w->arena, STR_CONCAT(&f->w->arena, STR("halligan_session="), bearer));
    STATUS(with_tab(f, HTTP_GET, ANY, (struct browser_tab){cookie, NULL}), 401);
    front_close(f);
}

TEST(a_locked_user_has_no_session)
{
    struct front *f = front_open();
    const int64_t other = front_user(f, "other");
    const struct browser_tab tab =
        browser_tab_of(f, send_login(f, "{'username':'other','password':'secret'}", "", false));
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 200);
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = other, .given = GIVEN_USER_IS_LOCKED,
                   .is_locked = true));
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    front_close(f);
}

/* ---- new passwords ---- */

/* Waits until the password is hashed and its command is executed. */
static struct asked *finish(struct front *f, struct asked *a)
{
    while (!a->answers) {
        front_wait(f, a);
        while (f->line_count)
            front_take(f);
    }
    return a;
}

TEST(a_new_password_waits_for_its_hash_and_ends_the_sessions)
{
    struct front *f = front_open();
    const struct browser_tab tab = login(f);
    struct asked *a = ask(f, HTTP_PUT, "/api/v2/users/admin/reset_password",
                          "{'password':'another','digest':true}");
    CHECK(a->answers == 0); /* hashing does not block the loop */
    STATUS(finish(f, a), 200);
    struct record user;
    CHECK(core_record(f->w->core, TABLE_USER, 1, &user));
    CHECK(str_starts(user.user.password_hash, STR("$argon2id$")));
    CHECK(user.user.digest_ha1.len == 32);
    STATUS(with_tab(f, HTTP_GET, ANY, tab), 401);
    STATUS(get(f, ANY), 200); /* tokens stay valid */
    front_close(f);
}

TEST(a_user_locked_during_the_hashing_gets_no_new_password)
{
    struct front *f = front_open();
    const int64_t other = front_user(f, "other");
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = other, .given = GIVEN_USER_IS_ADMIN,
                   .is_admin = true));
    f->bearer = front_token(f, other, 0);
    struct asked *a =
        ask(f, HTTP_POST, "/api/v2/users", "{'username':'late','password':'another'}");
    DONE(f->w, CMD(USER_UPDATE, user_update, .id = other, .given = GIVEN_USER_IS_LOCKED,
                   .is_locked = true));
    STATUS(finish(f, a), 401);
    CHECK(core_find(f->w->core, TABLE_USER, STR("late")) == 0);
    front_close(f);
}

TEST(a_new_password_respects_if_match)
{
    struct front *f = front_open();
    struct asked *a = ask_with(f, HTTP_PUT, "/api/v2/users/admin/reset_password",
                               "{'password':'another'}", "If-Match: \"99\"");
    STATUS(finish(f, a), 412);
    front_close(f);
}

TEST(a_call_that_waits_for_a_hash_is_answered_at_shutdown)
{
    struct front *f = front_open();
    struct asked *a =
        ask(f, HTTP_POST, "/api/v2/users", "{'username':'late','password':'another'}");
    CHECK(a->answers == 0);
    front_close(f); /* checks that there is one reply */
}
