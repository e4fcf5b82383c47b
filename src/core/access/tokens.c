#include "core/core_private.h"

/* A token is looked for by the hash of what its bearer shows, so the hash is its natural key. */

static bool is_hash(struct str s)
{
    if (s.len != TOKEN_HASH_LEN)
        return false;
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_digit(s.at[i]) && (s.at[i] < 'a' || s.at[i] > 'f'))
            return false;
    return true;
}

/* ---- whose it is ---- */

static struct vec *owned(struct core *c, const struct token *token)
{
    return token->user.v ? &user_derive(c, token->user)->tokens
                         : &node_derive(c, token->node)->tokens;
}

void token_index(struct core *c, token_ix t)
{
    ids_insert(c, owned(c, token_at(c, t)), TABLE_TOKEN, t.v);
}

static void token_destroy(struct core *c, token_ix t)
{
    name_remove(c, TABLE_TOKEN, t.v);
    ids_remove(c, owned(c, token_at(c, t)), TABLE_TOKEN, t.v);
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

/* What was good for that deployment alone must not become good for all. */
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

/* Who and where, looked up. */
struct scope {
    user_ix user;
    node_ix node;
    deployment_ix deployment;
};

static const struct vec *tokens_of(const struct core *c, const struct scope *s)
{
    return s->user.v ? &user_at(c, s->user)->tokens : &node_at(c, s->node)->tokens;
}

static void check_owner(struct core *c, const struct token_create_command *p, const struct scope *s)
{
    if (p->node_id && !s->node.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if ((p->user_id || !p->node_id) && !s->user.v)
        refuse_missing(c, "user_id", "user", p->user_id);
    if (s->node.v && s->user.v)
        refuse(c, PROBLEM_BAD_VALUE, STR("node_id"), STR("a token is a user's or a node's"));
    if (p->deployment_id && !s->deployment.v)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
}

/* A node's reaches its node and nothing else, which is less than any of these could say. */
static void check_scope(struct core *c, const struct token_create_command *p)
{
    if (p->access >= ACCESS_COUNT || (p->node_id && p->access))
        refuse(c, PROBLEM_BAD_VALUE, STR("access"),
               p->node_id ? STR("access is not for the token of a node")
                          : STR("access must be viewer, operator or admin"));
    if (p->kind >= TOKEN_KIND_COUNT || (p->node_id && p->kind != TOKEN_BEARER))
        refuse(c, PROBLEM_BAD_VALUE, STR("kind"),
               p->node_id ? STR("a node has no session") : STR("there is no such kind of token"));
    if (p->node_id && p->deployment_id)
        refuse(c, PROBLEM_BAD_VALUE, STR("deployment_id"),
               STR("deployment_id is not for the token of a node"));
}

static void check_token(struct core *c, const struct token_create_command *p)
{
    if (p->name.len == 0)
        refuse(c, PROBLEM_MISSING, STR("name"), STR("name is required: what is the token for?"));
    else if (p->name.len > NAME_LEN_MAX)
        refuse(c, PROBLEM_NAME_INVALID, STR("name"), STR("name is longer than names are"));
    if (!is_hash(p->hash))
        refuse(c, PROBLEM_BAD_VALUE, STR("hash"), STR("hash must be a SHA-256 in lower-case hex"));
    else if (name_find(c, TABLE_TOKEN, p->hash))
        refuse(c, PROBLEM_NAME_TAKEN, STR("hash"), STR("there is such a token already"));
    if (p->expires_at < 0 || (p->expires_at && p->expires_at <= c->wall_ms))
        refuse(c, PROBLEM_BAD_VALUE, STR("expires_at"), STR("expires_at must lie in the future"));
}

/* Only what both times call expired is deleted: the stamp does not follow a jump of the wall clock
 * before that is confirmed, so a clock that is wrong for a moment costs no token. */
static bool is_over(const struct core *c, token_ix t)
{
    const int64_t expires_at = token_at(c, t)->expires_at;
    return expires_at && expires_at <= c->wall_ms && expires_at <= c->now_ms;
}

/* Sessions and short-lived tokens would pile up otherwise, for nobody deletes them. */
static bool make_room(struct core *c, const struct scope *s)
{
    for (uint32_t i = tokens_of(c, s)->count; i-- > 0;) {
        const token_ix t = {vec_at(c, tokens_of(c, s), i)};
        if (is_over(c, t))
            token_destroy(c, t);
    }
    if (tokens_of(c, s)->count < TOKENS_OWN_MAX)
        return true;
    return refuse(c, PROBLEM_LIMIT_REACHED, s->user.v ? STR("user_id") : STR("node_id"),
                  STR_CONCAT(c->arena, STR("it has "), str_from_i64(c->arena, TOKENS_OWN_MAX),
                             STR(" tokens, and nobody may have more; delete one first")));
}

void do_token_create(struct core *c, const struct token_create_command *p)
{
    const struct scope s = {user_by_id(c, p->user_id), node_by_id(c, p->node_id),
                            deployment_by_id(c, p->deployment_id)};
    check_owner(c, p, &s);
    check_scope(c, p);
    check_token(c, p);
    if (refused(c) || !make_room(c, &s))
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
