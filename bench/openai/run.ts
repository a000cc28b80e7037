import { createSseDecoder, type SessionId } from "@holdfast/protocol";
import { createClient } from "@holdfast/client";
import { join } from "node:path";
import { lineOf } from "../harness/figures.ts";
import { type BenchOptions } from "../harness/options.ts";
import { type Report } from "../harness/report.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { measureChosen } from "../harness/workload.ts";
import { buildHost } from "../host/build-host.ts";
import { type ServedHost, startHost, token } from "../host/served-host.ts";

const mostLaterMs = 3;
const mostFewerFrames = 0.15;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

/** What OpenAI's and the AI SDK's form of a stream cost, beside the native one on the same host, by turns. */
export async function benchOpenAi(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const folder = makeScratch("openai");
  const store = { kind: "sqlite", file: join(folder, "holdfast.db") } as const;
  await using host = await startHost(store, join(folder, "home"), { HOLDFAST_MODEL: "rehearsal" });
  const sizes = options.quick
    ? { turns: 3, streams: 3, words: 30, rounds: 1 }
    : { turns: 150, streams: 100, words: 600, rounds: 3 };
  const firstToken = {
    id: "first-token",
    title: "from the request to the first word",
    measure: () => measureFirstToken(host, sizes.turns),
  };
  const frames = {
    id: "frames",
    title: `${sizes.streams} answers that are written at once`,
    measure: () => measureFrames(host, sizes),
  };
  await measureChosen([firstToken, frames], {}, { options, report, backend: "sqlite" });
}

/** How a turn is sent and read: `/v1` and `/ai/chat` are measured against the first. */
const ways = { native: nativeTurn, "/v1": openAiTurn, "/ai/chat": aiSdkTurn };
type Way = keyof typeof ways;
const others = ["/v1", "/ai/chat"] as const;

