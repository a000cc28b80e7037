import { randomUUID } from "node:crypto";
import { setTimeout as rest } from "node:timers/promises";
import type OpenAI from "openai";

import { connectOpenAi } from "../../../packages/host/test/support/openai-client.ts";
import { token } from "./machine.ts";

/** What a client of OpenAI's library was shown of one response. */
export interface ShownResponse {
  readonly id: string;
  readonly input: string;
  readonly session: string;
  readonly numbers: number[];
  text: string;
  end: string;
}

const model = "holdfast";
/** A stream without an event for so long is opened again, at its cursor. */
const silenceMs = 10_000;

/** Begins responses in the background and reads each by its cursor, over as many connections as that takes. */
export async function talkToOpenAi(address: string, stop: AbortSignal): Promise<ShownResponse[]> {
  const openai = connectOpenAi(address, token, { maxRetries: 5 });
  const responses: ShownResponse[] = [];
  while (!stop.aborted) {
    const input = `openai-${randomUUID()} {rate:15} {words:60}`;
    const headers = { "idempotency-key": randomUUID() };
    const begun = await untilDone(() =>
      openai.responses.create({ model, input, background: true }, { headers, timeout: silenceMs }),
    );
    const session = begun.conversation?.id ?? "";
    const shown: ShownResponse = { id: begun.id, input, session, numbers: [], text: "", end: "" };
    responses.push(shown);
    await untilDone(() => readOn(openai, shown));
  }
  return responses;
}

async function untilDone<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await rest(200);
    }
  }
}

async function readOn(openai: OpenAI, shown: ShownResponse): Promise<void> {
  const leaving = new AbortController();
  let silence = setTimeout(() => leaving.abort(), silenceMs);
  try {
    const events = await openai.responses.retrieve(
      shown.id,
      { stream: true, starting_after: shown.numbers.at(-1) ?? 0 },
      { signal: leaving.signal },
    );
    for await (const event of events) {
      clearTimeout(silence);
      silence = setTimeout(() => leaving.abort(), silenceMs);
      shown.numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") shown.text += event.delta;
      if (/^response\.(completed|failed|incomplete|cancelled)$/.test(event.type))
        shown.end = event.type;
    }
  } finally {
    clearTimeout(silence);
  }
  if (shown.end === "") throw new Error("The stream ended before the response did.");
}

/** What a client was shown, in order and once, is what the response holds in the end. */
export async function checkResponses(
  address: string,
  responses: readonly ShownResponse[],
): Promise<string[]> {
  const openai = connectOpenAi(address, token);
  const problems: string[] = [];
  for (const shown of responses) {
    const stored = await untilDone(() => openai.responses.retrieve(shown.id));
    problems.push(...compareResponse(shown, stored));
  }
  return problems;
}

export function compareResponse(
  { id, numbers, text }: ShownResponse,
  stored: Pick<OpenAI.Responses.Response, "output_text" | "status">,
): string[] {
  const problems: string[] = [];
  if (text !== stored.output_text)
    problems.push(`[P5] ${id} was shown as “${text}” and is “${stored.output_text}”`);
  if (numbers.some((number, at) => number <= (numbers[at - 1] ?? -1)))
    problems.push(`[P5] ${id} was shown out of order: ${numbers.join(", ")}`);
  // A run whose hosts fail again and again is given up, and says so.
  if (stored.status !== "completed" && stored.status !== "failed")
    problems.push(`[P4] ${id} has not ended: ${stored.status}`);
  return problems;
}
