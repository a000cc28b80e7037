import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import { createClient, type Client, type SessionId } from "@holdfast/protocol";

import { lineOf } from "../runs/bench.ts";
import { started } from "../runs/engine-client.ts";
import { startHost, token } from "./served-host.ts";
import type { StreamTask, Streams } from "./stream-process.ts";
import type { WorkloadDefinition } from "./workload.ts";

/** The rehearsal model says two words at a time, on average: 50 deltas a second. */
const wordsPerSecond = 100;

/** Many pages that only wait, and some that watch an answer being written, all on one host. */
export const holdStreams: WorkloadDefinition = {
  id: "streams",
  title: "waiting pages and live runs in one process",
  async measure({ sizes, prepare }) {
    await using place = await prepare();
    await using host = await startHost(place.address, place.folder);
    const client = createClient({ baseUrl: host.address, token });
    const quiet = await createSession(client);
    const live = await Promise.all(
      Array.from({ length: sizes.liveRuns }, () => createSession(client)),
    );
    const task: StreamTask = {
      token,
      idle: sizes.idleStreams,
      idleUrl: new URL(`api/events?watch=${quiet}:0`, host.address).href,
      liveUrls: live.map((id) => new URL(`api/sessions/${id}/events?after=0`, host.address).href),
      warmMs: sizes.streamMs / 4,
      ms: sizes.streamMs,
    };
    const script = fileURLToPath(new URL("./stream-process.ts", import.meta.url));
    const child = fork(script, [JSON.stringify(task)]);
    await using ready = started(child, () => undefined);
    await ready.answer;
    const words = Math.ceil(((sizes.streamMs * 2) / 1_000) * wordsPerSecond);
    await Promise.all(
      live.map((id) => say(client, id, `{words:${words}} {rate:${wordsPerSecond}}`)),
    );
    const seen = started(child, (message) => message as Streams);
    const { delivery, framesPerSecond } = await seen.answer;
    const params = { idle: sizes.idleStreams, live: sizes.liveRuns };
    const most = 500 * 1024 * 1024;
    return {
      lines: [
        lineOf("memory of the host", host.memory(), "bytes", { params, below: most }),
        lineOf("from the commit to the page, p50", delivery.p50, "ms", { params }),
        lineOf("from the commit to the page, p99", delivery.p99, "ms", { params, below: 100 }),
        lineOf("deltas received a second", framesPerSecond, "/s", { params }),
      ],
      notes: [
        "The commit's time is the one in the event, in whole milliseconds of the store's clock.",
      ],
    };
  },
};

async function createSession(client: Client): Promise<SessionId> {
  const created = await client.createSession({ body: {} });
  if (!created.ok) throw new Error(`A session: ${created.error.code}`);
  return created.value.session.id;
}

async function say(client: Client, id: SessionId, text: string): Promise<void> {
  const said = await client.sendMessage({ params: { id }, body: { clientId: "first", text } });
  if (!said.ok) throw new Error(`A message: ${said.error.code}`);
}
