// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_header.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "event/core.h"

static void put_fact(const char *name, const char *text, size_t max, struct buf *out)
{
	buf_printf(out, "# %s : ", name);
	str_escape_buf(out, text, strnlen(text, max));
	buf_add_char(out, '\n');
}

void perf_header_put(const struct core_host *host, const char *file, struct buf *out)
{
	buf_add_str(out, "# ========\n");
	put_fact("file", file, strlen(file), out);
	if (host && host->n_cpus) {
		put_fact("hostname", host->hostname, sizeof(host->hostname), out);
		put_fact("os release", host->release, sizeof(host->release), out);
		put_fact("arch", host->machine, sizeof(host->machine), out);
		buf_printf(out, "# nrcpus online : %u\n", host->n_cpus);
	}
	put_fact("sonde version", SONDE_VERSION, sizeof(SONDE_VERSION), out);
	buf_add_str(out, "# ========\n#\n");
}
