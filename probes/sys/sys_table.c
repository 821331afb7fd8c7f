// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lookups in the generated tables of system calls.
 */
#include "probes/sys/sys_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

const char *const sys_class_names[] = {
	[SYS_CLASS_OTHER] = "other", [SYS_CLASS_FILE] = "file", [SYS_CLASS_NET] = "net", [SYS_CLASS_IPC] = "ipc",
	[SYS_CLASS_MEMORY] = "memory", [SYS_CLASS_PROCESS] = "process", [SYS_CLASS_SLEEP] = "sleep",
	[SYS_CLASS_SYSTEM] = "system", [SYS_CLASS_SIGNAL] = "signal", [SYS_CLASS_USER] = "user",
	[SYS_CLASS_TIME] = "time", [SYS_CLASS_IO_READ] = "I/O read", [SYS_CLASS_IO_WRITE] = "I/O write",
	[SYS_CLASS_IO_OTHER] = "I/O other", [SYS_CLASS_WAIT] = "wait", NULL,
};
_Static_assert(ARRAY_SIZE(sys_class_names) == SYS_CLASS__MAX + 1, "a name per class");

const char *const sys_abi_names[] = {
	[SYS_ABI_X86_64] = "x86_64", [SYS_ABI_I386] = "i386", [SYS_ABI_ARM64] = "arm64", [SYS_ABI_ARM] = "arm",
	[SYS_ABI_X32] = "x32", NULL,
};
_Static_assert(ARRAY_SIZE(sys_abi_names) == SYS_ABI__MAX + 1, "a name per ABI");

static uint32_t selected(const struct sys_call *call, const uint64_t *args)
{
	uint32_t first = (uint32_t)args[call->select[0]];

	if (call->select[0] == call->select[1])
		return first & call->mask;
	return SYS_SELECTED(first, args[call->select[1]]);
}

static int by_value(const void *key, const void *form)
{
	return COMPARE(*(const uint32_t *)key, ((const struct sys_form *)form)->value);
}

const struct sys_form *sys_table_form(const struct sys_call *call, const uint64_t *args)
{
	uint32_t value;

	if (!call->n_forms)
		return NULL;
	value = selected(call, args);
	return bsearch(&value, sys_forms + call->first_form, call->n_forms, sizeof(*sys_forms), by_value);
}

const struct sys_call *sys_table_call_named(const char *name)
{
	return FIND_ITEM(it, sys_calls, sys_n_calls, !strcmp(it->name, name));
}

const char *sys_table_call_name(unsigned abi, unsigned nr, char buf[static 24])
{
	const struct sys_call *call = sys_table_call_find(abi, nr);

	if (call)
		return call->name;
	snprintf(buf, 24, "syscall_0x%x", nr);
	return buf;
}

const struct sys_xlat *sys_table_xlat_for(unsigned ref, unsigned abi)
{
	const struct sys_xlat *x = &sys_xlats[ref < sys_n_xlats ? ref : 0];

	return abi == SYS_ABI_ARM64 ? &sys_xlats[x->arm64] : x;
}

const struct sys_struct *sys_table_struct_for(unsigned ref, unsigned abi)
{
	const struct sys_struct *s = &sys_structs[ref < sys_n_structs ? ref : 0];

	if (abi == SYS_ABI_I386)
		return s->i386 == SYS_STRUCT_NONE ? NULL : &sys_structs[s->i386];
	return abi == SYS_ABI_ARM64 ? &sys_structs[s->arm64] : s;
}

unsigned sys_table_struct_named(const char *name)
{
	unsigned i = 0;

	while (i + 1 < sys_n_structs && strcmp(sys_structs[i].name, name) != 0)
		i++;
	return i;
}

const struct sys_xlat *sys_table_xlat_named(const char *name)
{
	return FIND_ITEM(it, sys_xlats, sys_n_xlats, !strcmp(it->x.name, name));
}
