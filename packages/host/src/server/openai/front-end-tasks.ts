import type { Model, ModelUsage } from "@holdfast/engine";
import type { ModelRegistry } from "../../agent/models/registry.ts";
import type { ClientRequest } from "./client-request.ts";

/** Asks for this explicitly, whatever the text says. */
export const taskHeader = "x-holdfast-task";

/**
 * Chat front ends ask for titles, tags and follow-up questions through the same route as for answers. They are asked of
 * a small model, and are no turns. Recognised by how their prompts begin (as of their documentation):
 * - Open WebUI: `### Task:` and a `<chat_history>`, or `### Chat History:`;
 * - LibreChat: `Provide a concise, 5-word-or-less title for the conversation`.
 */
const taskPrompts: readonly RegExp[] = [
  /^\s*### Task:\s[^]*(?:<chat_history>|### Chat History:|<\/?type>|### Guidelines:)/,
  /^\s*(?:Provide a concise, 5-word-or-less title for the conversation|Please generate a concise, 5-word-or-less title)/i,
];

export function isFrontEndTask(
  { text, history, files }: ClientRequest,
  header: string | undefined,
): boolean {
  if (header !== undefined) return true;
  return (
    history.length === 0 && files.length === 0 && taskPrompts.some((prompt) => prompt.test(text))
  );
}

export type TaskAnswer =
  | {
      readonly status: "answered";
      readonly text: string;
      readonly model: string;
      readonly usage: ModelUsage;
    }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

const maxAnswerLength = 20_000;

/** One call without tools, context or trace in any session. */
export async function answerTask(
  models: Pick<ModelRegistry, "smallModel" | "defaultModel" | "open">,
  { instructions, text }: ClientRequest,
  requested: string | null,
  signal: AbortSignal,
): Promise<TaskAnswer> {
  const name = models.smallModel(requested ?? models.defaultModel());
  const model: Model = models.open(name);
  const messages = [
    ...(instructions === "" ? [] : [{ role: "system" as const, text: instructions }]),
    { role: "user" as const, text },
  ];
  let answer = "";
  let usage: ModelUsage = { input: 0, output: 0 };
  for await (const event of model.stream({ model: name, messages, tools: [] }, signal)) {
    if (event.kind === "failed") return { status: "failed", ...event.failure };
    if (event.kind === "usage") ({ usage } = event);
    if (event.kind === "text") answer += event.text;
    if (answer.length > maxAnswerLength) break;
  }
  return { status: "answered", text: answer, model: name, usage };
}
