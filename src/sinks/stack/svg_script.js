// SPDX-License-Identifier: GPL-2.0-or-later
// Zoom and search of a flame graph that sonde wrote. State lives behind the # of the address: x and y of the frame
// that fills the width, s what is searched for; so a view can be sent as a link. Nothing is loaded from anywhere.
"use strict";
(function () {
	const svg = document.documentElement;
	const PAD = Number(svg.dataset.pad), WIDTH = Number(svg.dataset.width), CHAR = 6.6, MIN_PX = 0.1;
	let frames = [], zoomed = null, pattern = "";

	const byId = (id) => document.getElementById(id);

	function collect() {
		for (const g of document.querySelectorAll("#frames > g")) {
			const rect = g.querySelector("rect");
			frames.push({
				g, rect, text: g.querySelector("text"), title: g.querySelector("title").textContent,
				name: g.dataset.n, x: Number(g.dataset.x), w: Number(g.dataset.w),
				y: Number(rect.getAttribute("y")),
			});
		}
	}

	function place(f, x, w) {
		const hidden = w < MIN_PX;
		f.g.style.display = hidden ? "none" : "";
		if (hidden)
			return;
		f.rect.setAttribute("x", x);
		f.rect.setAttribute("width", w);
		const room = Math.floor((w - 4) / CHAR);
		f.text.setAttribute("x", x + 3);
		const cut = f.name.length <= room ? f.name : f.name.slice(0, room - 2) + "..";
		f.text.textContent = room < 3 ? "" : cut;
	}

	// Frames below the chosen one fill the width, those above it grow, the rest goes.
	function draw() {
		const x0 = zoomed ? zoomed.x : 0, w0 = zoomed ? zoomed.w : 1;
		const scale = WIDTH / w0, tiny = w0 * 1e-9;
		for (const f of frames) {
			const ancestor = zoomed && f.y > zoomed.y && f.x <= x0 + tiny && f.x + f.w >= x0 + w0 - tiny;
			const below = f.x >= x0 - tiny && f.x + f.w <= x0 + w0 + tiny;
			const inside = below && (!zoomed || f.y <= zoomed.y);
			f.g.classList.toggle("above", Boolean(ancestor && f !== zoomed));
			if (ancestor)
				place(f, PAD, WIDTH);
			else if (inside)
				place(f, PAD + (f.x - x0) * scale, f.w * scale);
			else
				f.g.style.display = "none";
		}
		byId("reset").style.visibility = zoomed ? "visible" : "hidden";
		mark();
	}

	// Share of the width that has a match: frames inside a frame that matched count once.
	function mark() {
		let re = null;
		try {
			re = pattern ? new RegExp(pattern) : null;
		} catch (e) {
			byId("matched").textContent = "no valid expression: " + pattern;
			return;
		}
		const hits = [];
		for (const f of frames) {
			const hit = Boolean(re && re.test(f.name));
			f.g.classList.toggle("hit", hit);
			if (hit && f.g.style.display !== "none" && !f.g.classList.contains("above"))
				hits.push(f);
		}
		hits.sort((a, b) => a.x - b.x || b.w - a.w);
		let end = -1, sum = 0;
		for (const f of hits) {
			if (f.x + f.w <= end)
				continue;
			sum += f.x + f.w - Math.max(f.x, end);
			end = f.x + f.w;
		}
		byId("matched").textContent = re ?
			"matched " + (100 * sum / (zoomed ? zoomed.w : 1)).toFixed(1) + "%" : "";
		byId("search").textContent = re ? "clear search" : "search";
	}

	function remember() {
		const state = new URLSearchParams();
		if (zoomed) {
			state.set("x", zoomed.g.dataset.x);
			state.set("y", zoomed.y);
		}
		if (pattern)
			state.set("s", pattern);
		try {
			history.replaceState(null, "", "#" + state.toString());
		} catch (e) {
			location.hash = state.toString();
		}
	}

	function recall() {
		const state = new URLSearchParams(location.hash.slice(1));
		pattern = state.get("s") || "";
		const is = (f) => f.g.dataset.x === state.get("x") && String(f.y) === state.get("y");
		zoomed = frames.find(is) || null;
		draw();
	}

	function zoom(f) {
		zoomed = f && f.w < 1 ? f : null;
		draw();
		remember();
	}

	function search() {
		pattern = pattern ? "" : window.prompt("Function names (regular expression):", "") || "";
		mark();
		remember();
	}

	function frameOf(event) {
		const g = event.target.closest("#frames > g");
		return g && frames.find((f) => f.g === g);
	}

	// Deep stacks are taller than windows: the outermost frames come first, and what there is to click stays.
	function follow() {
		byId("head").setAttribute("transform", "translate(0," + window.scrollY + ")");
	}

	window.addEventListener("DOMContentLoaded", start);
	if (document.readyState !== "loading")
		start();

	function start() {
		if (frames.length)
			return;
		collect();
		byId("frames").addEventListener("click", (e) => zoom(frameOf(e)));
		byId("frames").addEventListener("mouseover", (e) => {
			const f = frameOf(e);
			byId("details").textContent = f ? f.title : " ";
		});
		byId("reset").addEventListener("click", () => zoom(null));
		byId("search").addEventListener("click", search);
		window.addEventListener("keydown", (e) => {
			if ((e.ctrlKey || e.metaKey) && e.key === "f" || e.key === "/") {
				e.preventDefault();
				pattern = "";
				search();
			} else if (e.key === "Escape") {
				zoom(null);
			}
		});
		window.addEventListener("hashchange", recall);
		window.addEventListener("scroll", follow);
		recall();
		window.scrollTo(0, svg.getBoundingClientRect().height);
	}
})();
