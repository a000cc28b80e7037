import { createHash } from "node:crypto";
import { type Json, json } from "@holdfast/protocol";
import type { ModelMessage, AssistantPart } from "@holdfast/engine";

/** What a prompt tells the rehearsal model to do. */
export type Directive =
  | { readonly kind: "words"; readonly count: number }
  | { readonly kind: "rate"; readonly wordsPerSecond: number }
  | { readonly kind: "think"; readonly count: number }
  | { readonly kind: "tool"; readonly name: string; readonly input: Json }
  | { readonly kind: "fail"; readonly status: number; readonly when: "first" | "always" }
  | { readonly kind: "stall"; readonly seconds: number }
  | { readonly kind: "echo" }
  /** Looks like a directive but is none; the reason completes "…, but". */
  | { readonly kind: "misread"; readonly source: string; readonly reason: string };

/** A brace directly followed by a letter begins a directive; `{ "a": 1 }` and `{ return }` are plain text. */
const opening = /\{([a-z]+)/gi;
const maxWords = 1_000_000;
const maxStallSeconds = 86_400;

/** The directives of a text in order. Accepts any text, in linear time. */
export function parseDirectives(text: string): readonly Directive[] {
  const directives: Directive[] = [];
  let position = 0;
  while (true) {
    opening.lastIndex = position;
    const match = opening.exec(text);
    if (match === null) return directives;
    const name = (match[1] ?? "").toLowerCase();
    const from = match.index;
    const inside = opening.lastIndex;
    const end = name === "tool" ? endOfJson(text, inside) : endOfWord(text, inside);
    const isClosed = text[end] === "}";
    position = isClosed ? end + 1 : end;
    const source = text.slice(from, position);
    const read = isClosed
      ? readDirective(name, text.slice(inside, end))
      : "it has no closing brace";
    directives.push(typeof read === "string" ? { kind: "misread", source, reason: read } : read);
  }
}

/** The end of a directive without inner braces: its closing brace, or the start of the next directive. */
function endOfWord(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === "}" || text[at] === "{") return at;
  return text.length;
}

/** The brace that closes the one opened before `from`; braces within strings do not count. */
function endOfJson(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{") depth++;
    else if (character === "}" && depth-- === 0) return at;
  }
  return text.length;
}

/** The directive, or why it is none. `rest` is the text between the name and the closing brace. */
function readDirective(name: string, rest: string): Directive | string {
  const argument = rest.startsWith(":") ? rest.slice(1).trim() : undefined;
  switch (name) {
    case "words":
    case "think": {
      const count = readNumber(argument, /^\d{1,7}$/, maxWords);
      return count === undefined
        ? `it takes a whole number up to ${maxWords}, like {${name}:50}`
        : { kind: name, count };
    }
    case "rate": {
      const wordsPerSecond = readNumber(argument, /^\d{1,7}(\.\d{1,3})?$/, maxWords);
      return wordsPerSecond === undefined || wordsPerSecond < 0.1
        ? `it takes words a second, from 0.1 to ${maxWords}, like {rate:100}`
        : { kind: name, wordsPerSecond };
    }
    case "stall": {
      const seconds = readNumber(argument, /^\d{1,5}(\.\d{1,3})?$/, maxStallSeconds);
      return seconds === undefined
        ? `it takes seconds, up to ${maxStallSeconds}, like {stall:10}`
        : { kind: name, seconds };
    }
    case "fail":
      return readFail(argument);
    case "tool":
      return readTool(argument);
    case "echo":
      return rest.trim() === "" ? { kind: name } : "it takes nothing: {echo}";
    default:
      return "there is no directive of that name";
  }
}

function readNumber(argument = "", form: RegExp, max: number): number | undefined {
  const number = form.test(argument) ? Number(argument) : Infinity;
  return number <= max ? number : undefined;
}

function readFail(argument = ""): Directive | string {
  const match = /^([45]\d\d)(!?)$/.exec(argument);
  if (match === null)
    return "it takes an HTTP status from 400 to 599, like {fail:429} or {fail:500!}";
  return { kind: "fail", status: Number(match[1]), when: match[2] === "!" ? "always" : "first" };
}

