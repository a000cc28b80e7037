import { z } from "zod";

import { flag, list, number, parseJson, record, text } from "../reading/json.ts";
import {
  attachmentName,
  type Call,
  comparable,
  type Message,
  newMessage,
  readPageMessage,
  toMilliseconds,
} from "./message.ts";

/** A stretch of a run: what the model thought and said before its tools ran. */
interface Segment {
  reasoning: string;
  text: string;
  calls: Call[];
  results: { id: string; name: string; preview: string; failed: boolean }[];
  at: number | null;
}

export interface RunJournal {
  readonly stream: string;
  readonly session: string;
  readonly path: string;
  readonly from: number | null;
  readonly to: number | null;
  /** How it ended; `null`: its process died. */
  readonly end: "completed" | "cancelled" | "failed" | null;
  readonly segments: readonly Segment[];
  /** The whole session as it was when the run settled. Its secrets are redacted. */
  readonly settled: () => readonly Message[];
  readonly title: string | null;
}

const eventSchema = z.object({
  event: text,
  type: text,
  seq: number,
  created_at: number,
  payload: record,
});

const textPayload = z.object({ text: z.string().catch("") });
const interimPayload = z.object({ text: z.string().catch(""), already_streamed: flag });
const toolPayload = z.object({
  name: text,
  tid: text,
  args: z.unknown().optional(),
  preview: z.unknown().optional(),
  is_error: flag,
});
const settledPayload = z.object({ session: z.object({ messages: list, title: text }) });

export interface LineProblem {
  readonly line: number;
  readonly bytes: Uint8Array;
}

const newline = 10;

/** Only a newline ends a line: other separators stand inside of texts. */
function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  let from = 0;
  while (from < bytes.length) {
    const found = bytes.indexOf(newline, from);
    const to = found === -1 ? bytes.length : found;
    yield bytes.subarray(from, to);
    from = to + 1;
  }
}

export function readRunJournal(
  bytes: Uint8Array,
  named: Pick<RunJournal, "stream" | "session" | "path">,
  problem: (problem: LineProblem) => void,
): RunJournal {
  const events: z.infer<typeof eventSchema>[] = [];
  let lineNumber = 0;
  for (const line of linesOf(bytes)) {
    lineNumber += 1;
    if (line.length === 0) continue;
    const value = parseJson(new TextDecoder().decode(line));
    const event = value === undefined ? undefined : eventSchema.safeParse(value).data;
    if (event === undefined) problem({ line: lineNumber, bytes: line });
    else events.push(event);
  }
  // Numbers were taken and written in two steps, so lines can be out of order.
  events.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  const times = events.flatMap(({ created_at: at }) => toMilliseconds(at) ?? []);
  const segments: Segment[] = [];
  let end: RunJournal["end"] = null;
  let settled: unknown = null;
  const current = (at: number | null): Segment => {
    let last = segments.at(-1);
    if (last === undefined || last.calls.length > 0) {
      last = { reasoning: "", text: "", calls: [], results: [], at };
      segments.push(last);
    }
    return last;
  };
  let isTextOver = false;
  for (const { event, type, payload, created_at: created } of events) {
    const at = toMilliseconds(created);
    switch (event ?? type) {
      case "token": {
        const segment = current(at);
        // An interim answer that no tool follows stands for itself.
        if (isTextOver && segment.text !== "") segments.push({ ...emptySegment(), at });
        isTextOver = false;
        current(at).text += textPayload.parse(payload).text;
        break;
      }
      case "reasoning":
        current(at).reasoning += textPayload.parse(payload).text;
        break;
      case "interim_assistant": {
        const interim = interimPayload.parse(payload);
        if (!interim.already_streamed) current(at).text += interim.text;
        isTextOver = true;
        break;
      }
      case "tool": {
        const tool = toolPayload.parse(payload);
        const segment = segments.at(-1) ?? current(at);
        const isAnswered = segment.results.length > 0;
        const target = isAnswered ? { ...emptySegment(), at } : segment;
        if (isAnswered) segments.push(target);
        target.calls.push({
          id: tool.tid ?? "",
          name: tool.name ?? "tool",
          input: JSON.stringify(tool.args ?? {}),
        });
        isTextOver = false;
        break;
      }
      case "tool_complete": {
        const tool = toolPayload.parse(payload);
        const id = tool.tid ?? "";
        const owner = segments.findLast(({ calls }) => calls.some((call) => call.id === id));
        owner?.results.push({
          id,
          name: tool.name ?? "tool",
          preview: typeof tool.preview === "string" ? tool.preview : "",
          failed: tool.is_error,
        });
        break;
      }
      case "done":
        end = "completed";
        settled = payload;
        break;
      case "cancel":
        end ??= "cancelled";
        break;
      case "apperror":
      case "error":
        end ??= "failed";
        break;
      default:
        break;
    }
  }
  const read = settledPayload.safeParse(settled).data;
  return {
    ...named,
    from: times.length === 0 ? null : Math.min(...times.slice(0, 1)),
    to: times.at(-1) ?? null,
    end,
    segments,
    title: read?.session.title ?? null,
    settled: () =>
      (read?.session.messages ?? []).flatMap(
        (message) => readPageMessage(message, "journal") ?? [],
      ),
  };
}

