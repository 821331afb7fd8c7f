// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http_library.h"

#include "base/library/library.h"
#include "base/macros.h"

#define ROW(name) { "MHD_" #name, offsetof(struct http_library, name) }

static const struct library_symbol symbols[] = {
	ROW(add_response_header), ROW(create_response_from_buffer), ROW(create_response_from_callback),
	ROW(destroy_response), ROW(get_connection_info), ROW(get_connection_values), ROW(get_daemon_info),
	ROW(get_timeout), ROW(lookup_connection_value), ROW(queue_response), ROW(resume_connection), ROW(run),
	ROW(start_daemon), ROW(stop_daemon), ROW(suspend_connection),
};
_Static_assert(ARRAY_SIZE(symbols) * sizeof(void *) == sizeof(struct http_library), "a row per function");

int http_library_load(struct http_library *ret, struct err *err)
{
	static const struct library lib = {
		.name = "libmicrohttpd", .package = "libmicrohttpd12",
		.files = { "libmicrohttpd.so.12", "libmicrohttpd.so" },
		.symbols = symbols, .n = ARRAY_SIZE(symbols),
	};

	return library_load(&lib, ret, err);
}
