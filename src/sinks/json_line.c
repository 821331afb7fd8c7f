// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/json_line.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/json_names.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"

static const char *const reserved[] = {
	"v", "type", "time", "ts_ns", "seq", "cpu", "instance", "probe", "snapshot", "cut", "proc", "cgroup_id",
	"cgroup", "netns", "netns_name", "cookie", "sock_inode", "owner_how", "owner_shared", "open_file", "file_how",
	"call_id", "call_how", "tcp", "goid", "rpc_conn", "rpc_stream", "conn", "packet", "kstack", "ustack",
	"comments",
};

bool json_line_reserves(const char *key)
{
	return ARRAY_FIND(it, reserved, !strcmp(*it, key));
}

/* Omits numbers for which 0 means unknown. */
static void put_known(struct json *j, const char *key, uint64_t v)
{
	if (v)
		json_put_u64(j, key, v);
}

static void put_flag(struct json *j, const char *key, bool v)
{
	if (v)
		json_put_bool(j, key, true);
}

static void put_address(struct json *j, uint64_t v)
{
	char text[24];

	json_str(j, text, (size_t)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v));
}

static void put_instance(struct json *j, struct json_line *l, const struct event *ev)
{
	const struct { uint64_t names, instance; } of = { event_names_generation(ev->names), ev->instance };
	struct json_part *part = json_parts_slot(&l->heads, ev->instance);
	const size_t from = j->out->len;

	if (json_parts_use(part, &of, sizeof(of), NULL, 0, j->out))
		return;
	put_known(j, "instance", ev->instance);
	json_put_text(j, "probe", event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance));
	json_parts_keep(part, &of, sizeof(of), NULL, 0, j->out, from);
}

static void put_header(struct json *j, struct json_line *l, const struct event *ev)
{
	if (ev->clock_offset_ns) {
		json_key(j, "time");
		buf_add_char(j->out, '"');
		time_text_rfc3339_utc(&l->time, ev, j->out);
		buf_add_char(j->out, '"');
		j->comma = true;
	}
	json_put_u64(j, "ts_ns", ev->ts_ns);
	json_put_u64(j, "seq", ev->seq);
	json_put_u64(j, "cpu", ev->cpu);
	put_instance(j, l, ev);
	put_flag(j, "snapshot", ev->flags & SONDE_RF_SNAPSHOT);
	put_flag(j, "cut", ev->flags & SONDE_RF_CUT);
}

static void put_proc_str(struct json *j, const char *key, const struct event *ev, const struct sec_proc *p,
			 struct sec_str str)
{
	size_t len;
	const char *s = event_sec_proc_str(p, event_section(ev, SEC_PROC), str, &len);

	if (len)
		json_put_str(j, key, s, len);
}

static void make_proc(struct json *j, const struct event *ev, const struct sec_proc *p)
{
	json_put_open(j, "proc", '{');
	put_known(j, "pid", ev->tgid ? ev->tgid : p->tgid);
	put_known(j, "tid", ev->tid);
	put_known(j, "start_ns", ev->start_ns ? ev->start_ns : p ? p->start_ns : 0);
	put_known(j, "image_id", ev->keys.image);
	if (p) {
		put_known(j, "vpid", p->vpid == p->tgid ? 0 : p->vpid);	/* the same outside of containers */
		put_known(j, "ppid", p->ppid);
		json_put_u64(j, "uid", p->uid);
		json_put_u64(j, "gid", p->gid);
		put_proc_str(j, "name", ev, p, p->comm);
		put_proc_str(j, "exe", ev, p, p->exe);
		put_proc_str(j, "args", ev, p, p->args);
		put_proc_str(j, "container", ev, p, p->container);
		put_proc_str(j, "image", ev, p, p->image);
	}
	json_close(j, '}');
}

static void put_proc(struct json *j, struct json_line *l, const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_PROC);
	const struct sec_proc *p = event_proc(ev);
	const struct { uint64_t start_ns, image; uint32_t tgid, tid; } of = {
		ev->start_ns, ev->keys.image, ev->tgid, ev->tid,
	};
	struct json_part *part = json_parts_slot(&l->procs, ev->tid);
	const size_t from = j->out->len, len = p ? s->len : 0;

	if ((!p && !ev->tgid) || json_parts_use(part, &of, sizeof(of), p, len, j->out))
		return;
	make_proc(j, ev, p);
	json_parts_keep(part, &of, sizeof(of), p, len, j->out, from);
}

static void put_ip(struct json *j, const char *key, const struct ipaddr *ip)
{
	const struct value v = { .kind = VAL_IP, .ip = *ip };

	if (!ipaddr_bytes(ip->family))
		return;
	json_key(j, key);
	json_value(j, &v);
}

static void put_conn(struct json *j, const struct conn *c)
{
	const char *proto = xlat_name(&ip_proto_xlat, c->proto);

	if (!c->proto && !c->saddr.family && !c->daddr.family)
		return;
	json_put_open(j, "conn", '{');
	if (proto)
		json_put_text(j, "proto", proto);
	else
		put_known(j, "proto", c->proto);
	put_ip(j, "src", &c->saddr);
	put_known(j, "sport", c->sport);
	put_ip(j, "dst", &c->daddr);
	put_known(j, "dport", c->dport);
	json_close(j, '}');
}

