// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks to rows and events. The input is hostile: a list ends with its block, an entry at its length.
 */
#include <errno.h>

#include "base/macros.h"
#include "event/params.h"
#include "scap/block_layout.h"
#include "scap/schema.h"

#define T(number_, kind_, version_, ...) \
	{ .number = (number_), .kind = (kind_), .version = (version_), ##__VA_ARGS__ }

static const struct scap_block_type types[] = {
	T(SCAP_SHB, SCAP_BLOCK_SECTION, 1),
	T(0x201, SCAP_BLOCK_MACHINE, 1), T(0x8002ABCD, SCAP_BLOCK_MACHINE, 1),
	T(0x202, SCAP_BLOCK_THREADS, 1), T(0x8000ABCD, SCAP_BLOCK_THREADS, 1),
	T(0x207, SCAP_BLOCK_THREADS, 2), T(0x8013ABCD, SCAP_BLOCK_THREADS, 2),
	T(0x209, SCAP_BLOCK_THREADS, 3), T(0x8014ABCD, SCAP_BLOCK_THREADS, 3),
	T(0x210, SCAP_BLOCK_THREADS, 4), T(0x211, SCAP_BLOCK_THREADS, 5), T(0x212, SCAP_BLOCK_THREADS, 6),
	T(0x213, SCAP_BLOCK_THREADS, 7), T(0x214, SCAP_BLOCK_THREADS, 8), T(0x215, SCAP_BLOCK_THREADS, 9),
	T(0x203, SCAP_BLOCK_FDS, 1), T(0x8001ABCD, SCAP_BLOCK_FDS, 1), T(0x218, SCAP_BLOCK_FDS, 2),
	T(0x205, SCAP_BLOCK_IFACES, 1), T(0x8011ABCD, SCAP_BLOCK_IFACES, 1), T(0x219, SCAP_BLOCK_IFACES, 2),
	T(0x206, SCAP_BLOCK_USERS, 1), T(0x8012ABCD, SCAP_BLOCK_USERS, 1), T(0x220, SCAP_BLOCK_USERS, 2),
	T(0x204, SCAP_BLOCK_EVENT, 1), T(0x8010ABCD, SCAP_BLOCK_EVENT, 1), T(0x216, SCAP_BLOCK_EVENT, 2),
	T(0x208, SCAP_BLOCK_EVENT, 1, .has_word = true), T(0x217, SCAP_BLOCK_EVENT, 2, .has_word = true),
	T(0x221, SCAP_BLOCK_EVENT, 2, .large = true),
	T(0x222, SCAP_BLOCK_EVENT, 2, .large = true, .has_word = true),
};

const struct scap_block_type *scap_block_type(uint32_t number)
{
	return ARRAY_FIND(it, types, it->number == number);
}

#define INT_FIELD(size_, since_) { .kind = ENTRY_INT, .size = (size_), .since = (since_) }
#define STR_FIELD(since_) { .kind = ENTRY_STR, .since = (since_) }
#define BYTES_FIELD(since_) { .kind = ENTRY_BYTES, .since = (since_) }
#define TAIL_FIELD(size_) { .kind = ENTRY_INT, .size = (size_), .since = 9, .tail = true }

/* Rows of tables/scap_rows.tsv, in the same order as in files. */
const struct entry_field scap_thread_fields[] = {
	INT_FIELD(8, 1), INT_FIELD(8, 1), INT_FIELD(8, 1), INT_FIELD(8, 6), INT_FIELD(8, 8), STR_FIELD(1),
	STR_FIELD(1), STR_FIELD(7), BYTES_FIELD(1), STR_FIELD(1), INT_FIELD(8, 1), INT_FIELD(4, 1), INT_FIELD(4, 1),
	INT_FIELD(4, 1),
	INT_FIELD(4, 2), INT_FIELD(4, 2), INT_FIELD(4, 2), INT_FIELD(8, 2), INT_FIELD(8, 2), BYTES_FIELD(3),
	INT_FIELD(8, 4), INT_FIELD(8, 4), BYTES_FIELD(4), STR_FIELD(5),
	TAIL_FIELD(8), TAIL_FIELD(4), TAIL_FIELD(4), TAIL_FIELD(1), TAIL_FIELD(8), TAIL_FIELD(8), TAIL_FIELD(8),
	TAIL_FIELD(1), TAIL_FIELD(8), TAIL_FIELD(8), TAIL_FIELD(8), TAIL_FIELD(1), TAIL_FIELD(1), TAIL_FIELD(8),
};
const size_t scap_thread_n_fields = ARRAY_SIZE(scap_thread_fields);
#define THREAD_FIELD_PIDNS 24
#define THREAD_FIELD_LOGINUID 26
/* Before libs 0.10 loginuid followed the root directly, and at most this much followed it in an entry. */
#define THREAD_TAIL_OLD 29

const struct entry_field scap_user_fields[] = {
	INT_FIELD(4, 1), INT_FIELD(4, 1), STR_FIELD(1), STR_FIELD(1), STR_FIELD(1),
};
const size_t scap_user_n_fields = ARRAY_SIZE(scap_user_fields);
const struct entry_field scap_group_fields[] = { INT_FIELD(4, 1), STR_FIELD(1) };
const size_t scap_group_n_fields = ARRAY_SIZE(scap_group_fields);

const struct entry_field scap_machine_fields[] = {
	INT_FIELD(4, 1), INT_FIELD(8, 1), INT_FIELD(8, 1), { .kind = ENTRY_FIXED, .size = 128, .since = 1 },
	INT_FIELD(8, 1), INT_FIELD(8, 1), INT_FIELD(8, 1), INT_FIELD(8, 1),
};
const size_t scap_machine_n_fields = ARRAY_SIZE(scap_machine_fields);

static void add_text(struct params_out *row, const char *s, size_t len)
{
	if (s)
		params_add_str(row, s, strnlen(s, len));
	else
		params_add(row, NULL, 0);
}

static void add_bytes(struct params_out *row, struct cursor *c, size_t len)
{
	const void *data = cur_bytes(c, len);

	params_add(row, data, data ? len : 0);
}

/* A field that the version or the entry lacks becomes an empty parameter. */
static void read_field(const struct entry_field *f, unsigned version, struct cursor *c, struct params_out *row)
{
	size_t len;

	if (version < f->since || (f->tail && cur_left(c) < f->size)) {
		params_add(row, NULL, 0);
		return;
	}
	len = f->kind == ENTRY_STR || f->kind == ENTRY_BYTES ? cur_u16(c) : f->size;
	if (f->kind == ENTRY_STR || f->kind == ENTRY_FIXED)
		add_text(row, cur_bytes(c, len), len);
	else
		add_bytes(row, c, len);
}

static void read_fields(const struct entry_field *f, size_t n, unsigned version, struct cursor *c,
			struct params_out *row)
{
	for (size_t i = 0; i < n && cur_ok(c); i++)
		read_field(&f[i], version, c, row);
}

static void read_thread(unsigned version, struct cursor *c, struct params_out *row)
{
	struct cursor none = { 0 };

	params_begin(row, SCAP_ROW_THREAD, -1);
	read_fields(scap_thread_fields, THREAD_FIELD_PIDNS, version, c, row);
	for (size_t i = THREAD_FIELD_PIDNS; i < THREAD_FIELD_LOGINUID; i++)
		read_field(&scap_thread_fields[i], version, cur_left(c) <= THREAD_TAIL_OLD ? &none : c, row);
	read_fields(scap_thread_fields + THREAD_FIELD_LOGINUID, scap_thread_n_fields - THREAD_FIELD_LOGINUID, version,
		    c, row);
}

static void read_user(struct cursor *c, struct params_out *row)
{
	if (cur_u8(c) == USER_KIND) {
		params_begin(row, SCAP_ROW_USER, -1);
		read_fields(scap_user_fields, scap_user_n_fields, 1, c, row);
	} else {
		params_begin(row, SCAP_ROW_GROUP, -1);
		read_fields(scap_group_fields, scap_group_n_fields, 1, c, row);
	}
}

/* Types 1 and 2 have a link speed, 3 and 4 do not. */
static void read_iface(struct cursor *c, struct params_out *row)
{
	uint16_t type = cur_u16(c), name_len = cur_u16(c);
	size_t addr = type == 1 || type == 3 ? 4 : 16;
	const char *name;

	params_begin(row, SCAP_ROW_IFACE, -1);
	params_add_u16(row, type);
	for (unsigned i = 0; i < 3; i++)
		add_bytes(row, c, addr);
	if (type <= 2)
		params_add_u64(row, cur_u64(c));
	else
		params_add(row, NULL, 0);
	name = cur_bytes(c, name_len);
	add_text(row, name, name_len);
	if (type < 1 || type > 4)
		c->bad = true;
}

/* Lists have the addresses before the ports; a tuple has a port after each address. */
static void read_tuple(struct cursor *c, size_t addr, struct params_out *row)
{
	const void *sip = cur_bytes(c, addr), *dip = cur_bytes(c, addr);
	uint16_t sport = cur_u16(c), dport = cur_u16(c);

	params_add_u8(row, addr == 4 ? SCAP_AF_INET : SCAP_AF_INET6);
	if (!cur_ok(c))
		return;
	params_append(row, sip, addr);
	params_append(row, &sport, sizeof(sport));
	params_append(row, dip, addr);
	params_append(row, &dport, sizeof(dport));
}

static void read_server(struct cursor *c, size_t addr, struct params_out *row)
{
	const void *ip = cur_bytes(c, addr);
	uint16_t port = cur_u16(c);

	params_add_u8(row, addr == 4 ? SCAP_AF_INET : SCAP_AF_INET6);
	if (!cur_ok(c))
		return;
	params_append(row, ip, addr);
	params_append(row, &port, sizeof(port));
}

static void add_empty(struct params_out *row, unsigned n)
{
	while (n--)
		params_add(row, NULL, 0);
}

/* Name, tuple, address and protocol of a connected or listening socket. */
static void read_socket(unsigned type, struct cursor *c, struct params_out *row)
{
	size_t addr = type == FD_IPV4 || type == FD_IPV4_SERVER ? 4 : 16;

	add_empty(row, 1);
	if (type == FD_IPV4 || type == FD_IPV6) {
		read_tuple(c, addr, row);
		add_empty(row, 1);
	} else {
		add_empty(row, 1);
		read_server(c, addr, row);
	}
	params_add_u8(row, cur_u8(c));
}

static void read_unix(struct cursor *c, struct params_out *row)
{
	const void *pointers = cur_bytes(c, 2 * sizeof(uint64_t));
	uint16_t len = cur_u16(c);
	const char *path = cur_bytes(c, len);

	add_text(row, path, len);
	params_add_u8(row, SCAP_AF_UNIX);
	if (cur_ok(c)) {
		params_append(row, pointers, 2 * sizeof(uint64_t));
		params_append(row, path, strnlen(path, len));
		params_append(row, "", 1);
	}
	add_empty(row, 2);
}

static void read_named(struct cursor *c, struct params_out *row)
{
	uint16_t len = cur_u16(c);
	const char *name = cur_bytes(c, len);

	add_text(row, name, len);
	add_empty(row, 3);
}

static void read_file(struct cursor *c, bool has_len, struct params_out *row)
{
	uint32_t flags = cur_u32(c);

	read_named(c, row);
	params_add_u32(row, flags);
	if (has_len && cur_left(c) >= sizeof(uint32_t))
		params_add_u32(row, cur_u32(c));
	else
		add_empty(row, 1);
}

static bool fd_has_name(unsigned type)
{
	return type == FD_FILE || type == FD_DIRECTORY || type == FD_FIFO || (type > FD_UNIX && type <= FD_TEXT_MAX);
}

static void read_fd(unsigned version, uint64_t tid, struct cursor *c, struct params_out *row)
{
	uint64_t fd = cur_u64(c), ino = cur_u64(c);
	uint8_t type = cur_u8(c);

	params_begin(row, SCAP_ROW_FD, -1);
	params_add_u64(row, tid);
	params_add_u64(row, fd);
	params_add_u64(row, ino);
	params_add_u8(row, type);
	if (type >= FD_IPV4 && type <= FD_IPV6_SERVER)
		read_socket(type, c, row);
	else if (type == FD_UNIX)
		read_unix(c, row);
	else if (type == FD_FILE_V2)
		read_file(c, version > 1, row);
	else if (fd_has_name(type))
		read_named(c, row);
	/* without lengths of entries the length of an unknown type is unknown */
	else if (type && version == 1)
		c->bad = true;
}

static void read_row(const struct scap_block_type *t, uint64_t tid, struct cursor *c, struct params_out *row)
{
	switch (t->kind) {
	case SCAP_BLOCK_THREADS: read_thread(t->version, c, row); break;
	case SCAP_BLOCK_FDS: read_fd(t->version, tid, c, row); break;
	case SCAP_BLOCK_USERS: read_user(c, row); break;
	case SCAP_BLOCK_IFACES: read_iface(c, row); break;
	case SCAP_BLOCK_MACHINE:
		params_begin(row, SCAP_ROW_MACHINE, -1);
		read_fields(scap_machine_fields, scap_machine_n_fields, 1, c, row);
		break;
	case SCAP_BLOCK_SECTION:
	case SCAP_BLOCK_EVENT:
	case SCAP_BLOCK__MAX: c->bad = true;
	}
}

/* The length of an entry includes itself, except for interfaces. */
static struct cursor next_entry(const struct scap_block_type *t, struct cursor *body)
{
	bool lists_lengths = t->version == (t->kind == SCAP_BLOCK_THREADS ? 9 : 2);
	uint32_t len;

	if (!lists_lengths || t->kind == SCAP_BLOCK_MACHINE)
		return *body;
	len = cur_u32(body);
	if (t->kind != SCAP_BLOCK_IFACES)
		len = len >= sizeof(len) ? len - (uint32_t)sizeof(len) : UINT32_MAX;
	return cur_sub(body, len);
}

int scap_block_rows(const struct scap_block_type *t, struct cursor body, struct params_out *row, scap_row_fn fn,
		    void *ctx, const char **ret_problem)
{
	uint64_t tid = t->kind == SCAP_BLOCK_FDS ? cur_u64(&body) : 0;
	const uint8_t *before;
	struct cursor entry;
	int r;

	/* up to three bytes of padding end the list */
	while (cur_left(&body) >= sizeof(uint32_t)) {
		before = body.pos;
		entry = next_entry(t, &body);
		read_row(t, tid, &entry, row);
		if (!cur_ok(&entry)) {
			*ret_problem = "an entry of a list does not fit its length";
			return -EBADMSG;
		}
		if (body.pos == before)
			body = entry;
		r = fn(ctx, row);
		if (r < 0 || t->kind == SCAP_BLOCK_MACHINE)
			return r;
	}
	*ret_problem = "a list is too short";
	return cur_ok(&body) ? 0 : -EBADMSG;
}

/* ---- events ---- */

/* Number of parameters of an old event, which does not carry it: the largest number whose lengths fit the event. */
static int count_params(const struct scap_event_info *info, struct cursor body)
{
	for (int n = info->n_params; n >= 0; n--) {
		struct cursor c = body;
		size_t sum = 0;

		for (int i = 0; i < n; i++)
			sum += cur_u16(&c);
		if (cur_ok(&c) && cur_left(&c) == sum)
			return n;
	}
	return -EBADMSG;
}

static bool read_params(const struct scap_block_type *t, uint32_t n, struct cursor *c, struct params_out *ret)
{
	struct cursor lens = cur_sub(c, (size_t)n * (t->large ? 4 : 2));

	if (n > PARAMS_MAX)
		return false;
	for (uint32_t i = 0; i < n && cur_ok(c); i++) {
		size_t len = t->large ? cur_u32(&lens) : cur_u16(&lens);
		const void *data = cur_bytes(c, len);

		params_add(ret, data, data ? len : 0);
	}
	return cur_ok(&lens) && cur_ok(c);
}

/* Old writers stored a length three bytes too large for two types. */
static uint32_t true_length(uint16_t type, uint32_t len)
{
	return (type == SCAP_NOTIFICATION_E || type == SCAP_INFRASTRUCTURE_EVENT_E) && len > 3 ? len - 3 : len;
}

int scap_block_event(const struct scap_block_type *t, struct cursor body, struct scap_event_head *ret_head,
		     struct params_out *ret, const char **ret_problem)
{
	uint16_t cpu = cur_u16(&body), type;
	uint32_t word = t->has_word ? cur_u32(&body) : 0, len;
	uint32_t header = t->version > 1 ? EVENT_HEADER : EVENT_HEADER_V1;
	const struct scap_event_info *info;
	struct cursor c = body;
	uint64_t ts_ns, tid;
	int n;

	ts_ns = cur_u64(&c);
	tid = cur_u64(&c);
	len = cur_u32(&c);
	type = cur_u16(&c);
	n = t->version > 1 ? (int)MIN(cur_u32(&c), (uint32_t)PARAMS_MAX + 1) : 0;
	info = scap_schema_event_info(type);
	*ret_problem = "an event is longer than its block";
	*ret_head = (struct scap_event_head){ .ts_ns = ts_ns, .cpu = cpu };
	if (!cur_ok(&c) || len < header)
		return -EBADMSG;
	if (!info || scap_is_row(type))
		return 0;
	if (t->version == 1)
		len = true_length(type, len);
	c = cur_sub(&c, len - header);
	if (t->version == 1)
		n = count_params(info, c);
	params_begin(ret, type, (int64_t)tid);
	ret->head.word = word;
	ret->head.flags = (t->has_word ? PARAMS_HAS_WORD : 0) | (t->large ? PARAMS_LARGE : 0);
	if (n < 0 || !cur_ok(&c) || !read_params(t, (uint32_t)n, &c, ret)) {
		*ret_problem = "the parameters of an event do not fit it";
		return -EBADMSG;
	}
	return 1;
}
