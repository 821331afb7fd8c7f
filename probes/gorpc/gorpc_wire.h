/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the gorpc probe: HTTP/2 frames as Go programs read and write them, with the headers that were asked
 * for. Pairing requests with responses is the decoder's work.
 */
#ifndef GORPC_WIRE_H
#define GORPC_WIRE_H

#include "sonde/wire.h"

#define GORPC_REC_FRAME SONDE_EV(PROBE_ID, 1)
#define GORPC_REC_MISS SONDE_EV(PROBE_ID, 2)
#define GORPC_REC_OPEN SONDE_EV(PROBE_ID, 3)	/* never a record: the decoder makes the event, likewise below */
#define GORPC_REC_CALL SONDE_EV(PROBE_ID, 4)
#define GORPC_REC_PROGRESS SONDE_EV(PROBE_ID, 5)
#define GORPC_REC_PROGRAM SONDE_EV(PROBE_ID, 6)
#define GORPC_REC_EXEC SONDE_EV(PROBE_ID, 7)	/* a program was started; read by the live half */
#define GORPC_REC_EXIT SONDE_EV(PROBE_ID, 8)	/* a program that is watched ended */
#define GORPC_REC_SHORT SONDE_EV(PROBE_ID, 9)	/* a frame too */
#define GORPC_REC_DATA SONDE_EV(PROBE_ID, 10)	/* never a record */

/* Ledger classes. */
#define GORPC_CLASS_CALL 0	/* places in programs */
#define GORPC_CLASS_LIFE 1	/* tracepoints of tasks */

/* What happened to the stream. Append only. */
#define GORPC_WHAT_HEADERS 1	/* a HEADERS frame: request, response or trailers */
#define GORPC_WHAT_DATA 2
#define GORPC_WHAT_RESET 3	/* RST_STREAM; `code` says why */
#define GORPC_WHAT_DONE 4	/* the program is done with the stream */
#define GORPC_WHAT_CONN_END 5	/* the connection is closed; no stream */

/* Whose side of the connection the process has. */
#define GORPC_SIDE_UNKNOWN 0
#define GORPC_SIDE_CLIENT 1
#define GORPC_SIDE_SERVER 2

#define GORPC_F_END_STREAM 1	/* nothing more comes from whoever sent this */
#define GORPC_F_SENT 2		/* by this process; else received */
#define GORPC_F_SOCK 4		/* family, ports and addresses are known */
#define GORPC_F_MORE_FIELDS 8	/* there were more headers than were looked at */
#define GORPC_F_WEB 16		/* net/http's or x/net's HTTP/2, not gRPC's own transport */

/* A frame. Headers or, of DATA, payload that was asked for (both struct gorpc_field) lie behind it. */
struct gorpc_frame_rec {
	struct sonde_rec hdr;
	__u64 conn;		/* address of the connection's object in the process: with stream the key */
	__u64 goid, parent_goid; /* of the goroutine that was running; requests only */
	__u64 cookie;		/* of the socket, 0 = nobody asked for it yet */
	__u32 stream;
	__u32 code;		/* HTTP status, or reason of the reset */
	__u32 bytes;		/* of payload in the frame, DATA only */
	__s32 fd;		/* -1 = not known */
	__u32 netns;
	__u8 what;		/* GORPC_WHAT_* */
	__u8 side;		/* GORPC_SIDE_* */
	__u8 flags;		/* GORPC_F_* */
	__u8 family;		/* AF_UNIX is 1; else 4 or 6 */
	__u16 lport, rport;	/* host order */
	__u16 n_fields;		/* headers of the frame, also those that nobody asked for */
	__u16 fields_len;	/* bytes of fields behind the struct */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
};

/* A frame that belongs to a call whose request told the rest: 64 bytes. Headers lie behind it. */
struct gorpc_short_rec {
	struct sonde_rec hdr;
	__u64 conn;
	__u32 stream;
	__u32 value;		/* of DATA bytes, else code */
	__u8 what, side, flags, pad;
	__u16 n_fields, fields_len;
};

/* Headers by number. Append only. */
enum gorpc_header {
	GORPC_H_OTHER,		/* a configured one: its name stands in front of the value */
	GORPC_H_PATH,
	GORPC_H_METHOD,
	GORPC_H_AUTHORITY,
	GORPC_H_STATUS,
	GORPC_H_CONTENT_TYPE,
	GORPC_H_USER_AGENT,
	GORPC_H_GRPC_STATUS,
	GORPC_H_GRPC_MESSAGE,
	GORPC_H_GRPC_TIMEOUT,
	GORPC_H_TRACEPARENT,
	GORPC_H_PAYLOAD,	/* the first bytes of a DATA frame; several follow one another */
	GORPC_H__MAX,
};

