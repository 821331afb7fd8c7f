/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel side counted, as records.
 */
#ifndef SYS_STATS_ROWS_H
#define SYS_STATS_ROWS_H

#include <stdbool.h>

struct bpf_object;
struct probe;

/*
 * Puts a record for each call that was made into the stream, that with the most time first. @drawn: times are those
 * of some calls (sys_sampling.bpf.h), and what they say of all is worked out here. @by: SYS_BY_*; then
 * those with the most time come first, each with its calls behind one another. 0 or a negative errno.
 */
int sys_stats_tell(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, unsigned by,
		   bool drawn);

#endif
