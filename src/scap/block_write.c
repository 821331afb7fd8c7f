// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows and events to blocks, in the newest layout that all readers since sysdig 0.29 understand.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/params.h"
#include "scap/block_layout.h"
#include "scap/schema.h"

#define ALIGN 4
#define BLOCK_HEADER 8u	/* number and length */

size_t scap_block_begin(struct buf *out, uint32_t number)
{
	const uint32_t head[2] = { number, 0 };
	size_t start = out->len;

	buf_add(out, head, sizeof(head));
	return start;
}

int scap_block_end(struct buf *out, size_t start)
{
	uint32_t len;

	while (!buf_error(out) && (out->len - start) % ALIGN)
		buf_add_char(out, 0);
	if (buf_error(out))
		return buf_error(out);
	len = (uint32_t)(out->len - start + sizeof(len));
	memcpy(out->data + start + sizeof(uint32_t), &len, sizeof(len));
	return buf_add(out, &len, sizeof(len));
}

int scap_block_write_section(struct buf *out)
{
	size_t start = scap_block_begin(out, SCAP_SHB);
	const uint64_t length = UINT64_MAX;

	buf_put_u32(out, SCAP_BYTE_ORDER);
	buf_put_u16(out, SCAP_MAJOR);
	buf_put_u16(out, SCAP_MINOR);
	buf_add(out, &length, sizeof(length));
	return scap_block_end(out, start);
}

/* Sets the length of the entry that began at @start, including the length itself. */
static int end_entry(struct buf *out, size_t start)
{
	uint32_t len = (uint32_t)(out->len - start);

	if (buf_error(out))
		return buf_error(out);
	memcpy(out->data + start, &len, sizeof(len));
	return 0;
}

static size_t begin_entry(struct buf *out)
{
	size_t start = out->len;

	buf_put_u32(out, 0);
	return start;
}

static void add_zeros(struct buf *out, size_t n)
{
	while (n--)
		buf_add_char(out, 0);
}

static void add_str16(struct buf *out, const void *data, size_t len)
{
	len = MIN(len, (size_t)UINT16_MAX);
	buf_put_u16(out, (uint16_t)len);
	buf_add(out, data, len);
}

/* Is the unknown value of this field all ones instead of 0? */
static bool unknown_is_ones(unsigned field)
{
	return field == 20 || field == 21 || field == 26 || field == 3 || field == 4 || field == 37;
}

static void write_int(const struct params *row, unsigned i, size_t size, bool ones, struct buf *out)
{
	uint64_t v;

	if (!params_u64(row, i, &v))
		v = ones ? UINT64_MAX : 0;
	buf_add(out, &v, size);
}

static void write_field(const struct entry_field *f, const struct params *row, unsigned i, bool ones, struct buf *out)
{
	const char *s;
	size_t len;

	switch ((enum entry_kind)f->kind) {
	case ENTRY_INT:
		write_int(row, i, f->size, ones, out);
		break;
	case ENTRY_STR:
		s = params_str(row, i, &len);
		add_str16(out, s, len);
		break;
	case ENTRY_BYTES:
		s = params_bytes(row, i, &len);
		add_str16(out, s, len);
		break;
	case ENTRY_FIXED:
		s = params_str(row, i, &len);
		len = MIN(len, (size_t)f->size - 1);
		buf_add(out, s, len);
		add_zeros(out, f->size - len);
		break;
	case ENTRY__MAX:
		break;
	}
}

int scap_block_write_machine(const struct params *row, struct buf *out)
{
	if (row->head->type != SCAP_ROW_MACHINE)
		return -EINVAL;
	for (unsigned i = 0; i < scap_machine_n_fields; i++)
		write_field(&scap_machine_fields[i], row, i, false, out);
	return buf_error(out);
}

int scap_block_write_thread(const struct params *row, struct buf *out)
{
	size_t start = begin_entry(out);

	if (row->head->type != SCAP_ROW_THREAD)
		return -EINVAL;
	for (unsigned i = 0; i < scap_thread_n_fields; i++)
		write_field(&scap_thread_fields[i], row, i, unknown_is_ones(i), out);
	return end_entry(out, start);
}

int scap_block_write_user(const struct params *row, struct buf *out)
{
	bool user = row->head->type == SCAP_ROW_USER;
	size_t start = begin_entry(out), n = user ? scap_user_n_fields : scap_group_n_fields;

	if (!user && row->head->type != SCAP_ROW_GROUP)
		return -EINVAL;
	buf_add_char(out, user ? USER_KIND : GROUP_KIND);
	for (unsigned i = 0; i < n; i++)
		write_field(user ? &scap_user_fields[i] : &scap_group_fields[i], row, i, false, out);
	return end_entry(out, start);
}

int scap_block_write_iface(const struct params *row, struct buf *out)
{
	size_t name_len, len;
	const char *name = params_str(row, 5, &name_len);
	uint64_t type, speed;
	const void *data;
	size_t start;

	if (row->head->type != SCAP_ROW_IFACE || !params_u64(row, 0, &type))
		return -EINVAL;
	name_len = MIN(name_len, (size_t)UINT16_MAX);
	start = begin_entry(out);
	buf_put_u16(out, (uint16_t)type);
	buf_put_u16(out, (uint16_t)name_len);
	for (unsigned i = 1; i <= 3; i++) {
		data = params_bytes(row, i, &len);
		buf_add(out, data, len);
	}
	if (params_u64(row, 4, &speed))
		buf_add(out, &speed, sizeof(speed));
	buf_add(out, name, name_len);
	if (buf_error(out))
		return buf_error(out);
	len = out->len - start - sizeof(uint32_t);	/* this length does not include itself */
	memcpy(out->data + start, &(uint32_t){ (uint32_t)len }, sizeof(uint32_t));
	return 0;
}

