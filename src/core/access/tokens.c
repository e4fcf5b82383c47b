#include "core/core_private.h"

/* API tokens (ADR 0040). This file owns the token rows, their index by hash, and the lists of
 * tokens of users and nodes. A token belongs to one user or to one node and is deleted with its
 * owner. Only the SHA-256 of the secret is stored; it is the natural key of the row, since
 * requests are looked up by it. A token that is restricted to a deployment is deleted with that
 * deployment, because without the restriction it would have more rights than before.
 *
 * Order and failure: a new token is checked completely first, and every problem is reported. Then
 * expired tokens of the owner are deleted, then the limit of tokens is checked, so that expired
 * ones do not count. A refusal rolls these deletions back. */

static bool token_hash_is_valid(struct str s)
{
    if (s.len != TOKEN_HASH_LEN)
        return false;
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_digit(s.at[i]) && (s.at[i] < 'a' || s.at[i] > 'f'))
            return false;
    return true;
}

/* ---- owners ---- */

static struct vec *token_owner_list(struct core *c, const struct token *token)
{
    return token->user.v ? &user_derive(c, token->user)->tokens
                         : &node_derive(c, token->node)->tokens;
}

void token_index(struct core *c, token_ix t)
{
    ids_insert(c, token_owner_list(c, token_at(c, t)), TABLE_TOKEN, t.v);
}

static void token_destroy(struct core *c, token_ix t)
{
    name_remove(c, TABLE_TOKEN, t.v);
    ids_remove(c, token_owner_list(c, token_at(c, t)), TABLE_TOKEN, t.v);
    struct token *token = token_edit(c, t);
    put_text(c, &token->name, STR(""));
    put_text(c, &token->hash, STR(""));
    core_remove_row(c, TABLE_TOKEN, t.v);
}

void tokens_forget_user(struct core *c, user_ix u)
{
    while (user_at(c, u)->tokens.count) {
        const struct vec *tokens = &user_at(c, u)->tokens;
        token_destroy(c, (token_ix){vec_at(c, tokens, tokens->count - 1)});
    }
}

void tokens_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->tokens.count) {
        const struct vec *tokens = &node_at(c, n)->tokens;
        token_destroy(c, (token_ix){vec_at(c, tokens, tokens->count - 1)});
    }
}

/* The tokens are deleted rather than kept: a token whose restriction is lost would hold
 * everywhere. */
void tokens_forget_deployment(struct core *c, deployment_ix d)
{
    int64_t id = 0;
    for (uint32_t ix; (ix = core_next_row(c, TABLE_TOKEN, id)) != 0;) {
        const struct token *token = token_at(c, (token_ix){ix});
        id = token->o.id;
        if (token->deployment.v == d.v)
            token_destroy(c, (token_ix){ix});
    }
}

/* ---- create ---- */

/* The owner of a new token and the deployment it is restricted to. */

struct token_scope {
    user_ix user;
    node_ix node;
    deployment_ix deployment;
};

static const struct vec *token_scope_list(const struct core *c, const struct token_scope *s)
{
    return s->user.v ? &user_at(c, s->user)->tokens : &node_at(c, s->node)->tokens;
}

