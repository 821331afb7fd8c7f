// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls capget(2) and capset(2) directly: libcap would keep a second copy of the sets.
 */
#include "base/rights.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD_BITS 32

typedef struct __user_cap_data_struct caps_t[_LINUX_CAPABILITY_U32S_3];

static int get(caps_t ret)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &h, ret) < 0 ? -errno : 0;
}

static int set(caps_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &h, caps) < 0 ? -errno : 0;
}

static uint64_t joined(uint32_t low, uint32_t high)
{
	return (uint64_t)high << WORD_BITS | low;
}

static uint64_t effective_of(const caps_t c)
{
	return joined(c[0].effective, c[1].effective);
}

static uint64_t permitted_of(const caps_t c)
{
	return joined(c[0].permitted, c[1].permitted);
}

static void put_effective(caps_t c, uint64_t caps)
{
	c[0].effective = (uint32_t)caps;
	c[1].effective = (uint32_t)(caps >> WORD_BITS);
}

uint64_t rights_permitted(void)
{
	caps_t c;

	return get(c) < 0 ? 0 : permitted_of(c);
}

uint64_t rights_effective(void)
{
	caps_t c;

	return get(c) < 0 ? 0 : effective_of(c);
}

int rights_keep(uint64_t permitted, uint64_t effective)
{
	caps_t c = { { .permitted = (uint32_t)permitted }, { .permitted = (uint32_t)(permitted >> WORD_BITS) } };

	put_effective(c, effective & permitted);
	return set(c);
}

uint64_t rights_raise(uint64_t caps)
{
	uint64_t was;
	caps_t c;

	if (get(c) < 0)
		return 0;
	was = effective_of(c);
	caps &= permitted_of(c);
	if ((was | caps) == was)
		return was;
	put_effective(c, was | caps);
	set(c);
	return was;
}

void rights_restore(uint64_t effective)
{
	caps_t c;

	if (get(c) < 0 || effective_of(c) == effective)
		return;
	put_effective(c, effective & permitted_of(c));
	set(c);
}
