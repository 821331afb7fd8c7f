// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/library/library.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/err.h"
#include "base/macros.h"

int library_load(const struct library *l, void *ret, struct err *err)
{
	void *lib = NULL, *function = NULL;

	for (size_t i = 0; !lib && i < ARRAY_SIZE(l->files) && l->files[i]; i++)
		lib = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; lib && i < l->n; i++) {
		function = dlsym(lib, l->symbols[i].name);
		if (!function)
			return err_set(err, -ELIBACC, "%s has no %s: install the package %s of this release",
				       l->name, l->symbols[i].name, l->package);
		*(void **)((char *)ret + l->symbols[i].off) = function;
	}
	return lib ? 0 : err_set(err, -ELIBACC, "%s cannot be loaded: install the Debian package %s", l->name,
				 l->package);
}
