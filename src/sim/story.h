/* story.h - how a small rack comes up, told as a table. What ./quickstart shows until there is a
 * daemon: eight machines, six roles, one failure, why, retry, done. The engine is the real one. */
#pragma once

#include <stdio.h>

/* 0 when it ended well. */
int story_tell(FILE *out);
