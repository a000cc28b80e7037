// The least that can be answered for: takes a message by HTTP, commits it with one synced insert, and answers.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

import { takeTask } from "../harness/task.ts";
import { openBareSqlite } from "../store/bare-sqlite.ts";

export interface AcceptorTask {
  readonly file: string;
}

const { file } = takeTask<AcceptorTask>();
const database = openBareSqlite(file, "full");
const app = new Hono();
app.post("/", async (c) => {
  database.insert(await c.req.text());
  return c.body(null, 200);
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.send?.(`http://127.0.0.1:${port}/`),
);
