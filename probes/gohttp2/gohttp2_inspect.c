// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The worker sends the address of the code, then the answer of src/gobin.
 */
#include "probes/gohttp2/gohttp2_inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/elf.h"
#include "gobin/gobin.h"
#include "worker/worker.h"

#define ELF_BYTES (1u << 20)
#define TIMEOUT_NS 10000000000ull

static uint64_t code_address(int fd)
{
	const struct elf_segment *seg;
	struct elf *e = NULL;
	uint64_t code = 0;
	size_t n = 0;

	if (elf_open_fd(fd, ELF_BYTES, &e) < 0)
		return 0;
	seg = elf_segments(e, &n);
	for (size_t i = 0; i < n; i++)
		if (seg[i].exec && (!code || seg[i].vaddr < code))
			code = seg[i].vaddr;
	elf_free(e);
	return code;
}

/* Runs in the worker. */
static int work(void *ctx, int in_fd, int out_fd)
{
	uint64_t code = code_address(in_fd);

	bool failed = write(out_fd, &code, sizeof(code)) != sizeof(code);

	return failed ? 1 : gobin_run(ctx, in_fd, out_fd);
}
WORKER_PLAIN(work);

int gohttp2_inspect(int fd, _unused_ void (*exclude)(void *ctx, uint32_t tgid, bool on), _unused_ void *ctx,
		    struct gobin_answer **ret, uint64_t *ret_code, struct err *err)
{
	_cleanup_free_ char *answer = malloc(sizeof(*ret_code) + GOBIN_ANSWER_CAP);
	struct gobin_request q = { .no_dwarf = true };
	const struct worker_opts o = {
		.name = "sonde go", .cpu_seconds = 10, .memory_bytes = 512u << 20, .ctx_bytes = sizeof(q),
	};
	ssize_t n;

	if (!answer)
		return err_errno(err, -ENOMEM, "cannot inspect a program");
	n = worker_call(&o, work, &q, fd, answer, sizeof(*ret_code) + GOBIN_ANSWER_CAP, TIMEOUT_NS, err);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(*ret_code))
		return err_set(err, -EBADMSG, "the worker process did not answer");
	memcpy(ret_code, answer, sizeof(*ret_code));
	return gobin_answer_parse(answer + sizeof(*ret_code), (size_t)n - sizeof(*ret_code), ret, err);
}
