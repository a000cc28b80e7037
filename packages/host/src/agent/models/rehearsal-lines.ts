import type { AssistantPart, ModelMessage } from "@holdfast/engine";

import type { Directive } from "./rehearsal-script.ts";
import type { ToolMessage } from "./rehearsal-cue.ts";

const introduction = `I am the rehearsal model: a small program inside Holdfast, not an AI. I answer while no provider is configured, so that everything can be tried offline.

I obey directives in a message, in their order:

- \`{words:500}\` says that many words
- \`{rate:100}\` speaks at that many words a second from there on
- \`{think:50}\` thinks for that many words
- \`{tool:terminal {"command":"ls"}}\` asks for that tool and, when you have allowed it, goes on with its result
- \`{fail:429}\` fails at first as with that HTTP status, \`{fail:429!}\` fails each time
- \`{stall:10}\` is silent for that many seconds
- \`{echo}\` says back the context that I was given

Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or HOLDFAST_MODEL, to talk to a model that thinks; what you say to me is stored all the same.`;

const reminder =
  "I am the rehearsal model and understand directives only, like `{words:200}` or `{echo}`. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or HOLDFAST_MODEL, to talk to a model that thinks.";

/** The whole introduction at the first answer of a conversation, a reminder afterwards. */
export function plainAnswer(messages: readonly ModelMessage[]): string {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const wrote = quote(prompt?.role === "user" ? prompt.text : "", 60);
  const isFirst = !messages
    .slice(0, Math.max(0, promptAt))
    .some((each) => each.role === "assistant");
  const greeting = wrote === "" ? "" : `You wrote “${wrote}”. `;
  return greeting + (isFirst ? introduction : reminder);
}

export function reportRetry(failed: number): string {
  const before = failed === 1 ? "The attempt before it" : `The ${failed} attempts before it`;
  return `This attempt went through. ${before} failed, as you asked.`;
}

export function reportResult({ name, output }: ToolMessage): string {
  const said = quote(output, 200);
  return said === ""
    ? `The tool ${name} ended and said nothing.`
    : `The tool ${name} answered “${said}”.`;
}

export function explainMisread({
  source,
  reason,
}: Extract<Directive, { kind: "misread" }>): string {
  return `I could not follow ${quote(source, 60)}: ${reason}.`;
}

/** The context as it came, one line for each message, where Markdown leaves it alone. */
export function echoContext(messages: readonly ModelMessage[]): string {
  const lines = messages
    .map((message) => `${message.role}: ${oneLine(describeMessage(message))}`)
    .join("\n");
  const longestFence = (lines.match(/`+/g) ?? []).reduce(
    (most, run) => Math.max(most, run.length),
    2,
  );
  const fence = "`".repeat(longestFence + 1);
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
  if (part.kind === "call") return `[${part.name}] ${JSON.stringify(part.input)}`;
  return part.kind === "reasoning" ? `[thought] ${part.text}` : part.text;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*[\r\n]+\s*/g, " ↵ ");
}

function quote(text: string, most: number): string {
  const characters = Array.from(
    text
      .slice(0, 4 * most)
      .trim()
      .replace(/\s+/g, " "),
  );
  if (characters.length <= most) return characters.join("");
  return `${characters.slice(0, most).join("").trimEnd()}…`;
}

/** The words of a text, each with the blank that stands before it: put together they are the text again. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s*\S+/g)) yield word;
}

/** Words stand for tokens. */
export function countWords(messages: readonly ModelMessage[]): number {
  return messages.reduce(
    (sum, message) => sum + (describeMessage(message).match(/\S+/g)?.length ?? 0),
    0,
  );
}
