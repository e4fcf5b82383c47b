/* batch.c - encoding and decoding of the changes of a batch. Stateless. The encoder cannot fail;
 * the decoder returns ERR_CORRUPT for bytes that the encoder does not write and leaves *at
 * unchanged. */
#include "port/batch.h"

/* The key of an object is its id; a relation is its own key. */
static struct record batch_key_of(const struct record *record)
{
    if (record->table >= TABLE_OBJECTS)
        return *record;
    struct record key = {.table = record->table};
    key.id = record->id;
    return key;
}

void batch_put(struct buf *out, const struct change *change)
{
    buf_put_c(out, (char)change->gone);
    if (change->bytes.len) { /* the caller has encoded the record already */
        buf_put_str(out, change->bytes);
        return;
    }
    if (!change->gone) {
        record_encode(&change->record, out);
        return;
    }
    struct record key = batch_key_of(&change->record);
    record_encode(&key, out);
}

err batch_next(struct str changes, uint32_t *at, struct change *out_change)
{
    if (*at >= changes.len || (uint8_t)changes.at[*at] > 1)
        return ERR_CORRUPT;
    uint32_t here = *at + 1;
    out_change->gone = changes.at[*at] == 1;
    out_change->bytes = STR("");
    err e = record_decode(changes, &here, &out_change->record);
    if (e == OK)
        *at = here;
    return e;
}
