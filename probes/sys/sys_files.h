/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Description of an open file from its record. The state engine keeps it for the events that name its number.
 */
#ifndef SYS_FILES_H
#define SYS_FILES_H

#include <stdint.h>

#include "event/event.h"
#include "probes/sys/sys_wire.h"

/*
 * SEC_FILE of a record with r->hdr.len readable bytes, in @scratch, and its length. 0, -EBADMSG or -ENOMEM.
 */
int sys_files_describe(const struct sys_file_rec *r, struct arena *scratch, const struct sec_file **ret,
		       uint32_t *ret_len);

#endif
