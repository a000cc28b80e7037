/** Asks a hundred questions and stores everything in a file. Kill it at any time, and start it again. */
import { createEngine, type Model } from "@holdfast/engine";
import { openFileStore } from "./file-store.ts";

const model: Model = {
  async *stream({ messages }) {
    const question = messages.findLast((message) => message.role === "user");
    const number = Number(question?.text);
    yield { kind: "text", text: `${number} squared is ${number * number}.` };
  },
};

const store = await openFileStore({ file: "conversation.log" });
const engine = createEngine({ store, model });
const session = await engine.open("squares");

for (let number = 1; number <= 100; number += 1) {
  // Questions accepted before a crash are not asked again: their answers come from the store.
  const sent = await engine.send({ session, text: `${number}`, clientId: `question-${number}` });
  if (sent.status !== "accepted") throw new Error(sent.message);
  const pieces = await Array.fromAsync(engine.answer(sent));
  console.log(`${pieces.join("")}${sent.repeated ? " (known)" : ""}`);
}
await engine.close();
