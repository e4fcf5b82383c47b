/* clock.h - clocks and random numbers of the kernel.
 *
 * The daemon implements port/clock_port.h with these functions. They keep no state.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SYS_TIME_SIZE 32u /* buffer of sys_time_format(), in bytes, with the terminating zero */

int64_t sys_now_ms(void);  /* since 1970; may jump forward or back */
int64_t sys_mono_ms(void); /* since an unspecified time; never decreases */
/* 64 unpredictable bits. Aborts if the kernel does not supply them. */
uint64_t sys_random64(void);
/* "2024-05-01T12:00:00.250Z" */
void sys_time_format(int64_t now_ms, char out_text[SYS_TIME_SIZE]);
