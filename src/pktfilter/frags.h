/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the running kernel lets tracing programs read all bytes of an skb; private to this module.
 */
#ifndef PKTFILTER_FRAGS_H
#define PKTFILTER_FRAGS_H

#include <stdbool.h>

struct btf;

/*
 * Asks the kernel, whose types are @btf, once per process, by loading a program that does it. False also without the
 * right to load one, and then asked again.
 */
bool frags_readable(const struct btf *btf);

#endif
