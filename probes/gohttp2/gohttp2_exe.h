/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a program that started, also when the program has ended meanwhile.
 */
#ifndef GOHTTP2_EXE_H
#define GOHTTP2_EXE_H

#include <stdbool.h>
#include <stdint.h>

struct gohttp2_start_rec;

/* @proc_fd: the host's /proc. Descriptor of the file that the process runs, or -errno. */
int gohttp2_exe_open(int proc_fd, uint32_t tgid);
/* Does the process still run a program? False for a zombie. */
bool gohttp2_exe_is_there(int proc_fd, uint32_t tgid);

/*
 * Descriptor of the file that was started, or -ENOENT. *ret_ended: the process has ended or runs another file; the
 * file was found by its path, as seen by the parent process, then by process 1.
 */
int gohttp2_exe_started(int proc_fd, const struct gohttp2_start_rec *r, bool *ret_ended);

#endif
