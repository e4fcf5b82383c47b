#include "core/core_private.h"

#include "base/json/json.h"
#include "model/names.h"

/* Accounts of the API. This file owns the user rows and their names; tokens.c owns the tokens.
 *
 * An update computes the account as it would be, checks all of it, and only then writes, so that a
 * refused update changes nothing and reports every problem at once. At least one admin that is not
 * locked must remain, since only an admin can create or unlock accounts. Deleting a user deletes
 * the tokens of the user first, because they refer to its row. */

/* ---- checks of fields ---- */

static bool user_email_is_taken(const struct core *c, struct str email, user_ix self)
{
    for (uint32_t ix = core_next_row(c, TABLE_USER, 0); ix;
         ix = core_next_row(c, TABLE_USER, user_at(c, (user_ix){ix})->o.id))
        if (ix != self.v && str_eq(text_of(c, user_at(c, (user_ix){ix})->email), email))
            return true;
    return false;
}

static void user_check_username(struct core *c, struct str username, user_ix self)
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

static void user_check_email(struct core *c, struct str email, user_ix self)
{
    const char *wrong = email.len ? names_check_email(email) : NULL;
    if (wrong)
        refuse(c, PROBLEM_NAME_INVALID, STR("email"),
               STR_CONCAT(c->arena, STR("email "), str_from(wrong)));
    else if (email.len && user_email_is_taken(c, email, self))
        refuse(
            c, PROBLEM_NAME_TAKEN, STR("email"),
            STR_CONCAT(c->arena, STR("there is a user with the address "), email, STR(" already")));
}

/* The level admin is set by is_admin; `access` holds the two levels below it. */
static void user_check_access(struct core *c, uint32_t access)
{
    if (access != ACCESS_VIEWER && access != ACCESS_OPERATOR)
        refuse(c, PROBLEM_BAD_VALUE, STR("access"),
               STR("access must be viewer or operator; is_admin makes an admin"));
}

/* A grant in `known` is accepted even if its deployment was deleted: ids are not used again, so it
 * cannot apply to another deployment. */
static void user_check_grant(struct core *c, const struct json *grant, const struct json *known)
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
               STR_CONCAT(c->arena, STR("grants: the level in deployment "), grant->key,
                          STR(" must be viewer or operator")));
}

static void user_check_grants(struct core *c, struct str wanted, struct str known)
{
    const struct json *grants = doc_tree(c->arena, wanted);
    const struct json *before = doc_tree(c->arena, known);
    if (grants->kind != JSON_OBJECT)
        refuse(c, PROBLEM_BAD_JSON, STR("grants"), STR("grants must be an object"));
    for (const struct json *grant = grants->first; grant && grants->kind == JSON_OBJECT;
         grant = grant->next)
        user_check_grant(c, grant, before);
}

/* ---- the last admin ---- */

static bool user_is_active_admin(const struct user *user)
{
    return user->is_admin && !user->is_locked;
}

static bool user_is_last_active_admin(const struct core *c, user_ix u)
{
    if (!user_is_active_admin(user_at(c, u)))
        return false;
    for (uint32_t ix = core_next_row(c, TABLE_USER, 0); ix;
         ix = core_next_row(c, TABLE_USER, user_at(c, (user_ix){ix})->o.id))
        if (ix != u.v && user_is_active_admin(user_at(c, (user_ix){ix})))
            return false;
    return true;
}

/* ---- commands ---- */

