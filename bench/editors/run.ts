import { realpathSync } from "node:fs";
import { join } from "node:path";
import { methods } from "@agentclientprotocol/sdk";
import { type Client, createClient } from "@holdfast/client";
import type { Seq, SessionId } from "@holdfast/protocol";

import { lineOf } from "../harness/figures.ts";
import { type BenchOptions } from "../harness/options.ts";
import { type Report } from "../harness/report.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { measureChosen } from "../harness/workload.ts";
import { buildHost } from "../host/build-host.ts";
import { startHost, token } from "../host/served-host.ts";
import { openEditor } from "./open-editor.ts";

const { session: calls } = methods.agent;
const mostReplayMs = 1_000;
const mostLaterMs = 3;
const leastFrameShare = 85;

interface Bench {
  readonly client: Client;
  readonly address: string;
  readonly home: string;
  readonly project: string;
  readonly quick: boolean;
}

/** What the bridge adds to the host's own streams, in real processes, by the protocol's own client. */
export async function benchEditors(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const home = realpathSync(makeScratch("editors"));
  const project = realpathSync(makeScratch("project"));
  const file = join(home, "holdfast.db");
  await using host = await startHost({ kind: "sqlite", file }, home, {
    HOLDFAST_MODEL: "rehearsal",
  });
  const client = createClient({ baseUrl: host.address, token });
  const allowed = await client.allowFolder({ body: { path: project } });
  if (!allowed.ok) throw new Error(JSON.stringify(allowed.error));
  const bench: Bench = { client, address: host.address, home, project, quick: options.quick };
  await measureChosen([replay, follow], bench, { options, report, backend: "sqlite" });
}

/** `session/load`, from the request to its answer, which comes after the whole conversation. */
const replay = {
  id: "replay",
  title: "a long session, loaded by an editor",
  async measure({ client, address, home, project, quick }: Bench) {
    const messages = quick ? 20 : 1_000;
    const sessionId = await createSession(client, project);
    for (let turn = 0; turn < messages / 2; turn += 1)
      await send(client, sessionId, `${turn}`, `Question ${turn} {rate:5000} {words:60}`);
    await untilEnded(client, sessionId, messages);
    const times = new Samples();
    let updates = 0;
    for (let round = 0; round < (quick ? 2 : 12); round += 1) {
      updates = 0;
      await using editor = await openEditor(address, home, () => (updates += 1));
      const startedAt = performance.now();
      await editor.agent.request(calls.load, { sessionId, cwd: project, mcpServers: [] });
      times.add(performance.now() - startedAt);
    }
    return {
      lines: [
        lineOf(`${messages} messages, p50`, times.p50, "ms"),
        lineOf(`${messages} messages, slowest`, times.percentile(100), "ms", {
          below: mostReplayMs,
        }),
      ],
      notes: [`${updates} updates in each replay, by a new bridge.`],
    };
  },
};

/** One run, followed natively and by an editor at the same time, by the same process. */
const follow = {
  id: "follow",
  title: "one run, followed natively and by an editor at once",
  async measure({ client, address, home, project, quick }: Bench) {
    const words = quick ? 50 : 1_500;
    const later = new Samples();
    const shares = new Samples();
    let chunks: number[] = [];
    await using editor = await openEditor(address, home, ({ sessionUpdate }) => {
      if (sessionUpdate === "agent_message_chunk") chunks.push(performance.now());
    });
    for (let round = 0; round < (quick ? 2 : 30); round += 1) {
      const { sessionId } = await editor.agent.request(calls.new, { cwd: project, mcpServers: [] });
      chunks = [];
      const following = followDeltas(client, sessionId as SessionId);
      const prompt = [{ type: "text" as const, text: `{rate:2000} {words:${words}}` }];
      await editor.agent.request(calls.prompt, { sessionId, prompt });
      const deltas = await following;
      later.add((chunks[0] ?? Infinity) - (deltas[0] ?? 0));
      shares.add((100 * framesPerSecond(chunks)) / framesPerSecond(deltas));
    }
    const isKept = shares.p50 >= leastFrameShare;
    return {
      lines: [
        lineOf("first token later by, p50", later.p50, "ms", { below: mostLaterMs }),
        lineOf("frames a second, share of the native stream, p50", shares.p50, "%", {
          bound: { text: `>= ${leastFrameShare} %`, met: isKept },
        }),
      ],
      notes: [],
    };
  },
};

function framesPerSecond(times: readonly number[]): number {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  return times.length / Math.max(last - first, 1);
}

async function createSession(client: Client, workspace: string): Promise<SessionId> {
  const created = await client.createSession({ body: { workspace } });
  if (!created.ok) throw new Error(JSON.stringify(created.error));
  return created.value.session.id;
}

async function send(client: Client, id: SessionId, clientId: string, text: string): Promise<void> {
  const sent = await client.sendMessage({ params: { id }, body: { clientId, text } });
  if (!sent.ok) throw new Error(JSON.stringify(sent.error));
}

async function untilEnded(client: Client, id: SessionId, messages: number): Promise<void> {
  for await (const item of client.open(id)) {
    if (item.kind === "ended") throw new Error(JSON.stringify(item.error));
    if (item.kind !== "state") continue;
    const { session, inbox, run } = item.state;
    if (session.messageCount >= messages && inbox.length === 0 && run?.endedAt != null) return;
  }
}

/** When each delta of a session's first run arrives on the host's own stream. */
async function followDeltas(client: Client, id: SessionId): Promise<readonly number[]> {
  const times: number[] = [];
  for await (const item of client.follow(id, 0 as Seq)) {
    if (item.kind !== "event") continue;
    if (item.event.type === "message.delta") times.push(performance.now());
    if (item.event.type === "run.state" && item.event.data["state"] === "completed") break;
  }
  return times;
}
