/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single values as strace(1) prints them. All functions append to @out; buf_error() reports a lack of memory.
 */
#ifndef SYS_TEXT_H
#define SYS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/sys/sys_table.h"

struct buf;

/* "0x7f12", or "NULL". */
void sys_text_ptr(uint64_t v, struct buf *out);
/* @v as a name or a combination of flags of @x. */
void sys_text_xlat(const struct sys_xlat *x, uint64_t v, struct buf *out);
void sys_text_signal(uint64_t signo, struct buf *out);
/* File type and permissions: "S_IFREG|0644". */
void sys_text_mode(uint64_t mode, struct buf *out);

/* Quoted and escaped; @more: dots follow, because the string is longer than @len. */
void sys_text_quoted(const uint8_t *data, size_t len, bool more, struct buf *out);
void sys_text_hex(const uint8_t *data, size_t len, bool more, struct buf *out);
/* Numbers of the set bits among the first @n of @data: "[0 3 4]". @more: dots follow. */
void sys_text_bits(const uint8_t *data, size_t n, bool more, struct buf *out);

/* @family: AF_INET (4 bytes) or AF_INET6 (16 bytes). */
void sys_text_ip(int family, const uint8_t *addr, struct buf *out);
/* struct sockaddr of @len bytes. */
void sys_text_sockaddr(const uint8_t *data, size_t len, struct buf *out);

#endif
