/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime's data about the module: where types and itabs are. Found by symbol, by section or as what points to
 * .gopclntab; which release's layout they have is found by trying: one where everything is where it must be.
 * Internal to src/gobin.
 */
#ifndef GOBIN_MODULE_H
#define GOBIN_MODULE_H

#include <stdint.h>

#include "gobin/image.h"

struct gopclntab;

struct go_module {
	uint64_t addr;			/* of the module data */
	uint64_t types, etypes;
	uint64_t typelinks, n_typelinks;	/* addresses of int32 offsets; 0 since Go 1.27 */
	uint64_t itablinks, n_itablinks;	/* address of pointers; 0 since Go 1.27 */
	uint64_t itabs, itabs_end;	/* since Go 1.27: they stand in a row */
	uint64_t typedesc_end;		/* since Go 1.27: descriptors stand in a row from types to here */
};

/* @minor: hint, 0 = unknown. 0, or -ENOENT with a sentence in *ret_why. */
int gobin_module_find(struct image *img, const struct gopclntab *t, unsigned minor, struct go_module *ret,
		const char **ret_why);

#endif