function readTool(argument = ""): Directive | string {
  const match = /^([\w.:/-]+)(?:\s+|(?=[{["])|$)/.exec(argument);
  if (match === null) return 'it takes a tool and its input, like {tool:terminal {"command":"ls"}}';
  const written = argument.slice(match[0].length);
  const input = written === "" ? {} : readJson(written);
  return input === undefined
    ? "its input is not JSON"
    : { kind: "tool", name: match[1] ?? "", input };
}

function readJson(written: string): Json | undefined {
  try {
    const read = json.safeParse(JSON.parse(written));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}

export type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

/** What one model call has to do, derived from the conversation alone. */
export interface ScriptedStep {
  /** The directives from the turn's current position up to and including the next tool. */
  readonly directives: readonly Directive[];
  /** Whether the turn ends after them. */
  readonly isLast: boolean;
  readonly wordsPerSecond: number;
  /** Whether the person chose that pace. */
  readonly isPaceChosen: boolean;
  /** The results of the tools that the previous call requested. */
  readonly results: readonly ToolMessage[];
  /** The same for every attempt at this part of this turn. */
  fingerprint(): string;
}

const defaultWordsPerSecond = 60;

export function findScriptedStep(messages: readonly ModelMessage[]): ScriptedStep {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const directives = parseDirectives(prompt?.role === "user" ? prompt.text : "");
  const turn = messages.slice(promptAt + 1);
  const callCount = turn.reduce((sum, message) => sum + callsOf(message), 0);

  const tools = directives.flatMap((message, index) => (message.kind === "tool" ? [index] : []));
  const begin = callCount === 0 ? 0 : (tools[callCount - 1] ?? directives.length - 1) + 1;
  const nextTool = tools[callCount];
  const rate = directives.slice(0, begin).findLast((message) => message.kind === "rate");
  return {
    directives: directives.slice(begin, nextTool === undefined ? undefined : nextTool + 1),
    isLast: nextTool === undefined,
    wordsPerSecond: rate?.wordsPerSecond ?? defaultWordsPerSecond,
    isPaceChosen: rate !== undefined,
    results: callCount === 0 ? [] : resultsOfLastCalls(turn),
    // Text left behind by a failed attempt does not change the fingerprint.
    fingerprint: () =>
      createHash("sha256")
        .update(JSON.stringify([messages.slice(0, promptAt + 1), callCount]))
        .digest("base64"),
  };
}

function callsOf(message: ModelMessage): number {
  if (message.role !== "assistant") return 0;
  return message.parts.filter(({ kind }) => kind === "call").length;
}

function resultsOfLastCalls(turn: readonly ModelMessage[]): readonly ToolMessage[] {
  const lastCallAt = turn.findLastIndex((message) => callsOf(message) > 0);
  return turn.slice(lastCallAt + 1).filter((message) => message.role === "tool");
}

const introduction = `I am the rehearsal model: a small program inside Holdfast, not an AI. I answer while no provider is configured, so that everything can be tried offline.

I obey directives in a message, in their order:

- \`{words:500}\` says that many words
- \`{rate:100}\` speaks at that many words a second from there on
- \`{think:50}\` thinks for that many words
- \`{tool:terminal {"command":"ls"}}\` asks for that tool and, when you have allowed it, goes on with its result
- \`{fail:429}\` fails at first as with that HTTP status, \`{fail:429!}\` fails each time
- \`{stall:10}\` is silent for that many seconds
- \`{echo}\` repeats the context that I was given

Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or HOLDFAST_MODEL, to talk to a real model. What you write to me is stored just the same.`;

const reminder =
  "I am the rehearsal model and understand directives only, like `{words:200}` or `{echo}`. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or HOLDFAST_MODEL, to talk to a real model.";

/** The full introduction on the first answer, a reminder afterwards. */
export function plainAnswer(messages: readonly ModelMessage[]): string {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const wrote = quote(prompt?.role === "user" ? prompt.text : "", 60);
  const isFirst = !messages
    .slice(0, Math.max(0, promptAt))
    .some((message) => message.role === "assistant");
  const greeting = wrote === "" ? "" : `You wrote “${wrote}”. `;
  return greeting + (isFirst ? introduction : reminder);
}

export function reportRetry(failed: number): string {
  const before = failed === 1 ? "The attempt before it" : `The ${failed} attempts before it`;
  return `This attempt went through. ${before} failed, as you asked.`;
}

export function reportResult({ name, output }: ToolMessage): string {
  const quoted = quote(output, 200);
  return quoted === ""
    ? `The tool ${name} ended and said nothing.`
    : `The tool ${name} answered “${quoted}”.`;
}

export function explainMisread({
  source,
  reason,
}: Extract<Directive, { kind: "misread" }>): string {
  return `I could not follow ${quote(source, 60)}: ${reason}.`;
}

/** The context as received, one line per message, in a form Markdown leaves alone. */
export function echoContext(messages: readonly ModelMessage[]): string {
  const lines = messages
    .map((message) => `${message.role}: ${oneLine(describeMessage(message))}`)
    .join("\n");
  const fenceLength = (lines.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 2);
  const fence = "`".repeat(fenceLength + 1);
  return `${fence}text\n${lines}\n${fence}`;
}

function describeMessage(message: ModelMessage): string {
  switch (message.role) {
    case "system":
    case "user":
    case "notice":
      return message.text;
    case "tool":
      return `[${message.name}] ${message.output}`;
    case "assistant":
      return message.parts
        .map(describePart)
        .filter((part) => part !== "")
        .join(" ");
  }
}

function describePart(part: AssistantPart): string {
  if (part.kind === "image") return `[picture] ${part.mediaType}`;
  if (part.kind === "call") return `[${part.name}] ${JSON.stringify(part.input)}`;
  return part.kind === "reasoning" ? `[thought] ${part.text}` : part.text;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*[\r\n]+\s*/g, " ↵ ");
}

function quote(text: string, max: number): string {
  const characters = Array.from(
    text
      .slice(0, 4 * max)
      .trim()
      .replace(/\s+/g, " "),
  );
  if (characters.length <= max) return characters.join("");
  return `${characters.slice(0, max).join("").trimEnd()}…`;
}

/** The words of a text, each with its leading whitespace: joined, they are the text again. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s*\S+/g)) yield word;
}

/** Counts words as tokens. */
export function countWords(messages: readonly ModelMessage[]): number {
  return messages.reduce(
    (sum, message) => sum + (describeMessage(message).match(/\S+/g)?.length ?? 0),
    0,
  );
}

const passages = {
  said: [
    "A holdfast is the part of a kelp that grips the rock.",
    "It takes nothing from the stone; it only refuses to let go.",
    "Above it the blades go where the water goes, and come back.",
    "When a storm passes, the harbour counts its boats before it counts its losses.",
    "Someone writes each name in a book, in the order of arrival.",
    "A line that was written in ink is not written twice.",
    "The keeper of the light goes up at dusk, whoever may be watching.",
    "If he falls asleep, another climbs the stairs and reads the log first.",
    "Ropes are inspected on the day when nothing has gone wrong.",
    "The tide table hangs by the door, and nobody argues with it.",
    "Late ships are expected for as long as the lamp burns.",
    "In the morning the page is full, and the next one begins where it ended.",
  ],
  thought: [
    "Let me look at what was asked before I answer.",
    "There are a few ways to go about this, and the plain one will do.",
    "I should check the order of things first.",
    "Nothing here needs haste, so I count the words as I go.",
    "That fits; what remains is to say it.",
  ],
} as const;

const sentencesPerParagraph = 5;

/** Exactly `count` deterministic words, each with its leading space. */
export function* fillerWords(kind: keyof typeof passages, count: number): Generator<string> {
  const sentences = passages[kind];
  let remaining = count;
  let blank = "";
  for (let index = 0; remaining > 0; index++) {
    for (const word of sentences[index % sentences.length]?.split(" ") ?? []) {
      if (remaining === 0) return;
      remaining--;
      yield blank + (remaining === 0 ? word.replace(/[,;.]?$/, ".") : word);
      blank = " ";
    }
    if ((index + 1) % sentencesPerParagraph === 0) blank = "\n\n";
  }
}