static void token_check_owner(struct core *c, const struct token_create_command *p,
                              const struct token_scope *s)
{
    if (p->node_id && !s->node.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if ((p->user_id || !p->node_id) && !s->user.v)
        refuse_missing(c, "user_id", "user", p->user_id);
    if (s->node.v && s->user.v)
        refuse(c, PROBLEM_BAD_VALUE, STR("node_id"),
               STR("a token belongs to a user or to a node; send user_id or node_id, not both"));
    if (p->deployment_id && !s->deployment.v)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
}

/* A node token permits reports about its node only, which neither a level nor a deployment can
 * express. */
static void token_check_scope(struct core *c, const struct token_create_command *p)
{
    if (p->access >= ACCESS_COUNT || (p->node_id && p->access))
        refuse(c, PROBLEM_BAD_VALUE, STR("access"),
               p->node_id ? STR("the token of a node has no access level; leave access out")
                          : STR("access must be viewer, operator or admin"));
    if (p->kind >= TOKEN_KIND_COUNT || (p->node_id && p->kind != TOKEN_BEARER))
        refuse(c, PROBLEM_BAD_VALUE, STR("kind"),
               p->node_id ? STR("a node cannot have a session") : STR("unknown kind of token"));
    if (p->node_id && p->deployment_id)
        refuse(c, PROBLEM_BAD_VALUE, STR("deployment_id"),
               STR("the token of a node has no deployment; leave deployment_id out"));
}

static void token_check_fields(struct core *c, const struct token_create_command *p)
{
    if (p->name.len == 0)
        refuse(c, PROBLEM_MISSING, STR("name"),
               STR("name is required; it states what the token is for"));
    else if (p->name.len > NAME_LEN_MAX)
        refuse(c, PROBLEM_NAME_INVALID, STR("name"),
               STR_CONCAT(c->arena, STR("name is longer than "),
                          str_from_i64(c->arena, NAME_LEN_MAX), STR(" bytes")));
    if (!token_hash_is_valid(p->hash))
        refuse(c, PROBLEM_BAD_VALUE, STR("hash"), STR("hash must be a SHA-256 in lower-case hex"));
    else if (name_find(c, TABLE_TOKEN, p->hash))
        refuse(c, PROBLEM_NAME_TAKEN, STR("hash"), STR("a token with this hash exists already"));
    if (p->expires_at < 0 || (p->expires_at && p->expires_at <= c->wall_ms))
        refuse(c, PROBLEM_BAD_VALUE, STR("expires_at"), STR("expires_at must be in the future"));
}

/* Deletes expired tokens of the owner before the limit is checked. Clients rarely delete sessions
 * and short-lived tokens, so these would fill the limit otherwise. A token is deleted only if it
 * has expired by both clocks. The ordering timestamp (now_ms) does not follow a jump of the wall
 * clock before the jump is confirmed, so a clock that is wrong for a moment deletes no token (ADR
 * 0069). */
static bool token_make_room(struct core *c, const struct token_scope *s)
{
    for (uint32_t i = token_scope_list(c, s)->count; i-- > 0;) {
        const token_ix t = {vec_at(c, token_scope_list(c, s), i)};
        const int64_t expires_at = token_at(c, t)->expires_at;
        if (expires_at && expires_at <= c->wall_ms && expires_at <= c->now_ms)
            token_destroy(c, t);
    }
    if (token_scope_list(c, s)->count < TOKENS_OWN_MAX)
        return true;
    return refuse(c, PROBLEM_LIMIT_REACHED, s->user.v ? STR("user_id") : STR("node_id"),
                  STR_CONCAT(c->arena, STR("the owner has "),
                             str_from_i64(c->arena, TOKENS_OWN_MAX),
                             STR(" tokens, which is the maximum; delete one first")));
}

void do_token_create(struct core *c, const struct token_create_command *p)
{
    const struct token_scope s = {user_by_id(c, p->user_id), node_by_id(c, p->node_id),
                                  deployment_by_id(c, p->deployment_id)};
    token_check_owner(c, p, &s);
    token_check_scope(c, p);
    token_check_fields(c, p);
    if (refused(c) || !token_make_room(c, &s))
        return;
    const token_ix t = token_add(c);
    if (!t.v)
        return;
    struct token *token = token_edit(c, t);
    token->user = s.user;
    token->node = s.node;
    token->deployment = s.deployment;
    token->access = p->access;
    token->kind = p->kind;
    token->expires_at = p->expires_at;
    put_text(c, &token->name, p->name);
    put_text(c, &token->hash, p->hash);
    name_add(c, TABLE_TOKEN, t.v);
    token_index(c, t);
    c->out->id = token_at(c, t)->o.id;
}

void do_token_delete(struct core *c, const struct token_delete_command *p)
{
    const token_ix t = token_by_id(c, p->id);
    if (!t.v) {
        refuse_missing(c, "id", "token", p->id);
        return;
    }
    c->out->id = p->id;
    token_destroy(c, t);
}
