import { parentPort } from "node:worker_threads";

import { readableHtml } from "../../util/text/html.ts";
import type { HtmlJob } from "./html-reader.ts";

parentPort?.once("message", ({ html, base, maxLength }: HtmlJob) => {
  parentPort?.postMessage(readableHtml(html, base, maxLength), []);
});
