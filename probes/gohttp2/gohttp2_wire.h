/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the gohttp2 probe: HTTP/2 frames as Go programs read and write them, with selected headers. The decoder
 * pairs requests with responses.
 */
#ifndef GOHTTP2_WIRE_H
#define GOHTTP2_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/owner_wire.h"
#include "sonde/wire.h"

#define GOHTTP2_REC_FRAME SONDE_EV(PROBE_ID, 1)
#define GOHTTP2_REC_MISS SONDE_EV(PROBE_ID, 2)
/* 3, 4, 5, 10: events of the decoder (call/call_event.h), never records */
#define GOHTTP2_REC_PROGRAM SONDE_EV(PROBE_ID, 6)
#define GOHTTP2_REC_EXEC SONDE_EV(PROBE_ID, 7)	/* a program started; no longer written */
#define GOHTTP2_REC_EXIT SONDE_EV(PROBE_ID, 8)	/* a watched program exited */
#define GOHTTP2_REC_SHORT SONDE_EV(PROBE_ID, 9) /* a frame, shorter */
#define GOHTTP2_REC_START SONDE_EV(PROBE_ID, 11) /* a program started; for the live half */
#define GOHTTP2_REC_LATE SONDE_EV(PROBE_ID, 12)	/* a program ran before its file was watched */
#define GOHTTP2_REC_LOG SONDE_EV(PROBE_ID, 13)	/* a goroutine that serves a call wrote to a log */

#define GOHTTP2_REC_RANGE SONDE_EV(PROBE_ID, 14) /* the bytes of a frame in the TCP stream */

/* Ledger classes. */
#define GOHTTP2_CLASS_CALL 0 /* probe sites in programs */
#define GOHTTP2_CLASS_LIFE 1 /* tracepoints of tasks */
#define GOHTTP2_CLASS_LOG 2 /* exit of system calls */
#define GOHTTP2_CLASS_RANGE 3 /* facts of the sites of class 0 */

/* Kinds of frames and of stream events. Append only. */
#define GOHTTP2_WHAT_HEADERS 1 /* a HEADERS frame: request, response or trailers */
#define GOHTTP2_WHAT_DATA 2
#define GOHTTP2_WHAT_RESET 3	/* RST_STREAM; `code` is the error */
#define GOHTTP2_WHAT_DONE 4	/* the program dropped the stream */
#define GOHTTP2_WHAT_CONN_END 5 /* the connection is closed; no stream */
#define GOHTTP2_WHAT_UNSENT 6	/* no frame: a client's call failed before it was sent; `code` is its status */

/* Side of the process on the connection. */
#define GOHTTP2_SIDE_UNKNOWN 0
#define GOHTTP2_SIDE_CLIENT 1
#define GOHTTP2_SIDE_SERVER 2

#define GOHTTP2_F_END_STREAM 1	/* the sender ended its half of the stream */
#define GOHTTP2_F_SENT 2	/* sent by this process; else received */
#define GOHTTP2_F_SOCK 4	/* family, ports and addresses are known */
#define GOHTTP2_F_MORE_FIELDS 8 /* the frame has more headers than were read */
#define GOHTTP2_F_WEB 16	/* net/http's or x/net's HTTP/2, not gRPC's own transport */

/* A frame, followed by headers or (DATA) payload, both as struct gohttp2_field. */
struct gohttp2_frame_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 conn;		 /* address of the connection's object in the process; key with stream.
				    GOHTTP2_WHAT_UNSENT: when the call began, boot clock; 0 = unknown */
	__u64 goid, parent_goid; /* of the running goroutine; requests only */
	__u64 cookie;		 /* of the socket; 0 = not assigned yet */
	__u32 stream;
	__u32 code;  /* HTTP status, or reason of the reset */
	__u32 bytes; /* of payload in the frame, DATA only */
	__s32 fd;    /* -1 = unknown */
	__u32 netns;
	__u8 what;		   /* GOHTTP2_WHAT_* */
	__u8 side;		   /* GOHTTP2_SIDE_* */
	__u8 flags;		   /* GOHTTP2_F_* */
	__u8 family;		   /* AF_UNIX is 1; else SONDE_IPV4, SONDE_IPV6 */
	__u16 lport, rport;	   /* host order */
	__u16 n_fields;		   /* headers of the frame, selected or not */
	__u16 fields_len;	   /* bytes of fields after the struct */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
};

/* A frame other than a request, in 64 bytes, followed by headers. The origin is known from the request. */
struct gohttp2_short_rec {
	struct sonde_rec hdr;
	__u64 conn;
	__u32 stream;
	__u32 value; /* of DATA bytes, else code */
	__u8 what, side, flags, pad;
	__u16 n_fields, fields_len;
};

