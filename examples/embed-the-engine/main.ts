/** A conversation that survives `kill -9`: start it again, and the answer continues where it stopped. */
import { createEngine } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store";
import { model } from "./model.ts";

const [text = "Why do lighthouses blink?", clientId = "question-1"] = process.argv.slice(2);

const store = await openSqliteStore({ file: "conversation.db" });
const engine = createEngine({ store, model });
const session = await engine.open("lighthouses");

// Sending the same id again does not create a second message.
const sent = await engine.send({ session, text, clientId });
if (sent.status !== "accepted") throw new Error(sent.message);
for await (const piece of engine.answer(sent)) process.stdout.write(piece);

process.stdout.write("\n");
await engine.close();
