// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of ioctl commands in tables/ioctls.tsv against the installed kernel headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <asm/termbits.h>
#include <linux/blkpg.h>
#include <linux/blktrace_api.h>
#include <linux/btrfs.h>
#include <linux/cdrom.h>
#include <linux/dm-ioctl.h>
#include <linux/dma-buf.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <linux/gpio.h>
#include <linux/hdreg.h>
#include <linux/hidraw.h>
#include <linux/i2c-dev.h>
#include <linux/if_tun.h>
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/nbd.h>
#include <linux/nsfs.h>
#include <linux/nvme_ioctl.h>
#include <linux/perf_event.h>
#include <linux/ppp-ioctl.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <linux/uinput.h>
#include <linux/userfaultfd.h>
#include <linux/vfio.h>
#include <linux/vhost.h>
#include <linux/vt.h>
#include <linux/vboxguest.h>
#include <linux/watchdog.h>
#include <scsi/sg.h>
#include <sound/asound.h>
#if defined(__x86_64__)
#include <linux/kvm.h>	/* other processors have other registers and thus other numbers */
#endif
#if __has_include(<libdrm/drm.h>)
#include <libdrm/drm.h>
#endif

#include "base/macros.h"

/* The size of a structure that later kernels append to is not compared. */
static const uint64_t grows[] = { 0xc00064c3 };

static bool is_same(uint64_t header, uint64_t table)
{
	const uint64_t size = 0x3fff0000;

	for (size_t i = 0; i < ARRAY_SIZE(grows); i++)
		if ((header & ~size) == grows[i])
			return (header & ~size) == (table & ~size);
	return header == table;
}

static void test_numbers_are_those_of_the_headers(void **state)
{
	static const struct { const char *name; uint64_t header, table; } rows[] = {
#include "ioctl_rows.h"
	};

	(void)state;
	assert_true(ARRAY_SIZE(rows) >= 300);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!is_same((uint32_t)rows[i].header, rows[i].table))
			fail_msg("%s: headers have %#lx, the table %#lx", rows[i].name, (long)rows[i].header,
				 (long)rows[i].table);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers_are_those_of_the_headers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
