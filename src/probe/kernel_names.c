// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/kernel_names.h"

#include <errno.h>

#include "base/clock.h"
#include "base/macros.h"
#include "host/kname.h"
#include "host/ksym.h"
#include "loop/coop.h"

#define KSYMS_AGE_NS 1000000000ull
#define KSYMS_SHARE 50		/* reading takes 1/50 of the time at most: it costs 50 ms and more */

void kernel_names_init(struct kernel_names *k)
{
	*k = (struct kernel_names){ 0 };
	map_init(&k->reported, sizeof(uint64_t), sizeof(uint8_t));
}

void kernel_names_fini(struct kernel_names *k)
{
	kname_free(k->kname);
	ksym_free(k->ksyms);
	map_fini(&k->reported);
}

int kernel_names_add(struct kernel_names *k, uint64_t addr)
{
	return map_note(&k->reported, &addr);
}

static int read_ksyms(struct kernel_names *k, struct coop *coop)
{
	uint64_t begin = clock_boot_ns(), end;
	struct ksyms *fresh = NULL;
	bool left = coop_leave(coop);
	int r = ksym_new(&fresh);

	coop_return(coop, left);
	end = clock_boot_ns();
	k->ksyms_next_ns = end + MAX(KSYMS_SHARE * (end - begin), (uint64_t)KSYMS_AGE_NS);
	if (r < 0)
		return r;
	ksym_free(k->ksyms);
	k->ksyms = fresh;
	return 0;
}

static int need_ksyms(struct kernel_names *k, struct coop *coop)
{
	return k->ksyms ? 0 : read_ksyms(k, coop);
}

int kernel_names_get(struct kernel_names *k, struct coop *coop, uint64_t addr, char *buf, size_t cap)
{
	int r;

	if (!k->kname && !k->no_kname)
		k->no_kname = kname_new(&k->kname) < 0;
	if (k->kname)
		return kname_get(k->kname, addr, buf, cap);
	r = need_ksyms(k, coop);
	if (r < 0)
		return r;
	/* a module or a BPF program may be younger than the table */
	if (clock_boot_ns() >= k->ksyms_next_ns && ksym_may_change(k->ksyms, addr))
		read_ksyms(k, coop);
	return ksym_name(k->ksyms, addr, buf, cap);
}

int kernel_names_range(struct kernel_names *k, struct coop *coop, const char *name, unsigned nth,
		       uint64_t *ret_start, uint64_t *ret_end)
{
	int r = need_ksyms(k, coop);

	return r < 0 ? r : ksym_range(k->ksyms, name, nth, ret_start, ret_end);
}
