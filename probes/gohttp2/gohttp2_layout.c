// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps the rules of src/gobin to probe sites and its fields to offsets.
 */
#include "probes/gohttp2/gohttp2_layout.h"

#include <string.h>

#include "base/macros.h"
#include "gobin/gobin.h"

static const struct {
	uint8_t rule, site, copy;
} sites[] = {
	{ GOBIN_GRPC_WRITE_HEADER, GOHTTP2_LOOPY_HEADERS, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVER_HEADERS, GOHTTP2_SERVER_HEADERS, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_CLIENT_HEADERS, GOHTTP2_CLIENT_HEADERS, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVER_RESET, GOHTTP2_SERVER_RESET, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_CLIENT_RESET, GOHTTP2_CLIENT_RESET, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVER_CLOSE, GOHTTP2_SERVER_CLOSE, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_CLIENT_CLOSE, GOHTTP2_CLIENT_CLOSE, GOHTTP2_COPY_XNET },
	{ GOBIN_GO_COLLECTED, GOHTTP2_COLLECTED, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVE, GOHTTP2_SERVE, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVED, GOHTTP2_SERVED, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_CLIENT_FIELDS, GOHTTP2_CLIENT_FIELDS, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_SERVE, GOHTTP2_WEB_SERVE, GOHTTP2_COPY_XNET },
	{ GOBIN_STD_SERVE, GOHTTP2_WEB_SERVE, GOHTTP2_COPY_STD },
	{ GOBIN_GRPC_CALL, GOHTTP2_CALL, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_UNARY_FAILED, GOHTTP2_CALL_FAILED, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_STREAM_FAILED, GOHTTP2_CALL_FAILED, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_WRITE_RESET, GOHTTP2_WRITE_RESET, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_SERVER_DATA, GOHTTP2_SERVER_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_CLIENT_DATA, GOHTTP2_CLIENT_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_GRPC_WRITE_DATA, GOHTTP2_WRITE_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_WRITE_DATA, GOHTTP2_FRAMER_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CHECK_FRAME, GOHTTP2_FRAME_ORDER, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_WRITE_FIELD, GOHTTP2_WRITE_FIELD, GOHTTP2_COPY_XNET },
	{ GOBIN_STD_CHECK_FRAME, GOHTTP2_FRAME_ORDER, GOHTTP2_COPY_STD },
	{ GOBIN_STD_WRITE_FIELD, GOHTTP2_WRITE_FIELD, GOHTTP2_COPY_STD },
	{ GOBIN_XNET_END_WRITE, GOHTTP2_END_WRITE, GOHTTP2_COPY_XNET },
	{ GOBIN_STD_END_WRITE, GOHTTP2_END_WRITE, GOHTTP2_COPY_STD },
	{ GOBIN_XNET_SERVER_HEADERS, GOHTTP2_WEB_HEADERS, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_SERVER_RESPONSE, GOHTTP2_WEB_RESPONSE, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_SERVER_DONE, GOHTTP2_WEB_DONE, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CLIENT_DONE, GOHTTP2_WEBC_DONE, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_SERVER_DATA, GOHTTP2_WEB_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_SERVER_RESET, GOHTTP2_WEB_RESET, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CLIENT_REQUEST, GOHTTP2_WEBC_REQUEST, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CLIENT_HEADERS, GOHTTP2_WEBC_HEADERS, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CLIENT_DATA, GOHTTP2_WEBC_DATA, GOHTTP2_COPY_XNET },
	{ GOBIN_XNET_CLIENT_RESET, GOHTTP2_WEBC_RESET, GOHTTP2_COPY_XNET },
	{ GOBIN_STD_WRITE_DATA, GOHTTP2_FRAMER_DATA, GOHTTP2_COPY_STD },
	{ GOBIN_STD_SERVER_HEADERS, GOHTTP2_WEB_HEADERS, GOHTTP2_COPY_STD },
	{ GOBIN_STD_SERVER_RESPONSE, GOHTTP2_WEB_RESPONSE, GOHTTP2_COPY_STD },
	{ GOBIN_STD_SERVER_DONE, GOHTTP2_WEB_DONE, GOHTTP2_COPY_STD },
	{ GOBIN_STD_CLIENT_DONE, GOHTTP2_WEBC_DONE, GOHTTP2_COPY_STD },
	{ GOBIN_STD_SERVER_DATA, GOHTTP2_WEB_DATA, GOHTTP2_COPY_STD },
	{ GOBIN_STD_SERVER_RESET, GOHTTP2_WEB_RESET, GOHTTP2_COPY_STD },
	{ GOBIN_STD_CLIENT_REQUEST, GOHTTP2_WEBC_REQUEST, GOHTTP2_COPY_STD },
	{ GOBIN_STD_CLIENT_HEADERS, GOHTTP2_WEBC_HEADERS, GOHTTP2_COPY_STD },
	{ GOBIN_STD_CLIENT_DATA, GOHTTP2_WEBC_DATA, GOHTTP2_COPY_STD },
	{ GOBIN_STD_CLIENT_RESET, GOHTTP2_WEBC_RESET, GOHTTP2_COPY_STD },
};

