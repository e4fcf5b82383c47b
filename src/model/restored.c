#include "model/restored.h"

#include "model/record.h"

/* What a restored or imported record does not know. A pure function of the record that cannot
 * fail. */

bool restored_record_forget(struct record *record, enum grant_void how)
{
    const bool is_void = grant_void_record(record, how);
    if (record->table != TABLE_NODEROLE ||
        (!record->noderole.boot_cursor && !record->noderole.boot_staged))
        return is_void;
    record->noderole.boot_cursor = record->noderole.boot_staged = 0;
    return true;
}
