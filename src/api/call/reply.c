#include "api/call/reply.h"

#include "api/call/metrics.h"
#include "api/call/route.h"
#include "api/call/serialize.h"
#include "auth/auth_state.h"

/* Construction of replies. Errors have one form, {"message","status","code","field"?,"problems"?};
 * the mapping of internal errors to statuses is in reply_failure().
 *
 * The file has no state: each function writes call->reply and nothing is sent here. The one order
 * that matters is that reply_header() comes after the function that makes the reply, which drops
 * the headers of an earlier one. The functions cannot fail; the memory of a reply is limited when
 * it is sent (call_send_when_durable in api.c). */

void reply_header(struct call *call, const char *name, struct str value)
{
    must(call->reply.header_count < REPLY_HEADERS_MAX);
    call->reply.headers[call->reply.header_count++] = (struct http_header){name, value};
}

void reply_text(struct call *call, int status, struct str text)
{
    call->reply =
        (struct reply){.status = status, .content_type = "text/plain; charset=utf-8", .body = text};
}

void reply_json(struct call *call, const char *type, const char *form, struct str body)
{
    const struct str content_type =
        STR_CONCAT(call->arena, STR("application/vnd.crowbar."), str_from(type), STR("."),
                   str_from(form), STR("+json; version=2.0"));
    call->reply = (struct reply){
        .status = 200, .content_type = str_z(call->arena, content_type), .body = body};
}

/* The end of the JSON value that begins at `at` of a canonical document, which has no spaces
 * between its tokens. */
static uint32_t json_value_end(struct str doc, uint32_t at)
{
    uint32_t depth = 0;
    bool is_string = false;
    for (; at < doc.len; at++) {
        const char c = doc.at[at];
        if (is_string) {
            at += c == '\\';
            is_string = c != '"';
            continue;
        }
        if (!depth && (c == ',' || c == '}' || c == ']' || c == ':'))
            return at;
        is_string = c == '"';
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    }
    return doc.len;
}

/* Copies the requested members from the text instead of parsing it: the tree of a document of 1 MiB
 * may need as much memory as a request may use. */
void reply_doc(struct call *call, const char *type, struct str doc)
{
    if (!call->wanted) {
        reply_json(call, type, "obj", doc);
        return;
    }
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '{');
    for (uint32_t at = 1, end; at + 1 < doc.len; at = end + 1) {
        const uint32_t colon = json_value_end(doc, at);
        end = json_value_end(doc, colon + 1);
        const struct str key = str_slice(doc, at + 1, colon - 1); /* without its quotes */
        if (!object_view_wants(call->wanted, str_z(call->arena, key)))
            continue;
        buf_put_z(&b, b.len > 1 ? "," : "");
        buf_put_str(&b, str_slice(doc, at, end));
    }
    buf_put_c(&b, '}');
    reply_json(call, type, "obj", buf_str(&b));
}

void reply_message(struct call *call, const char *type, struct str text)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, "{");
    if (object_view_wants(call->wanted, "message")) {
        buf_put_z(&b, "\"message\":");
        json_write_string(&b, text);
    }
    buf_put_z(&b, "}");
    reply_json(call, type, "empty", buf_str(&b));
}

uint64_t reply_mask(const struct call *call, const struct object_view *view)
{
    return !call->wanted && call->wants_extras ? PROP_ALL : object_view_mask(view, call->wanted);
}

void reply_record(struct call *call, const struct object_view *view, const struct record *record)
{
    struct buf b = buf_in(call->arena);
    const uint64_t mask = reply_mask(call, view);
    object_view_write(view, call->core, record, mask, &b);
    reply_json(call, view->type_of ? view->type_of(call->core, record, call->arena) : view->type,
               "obj", buf_str(&b));
    struct buf tag = buf_in(call->arena);
    buf_put_c(&tag, '"');
    buf_put_i64(&tag,
                record->settings.turn); /* all object records have `turn` at the same offset */
    buf_put_c(&tag, '"');
    /* The ETag changes with the record only. A 304 would hide changes of fields that are computed
     * from other records, so it is sent only if no such field is requested. */
    if (call->request->method == HTTP_GET && object_view_is_plain(view, mask) &&
        str_eq(http_header(call->request, "If-None-Match"), buf_str(&tag)))
        call->reply = (struct reply){.status = 304};
    reply_header(call, "ETag", buf_str(&tag));
}

/* ---- errors ---- */

static void reply_put_member(struct buf *b, const char *name, struct str text)
{
    buf_put_c(b, '"');
    buf_put_z(b, name);
    buf_put_z(b, "\":");
    json_write_string(b, text);
}

static void reply_put_error_head(struct buf *b, struct str message, int status, struct str code)
{
    buf_put_c(b, '{');
    reply_put_member(b, "message", message);
    buf_put_z(b, ",\"status\":");
    buf_put_i64(b, status);
    buf_put_c(b, ',');
    reply_put_member(b, "code", code);
}

static void reply_set_error(struct call *call, int status, const struct buf *body)
{
    /* The type in the content type is that of the resource of the route, if there is one. */
    const struct resource *resource = call->route ? call->route->resource : NULL;
    reply_json(call, resource ? resource->view->type : "api", "error", buf_str(body));
    call->reply.status = status;
}

