/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime's data about the module: where types and itabs are. Found by symbol, by section or as the structure
 * that points to .gopclntab; the release's layout is found by trying each until every member is plausible. Internal
 * to src/gobin.
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
	uint64_t itabs, itabs_end;	/* since Go 1.27: consecutive itabs */
	uint64_t typedesc_end;		/* since Go 1.27: consecutive descriptors from types to here */
};

/* @minor: hint, 0 = unknown. 0, or -ENOENT with a sentence in *ret_why. */
int gobin_module_find(struct image *img, const struct gopclntab *t, unsigned minor, struct go_module *ret,
		const char **ret_why);

#endif
