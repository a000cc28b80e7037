// The framework alone: returns the same text for every request at `/`. At `/list` and `/session` it also does what
// no server can leave out: one query for the rows, and their JSON.
import { DatabaseSync } from "node:sqlite";

import { serve } from "@hono/node-server";
import { Hono } from "hono";

import { takeTask } from "../harness/task.ts";

export interface BareTask {
  readonly text: string;
  /** A store of the host's. */
  readonly file: string;
}

const { text, file } = takeTask<BareTask>();
const database = new DatabaseSync(file, { readOnly: true });
const json = { "content-type": "application/json" };
const firstPage = database.prepare(
  `SELECT * FROM sessions WHERE owner_id = 'owner' AND shelf = 0
    ORDER BY sort_at DESC, id DESC LIMIT 50`,
);
const laterPage = database.prepare(
  `SELECT * FROM sessions WHERE owner_id = 'owner' AND shelf = 0
      AND (sort_at, id) < (SELECT sort_at, id FROM sessions WHERE id = ?)
    ORDER BY sort_at DESC, id DESC LIMIT 50`,
);
const session = database.prepare("SELECT * FROM sessions WHERE id = ?");
const entry = database.prepare(
  "SELECT * FROM events WHERE session_key = ? AND entry = 1 ORDER BY seq DESC LIMIT 1",
);

const app = new Hono();
app.get("/", (c) => c.body(text, 200, json));
app.get("/list", (c) => {
  const after = c.req.query("after");
  const rows = after === undefined ? firstPage.all() : laterPage.all(after);
  return c.body(JSON.stringify(rows), 200, json);
});
app.get("/session/:id", (c) => {
  const row = session.get(c.req.param("id"));
  const entries = entry.all(row?.["key"] ?? 0);
  return c.body(JSON.stringify({ row, entries }), 200, json);
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.send?.(`http://127.0.0.1:${port}/`),
);