void reply_error(struct call *call, int status, const char *code, struct str message)
{
    struct buf b = buf_in(call->arena);
    reply_put_error_head(&b, message, status, str_from(code));
    buf_put_c(&b, '}');
    reply_set_error(call, status, &b);
}

/* The name of a field in the API, where the core uses another one. */
static struct str problem_api_field(const struct problem *p)
{
    return str_eq(p->field, STR("hammer_kind_id")) ? STR("available_hammer_id") : p->field;
}

static void reply_put_problem(struct buf *b, const struct problem *p)
{
    buf_put_c(b, '{');
    reply_put_member(b, "code", problem_code_name(p->code));
    buf_put_c(b, ',');
    reply_put_member(b, "field", problem_api_field(p));
    buf_put_c(b, ',');
    reply_put_member(b, "message", p->text);
    buf_put_c(b, '}');
}

void reply_problems(struct call *call, const struct problem *problems)
{
    must(problems);
    struct buf message = buf_in(call->arena), b = buf_in(call->arena);
    for (const struct problem *p = problems; p; p = p->next) {
        buf_put_z(&message, p == problems ? "" : "; ");
        buf_put_str(&message, p->text);
    }
    const int status = problem_status(problems->code);
    reply_put_error_head(&b, buf_str(&message), status, problem_code_name(problems->code));
    if (problems->field.len) {
        buf_put_c(&b, ',');
        reply_put_member(&b, "field", problem_api_field(problems));
    }
    if (problems->next) {
        buf_put_z(&b, ",\"problems\":[");
        for (const struct problem *p = problems; p; p = p->next) {
            buf_put_z(&b, p == problems ? "" : ",");
            reply_put_problem(&b, p);
        }
        buf_put_c(&b, ']');
    }
    buf_put_c(&b, '}');
    reply_set_error(call, status, &b);
}

/* Digest is first, because some clients use the first challenge only. Both have the same realm,
 * because other clients join the challenges to one line and use the last realm in it. */
static void reply_challenge(struct call *call, const char *message, bool is_stale)
{
    reply_error(call, 401, "unauthorized", str_from(message));
    reply_header(call, "WWW-Authenticate",
                 digests_challenge(call_auth_state(call)->digests, call->arena, call_mono_ms(call),
                                   is_stale));
    reply_header(call, "WWW-Authenticate", STR("Basic realm=\"" DIGEST_REALM "\""));
}

void reply_unauthorized(struct call *call, const char *message)
{
    reply_challenge(call, message, false);
}

void reply_stale(struct call *call)
{
    reply_challenge(
        call, "the nonce of the Digest has expired or was used too often; answer the new challenge",
        true);
}

void reply_locked_out(struct call *call, int64_t left_ms)
{
    struct buf seconds = buf_in(call->arena);
    buf_put_i64(&seconds, (left_ms + 999) / 1000);
    reply_error(call, 429, "locked_out",
                STR_CONCAT(call->arena,
                           STR("too many wrong passwords for this user name or from this address; "
                               "passwords are refused for another "),
                           buf_str(&seconds), STR(" seconds")));
    reply_header(call, "Retry-After", buf_str(&seconds));
}

/* The fault of the store may contain paths and host names: only users see it. */
static void reply_unavailable(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const char *text = call->caller.user_id ? engine->trouble(engine->self) : "";
    const struct str trouble = str_copy(call->arena, str_from(text));
    reply_error(call, 503, "unavailable",
                trouble.len
                    ? STR_CONCAT(call->arena, STR("the store is not available: "), trouble)
                    : STR("the daemon cannot serve requests at the moment; try again soon, /readyz "
                          "states the reason"));
    reply_header(call, "Retry-After", STR("1"));
}

void reply_failure(struct call *call, err why)
{
    if (why == ERR_UNAVAILABLE) {
        reply_unavailable(call);
    } else if (why == ERR_LIMIT) {
        reply_error(call, 429, "limit", STR("too many requests are waiting; try again soon"));
        reply_header(call, "Retry-After", STR("1"));
    } else if (why == ERR_FENCED) {
        reply_error(
            call, 503, "fenced",
            STR("another instance is the leader now; nothing was changed, send the request to "
                "that instance"));
        reply_header(call, "Retry-After", STR("1"));
    } else if (why == ERR_UNKNOWN) {
        reply_error(call, 500, "unknown",
                    STR("the outcome is unknown: the store did not answer in time, or the daemon "
                        "stopped or lost its leadership; check the object before you repeat the "
                        "request"));
    } else {
        reply_error(call, 500, "failed", STR("the request failed; nothing was changed"));
    }
}

void reply_full(struct call *call)
{
    call_counts(call)->refused_for_memory++;
    reply_error(call, 503, "limit",
                STR("replies that other clients have not read yet use all memory for replies; "
                    "nothing was changed, try again soon"));
    reply_header(call, "Retry-After", STR("1"));
}

void reply_too_large(struct call *call)
{
    call_counts(call)->refused_for_memory++;
    reply_error(call, 409, "limit_reached",
                STR("the reply would need more memory than one request may use (64 MiB); request a "
                    "part of it"));
}