/* Headers by number. Append only. */
enum gohttp2_header {
	GOHTTP2_H_OTHER, /* of --header: its name precedes the value */
	GOHTTP2_H_PATH,
	GOHTTP2_H_METHOD,
	GOHTTP2_H_AUTHORITY,
	GOHTTP2_H_STATUS,
	GOHTTP2_H_CONTENT_TYPE,
	GOHTTP2_H_USER_AGENT,
	GOHTTP2_H_GRPC_STATUS,
	GOHTTP2_H_GRPC_MESSAGE,
	GOHTTP2_H_GRPC_TIMEOUT,
	GOHTTP2_H_TRACEPARENT,
	GOHTTP2_H_PAYLOAD, /* first bytes of a DATA frame; its pieces follow each other */
	GOHTTP2_H__MAX,
};

#define GOHTTP2_FIELD_CUT 1    /* the value is truncated */
#define GOHTTP2_FIELD_SECRET 2 /* no value; full_len is its length */
#define GOHTTP2_FIELD_FAULT 4  /* the value could not be read */

/* Unaligned, followed by the name (GOHTTP2_H_OTHER only) and the value. */
struct gohttp2_field {
	__u8 header; /* enum gohttp2_header */
	__u8 flags;  /* GOHTTP2_FIELD_* */
	__u8 name_len;
	__u8 pad;
	__u16 value_len; /* bytes that follow */
	__u16 full_len;	 /* bytes of the whole value, at most 65535 */
};

/* How often data was missed, and which line of the BPF programs counted it. */
struct gohttp2_miss_rec {
	struct sonde_rec hdr;
	__u64 count;
	__u16 site; /* number of gohttp2_misses.def */
	__u16 line;
	__u32 text_len; /* bytes after the struct: type of the connection */
	char file[32];
	char reason[96];
};

/* A program that is watched from now on, or why it cannot be. */
struct gohttp2_program_rec {
	struct sonde_rec hdr;
	__u32 n_sites;	/* probe sites attached; 0 = refused */
	__u32 text_len; /* bytes after the struct: Go release, or the reason */
};

#define GOHTTP2_PATH_BYTES 256

struct gohttp2_start_rec {
	struct sonde_rec hdr;
	__u64 ino;
	__u32 dev;   /* kernel's dev_t: major << 20 | minor */
	__u32 known; /* the file was known: its calls are already watched */
	__u32 ppid;  /* of the parent process */
	__u32 selected; /* by cgroup and name */
	char path[GOHTTP2_PATH_BYTES]; /* as it was called, perhaps truncated; "" = the file was known */
};

struct gohttp2_late_rec {
	struct sonde_rec hdr;
	__u64 late_ns;	/* from the start of the program until its file was watched */
	__u32 gone;	/* the program had ended by then */
	__u32 path_len; /* bytes after the struct */
};

#define GOHTTP2_LOG_BYTES 4096 /* of one write at most */

/* A write to standard output, standard error or a file; id.call is the call. The first bytes follow. */
struct gohttp2_log_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__s32 fd;
	__u32 written;	/* bytes of the write */
	__u32 data_len; /* bytes after the struct */
	__u32 pad;
};

/* id.sock, id.seq, id.seq_len, id.flags: the bytes, header of the frame included. */
struct gohttp2_range_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u32 stream;
	__u8 frame;	/* type: RFC 9113, section 6 */
	__u8 pad[3];
};

/* ---- layout of a program, for the BPF programs ---- */

#define GOHTTP2_NAME_BYTES 32 /* longest name of --header */

struct gohttp2_name {
	char name[GOHTTP2_NAME_BYTES]; /* padded with zeros */
};

struct gohttp2_name_val {
	__u8 header; /* enum gohttp2_header */
	__u8 secret;
};