static bool is_ready(const struct gobin_answer *a, enum gobin_rule rule)
{
	return a->rules[rule].state == GOBIN_READY;
}

/* Probes of GC cycles and of new calls only serve others: the caches of connections, the probes of failed calls. */
static bool is_of_use(const struct gobin_answer *a, uint8_t rule)
{
	if (rule == GOBIN_GRPC_CALL)
		return is_ready(a, GOBIN_GRPC_UNARY_FAILED) || is_ready(a, GOBIN_GRPC_STREAM_FAILED);
	return rule != GOBIN_GO_COLLECTED || a->rules[GOBIN_GRPC_SERVER_HEADERS].state == GOBIN_READY ||
	       a->rules[GOBIN_GRPC_CLIENT_HEADERS].state == GOBIN_READY;
}

static size_t add_sites(const struct gobin_answer *a, uint32_t sets, struct gohttp2_attach *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sites); i++) {
		const struct gobin_rule_answer *r = &a->rules[sites[i].rule];

		if (r->state != GOBIN_READY || !(gobin_rule_sets(sites[i].rule) & sets) ||
		    !is_of_use(a, sites[i].rule))
			continue;
		ret[n] = (struct gohttp2_attach){
			.file_off = r->site.file_off,
			.site = sites[i].site,
			.copy = sites[i].copy,
			.insn_len = MIN(r->site.insn_len, (uint8_t)sizeof(ret[n].insn)),
			.rule = sites[i].rule,
			.range = sets == GOBIN_RANGES,
		};
		memcpy(ret[n].insn, r->site.insn, ret[n].insn_len);
		n++;
	}
	return n;
}

size_t gohttp2_layout_sites(const struct gobin_answer *a, uint32_t sets, struct gohttp2_attach *ret)
{
	size_t n = add_sites(a, sets & ~(uint32_t)GOBIN_RANGES, ret);

	return n + (sets & GOBIN_RANGES ? add_sites(a, GOBIN_RANGES, ret + n) : 0);
}

/* ---- arguments ---- */

static uint8_t where(const struct gobin_loc *l)
{
	if (l->where == GOBIN_IN_REG && l->reg < GOHTTP2_REGS)
		return l->reg;
	if (l->where == GOBIN_ON_STACK && l->off >= 0 && l->off % 4 == 0 && l->off / 4 < GOHTTP2_ARG_STACK - 1)
		return (uint8_t)(GOHTTP2_ARG_STACK | l->off / 4);
	return GOHTTP2_ARG_NONE;
}

static void set_args(const struct gobin_answer *a, enum gohttp2_copy copy, struct gohttp2_layout *ret)
{
	memset(ret->args, GOHTTP2_ARG_NONE, sizeof(ret->args));
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++) {
		const struct gobin_site *site = &a->rules[sites[i].rule].site;

		if (sites[i].copy != copy || a->rules[sites[i].rule].state != GOBIN_READY)
			continue;
		for (unsigned n = 0; n < MIN(site->n_args, (uint8_t)GOHTTP2_ARGS); n++)
			ret->args[sites[i].site][n] = where(&site->args[n]);
		if (site->kind == GOBIN_AT_BRANCH)
			ret->restarts |= 1u << sites[i].site;
	}
}

/* ---- members ---- */

static uint16_t off_of(const struct gobin_answer *a, enum gobin_field f)
{
	int32_t off = a->fields[f].off;

	return off >= 0 && off < GOHTTP2_NO_OFF ? (uint16_t)off : GOHTTP2_NO_OFF;
}

/* Sum of two offsets; unknown if either is. */
static uint16_t sum(uint16_t a, uint16_t b)
{
	return a == GOHTTP2_NO_OFF || b == GOHTTP2_NO_OFF ? GOHTTP2_NO_OFF : (uint16_t)(a + b);
}

/* The pairs differ only in the copy of HTTP/2. */
#define OF(copy, name) off_of(a, (copy) == GOHTTP2_COPY_STD ? GOBIN_F_STD_##name : GOBIN_F_XNET_##name)

#define TYPE_OF(copy, name) a->types_of[(copy) == GOHTTP2_COPY_STD ? GOBIN_T_STD_##name : GOBIN_T_XNET_##name].addr

