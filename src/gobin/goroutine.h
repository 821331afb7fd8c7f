/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Location of the current goroutine of a thread. Internal to src/gobin.
 */
#ifndef GOBIN_GOROUTINE_H
#define GOBIN_GOROUTINE_H

#include <stddef.h>
#include <stdint.h>

struct job;

/* Fills gobin_answer.tls_off. */
void goroutine_find(struct job *j);

/* Offset from the thread pointer that the first instructions of runtime.morestack use; 0 = another form. amd64. */
int32_t goroutine_tls_off(const uint8_t *code, size_t len);

#endif
