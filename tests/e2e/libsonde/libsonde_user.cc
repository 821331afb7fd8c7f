// SPDX-License-Identifier: GPL-2.0-or-later
// A C++ program on libsonde: counts the events of a capture by their type, most frequent first.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <sonde/sonde.h>

int main(int argc, char **argv)
{
	char error[SONDE_LASTERR_SIZE];
	std::int32_t status = 0;

	if (argc != 2)
		return 2;
	const std::unique_ptr<sonde_t, decltype(&sonde_close)> handle{sonde_open_file(argv[1], error, &status),
								      sonde_close};
	if (!handle) {
		std::fprintf(stderr, "%s (%d)\n", error, static_cast<int>(status));
		return 1;
	}
	std::map<unsigned, unsigned> counts;
	sonde_evt *event = nullptr;
	std::uint16_t cpu = 0;

	while ((status = sonde_next(handle.get(), &event, &cpu)) != SONDE_EOF) {
		if (status > 0) {
			std::fprintf(stderr, "%s\n", sonde_getlasterr(handle.get()));
			return 1;
		}
		if (status == SONDE_SUCCESS)
			counts[event->type]++;
	}
	std::vector<std::pair<unsigned, unsigned>> rows{counts.begin(), counts.end()};
	std::stable_sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
	for (const auto &[type, count] : rows)
		std::printf("%u %u\n", count, type);
	return 0;
}
