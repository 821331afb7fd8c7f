/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's drop reasons as Cilium's drop codes; the table is tables/cilium_drops.tsv. */
#ifndef CILIUM_KDROPS_H
#define CILIUM_KDROPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Every reason that Cilium has no word for. Its numbers grow from 130 upwards, so the last one will be free longest;
 * clients print it as "255, 0".
 */
#define CILIUM_DROP_OTHER 255
#define CILIUM_DROP_FIRST 130	/* below are no drops */

/* Sorted by name. Generated. */
struct kdrop_row {
	const char *name;
	uint8_t code;
};
extern const struct kdrop_row kdrop_rows[];
extern const size_t n_kdrop_rows;

/* @name as the kernel has it without SKB_DROP_REASON_, not terminated; NULL and unknown ones: CILIUM_DROP_OTHER. */
uint8_t cilium_kdrops_code(const char *name, size_t len);

/* The code with this text ("TTL exceeded"), not terminated; NULL and unknown ones: CILIUM_DROP_OTHER. */
uint8_t cilium_kdrops_code_of_text(const char *text, size_t len);

#endif
