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

static void check_token(struct core *c, const struct token_create_command *p, user_ix u)
{
    if (!u.v)
        refuse_missing(c, "user_id", "user", p->user_id);
    if (p->name.len == 0)
        refuse(c, PROBLEM_MISSING, STR("name"), STR("name is required: what is the token for?"));
    else if (p->name.len > NAME_LEN_MAX)
        refuse(c, PROBLEM_NAME_INVALID, STR("name"), STR("name is longer than names are"));
    if (!is_hash(p->hash))
        refuse(c, PROBLEM_BAD_VALUE, STR("hash"), STR("hash must be a SHA-256 in lower-case hex"));
    else if (name_find(c, TABLE_TOKEN, p->hash))
        refuse(c, PROBLEM_NAME_TAKEN, STR("hash"), STR("there is such a token already"));
    if (p->expires_at < 0 || (p->expires_at && p->expires_at <= c->now_ms))
        refuse(c, PROBLEM_BAD_VALUE, STR("expires_at"), STR("expires_at must lie in the future"));
}

void do_token_create(struct core *c, const struct token_create_command *p)
{
    const user_ix u = user_by_id(c, p->user_id);
    check_token(c, p, u);
    const token_ix t = refused(c) ? (token_ix){0} : token_add(c);
    if (!t.v)
        return;
    struct token *token = token_edit(c, t);
    token->user = u;
    token->expires_at = p->expires_at;
    put_text(c, &token->name, p->name);
    put_text(c, &token->hash, p->hash);
    name_add(c, TABLE_TOKEN, t.v);
    ids_insert(c, &user_derive(c, u)->tokens, TABLE_TOKEN, t.v);
    c->out->id = token->o.id;
}

static void token_destroy(struct core *c, token_ix t)
{
    name_remove(c, TABLE_TOKEN, t.v);
    struct token *token = token_edit(c, t);
    ids_remove(c, &user_derive(c, token->user)->tokens, TABLE_TOKEN, t.v);
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
