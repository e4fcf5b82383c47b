#include "core/core_private.h"

#include "base/json/json.h"
#include "model/names.h"

/* ---- is it well formed, is it free? ---- */

static bool email_is_taken(const struct core *c, struct str email, user_ix self)
{
    for (uint32_t ix = core_next_row(c, TABLE_USER, 0); ix;
         ix = core_next_row(c, TABLE_USER, user_at(c, (user_ix){ix})->o.id))
        if (ix != self.v && str_eq(text_of(c, user_at(c, (user_ix){ix})->email), email))
            return true;
    return false;
}

static void check_username(struct core *c, struct str username, user_ix self)
{
    const char *wrong = names_check_username(username);
    const uint32_t taken = wrong ? 0 : name_find(c, TABLE_USER, username);
    if (wrong)
        refuse(c, username.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, STR("username"),
               STR_CONCAT(c->arena, STR("username "), str_from(wrong)));
    if (taken && taken != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("username"),
               STR_CONCAT(c->arena, STR("there is a user called "), username, STR(" already")));
}

static void check_email(struct core *c, struct str email, user_ix self)
{
    const char *wrong = email.len ? names_check_email(email) : NULL;
    if (wrong)
        refuse(c, PROBLEM_NAME_INVALID, STR("email"),
               STR_CONCAT(c->arena, STR("email "), str_from(wrong)));
    else if (email.len && email_is_taken(c, email, self))
        refuse(
            c, PROBLEM_NAME_TAKEN, STR("email"),
            STR_CONCAT(c->arena, STR("there is a user with the address "), email, STR(" already")));
}

/* Below an admin there are two, and is_admin says who is above. */
static void check_access(struct core *c, uint32_t access)
{
    if (access != ACCESS_VIEWER && access != ACCESS_OPERATOR)
        refuse(c, PROBLEM_BAD_VALUE, STR("access"),
               STR("access must be viewer or operator; is_admin makes an admin"));
}

/* `known` may stay, even for a deployment that is gone: ids are not used again. */
static void check_grant(struct core *c, const struct json *grant, const struct json *known)
{
    int64_t id = 0;
    const bool is_id =
        str_is_digits(grant->key) && grant->key.at[0] != '0' && str_parse_i64(grant->key, &id);
    const enum access access = grant->kind == JSON_STRING ? access_find(grant->text) : ACCESS_NONE;
    if (!is_id || (!deployment_by_id(c, id).v && !json_get(known, grant->key)))
        refuse(c, PROBLEM_BAD_VALUE, STR("grants"),
               STR_CONCAT(c->arena, STR("grants: there is no deployment with id "), grant->key));
    if (access != ACCESS_VIEWER && access != ACCESS_OPERATOR)
        refuse(c, PROBLEM_BAD_VALUE, STR("grants"),
               STR_CONCAT(c->arena, STR("grants: what is granted in deployment "), grant->key,
                          STR(" must be viewer or operator")));
}

static void check_grants(struct core *c, struct str wanted, struct str known)
{
    const struct json *grants = doc_tree(c->arena, wanted);
    const struct json *before = doc_tree(c->arena, known);
    if (grants->kind != JSON_OBJECT)
        refuse(c, PROBLEM_BAD_JSON, STR("grants"), STR("grants must be an object"));
    for (const struct json *grant = grants->first; grant && grants->kind == JSON_OBJECT;
         grant = grant->next)
        check_grant(c, grant, before);
}

/* ---- somebody must be left who can let others in ---- */

static bool is_in_charge(const struct user *user)
{
    return user->is_admin && !user->is_locked;
}

static bool is_last_in_charge(const struct core *c, user_ix u)
{
    if (!is_in_charge(user_at(c, u)))
        return false;
    for (uint32_t ix = core_next_row(c, TABLE_USER, 0); ix;
         ix = core_next_row(c, TABLE_USER, user_at(c, (user_ix){ix})->o.id))
        if (ix != u.v && is_in_charge(user_at(c, (user_ix){ix})))
            return false;
    return true;
}

/* ---- commands ---- */

void do_user_create(struct core *c, const struct user_create_command *p)
{
    const struct str username = str_lower(c->arena, p->username);
    const struct str email = str_lower(c->arena, p->email);
    const uint32_t access = p->access ? p->access : ACCESS_OPERATOR;
    check_username(c, username, (user_ix){0});
    check_email(c, email, (user_ix){0});
    check_access(c, access);
    check_grants(c, p->grants, STR(""));
    const user_ix u = refused(c) ? (user_ix){0} : user_add(c);
    if (!u.v)
        return;
    struct user *user = user_edit(c, u);
    put_text(c, &user->username, username);
    put_text(c, &user->email, email);
    put_text(c, &user->password_hash, p->password_hash);
    put_text(c, &user->digest_ha1, p->digest_ha1);
    put_doc(c, &user->grants, p->grants);
    user->access = access;
    user->is_admin = p->is_admin;
    name_add(c, TABLE_USER, u.v);
    c->out->id = user->o.id;
}

/* What the user is to be: as it is, but for what was given. */
struct user_facts {
    struct str username, email, password_hash, digest_ha1, settings, grants;
    uint32_t access;
    bool is_admin, is_locked;
};

