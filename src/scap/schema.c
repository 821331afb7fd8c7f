// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/schema.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "event/params.h"
#include "scap/schema_impl.h"

const struct scap_event_info *scap_event_info(uint32_t type)
{
	const struct scap_event_info *i = NULL;

	if (type < SCAP_EVENT_MAX)
		i = &scap_events[type];
	else if (type >= SCAP_ROW_MACHINE && type < SCAP_ROW_MAX)
		i = &scap_rows[type - SCAP_ROW_MACHINE];
	return i && i->name ? i : NULL;
}

const char *scap_syscall_name(uint32_t id)
{
	return id < SCAP_SC_MAX ? scap_syscalls[id].name : NULL;
}

enum scap_category scap_syscall_category(uint32_t id)
{
	return id < SCAP_SC_MAX ? (enum scap_category)scap_syscalls[id].category : SCAP_CAT_OTHER;
}

int scap_syscall_id(const char *name)
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

bool scap_generic_id(const struct params *p, uint64_t *ret)
{
	uint64_t id;

	if (p->head->type > SCAP_GENERIC_X || !params_u64(p, 0, &id))
		return false;
	if (!id)
		params_u64(p, SCAP_GENERIC_ID_TOO, &id);
	*ret = id;
	return true;
}

const char *scap_category_name(enum scap_category c)
{
	return category_names[c];
}

static const char *const type_names[] = {
	[PT_NONE] = "NONE", [PT_INT8] = "INT8", [PT_INT16] = "INT16", [PT_INT32] = "INT32", [PT_INT64] = "INT64",
	[PT_UINT8] = "UINT8", [PT_UINT16] = "UINT16", [PT_UINT32] = "UINT32", [PT_UINT64] = "UINT64",
	[PT_CHARBUF] = "CHARBUF", [PT_BYTEBUF] = "BYTEBUF", [PT_ERRNO] = "ERRNO", [PT_SOCKADDR] = "SOCKADDR",
	[PT_SOCKTUPLE] = "SOCKTUPLE", [PT_FD] = "FD", [PT_PID] = "PID", [PT_FDLIST] = "FDLIST",
	[PT_FSPATH] = "FSPATH", [PT_SYSCALLID] = "SYSCALLID", [PT_SIGTYPE] = "SIGTYPE", [PT_RELTIME] = "RELTIME",
	[PT_ABSTIME] = "ABSTIME", [PT_PORT] = "PORT", [PT_L4PROTO] = "L4PROTO", [PT_SOCKFAMILY] = "SOCKFAMILY",
	[PT_BOOL] = "BOOL", [PT_IPV4ADDR] = "IPV4ADDR", [PT_DYN] = "DYNAMIC", [PT_FLAGS8] = "FLAGS8",
	[PT_FLAGS16] = "FLAGS16", [PT_FLAGS32] = "FLAGS32", [PT_UID] = "UID", [PT_GID] = "GID",
	[PT_DOUBLE] = "DOUBLE", [PT_SIGSET] = "SIGSET", [PT_CHARBUFARRAY] = "CHARBUFARRAY",
	[PT_CHARBUF_PAIR_ARRAY] = "CHARBUF_PAIR_ARRAY", [PT_IPV4NET] = "IPV4NET", [PT_IPV6ADDR] = "IPV6ADDR",
	[PT_IPV6NET] = "IPV6NET", [PT_IPADDR] = "IPADDR", [PT_IPNET] = "IPNET", [PT_MODE] = "MODE",
	[PT_FSRELPATH] = "FSRELPATH", [PT_ENUM8] = "ENUMFLAGS8", [PT_ENUM16] = "ENUMFLAGS16",
	[PT_ENUM32] = "ENUMFLAGS32", [PT_FD32] = "FD32", [PT_PID32] = "PID32",
};
_Static_assert(ARRAY_SIZE(type_names) == PT__MAX, "every parameter type has a name");

const char *scap_param_type_name(enum scap_param_type t)
{
	return type_names[t];
}

const struct xlat *scap_xlat(const char *name)
{
	for (size_t i = 0; scap_xlats[i]; i++)
		if (!strcmp(scap_xlats[i]->name, name))
			return scap_xlats[i];
	return NULL;
}