static void put_how(struct json *j, const char *key, uint8_t how)
{
	json_put_text(j, key, how ? xlat_name(&ident_how_xlat, how) : NULL);
}

static void put_stream(struct json *j, const struct event_keys *k)
{
	const uint8_t way = k->ident_flags & (SONDE_ID_F_TX | SONDE_ID_F_RX);

	if (!way)
		return;
	json_put_open(j, "tcp", '{');
	json_put_text(j, "dir", xlat_name(&ident_stream_xlat, way));
	json_put_u64(j, "seq", k->seq);
	json_put_u64(j, "len", k->seq_len);
	put_flag(j, "shared", k->ident_flags & SONDE_ID_F_SHARED_RANGE);
	json_close(j, '}');
}

static void put_sock(struct json *j, uint64_t sock)
{
	const bool inode = sock & SONDE_ID_SOCK_INODE;

	put_known(j, inode ? "sock_inode" : "cookie", sock & ~SONDE_ID_SOCK_INODE);
}

static void put_file(struct json *j, const struct event *ev)
{
	const struct sec_file *f = event_file(ev);

	if (!ev->keys.file)
		return;
	json_put_open(j, "open_file", '{');
	json_put_u64(j, "id", ev->keys.file);
	if (f) {
		json_put_str(j, "path", f->name, f->name_len);
		json_put_text(j, "kind", xlat_name(&file_kind_xlat, f->kind));
		json_put_u64(j, "ino", f->ino);
		json_put_u64(j, "dev", f->dev);
		put_known(j, "generation", f->generation);
	}
	json_close(j, '}');
}

static void put_cgroup(struct json *j, const struct names *names, uint64_t id)
{
	static const struct { const char *key; uint32_t space; } of[] = {
		{ "cgroup", SONDE_NAME_CGROUP }, { "container_name", SONDE_NAME_CONTAINER },
		{ "container_image", SONDE_NAME_CONTAINER_IMAGE }, { "pod", SONDE_NAME_POD },
		{ "pod_namespace", SONDE_NAME_POD_NAMESPACE }, { "pod_uid", SONDE_NAME_POD_UID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		json_put_text(j, of[i].key, event_names_get(names, of[i].space, id));
}

/* Cgroup, namespace, socket, file: the same for most events of a thread. */
static void make_place(struct json *j, const struct event *ev)
{
	const struct event_keys *k = &ev->keys;

	put_known(j, "cgroup_id", k->cgroup_id);
	if (k->cgroup_id)
		put_cgroup(j, ev->names, k->cgroup_id);
	put_known(j, "netns", k->netns);
	if (k->netns)
		json_put_text(j, "netns_name", event_names_get(ev->names, SONDE_NAME_NETNS, k->netns));
	put_sock(j, k->cookie);
	put_how(j, "owner_how", k->owner_how);
	put_flag(j, "owner_shared", k->ident_flags & SONDE_ID_F_SHARED_OWNER);
	put_file(j, ev);
	put_how(j, "file_how", k->file_how);
}

static void put_place(struct json *j, struct json_line *l, const struct event *ev)
{
	const struct event_keys *k = &ev->keys;
	const struct sec_file *f = k->file ? event_file(ev) : NULL;
	const struct { uint64_t names, cgroup, cookie, file; uint32_t netns, how; } of = {
		event_names_generation(ev->names), k->cgroup_id, k->cookie, k->file, k->netns,
		(uint32_t)k->owner_how << 16 | (uint32_t)k->file_how << 8 |
		(k->ident_flags & SONDE_ID_F_SHARED_OWNER ? 1 : 0),
	};
	struct json_part *part = json_parts_slot(&l->places, k->file ^ k->cookie ^ k->cgroup_id);
	const size_t from = j->out->len, len = f ? sizeof(*f) + f->name_len : 0;

	if (json_parts_use(part, &of, sizeof(of), f, len, j->out))
		return;
	make_place(j, ev);
	json_parts_keep(part, &of, sizeof(of), f, len, j->out, from);
}

static void put_keys(struct json *j, const struct event *ev)
{
	const struct event_keys *k = &ev->keys;

	put_known(j, "call_id", k->call);
	put_how(j, "call_how", k->call_how);
	put_stream(j, k);
	put_known(j, "goid", k->goid);
	if (k->rpc_conn) {
		json_key(j, "rpc_conn");
		put_address(j, k->rpc_conn);
	}
	put_known(j, "rpc_stream", k->rpc_stream);
	put_conn(j, &k->conn);
}

static void put_hex(struct json *j, const uint8_t *data, size_t len)
{
	const struct value v = { .kind = VAL_BYTES, .str = (const char *)data, .len = len };

	json_key(j, "data");
	json_value(j, &v);
}

static const char *link_name(uint32_t link)
{
	switch (link) {
	case SONDE_LINK_ETHERNET: return "ethernet";
	case SONDE_LINK_RAW: return "raw";
	case SONDE_LINK_SLL: return "linux_sll";
	case SONDE_LINK_SLL2: return "linux_sll2";
	default: return NULL;
	}
}

static void put_packet(struct json *j, const struct event *ev, bool with_bytes)
{
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);
	uint32_t netns;

	if (!p)
		return;
	netns = p->netns ? p->netns : ev->keys.netns;
	json_put_open(j, "packet", '{');
	if (link_name(p->link))
		json_put_text(j, "link", link_name(p->link));
	else
		json_put_u64(j, "link", p->link);
	json_put_u64(j, "len", p->orig_len);
	json_put_u64(j, "cap_len", p->cap_len);
	if (p->direction)
		json_put_text(j, "dir", xlat_name(&direction_xlat, p->direction));
	put_known(j, "ifindex", p->ifindex);
	json_put_text(j, "iface", event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(netns, p->ifindex)));
	if (with_bytes)
		put_hex(j, data, p->cap_len);
	json_close(j, '}');
}

