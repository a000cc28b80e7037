// The framework alone: returns the same text for every request.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

import { takeTask } from "../harness/task.ts";

export interface BareTask {
  readonly text: string;
}

const { text } = takeTask<BareTask>();
const app = new Hono();
app.get("/", (context) => context.body(text, 200, { "content-type": "application/json" }));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.send?.(`http://127.0.0.1:${port}/`),
);
