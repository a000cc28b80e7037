import { readFileSync } from "node:fs";
import { json } from "@holdfast/protocol";
import { z } from "zod";

const object = z.record(z.string(), json);

/** What a provider sends, as it is on the wire. */
const answer = z.strictObject({
  status: z.int().default(200),
  headers: z.record(z.string(), z.string()).default({}),
  /** The body of an answer that is not a stream; a string is sent as is. */
  body: json.optional(),
  /** An object is one event; a string is a raw line, such as `: a comment` or `data: [DONE]`. */
  events: z.array(z.union([z.string(), object])).default([]),
  /** Lines of JSON, as Ollama's own API sends them; a string is sent as is. */
  lines: z.array(z.union([z.string(), object])).default([]),
  lineEnd: z.enum(["\n", "\r\n"]).default("\n"),
  /** The body is sent in pieces of this many bytes. By default each event is one piece. */
  pieceBytes: z.int().positive().optional(),
  ending: z.enum(["end", "cut"]).default("end"),
});
export type WireAnswer = z.infer<typeof answer>;

const step = z.strictObject({
  /** What a person says. A later step without it sends the results of the previous step's calls. */
  says: z.string().optional(),
  /** Whether the person attaches a picture. */
  picture: z.boolean().default(false),
  /** Whether the person attaches a PDF of one page that says "Total: 42". */
  pdf: z.boolean().default(false),
  answer,
  /** The request contains all of this. */
  request: object.optional(),
  /** Strings that must not occur in it. */
  requestLacks: z.array(z.string()).default([]),
  /** What the engine receives. */
  gives: z.strictObject({
    text: z.string().default(""),
    reasoning: z.string().default(""),
    calls: z.array(object).default([]),
    /** Pictures: what the provider says they are, and their bytes in base64; `null` if it gave an address. */
    images: z
      .array(z.strictObject({ mediaType: z.string(), base64: z.string().nullable() }))
      .default([]),
    usage: object.optional(),
    failure: object.optional(),
  }),
});

const transcript = z.strictObject({
  title: z.string(),
  wires: z.array(z.string()).optional(),
  steps: z.array(step).min(1),
});
export type Transcript = z.infer<typeof transcript>;
export type TranscriptStep = Transcript["steps"][number];

const file = z.strictObject({
  /** Each transcript is replayed on each of these, unless it names others. */
  wires: z.array(z.string()).min(1),
  transcripts: z.array(transcript),
});

export interface WireCase {
  readonly wire: string;
  readonly title: string;
  readonly steps: Transcript["steps"];
}

/** The transcripts of one file, once per wire. */
export function readTranscripts(name: string): WireCase[] {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  const { wires: usual, transcripts } = file.parse(JSON.parse(text));
  return transcripts.flatMap(({ title, wires = usual, steps }) =>
    wires.map((wire) => ({ wire, title, steps })),
  );
}

/** The pieces in which an answer's body is written. */
export function piecesOf({ body, events, lines, lineEnd, pieceBytes }: WireAnswer): Uint8Array[] {
  const blocks = [
    ...events.map((event) => `${blockOf(event)}\n\n`.replaceAll("\n", lineEnd)),
    ...lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`),
  ];
  const whole = typeof body === "string" ? body : JSON.stringify(body);
  const pieces = (body === undefined ? blocks : [whole]).map((text) => Buffer.from(text));
  if (pieceBytes === undefined) return pieces;
  const bytes = Buffer.concat(pieces);
  const count = Math.ceil(bytes.byteLength / pieceBytes);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
}

/** An event's type is also sent in its `event:` field, as Anthropic and OpenAI do. */
function blockOf(event: string | z.infer<typeof object>): string {
  if (typeof event === "string") return event;
  const data = `data: ${JSON.stringify(event)}`;
  return typeof event["type"] === "string" ? `event: ${event["type"]}\n${data}` : data;
}
