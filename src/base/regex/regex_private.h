/* regex_private.h - the program of a pattern, shared by its compiler and its machine.
 *
 * Jumps are relative to the instruction that holds them, so a stretch of code keeps its meaning
 * when it is moved or copied; that is how repeats are unrolled. Code is entered at its first
 * instruction and left by running off its end.
 */
#pragma once

#include "base/regex/regex.h"

enum regex_op {
    REGEX_CHAR,   /* the code point `arg`                              */
    REGEX_LETTER, /* the ASCII letter `arg` (lower case), in any case  */
    REGEX_ANY,    /* anything but a newline                            */
    REGEX_CLASS,  /* a member of class number `arg`                    */
    REGEX_ASSERT, /* nothing, if `arg` (enum regex_assert) holds here  */
    REGEX_JUMP,   /* go on at +x                                       */
    REGEX_SPLIT,  /* go on at +x and at +y                             */
    REGEX_MATCH,
};

enum regex_assert {
    REGEX_LINE_START,   /* ^  */
    REGEX_LINE_END,     /* $  */
    REGEX_TEXT_START,   /* \A */
    REGEX_TEXT_END,     /* \z */
    REGEX_TEXT_LAST,    /* \Z: the end, or the newline that ends the text */
    REGEX_WORD_EDGE,    /* \b */
    REGEX_NO_WORD_EDGE, /* \B */
};

struct regex_inst {
    enum regex_op op;
    uint32_t arg;
    int32_t x;
    int32_t y;
};

struct regex_range {
    uint32_t low;
    uint32_t high;
};

struct regex_class {
    uint64_t ascii[2];          /* one bit for each of the first 128 code points */
    struct regex_range *ranges; /* code points above them, in no order           */
    uint32_t range_count;
    bool negated;
};

struct regex {
    struct regex_inst *code;
    uint32_t code_count;
    struct regex_class *classes;
    uint32_t class_count;
    bool from_start; /* begins with \A: worth trying at offset 0 only */
};

/* The code point at `at`, which must be inside; *out_size is its length in bytes, at least 1. A
 * byte that begins no UTF-8 sequence reads as a lone surrogate, which clean text cannot hold. */
uint32_t regex_decode(struct str s, uint32_t at, uint32_t *out_size);

static inline bool regex_is_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Fills `class` from what follows a '['; defined in regex_class.c, as is the next. */
struct regex_parser;
bool regex_parse_class(struct regex_parser *p, struct regex_class *class);
/* Adds the set of the letter, which must be one of d w s h or their capitals. False: the class has
 * too many ranges, which regex_fail() has recorded. */
bool regex_add_escape_set(struct regex_parser *p, struct regex_class *class, uint32_t letter);

/* The state of one compilation. */
struct regex_parser {
    struct arena *arena;
    struct str pattern;
    uint32_t at;
    uint32_t depth; /* open groups */
    bool ignore_case;
    struct regex *regex;
    uint32_t code_cap;
    uint32_t class_cap;
    err err;
    const char *what;
};

/* Notes the first failure; always false, so that it can be returned. */
bool regex_fail(struct regex_parser *p, err e, const char *what);
/* The next character without taking it, or 0 at the end (a clean pattern holds no zero). */
uint32_t regex_peek(const struct regex_parser *p);
uint32_t regex_take(struct regex_parser *p);
/* Takes what follows a backslash when it denotes one character. */
bool regex_take_escaped(struct regex_parser *p, uint32_t *out_char);
