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

/** What OpenAI's form of a stream costs, beside the native one on the same host: A, B, A, B. */
export async function benchOpenAi(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const folder = makeScratch("openai");
  const store = { kind: "sqlite", file: join(folder, "holdfast.db") } as const;
  await using host = await startHost(store, join(folder, "home"), { HOLDFAST_MODEL: "rehearsal" });
  const sizes = options.quick
    ? { turns: 3, streams: 3, words: 30, rounds: 1 }
    : { turns: 150, streams: 100, words: 1_500, rounds: 3 };
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

async function measureFirstToken(host: ServedHost, turns: number) {
  const [native, openai] = [new Samples(), new Samples()];
  const id = await newSession(host);
  const text = "{rate:5000} {words:5}";
  for (let turn = -5; turn < turns; turn += 1) {
    for (const way of turn % 2 === 0 ? ["native", "openai"] : ["openai", "native"]) {
      const ms =
        way === "native" ? await nativeTurn(host, id, text) : await openAiTurn(host, id, text);
      if (turn >= 0) (way === "native" ? native : openai).add(ms.first);
    }
  }
  return {
    lines: [
      lineOf("native, p50", native.p50, "ms"),
      lineOf("/v1, p50", openai.p50, "ms"),
      lineOf("later by, p50", openai.p50 - native.p50, "ms", { below: mostLaterMs }),
      lineOf("native, p99", native.p99, "ms"),
      lineOf("/v1, p99", openai.p99, "ms"),
    ],
  };
}

async function measureFrames(
  host: ServedHost,
  { streams, words, rounds }: { streams: number; words: number; rounds: number },
) {
  const text = `{rate:400} {words:${words}}`;
  const sums = { native: noFrames(), openai: noFrames() };
  const sessions = await Promise.all(Array.from({ length: streams }, () => newSession(host)));
  for (let round = 0; round < rounds * 2; round += 1) {
    const way = round % 2 === Math.floor(round / 2) % 2 ? "native" : "openai";
    const [startedAt, cpu] = [performance.now(), host.cpuMs()];
    const turn = way === "native" ? nativeTurn : openAiTurn;
    const all = await Promise.all(sessions.map((id) => turn(host, id, text)));
    const sum = sums[way];
    sum.frames += all.reduce((total, { frames }) => total + frames, 0);
    sum.seconds += (performance.now() - startedAt) / 1000;
    sum.cpuMs += host.cpuMs() - cpu;
  }
  const [native, openai] = [sums.native, sums.openai].map((sum) => sum.frames / sum.seconds);
  const fewer = 1 - (openai ?? 0) / (native ?? 1);
  const bound = { text: `< ${mostFewerFrames * 100} %`, met: fewer < mostFewerFrames };
  return {
    lines: [
      lineOf("native, frames a second", native ?? 0, "/s"),
      lineOf("/v1, frames a second", openai ?? 0, "/s", { bound }),
      lineOf("native, processor time for 1,000 frames", perThousand(sums.native), "ms"),
      lineOf("/v1, processor time for 1,000 frames", perThousand(sums.openai), "ms"),
    ],
    notes: [`/v1 has ${(fewer * 100).toFixed(1)} % fewer frames a second.`],
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