/* Addresses first, then ports, unlike in a tuple. */
static bool write_tuple(const struct params *row, size_t addr, struct buf *out)
{
	struct cursor c = params_cursor(row, 5);
	const void *sip, *sport, *dip, *dport;

	cur_skip(&c, 1);
	sip = cur_bytes(&c, addr);
	sport = cur_bytes(&c, sizeof(uint16_t));
	dip = cur_bytes(&c, addr);
	dport = cur_bytes(&c, sizeof(uint16_t));
	if (!cur_ok(&c))
		return false;
	buf_add(out, sip, addr);
	buf_add(out, dip, addr);
	buf_add(out, sport, sizeof(uint16_t));
	buf_add(out, dport, sizeof(uint16_t));
	return true;
}

static bool write_socket(const struct params *row, uint64_t type, struct buf *out)
{
	size_t addr = type == FD_IPV4 || type == FD_IPV4_SERVER ? 4 : 16, len = addr + sizeof(uint16_t);
	struct cursor c = params_cursor(row, 6);
	const void *server;

	if (type == FD_IPV4 || type == FD_IPV6) {
		if (!write_tuple(row, addr, out))
			return false;
	} else {
		cur_skip(&c, 1);
		server = cur_bytes(&c, len);
		if (!server)
			return false;
		buf_add(out, server, len);
	}
	write_int(row, 7, 1, false, out);
	return true;
}

static bool write_unix(const struct params *row, struct buf *out)
{
	struct cursor c = params_cursor(row, 5);
	const void *pointers;
	const char *name;
	size_t len;

	cur_skip(&c, 1);
	pointers = cur_bytes(&c, 2 * sizeof(uint64_t));
	if (!pointers)
		return false;
	name = params_str(row, 4, &len);
	buf_add(out, pointers, 2 * sizeof(uint64_t));
	add_str16(out, name, len);
	return true;
}

/* Payload after inode and type. Types that stop older readers become a type that they skip. */
static bool write_fd_payload(const struct params *row, uint64_t type, struct buf *out)
{
	const char *name;
	size_t len;

	if (type >= FD_IPV4 && type <= FD_IPV6_SERVER)
		return write_socket(row, type, out);
	if (type == FD_UNIX)
		return write_unix(row, out);
	if (type == FD_FILE_V2)
		write_int(row, 8, sizeof(uint32_t), false, out);
	name = params_str(row, 4, &len);
	add_str16(out, name, len);
	if (type == FD_FILE_V2)
		write_int(row, 9, sizeof(uint32_t), false, out);
	return true;
}

int scap_block_write_fd(const struct params *row, struct buf *out)
{
	size_t start = out->len;
	uint64_t type;

	if (row->head->type != SCAP_ROW_FD || !params_u64(row, 3, &type))
		return -EINVAL;
	if (type > FD_KNOWN_TO_ALL || !type)
		type = FD_UNSUPPORTED;
	begin_entry(out);
	write_int(row, 1, sizeof(uint64_t), false, out);
	write_int(row, 2, sizeof(uint64_t), false, out);
	buf_add_char(out, (char)type);
	if (!write_fd_payload(row, type, out)) {
		out->len = start;	/* a socket without tuple is dropped */
		return buf_error(out);
	}
	return end_entry(out, start);
}

static char *put(char *p, const void *data, size_t len)
{
	return (char *)memcpy(p, data, len) + len;
}

static char *put_u16(char *p, uint16_t v)
{
	return put(p, &v, sizeof(v));
}

static char *put_u32(char *p, uint32_t v)
{
	return put(p, &v, sizeof(v));
}

static char *put_u64(char *p, uint64_t v)
{
	return put(p, &v, sizeof(v));
}

static char *put_lengths(char *p, const struct params *ev, bool large)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < ev->n; last = ev->end[i++])
		p = large ? put_u32(p, ev->end[i] - last) : put_u16(p, (uint16_t)(ev->end[i] - last));
	return p;
}

/* The size is known at first: one reservation, and no checks in between. */
int scap_block_write_event(const struct params *ev, const struct scap_event_head *head, struct buf *out)
{
	const struct sec_params *h = ev->head;
	bool large = h->flags & PARAMS_LARGE, word = h->flags & PARAMS_HAS_WORD;
	uint32_t bytes = ev->n ? ev->end[ev->n - 1] : 0, len = EVENT_HEADER + ev->n * (large ? 4 : 2) + bytes, whole;
	char *p, *start;

	if (!large && len > UINT16_MAX) {
		large = true;
		len += ev->n * 2;
	}
	whole = BLOCK_HEADER + (uint32_t)sizeof(head->cpu) + (word ? 4 : 0) + len;
	whole = ROUND_UP(whole, (uint32_t)ALIGN) + (uint32_t)sizeof(whole);
	start = buf_reserve(out, whole);
	if (!start)
		return buf_error(out);
	p = put_u32(start, large ? word ? 0x222 : 0x221 : word ? 0x217 : 0x216);
	p = put_u32(p, whole);
	p = put_u16(p, head->cpu);
	if (word)
		p = put_u32(p, h->word);
	p = put_u64(p, head->ts_ns);
	p = put_u64(p, (uint64_t)h->tid);
	p = put_u32(p, len);
	p = put_u16(p, h->type);
	p = put_u32(p, ev->n);
	p = put_lengths(p, ev, large);
	p = put(p, ev->data, bytes);
	memset(p, 0, (size_t)(start + whole - sizeof(whole) - p));
	put_u32(start + whole - sizeof(whole), whole);
	buf_commit(out, whole);
	return 0;
}