void do_user_create(struct core *c, const struct user_create_command *p)
{
    const struct str username = str_lower(c->arena, p->username);
    const struct str email = str_lower(c->arena, p->email);
    const uint32_t access = p->access ? p->access : ACCESS_OPERATOR;
    user_check_username(c, username, (user_ix){0});
    user_check_email(c, email, (user_ix){0});
    user_check_access(c, access);
    user_check_grants(c, p->grants, STR(""));
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

/* The fields of a user after an update: the current values, replaced by those that were given. */

struct user_fields {
    struct str username, email, password_hash, digest_ha1, settings, grants;
    uint32_t access;
    bool is_admin, is_locked;
};

static struct user_fields user_fields_of(const struct core *c, const struct user *user)
{
    return (struct user_fields){
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

static struct user_fields user_fields_given(struct core *c, struct user_fields fields,
                                            const struct user_update_command *p)
{
    if (p->given & GIVEN_USER_USERNAME)
        fields.username = str_lower(c->arena, p->username);
    if (p->given & GIVEN_USER_EMAIL)
        fields.email = str_lower(c->arena, p->email);
    if (p->given & GIVEN_USER_PASSWORD_HASH)
        fields.password_hash = p->password_hash;
    if (p->given & GIVEN_USER_DIGEST_HA1)
        fields.digest_ha1 = p->digest_ha1;
    if (p->given & GIVEN_USER_SETTINGS)
        fields.settings = p->settings.len ? p->settings : STR("{}");
    if (p->given & GIVEN_USER_GRANTS)
        fields.grants = p->grants.len ? p->grants : STR("{}");
    if (p->given & GIVEN_USER_ACCESS)
        fields.access = p->access;
    if (p->given & GIVEN_USER_IS_ADMIN)
        fields.is_admin = p->is_admin;
    if (p->given & GIVEN_USER_IS_LOCKED)
        fields.is_locked = p->is_locked;
    return fields;
}

static bool user_fields_eq(const struct user_fields *a, const struct user_fields *b)
{
    return a->is_admin == b->is_admin && a->is_locked == b->is_locked && a->access == b->access &&
           str_eq(a->username, b->username) && str_eq(a->email, b->email) &&
           str_eq(a->password_hash, b->password_hash) && str_eq(a->digest_ha1, b->digest_ha1) &&
           str_eq(a->settings, b->settings) && str_eq(a->grants, b->grants);
}

static void user_write(struct core *c, user_ix u, const struct user_fields *fields)
{
    name_remove(c, TABLE_USER, u.v);
    struct user *user = user_edit(c, u);
    put_text(c, &user->username, fields->username);
    put_text(c, &user->email, fields->email);
    put_text(c, &user->password_hash, fields->password_hash);
    put_text(c, &user->digest_ha1, fields->digest_ha1);
    put_doc(c, &user->settings, fields->settings);
    put_doc(c, &user->grants, fields->grants);
    user->access = fields->access;
    user->is_admin = fields->is_admin;
    user->is_locked = fields->is_locked;
    name_add(c, TABLE_USER, u.v);
}

static void user_check_fields(struct core *c, user_ix u, const struct user_fields *now,
                              const struct user_fields *wanted)
{
    user_check_username(c, wanted->username, u);
    user_check_email(c, wanted->email, u);
    if (doc_tree(c->arena, wanted->settings)->kind != JSON_OBJECT)
        refuse(c, PROBLEM_BAD_JSON, STR("settings"), STR("settings must be an object"));
    user_check_access(c, wanted->access);
    if (!str_eq(now->grants, wanted->grants))
        user_check_grants(c, wanted->grants, now->grants);
    if ((!wanted->is_admin || wanted->is_locked) && user_is_last_active_admin(c, u))
        refuse(c, PROBLEM_LAST_ADMIN, wanted->is_admin ? STR("is_locked") : STR("is_admin"),
               STR("the last admin that is not locked must stay an admin and cannot be locked"));
}

void do_user_update(struct core *c, const struct user_update_command *p)
{
    const user_ix u = user_by_id(c, p->id);
    if (!u.v) {
        refuse_missing(c, "id", "user", p->id);
        return;
    }
    const struct user_fields now = user_fields_of(c, user_at(c, u));
    const struct user_fields wanted = user_fields_given(c, now, p);
    user_check_fields(c, u, &now, &wanted);
    if (refused(c))
        return;
    c->out->id = p->id;
    if (!user_fields_eq(&now, &wanted))
        user_write(c, u, &wanted);
}

void do_user_delete(struct core *c, const struct user_delete_command *p)
{
    const user_ix u = user_by_id(c, p->id);
    if (!u.v) {
        refuse_missing(c, "id", "user", p->id);
        return;
    }
    if (user_is_last_active_admin(c, u)) {
        refuse(c, PROBLEM_LAST_ADMIN, STR("id"),
               STR("the last admin that is not locked cannot be deleted"));
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
