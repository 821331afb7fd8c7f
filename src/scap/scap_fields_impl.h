/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/scap/words*.c only.
 */
#ifndef SCAP_WORDS_IMPL_H
#define SCAP_WORDS_IMPL_H

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "scap/render.h"
#include "scap/schema.h"
#include "scap/state/state.h"

enum word {
	W_NUM, W_TYPE, W_TYPE_IS, W_SYSCALL_TYPE, W_DIR, W_CPU, W_CATEGORY, W_ARGS, W_ARG, W_RAWARG, W_BUFFER,
	W_BUFLEN, W_RES, W_RAWRES, W_LATENCY, W_WAIT_LATENCY, W_COUNT, W_ABSPATH, W_OPEN_READ, W_OPEN_WRITE,
	W_RAWTIME, W_RAWTIME_S, W_RAWTIME_NS, W_RELTIME, W_RELTIME_S, W_RELTIME_NS, W_DELTATIME, W_DELTATIME_S,
	W_DELTATIME_NS,
	W_FAILED, W_IS_IO, W_IS_IO_READ, W_IS_IO_WRITE, W_IS_WAIT, W_IO_DIR,

	W__PROC = 100,
	W_PID = W__PROC, W_EXE, W_NAME, W_PROC_ARGS, W_ENV, W_CMDLINE, W_EXELINE, W_CWD, W_NTHREADS, W_NCHILDS,
	W_PPID, W_PNAME, W_PCMDLINE, W_APID, W_ANAME, W_LOGINSHELLID, W_DURATION, W_FDOPENCOUNT, W_FDLIMIT, W_FDUSAGE,
	W_VMSIZE, W_VMRSS, W_VMSWAP, W_SID, W_SNAME, W_TTY, W_EXEPATH, W_VPGID, W_VPID, W_EXE_WRITABLE,
	W_TID, W_ISMAIN, W_VTID, W_CGROUPS, W_CGROUP, W_PFMAJOR, W_PFMINOR,
	W_UID, W_USER_NAME, W_HOMEDIR, W_SHELL, W_LOGINUID, W_LOGINNAME, W_GID, W_GROUP_NAME,
	W_CONTAINER_ID, W_CONTAINER_NAME, W_CONTAINER_IMAGE,
	W_PEXE, W_PEXEPATH, W_AEXE, W_AEXEPATH, W_ACMDLINE, W_VPGID_NAME, W_VPGID_EXE, W_VPGID_EXEPATH,
	W_IS_VPGID_LEADER, W_PPID_DURATION, W_FROM_MEMFD, W_FD_TYPES,
	W_UNTOLD,	/* a word of Falco that no capture of ours has a value for */

	W__FD = 200,
	W_FD_NUM = W__FD, W_FD_TYPE, W_FD_TYPECHAR, W_FD_NAME, W_FD_DIRECTORY, W_FD_FILENAME, W_FD_CIP, W_FD_SIP,
	W_FD_LIP, W_FD_RIP, W_FD_CPORT, W_FD_SPORT, W_FD_LPORT, W_FD_RPORT, W_FD_L4PROTO, W_FD_SOCKFAMILY,
	W_FD_IS_SERVER, W_FD_UID, W_FD_CONNECTED, W_FD_DEV, W_FD_DEV_MAJOR, W_FD_DEV_MINOR, W_FD_INO,

	W__MORE = 300,
	W_COUNT_ERROR = W__MORE, W_COUNT_ERROR_FILE, W_COUNT_ERROR_NET, W_COUNT_ERROR_MEMORY, W_COUNT_ERROR_OTHER,
	W_COUNT_EXIT, W_OPEN_EXEC, W_LATENCY_S, W_LATENCY_NS, W_LATENCY_HUMAN, W_EXECTIME, W_TOTEXECTIME,
	W_FDLIST_NUMS, W_FDLIST_NAMES, W_FDLIST_CIPS, W_FDLIST_SIPS, W_FDLIST_CPORTS, W_FDLIST_SPORTS,
	W_CONTAINER_TYPE, W_CONTAINER_PRIVILEGED, W_CONTAINER_IMAGE_ID, W_CONTAINER_IMAGE_REPO,
	W_CONTAINER_IMAGE_TAG, W_CONTAINER_IMAGE_DIGEST, W_CONTAINER_MOUNTS,
	W_AROUND,
	W_IS_SYSLOG, W_FACILITY, W_FACILITY_STR, W_SEVERITY, W_SEVERITY_STR, W_MESSAGE,
	W__MAX,
};

/* All return 0, or -ENOENT for NULL. */
int scap_fields_uint(struct value *ret, uint64_t u);
int scap_fields_int(struct value *ret, int64_t i);
int scap_fields_ns(struct value *ret, uint64_t u);
int scap_fields_bool(struct value *ret, bool b);
int scap_fields_text(struct value *ret, const char *s);
int scap_fields_chars(struct value *ret, const char *s, size_t len);
int scap_fields_str(struct value *ret, const struct scap_str *s);
int scap_fields_str_or_empty(struct value *ret, const struct scap_str *s); /* never NULL in sysdig either */
int scap_fields_buf(struct value *ret, struct buf *b);

int scap_fields_proc_get(const struct scap_view *v, const struct field *f, struct value *ret);
int scap_fields_more_get(const struct scap_view *v, const struct field *f, struct value *ret);
int scap_fields_syslog_get(const struct scap_view *v, enum word w, struct value *ret);
int scap_fields_fd_get(const struct scap_view *v, const struct field *f, struct value *ret);

#endif
