// SPDX-License-Identifier: GPL-2.0-or-later
// Names of a kilobyte and deep stacks: 25 levels of templates over a sort with a comparison that costs something.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

static volatile std::sig_atomic_t ended;

struct Slow {
	bool operator()(const std::pair<std::string, int> &a, const std::pair<std::string, int> &b) const
	{
		return a.first == b.first ? a.second < b.second : a.first < b.first;
	}
};

template <int Level, typename T> struct Nest {
	__attribute__((noinline)) static int run(std::vector<T> &v)
	{
		int n = Nest<Level - 1, T>::run(v);

		__asm__ volatile("" ::: "memory");
		return n + 1;
	}
};

template <typename T> struct Nest<0, T> {
	__attribute__((noinline)) static int run(std::vector<T> &v)
	{
		std::sort(v.begin(), v.end(), Slow());
		return 0;
	}
};

int main()
{
	std::uint64_t x = 88172645463325252u;

	std::signal(SIGTERM, [](int) { ended = 1; });
	while (!ended) {
		std::vector<std::pair<std::string, int>> v;

		for (int i = 0; i < 5000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			v.emplace_back(std::to_string(x), i);
		}
		Nest<25, std::pair<std::string, int>>::run(v);
	}
}
