// SPDX-License-Identifier: GPL-2.0-or-later
/* Start of the page: the token first, then what the server is, then the pages. */
import { h, render } from "preact";
import { takeToken } from "./api";
import { App } from "./app";

takeToken();
render(<App />, document.getElementById("app")!);