static void set_http2(const struct gobin_answer *a, enum gohttp2_copy copy, struct gohttp2_layout *ret)
{
	ret->meta_fields = OF(copy, META_FIELDS);
	ret->rw_state = OF(copy, WRITER_STATE);
	ret->state_stream = OF(copy, WRITER_STREAM);
	ret->frame_flags = OF(copy, HEADER_FLAGS);
	ret->frame_length = OF(copy, HEADER_LENGTH);
	ret->frame_stream = OF(copy, HEADER_STREAM);
	ret->reset_code = OF(copy, RESET_CODE);
	ret->web_data = OF(copy, DATA_DATA);
	ret->data_boxed = off_of(a, GOBIN_F_PARSED_DATA_DATA) != GOHTTP2_NO_OFF;
	ret->grpc_data = off_of(a, ret->data_boxed ? GOBIN_F_PARSED_DATA_DATA : GOBIN_F_XNET_DATA_DATA);
	ret->framer_w = OF(copy, FRAMER_W);
	ret->framer_r = OF(copy, FRAMER_R);
	ret->framer_wbuf = OF(copy, FRAMER_WBUF);
	ret->buffered_bw = OF(copy, BUFFERED_BW);
	ret->buffered_type = TYPE_OF(copy, BUFFERED);
	ret->sc_conn = OF(copy, SERVER_CONN);
	ret->sc_framer = OF(copy, SERVER_FRAMER);
	ret->res_stream = OF(copy, RES_STREAM);
	ret->res_code = OF(copy, RES_CODE);
	ret->res_h = OF(copy, RES_H);
	ret->res_end = OF(copy, RES_END);
	ret->st_id = OF(copy, SERVER_STREAM_ID);
	ret->cs_id = OF(copy, STREAM_ID);
	ret->cs_cc = OF(copy, STREAM_CC);
	ret->cc_conn = OF(copy, CLIENT_TCONN);
	ret->cc_framer = OF(copy, CLIENT_FRAMER);
	ret->rl_cc = OF(copy, LOOP_CC);
}

/* Known layouts of a group of eight keys (strings) and values (slices). */
static uint16_t map_kind(const struct gobin_answer *a)
{
	const struct gobin_field_answer *f = a->fields;

	if (f[GOBIN_F_MAP_SLOTS].off == 8)
		return GOHTTP2_MAP_PAIRS;
	if (f[GOBIN_F_MAP_KEYS].off == 8 && f[GOBIN_F_MAP_ELEMS].off == 136)
		return GOHTTP2_MAP_ARRAYS;
	if (f[GOBIN_F_MAP_BUCKET_KEYS].off == 8 && f[GOBIN_F_MAP_BUCKET_ELEMS].off == 136)
		return GOHTTP2_MAP_BUCKETS;
	return GOHTTP2_MAP_UNKNOWN;
}

static void set_request(const struct gobin_answer *a, enum gohttp2_copy copy, struct gohttp2_layout *ret)
{
	/* net/http's copy has its own request type since it moved to another package */
	bool own = copy == GOHTTP2_COPY_STD && a->fields[GOBIN_F_CLIENT_REQUEST_URL].off >= 0;

	ret->req_method = off_of(a, own ? GOBIN_F_CLIENT_REQUEST_METHOD : GOBIN_F_REQUEST_METHOD);
	ret->req_url = off_of(a, own ? GOBIN_F_CLIENT_REQUEST_URL : GOBIN_F_REQUEST_URL);
	ret->req_host = off_of(a, own ? GOBIN_F_CLIENT_REQUEST_HOST : GOBIN_F_REQUEST_HOST);
	ret->req_header = off_of(a, own ? GOBIN_F_CLIENT_REQUEST_HEADER : GOBIN_F_REQUEST_HEADER);
	ret->url_path = off_of(a, GOBIN_F_URL_PATH);
	ret->url_host = off_of(a, GOBIN_F_URL_HOST);
}

static void set_transport(const struct gobin_answer *a, struct gohttp2_layout *ret)
{
	ret->loopy_side = off_of(a, GOBIN_F_LOOPY_SIDE);
	ret->loopy_conn = off_of(a, GOBIN_F_LOOPY_CONN);
	ret->loopy_framer = off_of(a, GOBIN_F_LOOPY_FRAMER);
	ret->framer_writer = off_of(a, GOBIN_F_FRAMER_WRITER);
	ret->framer_fr = off_of(a, GOBIN_F_FRAMER_FR);
	ret->bufw_conn = off_of(a, GOBIN_F_BUFWRITER_CONN);
	ret->server_conn = off_of(a, GOBIN_F_SERVER_CONN);
	ret->client_conn = off_of(a, GOBIN_F_CLIENT_CONN);
	ret->stream_id = off_of(a, GOBIN_F_STREAM_ID);
	ret->server_stream = off_of(a, GOBIN_F_SERVER_STREAM);
	if (a->fields[GOBIN_F_SERVER_STREAM].size != sizeof(uint64_t)) {	/* embedded */
		ret->stream_id = ret->server_stream == GOHTTP2_NO_OFF ? ret->stream_id :
				 sum(ret->server_stream, ret->stream_id);
		ret->server_stream = GOHTTP2_NO_OFF;
	}
}