#define GORPC_FIELD_CUT 1	/* the value was longer */
#define GORPC_FIELD_SECRET 2	/* the value is not here; `len` bytes of name are */
#define GORPC_FIELD_FAULT 4	/* the value could not be read */

/* Not aligned. The name (of GORPC_H_OTHER), then the value. */
struct gorpc_field {
	__u8 header;		/* enum gorpc_header */
	__u8 flags;		/* GORPC_FIELD_* */
	__u8 name_len;
	__u8 pad;
	__u16 value_len;	/* bytes here */
	__u16 full_len;		/* bytes there were, at most 65535 */
};

/* How often something could not be done, and where. */
struct gorpc_miss_rec {
	struct sonde_rec hdr;
	__u64 count;
	__u16 site;		/* number of gorpc_sites.def */
	__u16 line;
	__u32 pad;
	char file[32];
	char reason[96];
};

/* A program whose calls can be seen from here on, or why they cannot. */
struct gorpc_program_rec {
	struct sonde_rec hdr;
	__u32 n_sites;		/* places that are watched; 0 = refused */
	__u32 text_len;		/* bytes behind the struct: Go version, or the reason */
};

struct gorpc_exec_rec {
	struct sonde_rec hdr;
	__u64 ino;
	__u32 dev;		/* kernel's dev_t: major << 20 | minor */
	__u32 known;		/* its calls are seen already: the file was known */
};

/* ---- what the BPF programs know of a program ---- */

#define GORPC_NAME_BYTES 32	/* longest header name that can be asked for */

struct gorpc_name {
	char name[GORPC_NAME_BYTES]; /* zero behind the name */
};

struct gorpc_name_val {
	__u8 header;		/* enum gorpc_header */
	__u8 secret;
};

/* Places in Go programs, the low bits of the attach cookie: gRPC's transport first, then the HTTP/2 of the web. */
enum gorpc_place {
	GORPC_LOOPY_HEADERS,	/* grpc transport.(*loopyWriter).writeHeader */
	GORPC_SERVER_HEADERS,	/* transport.(*http2Server).operateHeaders */
	GORPC_CLIENT_HEADERS,	/* transport.(*http2Client).operateHeaders */
	GORPC_SERVER_RESET,	/* transport.(*http2Server).handleRSTStream */
	GORPC_CLIENT_RESET,	/* transport.(*http2Client).handleRSTStream */
	GORPC_WRITE_RESET,	/* http2.(*Framer).WriteRSTStream */
	GORPC_SERVER_CLOSE,	/* transport.(*http2Server).Close */
	GORPC_CLIENT_CLOSE,	/* transport.(*http2Client).Close */
	GORPC_SERVER_DATA,	/* transport.(*http2Server).handleData */
	GORPC_CLIENT_DATA,	/* transport.(*http2Client).handleData */
	GORPC_FRAMER_DATA,	/* http2.(*Framer).WriteDataPadded, gRPC's and the web's */
	GORPC_WRITE_DATA,	/* transport.(*framer).writeData */
	GORPC_FRAME_ORDER,	/* http2.(*Framer).checkFrameOrder: counted only */
	GORPC_WRITE_FIELD,	/* hpack.(*Encoder).WriteField: likewise */
	GORPC_WEB_FIRST,
	GORPC_WEB_HEADERS = GORPC_WEB_FIRST, /* (*serverConn).processHeaders */
	GORPC_WEB_RESPONSE,	/* (*writeResHeaders).writeFrame */
	GORPC_WEB_DONE,		/* (*serverConn).closeStream */
	GORPC_WEB_DATA,		/* (*serverConn).processData */
	GORPC_WEB_RESET,	/* (*serverConn).processResetStream */
	GORPC_WEBC_REQUEST,	/* (*clientStream).encodeAndWriteHeaders */
	GORPC_WEBC_HEADERS,	/* (*clientConnReadLoop).processHeaders */
	GORPC_WEBC_DONE,	/* (*ClientConn).forgetStreamID */
	GORPC_WEBC_DATA,	/* (*clientConnReadLoop).processData */
	GORPC_WEBC_RESET,	/* (*clientConnReadLoop).processResetStream */
	GORPC_COLLECTED,	/* runtime.(*gcControllerState).endCycle: no frame */
	GORPC_PLACE__MAX,
};

#define GORPC_COOKIE_PLACE 0x1f
#define GORPC_COOKIE_SHIFT 5	/* above it: struct gorpc_key's module */

