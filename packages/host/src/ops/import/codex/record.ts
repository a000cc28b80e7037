import { z } from "zod";

import { list, record, text } from "../reading/json.ts";
import type { ImportedPart } from "../source.ts";

export interface RolloutRecord {
  readonly kind: "meta" | "item" | "event" | "turn" | "compacted" | "state" | "other";
  readonly timestamp: unknown;
  readonly payload: Record<string, unknown>;
  /** As the file has it. */
  readonly type: string;
}

const wrapped = z.looseObject({
  timestamp: z.unknown().optional(),
  type: z.string(),
  payload: z.record(z.string(), z.unknown()),
});
const kinds: Readonly<Record<string, RolloutRecord["kind"]>> = {
  session_meta: "meta",
  response_item: "item",
  event_msg: "event",
  turn_context: "turn",
  compacted: "compacted",
};

/** A line of a rollout, of the first versions as well, which had no wrapper. `null`: it is none. */
export function readRecord(value: unknown): RolloutRecord | null {
  const read = wrapped.safeParse(value).data;
  if (read !== undefined && Object.hasOwn(kinds, read.type))
    return { kind: kinds[read.type] ?? "other", ...read, timestamp: read.timestamp };
  const bare = z.record(z.string(), z.unknown()).safeParse(value).data;
  if (bare === undefined) return null;
  const { type, timestamp, record_type: state, id } = bare;
  if (read !== undefined) return { kind: "other", ...read, timestamp };
  if (typeof state === "string")
    return { kind: "state", timestamp, payload: bare, type: `record ${state}` };
  if (typeof type === "string") return { kind: "item", timestamp, payload: bare, type };
  if (typeof id === "string") return { kind: "meta", timestamp, payload: bare, type: "meta" };
  return null;
}

export interface RolloutMeta {
  readonly id: string;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly forkedFrom: string | null;
  /** The session that started this agent. */
  readonly parent: string | null;
  readonly timestamp: unknown;
}

const meta = z.looseObject({
  id: z.string().min(1),
  timestamp: z.unknown().optional(),
  cwd: text,
  forked_from_id: text,
  git: z.looseObject({ branch: text }).nullish().catch(null),
  source: z.unknown().optional(),
});

export function readMeta({ payload }: RolloutRecord): RolloutMeta | null {
  const read = meta.safeParse(payload).data;
  if (read === undefined) return null;
  const spawn = record.parse(record.parse(record.parse(read.source)["subagent"])["thread_spawn"]);
  const parent = spawn["parent_thread_id"];
  return {
    id: read.id,
    cwd: read.cwd ?? null,
    branch: read.git?.branch ?? null,
    forkedFrom: read.forked_from_id ?? null,
    parent: typeof parent === "string" ? parent : null,
    timestamp: read.timestamp,
  };
}

/** What Codex itself says to the model in the name of the person. */
const ownWords =
  /^\s*(?:# AGENTS\.md instructions for |<(environment_context|user_instructions|INSTRUCTIONS|turn_aborted|skill|skills_instructions|user_shell_command|subagent_notification|permissions instructions|collaboration_mode|personality_spec|hook_prompt)>)/u;

export function isContext(given: string): boolean {
  return ownWords.test(given);
}

/** The parts of a message of the model's interface. What is of another kind is handed to `unknown`. */
export function contentParts(content: unknown, unknown: (value: unknown) => void): ImportedPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: ImportedPart[] = [];
  for (const value of list.parse(content)) {
    const { type, text: said, image_url: image, refusal } = record.parse(value);
    const shown = typeof said === "string" ? said : refusal;
    if (typeof shown === "string") {
      const last = parts.at(-1);
      if (shown === "") continue;
      if (last?.type === "text")
        parts[parts.length - 1] = { ...last, text: `${last.text}\n${shown}` };
      else parts.push({ type: "text", text: shown });
    } else if (type === "input_image" && typeof image === "string")
      parts.push(pictureOf(image, parts.length + 1));
    else unknown(value);
  }
  return parts;
}

export function pictureOf(url: string, number: number): ImportedPart {
  const data = /^data:([\w/+.-]+);base64,/u.exec(url);
  if (data === null) return { type: "missing", name: url.slice(0, 500) };
  const bytes = Buffer.from(url.slice(data[0].length), "base64");
  return { type: "image", name: `picture ${number}`, mediaType: data[1] ?? "image/png", bytes };
}

/** What a tool gave, as text; older versions wrapped it in JSON with its exit code. */
export function outputOf(output: unknown): {
  readonly text: string;
  readonly isError: boolean;
  readonly files: readonly ImportedPart[];
} {
  if (typeof output === "string") {
    const { output: inner, metadata } = record.parse(parsed(output));
    if (typeof inner !== "string") return { text: output, isError: false, files: [] };
    const code = record.parse(metadata)["exit_code"];
    return { text: inner, isError: typeof code === "number" && code !== 0, files: [] };
  }
  if (Array.isArray(output)) {
    const parts = contentParts(output, () => {});
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const files = parts.filter(({ type }) => type === "image");
    return { text: texts.join("\n"), isError: false, files };
  }
  const { content, success } = record.parse(output);
  const said = typeof content === "string" ? content : JSON.stringify(output ?? null);
  return { text: said, isError: success === false, files: [] };
}

function parsed(source: string): unknown {
  if (!source.startsWith("{")) return undefined;
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}
