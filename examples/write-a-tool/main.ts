/** An engine with a custom tool. Before it prints many labels, it asks the person at the terminal. */
import { createInterface } from "node:readline/promises";
import { createEngine } from "@holdfast/engine";
import { decodeEvent, ownerId, type StoredEvent } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";
import { model } from "./model.ts";
import { createPrintLabels } from "./print-labels.ts";

const [text = "Print 5 labels, please.", clientId = "request-1"] = process.argv.slice(2);
const printLabels = createPrintLabels("printer.txt", Number(process.env["MS_PER_LABEL"] ?? 500));
const owner = ownerId.parse("me");

const store = await openSqliteStore({ file: "conversation.db" });
const engine = createEngine({ store, model, tools: [printLabels] });
const session = await engine.open("labels", owner);
const sent = await engine.send({ owner, session, text, clientId });
if (sent.status !== "accepted") throw new Error(sent.message);

for await (const item of engine.follow({ owner, session, after: sent.seq, until: sent.runId }))
  for (const event of item.kind === "events" ? item.events : []) await show(event);
await engine.close();

async function show(stored: StoredEvent): Promise<void> {
  const decoded = decodeEvent(stored);
  if (decoded.kind !== "known") return;
  const { type, data } = decoded.event;
  if (type === "tool.output") process.stdout.write(data.text);
  if (type === "message.assistant")
    for (const part of data.parts) if (part.type === "text") console.log(part.text);
  if (type === "run.state" && data.state === "waiting") await askPerson();
}

/** The store knows which approvals are open, so a restart does not ask again about answered ones. */
async function askPerson(): Promise<void> {
  const { approvals } = await store.reads.approvals(owner, { session, limit: 10 });
  for (const { id, tool, input } of approvals) {
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    const answer = await terminal.question(`${tool} ${JSON.stringify(input)}: allow it? (y/n) `);
    terminal.close();
    await engine.answerApproval(id, answer === "y" ? "once" : "deny", { owner });
  }
}
