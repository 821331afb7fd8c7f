/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealing the file that a killed writer left behind.
 */
#ifndef STORE_STORE_RECOVER_H
#define STORE_STORE_RECOVER_H

#include <stdint.h>

/*
 * Makes the .part file @number of the directory a sealed segment, with an index by its chunks, or removes it if it
 * has no record. Damaged bytes stay where they are. 0 or -errno.
 */
int store_recover(int dir_fd, uint64_t number);

#endif
