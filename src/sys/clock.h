/* clock.h - time and chance, as the kernel has them.
 *
 * What the turn is told through port/clock_port.h comes from here in the daemon. Nothing is kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SYS_TIME_SIZE 32u /* room for sys_time_format, zero included */

int64_t sys_now_ms(void);  /* since 1970; may jump either way */
int64_t sys_mono_ms(void); /* since whenever; never goes back */
/* 64 bits that nobody could have guessed. The kernel refusing is our end. */
uint64_t sys_random64(void);
/* "2024-05-01T12:00:00.250Z" */
void sys_time_format(int64_t now_ms, char out_text[SYS_TIME_SIZE]);
