// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live probes of this build. A probe NAME in probes.def exports struct probe_ops NAME_probe.
 */
#include <string.h>

#include "probe/probe.h"

#define PROBE(name, id) extern const struct probe_ops name##_probe;
#include "probes.def"
#undef PROBE

const struct probe_ops *const all_probes[] = {
#define PROBE(name, id) &name##_probe,
#include "probes.def"
#undef PROBE
	NULL,
};

const struct probe_ops *probe_find(const char *name)
{
	for (size_t i = 0; all_probes[i]; i++)
		if (!strcmp(all_probes[i]->name, name))
			return all_probes[i];
	return NULL;
}
