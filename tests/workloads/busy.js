// SPDX-License-Identifier: GPL-2.0-or-later
// A JIT at work: optimised and interpreted functions, strings, a sort, garbage.
function numbers(seed, n) {
	const v = [];
	for (let i = 0; i < n; i++) {
		seed = (seed * 1103515245 + 12345) & 0x7fffffff;
		v.push(seed);
	}
	return v;
}

function counted(v) {
	const found = new Map();
	for (const x of v) {
		const key = String(x).slice(0, 3);
		found.set(key, (found.get(key) || 0) + 1);
	}
	return found;
}

function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

function work(seed) {
	const v = numbers(seed, 5000).sort((a, b) => a - b);
	return counted(v).size + fib(18);
}

let sum = 0;
for (let seed = 1; ; seed++)
	sum = (sum + work(seed)) % 1000003;