static void set_status(const struct gobin_answer *a, struct gohttp2_layout *ret)
{
	ret->status_type = a->types_of[GOBIN_T_STATUS_ERROR].addr;
	ret->error_e = off_of(a, GOBIN_F_STATUS_ERROR_E);
	ret->error_s = off_of(a, GOBIN_F_STATUS_ERROR_S);
	ret->status_s = off_of(a, GOBIN_F_STATUS_S);
	ret->status_code = off_of(a, GOBIN_F_STATUS_CODE);
	ret->status_message = off_of(a, GOBIN_F_STATUS_MESSAGE);
}

static void set_conn(const struct gobin_answer *a, struct gohttp2_layout *ret)
{
	ret->bufw_type = a->types_of[GOBIN_T_BUF_WRITER].addr;
	ret->bufw_offset = off_of(a, GOBIN_F_BUFWRITER_OFFSET);
	ret->reader_type = a->types_of[GOBIN_T_BUFIO_READER].addr;
	ret->ready_type = a->types_of[GOBIN_T_READY_READER].addr;
	ret->writer_type = a->types_of[GOBIN_T_BUFIO_WRITER].addr;
	ret->reader_rd = off_of(a, GOBIN_F_BUFIO_READER_RD);
	ret->reader_r = off_of(a, GOBIN_F_BUFIO_READER_R);
	ret->reader_w = off_of(a, GOBIN_F_BUFIO_READER_W);
	ret->ready_r = off_of(a, GOBIN_F_READY_READER_R);
	ret->ready_w = off_of(a, GOBIN_F_READY_READER_W);
	ret->writer_n = off_of(a, GOBIN_F_BUFIO_WRITER_N);
	ret->conn_fd = sum(off_of(a, GOBIN_F_TCPCONN_CONN), off_of(a, GOBIN_F_CONN_FD));
	ret->sysfd = sum(off_of(a, GOBIN_F_NETFD_PFD), off_of(a, GOBIN_F_POLLFD_SYSFD));
}

_Static_assert(GOHTTP2_CONN_FD == (int)GOBIN_CONN_FD && GOHTTP2_CONN_IFACE == (int)GOBIN_CONN_IFACE &&
	       GOHTTP2_CONN_POINTER == (int)GOBIN_CONN_POINTER && GOHTTP2_CONN_MAYBE == (int)GOBIN_CONN_MAYBE &&
	       GOHTTP2_CONN_WAYS == GOBIN_CONN_WAYS, "the kernel side takes the numbers of src/gobin");

void gohttp2_layout_conn(const struct gobin_conn *c, struct gohttp2_conn_type *ret)
{
	*ret = (struct gohttp2_conn_type){ .direct = c->direct };
	for (unsigned i = 0; i < MIN(c->n_ways, (uint8_t)GOHTTP2_CONN_WAYS); i++) {
		ret->how[i] = c->ways[i].how;
		ret->off[i] = c->ways[i].off;
		ret->inner[i] = c->ways[i].type;
	}
}

void gohttp2_layout_make(const struct gobin_answer *a, enum gohttp2_copy copy, struct gohttp2_layout *ret)
{
	*ret = (struct gohttp2_layout){ 0 };
	set_args(a, copy, ret);
	set_http2(a, copy, ret);
	set_request(a, copy, ret);
	set_transport(a, ret);
	set_conn(a, ret);
	set_status(a, ret);
	ret->fixed_lo = a->base;
	ret->fixed_hi = a->fixed_end;
	ret->map_kind = map_kind(a);
	ret->goid = off_of(a, GOBIN_F_G_GOID);
	ret->parent_goid = off_of(a, GOBIN_F_G_PARENT);
}

void gohttp2_layout_move(struct gohttp2_layout *l, uint64_t bias)
{
	l->bufw_type += l->bufw_type ? bias : 0;
	l->buffered_type += l->buffered_type ? bias : 0;
	l->reader_type += l->reader_type ? bias : 0;
	l->ready_type += l->ready_type ? bias : 0;
	l->writer_type += l->writer_type ? bias : 0;
	l->status_type += l->status_type ? bias : 0;
	l->fixed_lo += bias;	/* 0 is a valid address */
	l->fixed_hi += bias;
	l->bias = bias;
}
