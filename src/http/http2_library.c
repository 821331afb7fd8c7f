// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http2_library.h"

#include "base/library/library.h"
#include "base/macros.h"

#define ROW(name) { "nghttp2_" #name, offsetof(struct http2_library, name) }

static const struct library_symbol symbols[] = {
	ROW(session_callbacks_del), ROW(session_callbacks_new), ROW(session_callbacks_set_on_begin_headers_callback),
	ROW(session_callbacks_set_on_data_chunk_recv_callback), ROW(session_callbacks_set_on_frame_recv_callback),
	ROW(session_callbacks_set_on_header_callback), ROW(session_callbacks_set_on_stream_close_callback),
	ROW(session_del), ROW(session_get_stream_user_data), ROW(session_mem_recv), ROW(session_mem_send),
	ROW(session_resume_data), ROW(session_server_new), ROW(session_set_stream_user_data),
	ROW(session_terminate_session), ROW(session_want_read), ROW(session_want_write), ROW(submit_response),
	ROW(submit_settings), ROW(submit_trailer),
};
_Static_assert(ARRAY_SIZE(symbols) * sizeof(void *) == sizeof(struct http2_library), "a row per function");

int http2_library_load(struct http2_library *ret, struct err *err)
{
	static const struct library lib = {
		.name = "libnghttp2", .package = "libnghttp2-14",
		.files = { "libnghttp2.so.14", "libnghttp2.so" },
		.symbols = symbols, .n = ARRAY_SIZE(symbols),
	};

	return library_load(&lib, ret, err);
}