static void put_stack(struct json *j, const char *key, const struct event *ev, enum sec_kind kind)
{
	const struct section *s = event_section(ev, kind);
	const uint64_t *pc = s ? s->data : NULL;

	if (!s)
		return;
	json_put_open(j, key, '[');
	for (uint32_t i = 0; i < s->len / sizeof(*pc); i++) {
		const char *name = kind == SEC_STACK_KERN ? event_names_get(ev->names, SONDE_NAME_KSYM, pc[i]) : NULL;

		if (name)
			json_str(j, name, strlen(name));
		else
			put_address(j, pc[i]);
	}
	json_close(j, ']');
}

/* Only with a packet: elsewhere the text is a field of the type. */
static void put_comments(struct json *j, const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_TEXT);
	const char *text = s ? s->data : NULL;
	uint32_t left = s ? s->len : 0;

	if (!left || !event_section(ev, SEC_PACKET))
		return;
	json_put_open(j, "comments", '[');
	while (left) {
		const char *end = memchr(text, '\n', left);
		uint32_t n = end ? (uint32_t)(end - text) : left;

		json_str(j, text, n);
		text += n + (end != NULL);
		left -= n + (end != NULL);
	}
	json_close(j, ']');
}

/* Bits 1u << kind of the sections that @ev has. */
static uint32_t sections_of(const struct event *ev)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < ev->n_sec; i++)
		mask |= 1u << ev->sec[i].kind;
	return mask;
}

static void put_type(struct json *j, const struct event_desc *desc)
{
	json_put_u64(j, "v", JSON_LINE_VERSION);
	json_put_text(j, "type", desc->name);
}

/* Text that depends on the type alone: the first members and the keys of its fields. NULL without memory. */
static struct json_type *type_of(struct json_line *l, const struct event_desc *desc)
{
	struct json_type *t = &l->types[(desc->type ^ desc->type >> 4) % JSON_LINE_TYPES];
	struct json j = { .out = &t->head };

	if (t->keys.desc == desc)
		return t;
	json_keys_fini(&t->keys);
	buf_reset(&t->head);
	put_type(&j, desc);
	return buf_error(&t->head) < 0 || json_keys_init(&t->keys, desc) < 0 ? NULL : t;
}

#define SEC_EXTRA (1u << SEC_PACKET | 1u << SEC_STACK_KERN | 1u << SEC_STACK_USER | 1u << SEC_TEXT)

/* Members of sections that few events have. */
static int put_extra(struct json *j, const struct event *ev, struct json_names *names, bool with_bytes)
{
	int r = 0;

	put_packet(j, ev, with_bytes);
	put_stack(j, "kstack", ev, SEC_STACK_KERN);
	if (names && event_section(ev, SEC_STACK_USER)) {
		json_put_open(j, "ustack", '[');
		r = json_names_leave(names, ev);
		json_close(j, ']');
	} else {
		put_stack(j, "ustack", ev, SEC_STACK_USER);
	}
	put_comments(j, ev);
	return r;
}

void json_line_fini(struct json_line *l)
{
	for (size_t i = 0; i < JSON_LINE_TYPES; i++) {
		json_keys_fini(&l->types[i].keys);
		buf_fini(&l->types[i].head);
	}
	json_parts_fini(&l->heads);
	json_parts_fini(&l->procs);
	json_parts_fini(&l->places);
}

int json_line(struct json_line *l, const struct event *ev, struct json_names *names, bool with_bytes, struct buf *out)
{
	struct json_type *type = type_of(l, ev->desc);
	struct json j = { .out = out };
	int r = 0;

	json_open(&j, '{');
	if (type)
		buf_add(out, type->head.data, type->head.len);
	else
		put_type(&j, ev->desc);
	j.comma = true;
	put_header(&j, l, ev);
	put_proc(&j, l, ev);
	put_place(&j, l, ev);
	put_keys(&j, ev);
	if (type)
		json_event_fields_by(&j, ev, &type->keys);
	else
		json_event_fields(&j, ev);
	if (sections_of(ev) & SEC_EXTRA)
		r = put_extra(&j, ev, names, with_bytes);
	json_close(&j, '}');
	return buf_add_char(out, '\n') ?: r;
}