function emptySegment(): Segment {
  return { reasoning: "", text: "", calls: [], results: [], at: null };
}

/** What a turn was asked, from its journal. */
export interface SubmittedTurn {
  readonly stream: string | null;
  readonly text: string;
  readonly at: number | null;
  readonly attachments: readonly string[];
}

const turnEvent = z.object({
  event: text,
  stream_id: text,
  content: text,
  created_at: number,
  attachments: list,
});

export function readTurnJournal(
  bytes: Uint8Array,
  problem: (problem: LineProblem) => void,
): readonly SubmittedTurn[] {
  const turns: SubmittedTurn[] = [];
  let lineNumber = 0;
  for (const line of linesOf(bytes)) {
    lineNumber += 1;
    if (line.length === 0) continue;
    const event = turnEvent.safeParse(parseJson(new TextDecoder().decode(line))).data;
    if (event === undefined) problem({ line: lineNumber, bytes: line });
    else if (event.event === "submitted")
      turns.push({
        stream: event.stream_id ?? null,
        text: event.content ?? "",
        at: toMilliseconds(event.created_at),
        attachments: event.attachments.flatMap(attachmentName),
      });
  }
  return turns;
}

/** The messages of a run that has died, as far as `known` messages of its turn don't have them already. */
export function missingFrom(
  { segments, end }: RunJournal,
  known: readonly Message[],
): readonly Message[] {
  const ids = new Set(known.flatMap(({ calls }) => calls.map(({ id }) => id)));
  for (const { callId } of known) if (callId !== null) ids.add(callId);
  const texts = known
    .filter(({ role }) => role === "assistant")
    .map((each) => comparable(each.text));
  // Rows first: they are whole, and the journal has only the beginnings of arguments and results.
  const last = segments.findLastIndex(({ calls }) => calls.some(({ id }) => ids.has(id)));
  return segments.slice(last + 1).flatMap((segment): Message[] => {
    const said = segment.text.trim();
    const isKnown = said !== "" && texts.some((each) => each === said || each.startsWith(said));
    if (isKnown && segment.calls.length === 0) return [];
    if (said === "" && segment.calls.length === 0 && segment.reasoning.trim() === "") return [];
    const isLast = segment === segments.at(-1) && segment.calls.length === 0;
    const answer = newMessage({
      role: "assistant",
      text: said,
      reasoning: segment.reasoning.trim(),
      calls: segment.calls,
      at: segment.at,
      partial: isLast ? partialOf(end) : null,
      where: ["journal"],
    });
    const results = segment.results.map((result) =>
      newMessage({
        role: "tool",
        text: result.preview,
        callId: result.id,
        toolName: result.name,
        failed: result.failed,
        at: segment.at,
        where: ["journal"],
      }),
    );
    return [answer, ...results];
  });
}

export function partialOf(end: RunJournal["end"]): Message["partial"] {
  switch (end) {
    case "completed":
      return null;
    case "cancelled":
      return "cancelled";
    case "failed":
      return "failed";
    case null:
      return "interrupted";
  }
}
