// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http2_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/macros.h"

#define ROW(name) { "nghttp2_" #name, offsetof(struct http2_library, name) }

static const struct { const char *symbol; size_t off; } rows[] = {
	ROW(session_callbacks_del), ROW(session_callbacks_new), ROW(session_callbacks_set_on_begin_headers_callback),
	ROW(session_callbacks_set_on_data_chunk_recv_callback), ROW(session_callbacks_set_on_frame_recv_callback),
	ROW(session_callbacks_set_on_header_callback), ROW(session_callbacks_set_on_stream_close_callback),
	ROW(session_del), ROW(session_get_stream_user_data), ROW(session_mem_recv), ROW(session_mem_send),
	ROW(session_resume_data), ROW(session_server_new), ROW(session_set_stream_user_data),
	ROW(session_terminate_session), ROW(session_want_read), ROW(session_want_write), ROW(submit_response),
	ROW(submit_settings), ROW(submit_trailer),
};
_Static_assert(ARRAY_SIZE(rows) * sizeof(void *) == sizeof(struct http2_library), "a row per function");

int http2_library_load(struct http2_library *ret)
{
	static const char *const names[] = { "libnghttp2.so.14", "libnghttp2.so" };
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