/* Where an argument is: a register by its number among those for integers, or a place above the stack pointer. */
#define GORPC_ARG_NONE 0xff
#define GORPC_ARG_STACK 0x80	/* | offset / 4 */
#define GORPC_ARGS 5
#define GORPC_REGS 16

#define GORPC_WRAPPERS 8
#define GORPC_SELECTED_YES 1
#define GORPC_SELECTED_NO 2
#define GORPC_LEARNT 32		/* a power of two, likewise */
#define GORPC_LEARNT_VALUES 8
#define GORPC_NO_OFF 0xffff	/* an offset that is not known */

/* Groups of a map: eight entries each, behind eight marks. */
#define GORPC_MAP_UNKNOWN 0
#define GORPC_MAP_BUCKETS 1	/* keys, values, next group: up to Go 1.23 */
#define GORPC_MAP_PAIRS 2
#define GORPC_MAP_ARRAYS 3	/* keys, values */

struct gorpc_key {
	__u32 tgid;
	__u32 module;		/* number of the file and, in the lowest bit, which copy of HTTP/2 in it */
};

/* A file whose places are watched: its next process is known from its first instruction on. */
struct gorpc_file_key {
	__u64 ino, size;
	__u32 dev, pad;
};

struct gorpc_file_val {
	__u64 code;		/* address of the first executable segment in the file */
	__u32 module;		/* lowest bit 0 */
	__u32 moves;		/* loaded at another address than it was linked to */
};

/* Offsets are bytes. Types are addresses in the process, 0 = not in this program. */
struct gorpc_layout {
	__u32 restarts;		/* bits of places that sit on a conditional branch which restarts the function */
	__u32 born;		/* another one for each process that had the number, as good as certainly */
	__u8 args[GORPC_PLACE__MAX][GORPC_ARGS];
	__u64 tcp_type, unix_type, bufw_type;
	__u64 fixed_lo, fixed_hi;	/* bytes that cannot be written to: literals, so most names of headers */
	__u64 wrapper_type[GORPC_WRAPPERS];
	__u16 wrapper_conn[GORPC_WRAPPERS];
	__u16 goid, parent_goid;
	__u16 conn_fd, sysfd;		/* net.conn.fd, net.netFD.pfd.Sysfd */
	__u16 loopy_side, loopy_conn, loopy_framer, framer_writer, bufw_conn;
	__u16 server_conn, client_conn;
	__u16 meta_fields, frame_flags, frame_length, frame_stream, reset_code;
	__u16 framer_w, framer_fr;
	__u16 grpc_data, web_data;	/* slice of a DATA frame, of gRPC or the web */
	__u16 data_boxed;		/* the former is a mem.Buffer */
	__u16 sc_conn, sc_framer, res_stream, res_code, res_h, res_end, st_id;
	__u16 cs_id, cs_cc, cc_conn, cc_framer, rl_cc;
	__u16 req_method, req_url, req_host, req_header, url_path, url_host;
	__u16 map_kind;		/* GORPC_MAP_*: how a map of headers keeps its entries */
	/*
	 * What the BPF programs found out and need not read again, 0 at the beginning: an itab of net.TCPConn's (the
	 * runtime never frees or changes one), names and short values of headers that are literals
	 * (gorpc_fields.bpf.h).
	 */
	__u64 tcp_itab;
	__u64 start_ns;			/* of the process */
	__u32 collected;		/* cycles of the garbage collector that were seen to end */
	__u32 selected;			/* by its process: GORPC_SELECTED_*, 0 = not asked yet */
	__u32 closed, pad;		/* connections of it that were seen to be closed */
	__u64 names[GORPC_LEARNT], values[GORPC_LEARNT_VALUES];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct gorpc_frame_rec) == 40 + 32 + 20 + 4 + 8 + 32, "gorpc_frame_rec is ABI");
_Static_assert(sizeof(struct gorpc_short_rec) == 64, "gorpc_short_rec is ABI");
_Static_assert(sizeof(struct gorpc_field) == 8, "gorpc_field is ABI");
_Static_assert(sizeof(struct gorpc_miss_rec) == 40 + 16 + 128, "gorpc_miss_rec is ABI");
_Static_assert(sizeof(struct gorpc_program_rec) == 48, "gorpc_program_rec is ABI");
_Static_assert(sizeof(struct gorpc_exec_rec) == 56, "gorpc_exec_rec is ABI");
_Static_assert(sizeof(struct gorpc_layout) < 700, "as many processes as there are");
_Static_assert(GORPC_PLACE__MAX <= GORPC_COOKIE_PLACE + 1, "places fit the cookie");
#endif

#endif
