// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/macros.h"

#define ROW(name) { "MHD_" #name, offsetof(struct http_library, name) }

static const struct { const char *symbol; size_t off; } rows[] = {
	ROW(add_response_header), ROW(create_response_from_buffer), ROW(create_response_from_callback),
	ROW(destroy_response), ROW(get_connection_info), ROW(get_connection_values), ROW(get_daemon_info),
	ROW(get_timeout), ROW(lookup_connection_value), ROW(queue_response), ROW(resume_connection), ROW(run),
	ROW(start_daemon), ROW(stop_daemon), ROW(suspend_connection),
};
_Static_assert(ARRAY_SIZE(rows) * sizeof(void *) == sizeof(struct http_library), "a row per function");

int http_library_load(struct http_library *ret)
{
	static const char *const names[] = { "libmicrohttpd.so.12", "libmicrohttpd.so" };
	void *lib = NULL;

	for (size_t i = 0; !lib && i < ARRAY_SIZE(names); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -ELIBACC;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *function = dlsym(lib, rows[i].symbol);

		if (!function)
			return -ELIBACC;
		*(void **)((char *)ret + rows[i].off) = function;
	}
	return 0;
}
