/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel side counted, as records.
 */
#ifndef SYS_SUMS_H
#define SYS_SUMS_H

struct bpf_object;
struct probe;

/* Puts a record for each call that was made into the stream, that with the most time first. 0 or a negative errno. */
int sums_tell(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis);

#endif
