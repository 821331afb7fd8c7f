/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps the kernel's drop reasons to Cilium's drop codes by tables/cilium_drops.tsv. */
#ifndef CILIUM_KDROPS_H
#define CILIUM_KDROPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reasons that Cilium does not have. Cilium assigns numbers upwards from 130, so the last one stays free longest;
 * clients print it as "255, 0".
 */
#define CILIUM_DROP_OTHER 255
#define CILIUM_DROP_FIRST 130	/* lower codes are not drops */

/* Generated; sorted by name. */
struct kdrop_row {
	const char *name;
	uint8_t code;
};
extern const struct kdrop_row kdrop_rows[];
extern const size_t n_kdrop_rows;

/* @name: reason without SKB_DROP_REASON_, not terminated. CILIUM_DROP_OTHER for NULL and unknown names. */
uint8_t cilium_kdrops_code(const char *name, size_t len);

/* Code with the text @text ("TTL exceeded"), not terminated. CILIUM_DROP_OTHER for NULL and unknown texts. */
uint8_t cilium_kdrops_code_of_text(const char *text, size_t len);

#endif
