/* restored.h - the records of a store that is restored or imported.
 *
 * Such a store is older than the world: machines and boot databases have done things since that it
 * does not know. What it says about them is forgotten here, so that no installer is started by an
 * old commit, and boot databases get every machine again.
 */
#pragma once

#include "model/grant.h"

/* how: GRANT_VOID_RESTORED or GRANT_VOID_IMPORTED. Returns true if the record changed. */
bool restored_record_forget(struct record *record, enum grant_void how);
