/* names.c - the checks of names. Stateless. The checks of a name run from general to special
 * (present, length, UTF-8, characters, structure), and the message of the first one that fails is
 * returned. The later checks rely on the earlier ones: name.at[0] is read only if the name is not
 * empty. */
#include "model/names.h"

#include "model/limits.h"

static const char IS_REQUIRED[] = "is required";
static const char NOT_UTF8[] = "must be UTF-8 text without zero bytes";
static const char OVER_255[] = "must be at most 255 characters";
static const char ONLY_DIGITS[] = "must not be made of digits only";
static const char LETTER_FIRST[] = "must begin with a letter";
static const char LOWER_CASE[] = "must be in lower case";
static const char NOT_EMAIL[] = "must look like local@domain.tld";

_Static_assert(NAME_LEN_MAX == 255, "the message OVER_255 contains the number");
_Static_assert(LABEL_LEN_MAX == 63 && DEPLOYMENT_NAME_LEN_MAX == 55 && NETWORK_NAME_LEN_MAX == 48,
               "the messages below contain the numbers");
_Static_assert(TEXT_MAX == 65536, "the message of names_check_text contains the number");

/* The rules that hold for every name that serves as a key. */
static const char *name_check_key(struct str name)
{
    if (name.len == 0)
        return IS_REQUIRED;
    if (name.len > NAME_LEN_MAX)
        return OVER_255;
    if (!str_is_clean(name))
        return NOT_UTF8;
    if (str_is_digits(name))
        return ONLY_DIGITS;
    return NULL;
}

static bool char_is_one_of(char c, const char *others)
{
    for (; *others; others++)
        if (c == *others)
            return true;
    return false;
}

/* True if `s` consists of ASCII letters, digits and the characters of `others`. */
static bool str_is_made_of(struct str s, const char *others)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_letter(s.at[i]) && !char_is_digit(s.at[i]) && !char_is_one_of(s.at[i], others))
            return false;
    return true;
}

static bool str_is_letters(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_letter(s.at[i]))
            return false;
    return true;
}

static bool str_has_capital(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (s.at[i] >= 'A' && s.at[i] <= 'Z')
            return true;
    return false;
}

static bool str_has_control(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if ((unsigned char)s.at[i] < 0x20 || s.at[i] == 0x7f)
            return true;
    return false;
}

/* Identifiers of two kinds: without dashes, and with them. */

static const char *name_check_identifier(struct str name)
{
    const char *wrong = name_check_key(name);
    if (wrong)
        return wrong;
    if (!char_is_letter(name.at[0]))
        return LETTER_FIRST;
    if (!str_is_made_of(name, "_"))
        return "may contain only letters, digits and underscores";
    return NULL;
}

static const char *name_check_dashed(struct str name)
{
    const char *wrong = name_check_key(name);
    if (wrong)
        return wrong;
    if (!char_is_letter(name.at[0]))
        return LETTER_FIRST;
    if (!str_is_made_of(name, "-_"))
        return "may contain only letters, digits, dashes and underscores";
    return NULL;
}

const char *names_check_barclamp(struct str name)
{
    static const char *const reserved[] = {
        "framework", "api",    "barclamp", "docs",    "machines",    "jigs",
        "roles",     "groups", "users",    "support", "application",
    };
    const char *wrong = name_check_identifier(name);
    if (wrong)
        return wrong;
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (str_eq_nocase(name, str_from(reserved[i])))
            return "is a reserved word";
    return NULL;
}

const char *names_check_group(struct str name)
{
    return name_check_identifier(name);
}

const char *names_check_jig(struct str name)
{
    return name_check_dashed(name);
}

const char *names_check_role(struct str name)
{
    return name_check_dashed(name);
}

const char *names_check_hammer(struct str name)
{
    return name_check_dashed(name);
}

const char *names_check_deployment(struct str name)
{
    const char *wrong = name_check_dashed(name);
    if (wrong)
        return wrong;
    if (name.len > DEPLOYMENT_NAME_LEN_MAX)
        return "must be at most 55 characters";
    return NULL;
}

const char *names_check_network(struct str name)
{
    if (name.len > NETWORK_NAME_LEN_MAX)
        return "must be at most 48 characters";
    return name_check_dashed(name);
}

/* Check the name with each variable replaced by one letter. */
static const char *name_check_pattern(struct str name, uint32_t variables_max,
                                      const char *(*check)(struct str))
{
    const struct str variable = STR(NAME_VARIABLE);
    char plain[NAME_LEN_MAX];
    uint32_t len = 0, variables = 0;
    if (name.len > NAME_LEN_MAX)
        return OVER_255;
    for (uint32_t i = 0; i < name.len; len++) {
        const bool is_variable = str_starts(str_slice(name, i, name.len), variable);
        plain[len] = is_variable ? 'n' : name.at[i];
        variables += is_variable;
        i += is_variable ? variable.len : 1;
    }
    if (variables > variables_max)
        return "may contain {name} only once";
    return check((struct str){plain, len});
}

const char *names_check_role_pattern(struct str name)
{
    return name_check_pattern(name, 1, names_check_role);
}

const char *names_check_attrib_pattern(struct str name)
{
    return name_check_pattern(name, NAME_LEN_MAX, names_check_attrib);
}

const char *names_check_label(struct str label)
{
    if (label.len == 0)
        return IS_REQUIRED;
    if (label.len > NAME_LEN_MAX)
        return OVER_255;
    if (!str_is_clean(label))
        return NOT_UTF8;
    if (str_has_control(label))
        return "must not contain control characters";
    return NULL;
}

