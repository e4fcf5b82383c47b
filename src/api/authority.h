/* authority.h - who may do what. */
#pragma once

#include "api/call.h"

bool authority_is_admin(const struct call *call);
/* 403, with a sentence. */
void authority_refuse(struct call *call, struct str text);