static struct user_facts facts_of(const struct core *c, const struct user *user)
{
    return (struct user_facts){
        .username = text_of(c, user->username),
        .email = text_of(c, user->email),
        .password_hash = text_of(c, user->password_hash),
        .digest_ha1 = text_of(c, user->digest_ha1),
        .settings = doc_of(c, user->settings),
        .grants = doc_of(c, user->grants),
        .access = user->access,
        .is_admin = user->is_admin,
        .is_locked = user->is_locked,
    };
}

static struct user_facts facts_given(struct core *c, struct user_facts facts,
                                     const struct user_update_command *p)
{
    if (p->given & GIVEN_USER_USERNAME)
        facts.username = str_lower(c->arena, p->username);
    if (p->given & GIVEN_USER_EMAIL)
        facts.email = str_lower(c->arena, p->email);
    if (p->given & GIVEN_USER_PASSWORD_HASH)
        facts.password_hash = p->password_hash;
    if (p->given & GIVEN_USER_DIGEST_HA1)
        facts.digest_ha1 = p->digest_ha1;
    if (p->given & GIVEN_USER_SETTINGS)
        facts.settings = p->settings.len ? p->settings : STR("{}");
    if (p->given & GIVEN_USER_GRANTS)
        facts.grants = p->grants.len ? p->grants : STR("{}");
    if (p->given & GIVEN_USER_ACCESS)
        facts.access = p->access;
    if (p->given & GIVEN_USER_IS_ADMIN)
        facts.is_admin = p->is_admin;
    if (p->given & GIVEN_USER_IS_LOCKED)
        facts.is_locked = p->is_locked;
    return facts;
}

static bool facts_eq(const struct user_facts *a, const struct user_facts *b)
{
    return a->is_admin == b->is_admin && a->is_locked == b->is_locked && a->access == b->access &&
           str_eq(a->username, b->username) && str_eq(a->email, b->email) &&
           str_eq(a->password_hash, b->password_hash) && str_eq(a->digest_ha1, b->digest_ha1) &&
           str_eq(a->settings, b->settings) && str_eq(a->grants, b->grants);
}

static void user_write(struct core *c, user_ix u, const struct user_facts *facts)
{
    name_remove(c, TABLE_USER, u.v);
    struct user *user = user_edit(c, u);
    put_text(c, &user->username, facts->username);
    put_text(c, &user->email, facts->email);
    put_text(c, &user->password_hash, facts->password_hash);
    put_text(c, &user->digest_ha1, facts->digest_ha1);
    put_doc(c, &user->settings, facts->settings);
    put_doc(c, &user->grants, facts->grants);
    user->access = facts->access;
    user->is_admin = facts->is_admin;
    user->is_locked = facts->is_locked;
    name_add(c, TABLE_USER, u.v);
}

static void check_facts(struct core *c, user_ix u, const struct user_facts *now,
                        const struct user_facts *wanted)
{
    check_username(c, wanted->username, u);
    check_email(c, wanted->email, u);
    if (doc_tree(c->arena, wanted->settings)->kind != JSON_OBJECT)
        refuse(c, PROBLEM_BAD_JSON, STR("settings"), STR("settings must be an object"));
    check_access(c, wanted->access);
    if (!str_eq(now->grants, wanted->grants))
        check_grants(c, wanted->grants, now->grants);
    if ((!wanted->is_admin || wanted->is_locked) && is_last_in_charge(c, u))
        refuse(c, PROBLEM_LAST_ADMIN, wanted->is_admin ? STR("is_locked") : STR("is_admin"),
               STR("the last admin who is not locked stays admin, and is not locked"));
}

void do_user_update(struct core *c, const struct user_update_command *p)
{
    const user_ix u = user_by_id(c, p->id);
    if (!u.v) {
        refuse_missing(c, "id", "user", p->id);
        return;
    }
    const struct user_facts now = facts_of(c, user_at(c, u));
    const struct user_facts wanted = facts_given(c, now, p);
    check_facts(c, u, &now, &wanted);
    if (refused(c))
        return;
    c->out->id = p->id;
    if (!facts_eq(&now, &wanted))
        user_write(c, u, &wanted);
}

void do_user_delete(struct core *c, const struct user_delete_command *p)
{
    const user_ix u = user_by_id(c, p->id);
    if (!u.v) {
        refuse_missing(c, "id", "user", p->id);
        return;
    }
    if (is_last_in_charge(c, u)) {
        refuse(c, PROBLEM_LAST_ADMIN, STR("id"),
               STR("the last admin who is not locked cannot be deleted"));
        return;
    }
    c->out->id = p->id;
    tokens_forget_user(c, u);
    name_remove(c, TABLE_USER, u.v);
    struct user *user = user_edit(c, u);
    put_text(c, &user->username, STR(""));
    put_text(c, &user->email, STR(""));
    put_text(c, &user->password_hash, STR(""));
    put_text(c, &user->digest_ha1, STR(""));
    put_doc(c, &user->settings, STR(""));
    put_doc(c, &user->grants, STR(""));
    core_remove_row(c, TABLE_USER, u.v);
}
