#include "cli/upload.h"

#include "cli/input.h"
#include "cli/output.h"

/* The text goes as it is: what is wrong with it the daemon says, with lines. */
static enum cli_exit upload(struct errand *e, const char *path)
{
    struct str text;
    const struct json *answer;
    struct json *body = json_make(e->arena, JSON_OBJECT);
    enum cli_exit status = input_read_file(e, path, &text);
    if (status != CLI_FINE)
        return status;
    if (!str_is_clean(text)) {
        words_complain(e->words, "this is not UTF-8", path);
        return CLI_NOTHING;
    }
    json_set(body, STR("value"), json_make_string(e->arena, text));
    const struct question q = {.method = "POST", .path = STR("barclamps"), .body = body};
    status = errand_ask(e, &q, &answer);
    if (status == CLI_FINE)
        output_row(e, answer);
    return status;
}

enum cli_exit upload_barclamps(struct errand *e)
{
    enum cli_exit status = CLI_FINE;
    for (int i = 0; i < e->words->count && status == CLI_FINE; i++)
        status = upload(e, e->words->texts[i]);
    return status;
}
