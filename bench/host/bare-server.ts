// The framework alone: it hands out the same text to everybody.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

export interface BareTask {
  readonly text: string;
}

// Written by the process that started this one, whose channel is our leash.
const { text } = JSON.parse(process.argv[2] ?? "{}") as BareTask;
process.once("disconnect", () => process.exit(0));

const app = new Hono();
app.get("/", (context) => context.body(text, 200, { "content-type": "application/json" }));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.send?.(`http://127.0.0.1:${port}/`),
);
