import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

// Writes to a home as hermes does, until it is killed: rows through the write-ahead log, sidecars by renaming.
const [root = ""] = process.argv.slice(2);
const database = new DatabaseSync(join(root, "state.db"));
database.exec(
  "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 20; PRAGMA busy_timeout = 5000",
);
const addSession = database.prepare(
  "INSERT INTO sessions (id, source, started_at) VALUES (?, ?, ?)",
);
const addMessage = database.prepare(
  "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
);
const folder = join(root, "webui", "sessions");
mkdirSync(folder, { recursive: true });
const start = 1_767_949_200;

function write(turn: number): void {
  const id = `session-${Math.floor(turn / 20)}`;
  if (turn % 20 === 0) addSession.run(id, "webui", start + turn);
  database.exec("BEGIN");
  addMessage.run(id, "user", `question ${turn} ${"x".repeat(500)}`, start + turn);
  addMessage.run(id, "assistant", `answer ${turn}`, start + turn);
  database.exec("COMMIT");
  if (turn % 20 === 19) {
    const draft = join(folder, `${id}.tmp.1.2`);
    writeFileSync(draft, JSON.stringify({ session_id: id, title: `Session ${id}`, messages: [] }));
    renameSync(draft, join(folder, `${id}.json`));
  }
  process.stdout.write(`${turn}\n`);
}

// A large database takes a while to copy, and each commit changes pages all over it.
database.exec("BEGIN; CREATE TABLE spread (id INTEGER PRIMARY KEY, text TEXT)");
const fill = database.prepare("INSERT INTO spread (text) VALUES (?)");
const rows = 8_000;
for (let row = 0; row < rows; row += 1) fill.run("x".repeat(3_000));
database.exec("COMMIT");
const change = database.prepare("UPDATE spread SET text = ? WHERE id = ?");

for (let turn = 0; ; turn += 1) {
  for (let n = 0; n < 10; n += 1) change.run(`${turn}`, ((turn * 977 + n * 797) % rows) + 1);
  write(turn);
  if (turn % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