/* Probe sites, the low bits of the attach cookie: gRPC's transport first, then HTTP/2 of net/http and x/net. */
enum gohttp2_site {
	GOHTTP2_LOOPY_HEADERS,	/* grpc transport.(*loopyWriter).writeHeader */
	GOHTTP2_SERVER_HEADERS, /* transport.(*http2Server).operateHeaders */
	GOHTTP2_CLIENT_HEADERS, /* transport.(*http2Client).operateHeaders */
	GOHTTP2_SERVER_RESET,	/* transport.(*http2Server).handleRSTStream */
	GOHTTP2_CLIENT_RESET,	/* transport.(*http2Client).handleRSTStream */
	GOHTTP2_WRITE_RESET,	/* http2.(*Framer).WriteRSTStream */
	GOHTTP2_SERVER_CLOSE,	/* transport.(*http2Server).Close */
	GOHTTP2_CLIENT_CLOSE,	/* transport.(*http2Client).Close */
	GOHTTP2_SERVER_DATA,	/* transport.(*http2Server).handleData */
	GOHTTP2_CLIENT_DATA,	/* transport.(*http2Client).handleData */
	GOHTTP2_FRAMER_DATA,	/* http2.(*Framer).WriteDataPadded, of all transports */
	GOHTTP2_WRITE_DATA,	/* transport.(*framer).writeData */
	GOHTTP2_FRAME_ORDER,	/* http2.(*Framer).checkFrameOrder: counted, or its bytes */
	GOHTTP2_WRITE_FIELD,	/* hpack.(*Encoder).WriteField: counted only */
	GOHTTP2_WEB_FIRST,
	GOHTTP2_WEB_HEADERS = GOHTTP2_WEB_FIRST, /* (*serverConn).processHeaders */
	GOHTTP2_WEB_RESPONSE,			 /* (*writeResHeaders).writeFrame */
	GOHTTP2_WEB_DONE,			 /* (*serverConn).closeStream */
	GOHTTP2_WEB_DATA,			 /* (*serverConn).processData */
	GOHTTP2_WEB_RESET,			 /* (*serverConn).processResetStream */
	GOHTTP2_WEBC_REQUEST,			 /* (*clientStream).encodeAndWriteHeaders */
	GOHTTP2_WEBC_HEADERS,			 /* (*clientConnReadLoop).processHeaders */
	GOHTTP2_WEBC_DONE,			 /* (*ClientConn).forgetStreamID */
	GOHTTP2_WEBC_DATA,			 /* (*clientConnReadLoop).processData */
	GOHTTP2_WEBC_RESET,			 /* (*clientConnReadLoop).processResetStream */
	GOHTTP2_COLLECTED,			 /* runtime.(*gcControllerState).endCycle: no frame */
	GOHTTP2_CALL,				 /* grpc.newClientStream: no frame */
	GOHTTP2_CALL_FAILED,			 /* after it returned, with an error or not */
	GOHTTP2_SERVE,				 /* grpc.(*Server).handleStream */
	GOHTTP2_SERVED,				 /* transport.(*http2Server).WriteStatus */
	GOHTTP2_WEB_SERVE,			 /* (*serverConn).runHandler */
	GOHTTP2_CLIENT_FIELDS,			 /* transport.(*http2Client).NewStream: the headers are made */
	GOHTTP2_END_WRITE,			 /* http2.(*Framer).endWrite: any frame, about to be written */
	GOHTTP2_SITE__MAX,
};

#define GOHTTP2_COOKIE_SITE 0x1f
#define GOHTTP2_COOKIE_SHIFT 5 /* bits above: module of struct gohttp2_key */

/* Location of an argument: number of an integer register, or offset from the stack pointer. */
#define GOHTTP2_ARG_NONE 0xff
#define GOHTTP2_ARG_STACK 0x80 /* | offset / 4 */
#define GOHTTP2_ARGS 6
#define GOHTTP2_REGS 16

#define GOHTTP2_SELECTED_YES 1
#define GOHTTP2_SELECTED_NO 2
#define GOHTTP2_LEARNT 32 /* a power of two, as the next */
#define GOHTTP2_LEARNT_VALUES 8
#define GOHTTP2_NO_OFF 0xffff /* unknown offset */

/* Layout of a group of a Go map: eight marks, then eight entries. */
#define GOHTTP2_MAP_UNKNOWN 0
#define GOHTTP2_MAP_BUCKETS 1 /* keys, values, next group: up to Go 1.23 */
#define GOHTTP2_MAP_PAIRS 2
#define GOHTTP2_MAP_ARRAYS 3 /* keys, values */

struct gohttp2_key {
	__u32 tgid;
	__u32 module; /* number of the file << 1 | enum gohttp2_copy */
};

/* A watched file: new processes get their layout on exec. */
struct gohttp2_file_key {
	__u64 ino, size;
	__u32 dev, pad;
};

struct gohttp2_file_val {
	__u64 code;   /* address of the first executable segment in the file */
	__u32 module; /* lowest bit 0 */
	__u32 moves;  /* position-independent: has a load bias */
};

/* A type with the methods of net.Conn; shared by all processes of a file. */
struct gohttp2_type_key {
	__u64 type;   /* address of its descriptor in the file */
	__u32 module; /* lowest bit 0 */
	__u32 pad;
};

/* Where the connection inside is; numbers are those of enum gobin_conn_how. */
#define GOHTTP2_CONN_FD 1      /* pointer to net.netFD */
#define GOHTTP2_CONN_IFACE 2   /* interface net.Conn */
#define GOHTTP2_CONN_POINTER 3 /* pointer to the type `inner` */
#define GOHTTP2_CONN_MAYBE 4   /* another interface: counts if it holds a type of the table */
#define GOHTTP2_CONN_WAYS 3
#define GOHTTP2_CONN_DEEP 6 /* wrappers around a connection */

