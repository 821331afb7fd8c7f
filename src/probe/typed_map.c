// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/typed_map.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "sonde/wire.h"

#define TEXT_BYTES 16

struct map_types {
	struct btf *btf;
	int u8, u32, u64, text, ledger;		/* type ids; negative: failed */
};

static int add_ledger(const struct map_types *t)
{
	int causes = btf__add_array(t->btf, t->u32, t->u64, SONDE_LOST_ROOM);
	int id = btf__add_struct(t->btf, "sonde_ledger", sizeof(struct sonde_ledger));
	const struct { const char *name; int type; size_t off; } members[] = {
		{ "seen", t->u64, offsetof(struct sonde_ledger, seen) },
		{ "delivered", t->u64, offsetof(struct sonde_ledger, delivered) },
		{ "filtered", t->u64, offsetof(struct sonde_ledger, filtered) },
		{ "sampled", t->u64, offsetof(struct sonde_ledger, sampled) },
		{ "lost", causes, offsetof(struct sonde_ledger, lost) },
		{ "seq", t->u32, offsetof(struct sonde_ledger, seq) },
		{ "woken", t->u32, offsetof(struct sonde_ledger, woken) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (btf__add_field(t->btf, members[i].name, members[i].type, (uint32_t)members[i].off * 8, 0) < 0)
			return -EINVAL;
	return id;
}

struct map_types *typed_map_new(void)
{
	struct map_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->btf = btf__new_empty();
	if (t->btf) {
		t->u8 = btf__add_int(t->btf, "__u8", 1, 0);
		t->u32 = btf__add_int(t->btf, "__u32", 4, 0);
		t->u64 = btf__add_int(t->btf, "__u64", 8, 0);
		t->text = btf__add_array(t->btf, t->u32, btf__add_int(t->btf, "char", 1, BTF_INT_CHAR), TEXT_BYTES);
		t->ledger = add_ledger(t);
	}
	if (t->btf && btf__load_into_kernel(t->btf) == 0)
		return t;
	typed_map_free(t);
	return NULL;
}

void typed_map_free(struct map_types *t)
{
	if (!t)
		return;
	btf__free(t->btf);
	free(t);
}

static int of_size(const struct map_types *t, uint32_t size)
{
	switch (size) {
	case 1: return t->u8;
	case 4: return t->u32;
	case 8: return t->u64;
	case TEXT_BYTES: return t->text;
	case sizeof(struct sonde_ledger): return t->ledger;
	default: return -ENOENT;
	}
}

int typed_map_create(const struct map_types *t, enum bpf_map_type type, const char *name, uint32_t key_size,
		     uint32_t value_size, uint32_t max, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = flags);
	int key = t ? of_size(t, key_size) : -1, value = t ? of_size(t, value_size) : -1;
	int fd;

	if (key > 0 && value > 0) {
		o.btf_fd = (uint32_t)btf__fd(t->btf);
		o.btf_key_type_id = (uint32_t)key;
		o.btf_value_type_id = (uint32_t)value;
	}
	fd = bpf_map_create(type, name, key_size, value_size, max, &o);
	return fd < 0 ? -errno : fd;
}
