// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program of the recording: shares of CPU time that differ at every level of its call graph, and frame pointers
 * from the first instruction on (gcc -O0 -static -nostdlib).
 */
#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

static NOINLINE void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

static NOINLINE void parse(void)
{
	spin(40000);
	for (unsigned long i = 0; i < 30000; i++)
		sink ^= i;
}

static NOINLINE void render(void)
{
	spin(120000);
}

static NOINLINE void serve(void)
{
	parse();
	render();
	for (unsigned long i = 0; i < 16000; i++)
		sink -= i;
}

static NOINLINE void log_line(void)
{
	spin(24000);
}

static NOINLINE void run(void)
{
	for (int i = 0; i < 2600; i++) {
		serve();
		log_line();
	}
}

__attribute__((used)) static void begin(void)
{
	run();
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tcall begin\n");
