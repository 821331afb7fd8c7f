// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See rules.h. Signatures are those of the Go sources; arguments after the last used one are omitted unless they can
 * move those before them.
 */
#include "gobin/rules.h"

#include "base/macros.h"

#define FIELD(id) (GOBIN_F_##id + 1)
_Static_assert(GOBIN_F__MAX < 255, "a field's number fits a byte");

/* Members of a frame of headers, and of the fields in it. */
#define META(p) FIELD(p##_META_HEADERS), FIELD(p##_META_FIELDS), FIELD(p##_HEADERS_HEADER), FIELD(p##_HEADER_FLAGS), \
	FIELD(p##_HEADER_STREAM), FIELD(FIELD_NAME), FIELD(FIELD_VALUE)
#define HPACK_FIELD FIELD(FIELD_NAME), FIELD(FIELD_VALUE)
#define RESET(p) FIELD(p##_RESET_HEADER), FIELD(p##_RESET_CODE), FIELD(p##_HEADER_STREAM)
#define DATA_IN(p) FIELD(p##_DATA_HEADER), FIELD(p##_DATA_DATA), FIELD(p##_HEADER_STREAM), FIELD(p##_HEADER_FLAGS)
#define PARSED_DATA FIELD(PARSED_DATA_HEADER), FIELD(PARSED_DATA_DATA), FIELD(XNET_HEADER_STREAM), \
	FIELD(XNET_HEADER_FLAGS)
#define RESPONSE(p) FIELD(p##_RES_STREAM), FIELD(p##_RES_CODE), FIELD(p##_RES_END)
#define STREAM(p) FIELD(p##_STREAM_CC), FIELD(p##_STREAM_ID)
#define WRITE_DATA .signature = "f:p streamID:u endStream:b data:S pad:S", \
	.args = "f streamID endStream data.ptr data.len"

#define HTTP2_RULES(P, package) \
	{ GOBIN_##P##_SERVER_HEADERS, 0, 0, package, "serverConn", "processHeaders", "sc:p f:p", "sc f", \
	  { FIELD(P##_SERVER_CONN), META(P) } }, \
	{ GOBIN_##P##_SERVER_RESPONSE, 0, 0, package, "writeResHeaders", "writeFrame", "w:p ctx:i", "w ctx.data", \
	  { RESPONSE(P) } }, \
	{ GOBIN_##P##_CLIENT_HEADERS, 0, 0, package, "clientConnReadLoop", "processHeaders", "rl:p f:p", "rl f", \
	  { FIELD(P##_LOOP_CC), META(P) } }, \
	{ GOBIN_##P##_SERVER_RESET, 0, 0, package, "serverConn", "processResetStream", "sc:p f:p", "sc f", \
	  { RESET(P) } }, \
	{ GOBIN_##P##_CLIENT_RESET, 0, 0, package, "clientConnReadLoop", "processResetStream", "rl:p f:p", "rl f", \
	  { FIELD(P##_LOOP_CC), RESET(P) } }, \
	{ GOBIN_##P##_WRITE_RESET, 0, 0, package, "Framer", "WriteRSTStream", "f:p streamID:u code:u", \
	  "f streamID code", { 0 } }, \
	{ GOBIN_##P##_SERVER_DONE, 0, 0, package, "serverConn", "closeStream", "sc:p st:p", "sc st", \
	  { FIELD(P##_SERVER_STREAM_ID) } }, \
	{ GOBIN_##P##_CLIENT_DONE, 0, 0, package, "ClientConn", "forgetStreamID", "cc:p id:u", "cc id", { 0 } }, \
	{ GOBIN_##P##_SERVER_DATA, 0, 0, package, "serverConn", "processData", "sc:p f:p", "sc f", { DATA_IN(P) } }, \
	{ GOBIN_##P##_CLIENT_DATA, 0, 0, package, "clientConnReadLoop", "processData", "rl:p f:p", "rl f", \
	  { FIELD(P##_LOOP_CC), DATA_IN(P) } }, \
	{ GOBIN_##P##_CHECK_FRAME, 0, FEAT_##P##_BY_VALUE, package, "Framer", "checkFrameOrder", "fr:p f:i", \
	  "fr f.type f.data", { FIELD(P##_HEADER_STREAM), FIELD(P##_HEADER_FLAGS), FIELD(P##_HEADER_TYPE) } }, \
	{ GOBIN_##P##_CHECK_FRAME, FEAT_##P##_BY_VALUE, 0, package, "Framer", "checkFrameOrder", "fr:p fh:F", \
	  "fr fh.valid fh.type fh.flags fh.length fh.stream", { 0 } }, \
	{ GOBIN_##P##_END_WRITE, 0, 0, package, "Framer", "endWrite", "f:p", "f", \
	  { FIELD(P##_FRAMER_W), FIELD(P##_FRAMER_R), FIELD(P##_FRAMER_WBUF) } }, \
	{ GOBIN_##P##_SERVE, 0, 0, package, "serverConn", "runHandler", "sc:p rw:p", "sc rw", \
	  { FIELD(P##_WRITER_STATE), FIELD(P##_WRITER_STREAM), FIELD(P##_SERVER_STREAM_ID) } }, \
	{ GOBIN_##P##_CLIENT_WRITE, 0, 0, package, "ClientConn", "writeHeaders", \
	  "cc:p streamID:u endStream:b maxFrameSize:w hdrs:S", "cc streamID endStream", { 0 } }

static const struct hooker rows[] = {
	{ GOBIN_GRPC_WRITE_HEADER, 0, 0, PKG_TRANSPORT, "loopyWriter", "writeHeader",
	  "l:p streamID:u endStream:b hf:S onWrite:p", "l streamID endStream hf.ptr hf.len", { HPACK_FIELD } },
	{ GOBIN_GRPC_SERVER_HEADERS, FEAT_CONTEXT, 0, PKG_TRANSPORT, "http2Server", "operateHeaders",
	  "t:p ctx:i frame:p handle:p", "t frame", { META(XNET) } },
	{ GOBIN_GRPC_SERVER_HEADERS, 0, FEAT_CONTEXT, PKG_TRANSPORT, "http2Server", "operateHeaders",
	  "t:p frame:p handle:p traceCtx:p", "t frame", { META(XNET) } },
	{ GOBIN_GRPC_CLIENT_HEADERS, 0, 0, PKG_TRANSPORT, "http2Client", "operateHeaders", "t:p frame:p", "t frame",
	  { META(XNET) } },
	{ GOBIN_GRPC_SERVER_RESET, 0, 0, PKG_TRANSPORT, "http2Server", "handleRSTStream", "t:p f:p", "t f",
	  { RESET(XNET) } },
	{ GOBIN_GRPC_CLIENT_RESET, 0, 0, PKG_TRANSPORT, "http2Client", "handleRSTStream", "t:p f:p", "t f",
	  { RESET(XNET) } },
	{ GOBIN_GRPC_SERVER_CLOSE, 0, 0, PKG_TRANSPORT, "http2Server", "Close", "t:p", "t", { 0 } },
	{ GOBIN_GRPC_CLIENT_CLOSE, 0, 0, PKG_TRANSPORT, "http2Client", "Close", "t:p", "t", { 0 } },
	{ GOBIN_GRPC_CALL, 0, 0, PKG_GRPC, "", "newClientStream", "ctx:i desc:p cc:p method:s opts:S",
	  "method.ptr method.len", { 0 } },
	{ GOBIN_GRPC_UNARY_FAILED, 0, 0, PKG_GRPC, "", "invoke", "cs:i err:i", "err.type err.data", { 0 },
	  AFTER_FAILED_CALL },
	{ GOBIN_GRPC_STREAM_FAILED, 0, 0, PKG_GRPC, "ClientConn", "NewStream", "cs:i err:i", "err.type err.data",
	  { 0 }, AFTER_FAILED_CALL },
	{ GOBIN_GRPC_CLIENT_FIELDS, FEAT_CLIENT_FIELDS, 0, PKG_TRANSPORT, "http2Client", "NewStream", "hf:S err:i",
	  "hf.ptr", { 0 }, AFTER_FIELDS },
	/* once per cycle, the world stopped: live objects are marked, nothing is swept yet */
	{ GOBIN_GO_COLLECTED, 0, 0, PKG_RUNTIME, "gcControllerState", "endCycle", "c:p", "c", { 0 } },
	{ GOBIN_GRPC_SERVER_DATA, FEAT_OWN_WRITER, 0, PKG_TRANSPORT, "http2Server", "handleData", "t:p f:p", "t f",
	  { PARSED_DATA } },
	{ GOBIN_GRPC_SERVER_DATA, 0, FEAT_OWN_WRITER, PKG_TRANSPORT, "http2Server", "handleData", "t:p f:p", "t f",
	  { DATA_IN(XNET) } },
	{ GOBIN_GRPC_CLIENT_DATA, FEAT_OWN_WRITER, 0, PKG_TRANSPORT, "http2Client", "handleData", "t:p f:p", "t f",
	  { PARSED_DATA } },
	{ GOBIN_GRPC_CLIENT_DATA, 0, FEAT_OWN_WRITER, PKG_TRANSPORT, "http2Client", "handleData", "t:p f:p", "t f",
	  { DATA_IN(XNET) } },
	{ GOBIN_GRPC_WRITE_DATA, FEAT_OWN_WRITER, 0, PKG_TRANSPORT, "framer", "writeData",
	  "f:p streamID:u endStream:b data:S", "f streamID endStream data.ptr data.len", { 0 } },
	{ GOBIN_XNET_WRITE_DATA, 0, 0, PKG_XNET, "Framer", "WriteDataPadded", WRITE_DATA },
	{ GOBIN_STD_WRITE_DATA, 0, 0, PKG_STD, "Framer", "WriteDataPadded", WRITE_DATA },
	{ GOBIN_XNET_CLIENT_REQUEST, 0, 0, PKG_XNET, "clientStream", "encodeAndWriteHeaders", "cs:p req:p", "cs req",
	  { STREAM(XNET), FIELD(REQUEST_METHOD), FIELD(REQUEST_URL), FIELD(URL_PATH) } },
	{ GOBIN_STD_CLIENT_REQUEST, FEAT_STD_PACKAGE, 0, PKG_STD, "clientStream", "encodeAndWriteHeaders",
	  "cs:p req:p", "cs req",
	  { STREAM(STD), FIELD(CLIENT_REQUEST_METHOD), FIELD(CLIENT_REQUEST_URL), FIELD(URL_PATH) } },
	{ GOBIN_STD_CLIENT_REQUEST, 0, FEAT_STD_PACKAGE, PKG_STD, "clientStream", "encodeAndWriteHeaders",
	  "cs:p req:p", "cs req", { STREAM(STD), FIELD(REQUEST_METHOD), FIELD(REQUEST_URL), FIELD(URL_PATH) } },
	{ GOBIN_GRPC_SERVE, 0, 0, PKG_GRPC, "Server", "handleStream", "s:p t:i stream:p", "t.data stream",
	  { FIELD(SERVER_CONN), FIELD(STREAM_ID) } },
	{ GOBIN_GRPC_SERVED, FEAT_OWN_STATUS, 0, PKG_TRANSPORT, "http2Server", "writeStatus", "t:p", "t", { 0 } },
	{ GOBIN_GRPC_SERVED, 0, FEAT_OWN_STATUS, PKG_TRANSPORT, "http2Server", "WriteStatus", "t:p", "t", { 0 } },
	{ GOBIN_TLS_READ, 0, 0, PKG_TLS, "Conn", "Read", "c:p b:S", "c b.ptr b.len",
	  { FIELD(TLS_CONN), FIELD(NETFD_PFD), FIELD(POLLFD_SYSFD) }, .returns = true },
	{ GOBIN_TLS_WRITE, 0, 0, PKG_TLS, "Conn", "Write", "c:p b:S", "c b.ptr b.len",
	  { FIELD(TLS_CONN), FIELD(NETFD_PFD), FIELD(POLLFD_SYSFD) }, .returns = true },
	HTTP2_RULES(XNET, PKG_XNET),
	HTTP2_RULES(STD, PKG_STD),
	{ GOBIN_XNET_WRITE_FIELD, 0, 0, PKG_HPACK, "Encoder", "WriteField", "e:p f:H",
	  "e f.name.ptr f.name.len f.value.ptr f.value.len", { 0 } },
	{ GOBIN_STD_WRITE_FIELD, 0, 0, PKG_STD_HPACK, "Encoder", "WriteField", "e:p f:H",
	  "e f.name.ptr f.name.len f.value.ptr f.value.len", { 0 } },
};

static const struct feature_function features[] = {
	{ FEAT_OWN_WRITER, PKG_TRANSPORT, "framer", "writeData" },
	{ FEAT_CLIENT_FIELDS, PKG_TRANSPORT, "http2Client", "createHeaderFields" },
	{ FEAT_OWN_STATUS, PKG_TRANSPORT, "http2Server", "writeStatus" },
	{ FEAT_XNET_BY_VALUE, PKG_XNET, "Framer", "ReadFrameHeader" },
	{ FEAT_STD_BY_VALUE, PKG_STD, "Framer", "ReadFrameHeader" },
};

const struct hooker *rules_hookers(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

const struct feature_function *rules_feature_functions(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(features);
	return features;
}

#define GOBIN_FIELD(id, package, structure, name) [GOBIN_F_##id] = { PKG_##package, structure, name },
const struct field_row field_rows[GOBIN_F__MAX] = {
#include "gobin/fields.def"
};

#define GOBIN_TYPE(id, package, name) [GOBIN_T_##id] = { PKG_##package, name },
#define GOBIN_ITAB(...)
const struct type_row type_rows[GOBIN_T__MAX] = {
#include "gobin/types.def"
};

#define GOBIN_TYPE(...)
#define GOBIN_ITAB(id, package, name, inter_package, inter) \
	[GOBIN_I_##id] = { PKG_##package, name, PKG_##inter_package, inter },
const struct itab_row itab_rows[GOBIN_I__MAX] = {
#include "gobin/types.def"
};
