// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probes of this build and their event types.
 */
#include <stdio.h>

#include "base/macros.h"
#include "cmd/cmd.h"
#include "event/decode.h"
#include "event/event.h"
#include "probe/probe.h"

static int probes_run(_unused_ void *conf, _unused_ const struct cmd_words *w)
{
	for (size_t i = 0; all_probes[i]; i++) {
		const struct probe_ops *p = all_probes[i];

		printf("%s: %s\n", p->name, p->summary);
		for (size_t e = 0; p->decoder->events[e]; e++)
			printf("  %-16s %s\n", p->decoder->events[e]->name, p->decoder->events[e]->doc);
	}
	return CMD_OK;
}

const struct cmd cmd_probes = {
	.name = "probes", .summary = "the probes and the events they make", .args = "",
	.doc = "Lists the probes of this build with the events each of them makes. sonde doctor says which of their "
	       "hooks work on this host; sonde help events lists the fields.",
	.run = probes_run,
};