struct gohttp2_conn_type {
	__u64 inner[GOHTTP2_CONN_WAYS]; /* in the file */
	__u16 off[GOHTTP2_CONN_WAYS];
	__u8 how[GOHTTP2_CONN_WAYS]; /* GOHTTP2_CONN_*; 0 = no further way */
	__u8 direct;		     /* an interface holds the struct, not a pointer to it */
	__u8 pad[6];
};

/* Offsets in bytes. Types are addresses in the process; 0 = not in this program. */
struct gohttp2_layout {
	__u32 restarts; /* bit n: site n is a conditional branch that may restart the function */
	__u32 born;	/* low bits of its time of creation: distinguishes processes with a reused pid */
	__u8 args[GOHTTP2_SITE__MAX][GOHTTP2_ARGS];
	__u64 bufw_type, buffered_type, reader_type, writer_type; /* of gRPC, of the web's server, of bufio */
	__u64 ready_type;	  /* gRPC's reader, since 1.81 */
	__u64 bias;		  /* added to addresses of the file */
	__u64 status_type;	  /* *status.Error of gRPC */
	__u64 fixed_lo, fixed_hi; /* read-only range: literals, so most header names */
	__u32 module, pad_module; /* of struct gohttp2_type_key */
	__u16 goid, parent_goid;
	__u16 conn_fd, sysfd; /* net.conn.fd, net.netFD.pfd.Sysfd */
	__u16 loopy_side, loopy_conn, loopy_framer, framer_writer, bufw_conn;
	__u16 server_conn, client_conn;
	__u16 stream_id, server_stream;	/* Stream.id; ServerStream's pointer to it, unknown if one object */
	__u16 rw_state, state_stream;	/* of a responseWriter */
	__u16 meta_fields, frame_flags, frame_length, frame_stream, reset_code;
	__u16 framer_w, framer_r, framer_wbuf, framer_fr;
	__u16 bufw_offset, buffered_bw, reader_rd, reader_r, reader_w, ready_r, ready_w, writer_n;
	__u16 grpc_data, web_data; /* slice of a DATA frame, of gRPC or the web */
	__u16 data_boxed;	   /* grpc_data is a mem.Buffer */
	__u16 sc_conn, sc_framer, res_stream, res_code, res_h, res_end, st_id;
	__u16 cs_id, cs_cc, cc_conn, cc_framer, rl_cc;
	__u16 req_method, req_url, req_host, req_header, url_path, url_host;
	__u16 error_e, error_s, status_s, status_code, status_message;
	__u16 map_kind; /* GOHTTP2_MAP_*: layout of a map of headers */
	/*
	 * Cache of the BPF programs, initially 0: an itab of net.TCPConn or net.UnixConn (the runtime never frees or
	 * changes itabs), header names and short values that are literals (gohttp2_fields.bpf.h).
	 */
	__u64 tcp_itab;
	__u64 start_ns;	   /* of the process */
	__u32 collected;   /* GC cycles that ended */
	__u32 selected;	   /* GOHTTP2_SELECTED_*; 0 = not evaluated yet */
	__u32 closed, pad; /* connections closed so far */
	__u64 names[GOHTTP2_LEARNT], values[GOHTTP2_LEARNT_VALUES];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct gohttp2_frame_rec) == 40 + 64 + 32 + 20 + 4 + 8 + 32, "gohttp2_frame_rec is ABI");
_Static_assert(sizeof(struct gohttp2_short_rec) == 64, "gohttp2_short_rec is ABI");
_Static_assert(sizeof(struct gohttp2_field) == 8, "gohttp2_field is ABI");
_Static_assert(sizeof(struct gohttp2_miss_rec) == 40 + 16 + 128, "gohttp2_miss_rec is ABI");
_Static_assert(sizeof(struct gohttp2_program_rec) == 48, "gohttp2_program_rec is ABI");
_Static_assert(sizeof(struct gohttp2_start_rec) == 64 + GOHTTP2_PATH_BYTES, "gohttp2_start_rec is ABI");
_Static_assert(sizeof(struct gohttp2_late_rec) == 56, "gohttp2_late_rec is ABI");
_Static_assert(sizeof(struct gohttp2_log_rec) == 40 + 64 + 16, "gohttp2_log_rec is ABI");
_Static_assert(sizeof(struct gohttp2_range_rec) == 40 + 64 + 8, "gohttp2_range_rec is ABI");
_Static_assert(sizeof(struct gohttp2_layout) < 800, "one per process");
_Static_assert(GOHTTP2_SITE__MAX <= GOHTTP2_COOKIE_SITE + 1, "sites fit the cookie");
#endif

#endif
