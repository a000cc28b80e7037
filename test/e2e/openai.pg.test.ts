import { createServer, type AddressInfo } from "node:net";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { connectOpenAi } from "../../packages/host/test/support/openai-client.ts";
import { makeFolder, serveWithClient, settledText, valueOf } from "./served-host.ts";
import { shareStore, storeKinds } from "./shared-store.ts";

const model = "holdfast";

const sessionOf = (conversation: { readonly id: string } | null | undefined) =>
  `ses_${conversation?.id.slice("conv_".length)}` as never;

/** Numbers and types of all events but deltas, which come joined later. */
const namesOf = (events: readonly OpenAI.Responses.ResponseStreamEvent[]) =>
  events
    .filter(({ type }) => !type.endsWith(".delta"))
    .map(({ sequence_number: number, type }) => ({ number, type }));

/** The same address for every host that is started in turn. */
function freePort(): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(String(port)));
    });
  });
}

describe.each(storeKinds)("on %s", (kind) => {
  async function hostSettings(more: Record<string, string> = {}) {
    const home = makeFolder();
    return { HOLDFAST_HOME: home, HOLDFAST_LEASE_MS: "3000", ...(await shareStore(kind)), ...more };
  }

  test("[P5] [P6] a response in the background is read with starting_after through two kill -9, each word once", async () => {
    const settings = await hostSettings();
    let [id, text, cursor] = ["", "", 0];
    const seen: OpenAI.Responses.ResponseStreamEvent[] = [];
    for (const words of [4, 12]) {
      const { host, address, token } = await serveWithClient(settings);
      const openai = connectOpenAi(address, token);
      if (id === "") {
        const input = "{rate:10} {words:40}";
        ({ id } = await openai.responses.create({ model, input, background: true }));
      }
      const events = await openai.responses.retrieve(id, { stream: true, starting_after: cursor });
      const wanted = text.length + words * 3;
      for await (const event of events) {
        cursor = event.sequence_number;
        seen.push(event);
        if (event.type === "response.output_text.delta") text += event.delta;
        if (text.length > wanted) break;
      }
      await host.kill();
    }
    const { address, token, client } = await serveWithClient(settings);
    const openai = connectOpenAi(address, token);
    let last = "";
    const rest = await openai.responses.retrieve(id, { stream: true, starting_after: cursor });
    for await (const event of rest) {
      seen.push(event);
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event.type;
    }
    expect(last).toBe("response.completed");
    const response = await openai.responses.retrieve(id);
    expect(response.status).toBe("completed");
    expect(text).toBe(response.output_text);
    expect(text).toBe(await settledText(client, sessionOf(response.conversation)));
    // In the parts that it read from three hosts, each event has the number that a replay gives it.
    const replayed: typeof seen = [];
    for await (const event of await openai.responses.retrieve(id, { stream: true }))
      replayed.push(event);
    expect(namesOf(seen)).toEqual(namesOf(replayed));
    const numbers = seen.map((event) => event.sequence_number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  });

  test("[P11] a request that the library repeats after a kill -9 is answered by the run that it began", async () => {
    const settings = await hostSettings({ HOLDFAST_PORT: await freePort() });
    const { host, address, token, client } = await serveWithClient(settings);
    const openai = connectOpenAi(address, token, { maxRetries: 20 });
    const asked = openai.responses.create({ model, input: "{rate:10} {words:30}" });
    await expect
      .poll(async () => valueOf(await client.listSessions()).sessions[0]?.liveState)
      .toBe("running");
    await host.kill();
    const second = await serveWithClient(settings);
    const response = await asked;
    expect(response.status).toBe("completed");
    const { sessions } = valueOf(await second.client.listSessions());
    expect(sessions.map((session) => session.id)).toEqual([sessionOf(response.conversation)]);
    const { entries } = valueOf(
      await second.client.readSession({ params: { id: sessionOf(response.conversation) } }),
    );
    const asks = entries.filter((entry) => entry.type === "message" && entry.role === "user");
    expect(asks).toHaveLength(1);
  });

  test("200 clients that stream at once each get all of their own answer", async () => {
    const { address, token, client } = await serveWithClient(await hostSettings());
    const openai = connectOpenAi(address, token);
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const content = `Number ${index} {rate:60} {words:60}`;
        const { data, response } = await openai.chat.completions
          .create({ model, messages: [{ role: "user", content }], stream: true })
          .withResponse();
        let text = "";
        for await (const { choices } of data) text += choices[0]?.delta.content ?? "";
        return { text, session: response.headers.get("x-holdfast-session-id") as never };
      }),
    );
    expect(new Set(answers.map(({ session }) => session)).size).toBe(200);
    for (const { text, session } of answers) expect(text).toBe(await settledText(client, session));
  });
});
