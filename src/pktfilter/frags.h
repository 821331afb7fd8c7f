/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects if tracing programs may read all bytes of an skb; private to this module.
 */
#ifndef PKTFILTER_FRAGS_H
#define PKTFILTER_FRAGS_H

#include <stdbool.h>

struct btf;

/*
 * True if they may. Loads a program to test the kernel, whose types are @btf, once per process. Without the right to
 * load false, and the next call tests again.
 */
bool frags_readable(const struct btf *btf);

#endif
