/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of sysdig's fields (field->off), by the file that computes them: scap_fields.c the event,
 * scap_fields_proc.c processes, users and containers, scap_fields_fd.c descriptors, scap_fields_rare.c the others.
 */
#ifndef SCAP_FIELDS_ID_H
#define SCAP_FIELDS_ID_H

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "scap/render.h"
#include "scap/scap_value.h"
#include "scap/schema.h"
#include "scap/state/state.h"

enum field_id {
	SF_NUM, SF_TYPE, SF_TYPE_IS, SF_SYSCALL_TYPE, SF_DIR, SF_CPU, SF_CATEGORY, SF_ARGS, SF_ARG, SF_RAWARG,
	SF_BUFFER, SF_BUFLEN, SF_RES, SF_RAWRES, SF_LATENCY, SF_WAIT_LATENCY, SF_COUNT, SF_ABSPATH, SF_OPEN_READ,
	SF_OPEN_WRITE, SF_RAWTIME, SF_RAWTIME_S, SF_RAWTIME_NS, SF_RELTIME, SF_RELTIME_S, SF_RELTIME_NS,
	SF_DELTATIME, SF_DELTATIME_S, SF_DELTATIME_NS, SF_FAILED, SF_IS_IO, SF_IS_IO_READ, SF_IS_IO_WRITE,
	SF_IS_WAIT, SF_IO_DIR, SF_ERROR,

	SF__PROC = 100,
	SF_PID = SF__PROC, SF_EXE, SF_NAME, SF_PROC_ARGS, SF_ENV, SF_CMDLINE, SF_EXELINE, SF_CWD, SF_NTHREADS,
	SF_NCHILDS, SF_PPID, SF_PNAME, SF_PCMDLINE, SF_APID, SF_ANAME, SF_LOGINSHELLID, SF_DURATION, SF_FDOPENCOUNT,
	SF_FDLIMIT, SF_FDUSAGE, SF_VMSIZE, SF_VMRSS, SF_VMSWAP, SF_SID, SF_SNAME, SF_TTY, SF_EXEPATH, SF_VPGID,
	SF_VPID, SF_EXE_WRITABLE, SF_TID, SF_ISMAIN, SF_VTID, SF_CGROUPS, SF_CGROUP, SF_PFMAJOR, SF_PFMINOR, SF_UID,
	SF_USER_NAME, SF_HOMEDIR, SF_SHELL, SF_LOGINUID, SF_LOGINNAME, SF_GID, SF_GROUP_NAME, SF_CONTAINER_ID,
	SF_CONTAINER_NAME, SF_CONTAINER_IMAGE, SF_PEXE, SF_PEXEPATH, SF_AEXE, SF_AEXEPATH, SF_ACMDLINE,
	SF_VPGID_NAME, SF_VPGID_EXE, SF_VPGID_EXEPATH, SF_IS_VPGID_LEADER, SF_PPID_DURATION, SF_FROM_MEMFD,
	SF_FD_TYPES,
	SF_UNTOLD,	/* a field of Falco that captures have no value for */

	SF__FD = 200,
	SF_FD_NUM = SF__FD, SF_FD_TYPE, SF_FD_TYPECHAR, SF_FD_NAME, SF_FD_DIRECTORY, SF_FD_FILENAME, SF_FD_CIP,
	SF_FD_SIP, SF_FD_LIP, SF_FD_RIP, SF_FD_CPORT, SF_FD_SPORT, SF_FD_LPORT, SF_FD_RPORT, SF_FD_L4PROTO,
	SF_FD_SOCKFAMILY, SF_FD_IS_SERVER, SF_FD_UID, SF_FD_CONNECTED, SF_FD_DEV, SF_FD_DEV_MAJOR, SF_FD_DEV_MINOR,
	SF_FD_INO,

	SF__MORE = 300,
	SF_COUNT_ERROR = SF__MORE, SF_COUNT_ERROR_FILE, SF_COUNT_ERROR_NET, SF_COUNT_ERROR_MEMORY,
	SF_COUNT_ERROR_OTHER, SF_COUNT_EXIT, SF_OPEN_EXEC, SF_LATENCY_S, SF_LATENCY_NS, SF_LATENCY_HUMAN,
	SF_EXECTIME, SF_TOTEXECTIME, SF_FDLIST_NUMS, SF_FDLIST_NAMES, SF_FDLIST_CIPS, SF_FDLIST_SIPS,
	SF_FDLIST_CPORTS, SF_FDLIST_SPORTS, SF_CONTAINER_TYPE, SF_CONTAINER_PRIVILEGED, SF_CONTAINER_IMAGE_ID,
	SF_CONTAINER_IMAGE_REPO, SF_CONTAINER_IMAGE_TAG, SF_CONTAINER_IMAGE_DIGEST, SF_CONTAINER_MOUNTS, SF_AROUND,
	SF_IS_SYSLOG, SF_FACILITY, SF_FACILITY_STR, SF_SEVERITY, SF_SEVERITY_STR, SF_MESSAGE, SF__MAX,
};

/* Value of field f->off, by range. 0, or -ENOENT if the event has none. */
int scap_fields_proc_get(const struct scap_view *v, const struct field *f, struct value *ret);
int scap_fields_rare_get(const struct scap_view *v, const struct field *f, struct value *ret);
int scap_fields_syslog_get(const struct scap_view *v, enum field_id w, struct value *ret);
int scap_fields_fd_get(const struct scap_view *v, const struct field *f, struct value *ret);

#endif