const char *names_check_category(struct str category)
{
    static const char *const known[] = {"class", "rack", "tag", "ui"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(category, str_from(known[i])))
            return NULL;
    return "must be one of class, rack, tag, ui";
}

/* Returns the label [*at, dot) and advances *at past the dot; after the last label, *at is
 * s.len + 1. */
static struct str name_next_label(struct str s, uint32_t *at)
{
    const uint32_t dot = str_find(s, '.', *at);
    const struct str label = str_slice(s, *at, dot);
    *at = dot + 1;
    return label;
}

const char *names_check_node(struct str name)
{
    const char *wrong = name_check_key(name);
    if (wrong)
        return wrong;
    if (!str_is_made_of(name, "-_."))
        return "may contain only letters, digits, dashes, underscores and dots";
    if (str_has_capital(name))
        return LOWER_CASE;

    struct str label = {0};
    uint32_t labels = 0;
    for (uint32_t at = 0; at <= name.len; labels++) {
        label = name_next_label(name, &at);
        if (label.len == 0)
            return "must not have an empty part before, between or after its dots";
        if (label.len > LABEL_LEN_MAX)
            return "must not have a part longer than 63 characters";
    }
    if (labels < 3)
        return "must have at least three parts, as in host.example.com";
    if (label.len < 2 || !str_is_letters(label))
        return "must end in a part of at least two letters";
    return NULL;
}

const char *names_check_attrib(struct str name)
{
    const char *wrong = name_check_key(name);
    if (wrong)
        return wrong;
    if (char_is_digit(name.at[0]))
        return "must not begin with a digit";
    if (!str_is_made_of(name, "-_."))
        return "may contain only letters, digits, dashes, underscores and dots";
    if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
        return "must not be made of dots only";
    return NULL;
}

const char *names_check_bootenv(struct str name)
{
    const char *wrong = names_check_attrib(name);
    if (wrong)
        return wrong;
    return str_eq_nocase(name, STR("local")) ? "must not be local, which means the disk" : NULL;
}

const char *names_check_boot_path(struct str path)
{
    if (path.len == 0)
        return IS_REQUIRED;
    if (path.len > NAME_LEN_MAX)
        return OVER_255;
    if (!str_is_made_of(path, "-_.+/"))
        return "may contain only letters, digits and the characters - _ . + /";
    for (uint32_t from = 0, to; from <= path.len; from = to + 1) {
        to = str_find(path, '/', from);
        const struct str segment = str_slice(path, from, to);
        if (segment.len == 0 || str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
            return "must be a relative path without empty segments, . and ..";
    }
    return NULL;
}

const char *names_check_boot_args(struct str args)
{
    if (args.len > BOOT_ARGS_LEN_MAX)
        return "must be at most 2000 bytes";
    if (!str_is_clean(args))
        return NOT_UTF8;
    return str_has_control(args) ? "must be one line without control characters" : NULL;
}

const char *names_check_boot_method(struct str method)
{
    const bool is_known = str_eq(method, STR("discovery")) || str_eq(method, STR("image")) ||
                          str_eq(method, STR("installer"));
    return is_known ? NULL : "must be discovery, image or installer";
}

static bool name_is_blank(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (s.at[i] != ' ')
            return false;
    return true;
}

const char *names_check_snapshot(struct str name)
{
    const char *wrong = name_check_key(name);
    if (wrong)
        return wrong;
    if (name_is_blank(name))
        return IS_REQUIRED;
    if (str_has_control(name))
        return "must be one line without control characters";
    return NULL;
}

const char *names_check_username(struct str username)
{
    const char *wrong = name_check_key(username);
    if (wrong)
        return wrong;
    if (str_has_control(username) || str_find(username, ' ', 0) < username.len)
        return "must not contain spaces or control characters";
    if (str_find(username, ':', 0) < username.len || str_find(username, '/', 0) < username.len)
        return "must not contain ':' or '/'";
    if (str_has_capital(username))
        return LOWER_CASE;
    return NULL;
}

/* A dotted name with two or more labels, or localhost. The last label is not a number, so that an
 * IPv4 address is not accepted as a domain. */
static bool email_is_domain(struct str domain)
{
    struct str label = {0};
    uint32_t labels = 0;
    for (uint32_t at = 0; at <= domain.len; labels++) {
        label = name_next_label(domain, &at);
        if (label.len == 0 || label.len > LABEL_LEN_MAX || !str_is_made_of(label, "-"))
            return false;
        if (label.at[0] == '-' || label.at[label.len - 1] == '-')
            return false;
    }
    if (labels == 1)
        return str_eq(domain, STR("localhost"));
    return label.len >= 2 && !str_is_digits(label);
}

const char *names_check_email(struct str email)
{
    if (email.len == 0)
        return IS_REQUIRED;
    if (email.len > NAME_LEN_MAX)
        return OVER_255;
    if (!str_is_clean(email))
        return NOT_UTF8;
    const uint32_t sign = str_find(email, '@', 0);
    if (sign == 0 || sign == email.len)
        return NOT_EMAIL;
    const struct str local = str_slice(email, 0, sign);
    if (str_has_control(local) || str_find(local, ' ', 0) < local.len)
        return NOT_EMAIL;
    if (!email_is_domain(str_slice(email, sign + 1, email.len)))
        return NOT_EMAIL;
    if (str_has_capital(email))
        return LOWER_CASE;
    return NULL;
}

const char *names_check_text(struct str text)
{
    if (text.len > TEXT_MAX)
        return "must be at most 65536 bytes";
    if (!str_is_clean(text))
        return NOT_UTF8;
    return NULL;
}
