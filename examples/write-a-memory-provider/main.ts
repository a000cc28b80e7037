/** Two conversations with a memory: the second recalls what was said in the first. */
import { createEngine, type Engine, type Model } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store";
import { configuration, name, open } from "./lines.ts";

/** Stands in for a language model: it repeats everything it is sent. */
const model: Model = {
  async *stream({ messages }) {
    const texts = messages.flatMap((message) => ("text" in message ? message.text : []));
    yield { kind: "text", text: `I was sent: ${texts.join(" | ")}` };
  },
};

async function startEngine(): Promise<Engine> {
  const store = await openSqliteStore({ file: "conversation.db" });
  const memory = {
    owner: { provider: name, configuration },
    ...open({ home: process.cwd() }),
    close: async () => {},
  };
  return createEngine({ store, model, memory });
}

async function say(engine: Engine, conversation: string, text: string): Promise<void> {
  const session = await engine.open(conversation);
  const sent = await engine.send({ session, text });
  if (sent.status !== "accepted") throw new Error(sent.message);
  for await (const piece of engine.answer(sent)) process.stdout.write(piece);
  process.stdout.write("\n");
}

const first = await startEngine();
await say(first, "in the morning", "I like black coffee.");
// Turns are committed to memory when a conversation is idle, and at the latest here.
await first.close();

const second = await startEngine();
await say(second, "in the evening", "Which coffee do I like?");
await second.close();
