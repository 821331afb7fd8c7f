/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnghttp2 (HTTP/2), loaded at run time.
 */
#ifndef HTTP_HTTP2_LIBRARY_H
#define HTTP_HTTP2_LIBRARY_H

#include <nghttp2/nghttp2.h>

struct err;

/* Functions in use, named without "nghttp2_". */
struct http2_library {
	__typeof__(nghttp2_session_callbacks_del) *session_callbacks_del;
	__typeof__(nghttp2_session_callbacks_new) *session_callbacks_new;
	__typeof__(nghttp2_session_callbacks_set_on_begin_headers_callback)
		*session_callbacks_set_on_begin_headers_callback;
	__typeof__(nghttp2_session_callbacks_set_on_data_chunk_recv_callback)
		*session_callbacks_set_on_data_chunk_recv_callback;
	__typeof__(nghttp2_session_callbacks_set_on_frame_recv_callback)
		*session_callbacks_set_on_frame_recv_callback;
	__typeof__(nghttp2_session_callbacks_set_on_header_callback) *session_callbacks_set_on_header_callback;
	__typeof__(nghttp2_session_callbacks_set_on_stream_close_callback)
		*session_callbacks_set_on_stream_close_callback;
	__typeof__(nghttp2_session_del) *session_del;
	__typeof__(nghttp2_session_get_stream_user_data) *session_get_stream_user_data;
	__typeof__(nghttp2_session_mem_recv) *session_mem_recv;
	__typeof__(nghttp2_session_mem_send) *session_mem_send;
	__typeof__(nghttp2_session_resume_data) *session_resume_data;
	__typeof__(nghttp2_session_server_new) *session_server_new;
	__typeof__(nghttp2_session_set_stream_user_data) *session_set_stream_user_data;
	__typeof__(nghttp2_session_terminate_session) *session_terminate_session;
	__typeof__(nghttp2_session_want_read) *session_want_read;
	__typeof__(nghttp2_session_want_write) *session_want_write;
	__typeof__(nghttp2_submit_response) *submit_response;
	__typeof__(nghttp2_submit_settings) *submit_settings;
	__typeof__(nghttp2_submit_trailer) *submit_trailer;
};

/* Fills @ret: library_load(). */
int http2_library_load(struct http2_library *ret, struct err *err);

#endif
