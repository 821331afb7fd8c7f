// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/schema.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "event/params.h"

const struct scap_event_info *scap_schema_event_info(uint32_t type)
{
	const struct scap_event_info *i = NULL;

	if (type < SCAP_EVENT_MAX)
		i = &scap_events[type];
	else if (type >= SCAP_ROW_MACHINE && type < SCAP_ROW_MAX)
		i = &scap_rows[type - SCAP_ROW_MACHINE];
	return i && i->name ? i : NULL;
}

const char *scap_schema_syscall_name(uint32_t id)
{
	return id < SCAP_SC_MAX ? scap_syscalls[id].name : NULL;
}

enum scap_category scap_schema_syscall_category(uint32_t id)
{
	return id < SCAP_SC_MAX ? (enum scap_category)scap_syscalls[id].category : SCAP_CAT_OTHER;
}

int scap_schema_syscall_id(const char *name)
{
	for (int i = 0; i < SCAP_SC_MAX; i++)
		if (scap_syscalls[i].name && !strcmp(scap_syscalls[i].name, name))
			return i;
	return -ENOENT;
}

static const char *const category_names[] = {
	[SCAP_CAT_UNKNOWN] = "unknown", [SCAP_CAT_OTHER] = "other", [SCAP_CAT_FILE] = "file", [SCAP_CAT_NET] = "net",
	[SCAP_CAT_IPC] = "IPC", [SCAP_CAT_MEMORY] = "memory", [SCAP_CAT_PROCESS] = "process",
	[SCAP_CAT_SLEEP] = "sleep", [SCAP_CAT_SYSTEM] = "system", [SCAP_CAT_SIGNAL] = "signal",
	[SCAP_CAT_USER] = "user", [SCAP_CAT_TIME] = "time", [SCAP_CAT_PROCESSING] = "processing",
	[SCAP_CAT_IO_READ] = "unknown", [SCAP_CAT_IO_WRITE] = "unknown", [SCAP_CAT_IO_OTHER] = "unknown",
	[SCAP_CAT_WAIT] = "wait", [SCAP_CAT_SCHEDULER] = "scheduler", [SCAP_CAT_INTERNAL] = "internal",
};
_Static_assert(ARRAY_SIZE(category_names) == SCAP_CAT__MAX, "every category has a name");

bool scap_schema_generic_id(const struct params *p, uint64_t *ret)
{
	uint64_t id;

	if (p->head->type > SCAP_GENERIC_X || !params_u64(p, 0, &id))
		return false;
	if (!id)
		params_u64(p, SCAP_GENERIC_ID_TOO, &id);
	*ret = id;
	return true;
}

const char *scap_schema_category_name(enum scap_category c)
{
	return category_names[c];
}