/** Each way is first, second and third equally often. */
function orderOf(round: number): readonly Way[] {
  const all = Object.keys(ways) as Way[];
  const first = ((round % all.length) + all.length) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function measureFirstToken(host: ServedHost, turns: number) {
  const samples = { native: new Samples(), "/v1": new Samples(), "/ai/chat": new Samples() };
  const id = await newSession(host);
  const text = "{rate:5000} {words:5}";
  for (let turn = -6; turn < turns; turn += 1)
    for (const way of orderOf(turn)) {
      const { first } = await ways[way](host, id, text);
      if (turn >= 0) samples[way].add(first);
    }
  const { native } = samples;
  return {
    lines: [
      lineOf("native, p50", native.p50, "ms"),
      ...others.flatMap((way) => [
        lineOf(`${way}, p50`, samples[way].p50, "ms"),
        lineOf(`${way} later by, p50`, samples[way].p50 - native.p50, "ms", {
          below: mostLaterMs,
        }),
      ]),
      lineOf("native, p99", native.p99, "ms"),
      ...others.map((way) => lineOf(`${way}, p99`, samples[way].p99, "ms")),
    ],
  };
}

async function measureFrames(
  host: ServedHost,
  { streams, words, rounds }: { streams: number; words: number; rounds: number },
) {
  const text = `{rate:400} {words:${words}}`;
  const sums = { native: noFrames(), "/v1": noFrames(), "/ai/chat": noFrames() };
  const sessions = await Promise.all(Array.from({ length: streams }, () => newSession(host)));
  for (let round = 0; round < rounds; round += 1)
    for (const way of orderOf(round)) {
      const [startedAt, cpu] = [performance.now(), host.cpuMs()];
      const all = await Promise.all(sessions.map((id) => ways[way](host, id, text)));
      const sum = sums[way];
      sum.frames += all.reduce((total, { frames }) => total + frames, 0);
      sum.seconds += (performance.now() - startedAt) / 1000;
      sum.cpuMs += host.cpuMs() - cpu;
    }
  const perSecond = (way: Way): number => sums[way].frames / sums[way].seconds;
  const fewer = (way: Way): number => 1 - perSecond(way) / perSecond("native");
  return {
    lines: [
      lineOf("native, frames a second", perSecond("native"), "/s"),
      ...others.map((way) => {
        const bound = { text: `< ${mostFewerFrames * 100} %`, met: fewer(way) < mostFewerFrames };
        return lineOf(`${way}, frames a second`, perSecond(way), "/s", { bound });
      }),
      ...(["native", ...others] as const).map((way) =>
        lineOf(`${way}, processor time for 1,000 frames`, perThousand(sums[way]), "ms"),
      ),
    ],
    notes: others.map((way) => {
      const percent = Math.abs(fewer(way) * 100).toFixed(1);
      return `${way} has ${percent} % ${fewer(way) < 0 ? "more" : "fewer"} frames a second than the native stream.`;
    }),
  };
}

const noFrames = () => ({ frames: 0, seconds: 0, cpuMs: 0 });

function perThousand({ cpuMs, frames }: ReturnType<typeof noFrames>): number {
  return (cpuMs / frames) * 1000;
}

async function newSession(host: ServedHost): Promise<SessionId> {
  const client = createClient({ baseUrl: host.address, token });
  const made = await client.createSession({ body: {} });
  if (!made.ok) throw new Error(JSON.stringify(made.error));
  return made.value.session.id;
}

interface Turn {
  /** From the request to the first word, in milliseconds. */
  readonly first: number;
  readonly frames: number;
}

let sent = 0;

/** A page has its stream open before it sends. */
async function nativeTurn(host: ServedHost, id: SessionId, text: string): Promise<Turn> {
  const read = await fetch(new URL(`api/sessions/${id}`, host.address), { headers });
  const { seq } = (await read.json()) as { seq: number };
  const left = new AbortController();
  const url = new URL(`api/sessions/${id}/events?after=${seq}`, host.address);
  const stream = await fetch(url, { headers, signal: left.signal });
  const startedAt = performance.now();
  const body = JSON.stringify({ clientId: `bench-${(sent += 1)}`, text });
  const posted = fetch(new URL(`api/sessions/${id}/messages`, host.address), {
    method: "POST",
    headers,
    body,
  });
  const turn = await readTurn(stream, startedAt, (data) =>
    data.includes(`"type":"message.delta"`)
      ? "word"
      : /"state":"(completed|failed)"/.test(data)
        ? "end"
        : "other",
  );
  left.abort();
  await posted;
  return turn;
}

async function openAiTurn(host: ServedHost, id: SessionId, text: string): Promise<Turn> {
  const startedAt = performance.now();
  const stream = await fetch(new URL("v1/chat/completions", host.address), {
    method: "POST",
    headers: { ...headers, "x-holdfast-session-id": id },
    body: JSON.stringify({
      model: "holdfast",
      stream: true,
      messages: [{ role: "user", content: text }],
    }),
  });
  return readTurn(stream, startedAt, (data) =>
    data === "[DONE]" ? "end" : /"delta":\{"content":"[^"]/.test(data) ? "word" : "other",
  );
}

/** The request of `useChat`; the session's own id is the chat's. */
async function aiSdkTurn(host: ServedHost, id: SessionId, text: string): Promise<Turn> {
  const startedAt = performance.now();
  const message = { id: `ui-${(sent += 1)}`, role: "user", parts: [{ type: "text", text }] };
  const stream = await fetch(new URL("ai/chat", host.address), {
    method: "POST",
    headers,
    body: JSON.stringify({ id, messages: [message], trigger: "submit-message" }),
  });
  return readTurn(stream, startedAt, (data) =>
    data === "[DONE]" ? "end" : data.includes(`"type":"text-delta"`) ? "word" : "other",
  );
}

async function readTurn(
  { body }: Response,
  startedAt: number,
  kindOf: (data: string) => "word" | "end" | "other",
): Promise<Turn> {
  const decoder = createSseDecoder();
  let [first, frames] = [0, 0];
  for await (const bytes of body ?? []) {
    for (const item of decoder.push(bytes)) {
      if (item.kind !== "frame") continue;
      const kind = kindOf(item.frame.data);
      if (kind === "word" && frames === 0) first = performance.now() - startedAt;
      if (kind === "word") frames += 1;
      if (kind === "end") return { first, frames };
    }
  }
  throw new Error("The stream ended before the answer did.");
}
