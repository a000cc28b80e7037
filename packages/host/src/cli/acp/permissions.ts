import {
  type AgentContext,
  type ElicitationPropertySchema,
  methods,
  type PermissionOption,
} from "@agentclientprotocol/sdk";
import { type ApprovalAnswer, describeTaint } from "@holdfast/protocol";
import { z } from "zod";
import { acpStrings } from "../strings/acp.ts";
import { allowedDecisions, type OpenApproval, questionIn } from "../transcript/open-approval.ts";
import { kindOf, locationsOf, plannedContent, titleOf } from "./tool-call.ts";

/** What a person has decided in the editor. */
export interface EditorAnswer {
  readonly decision: ApprovalAnswer;
  readonly answer?: string;
}

export interface PermissionDeps {
  readonly editor: AgentContext;
  readonly sessionId: string;
  readonly folder: string;
  /** Whether the editor shows forms. */
  readonly hasForms: boolean;
  /** Aborted when it was answered elsewhere: the editor then takes its question back. */
  readonly signal: AbortSignal;
}

/**
 * Asks the person at the editor. `null`: they have not decided, and it can still be answered anywhere. Only an option
 * that was offered counts; an outcome that is not known never is a yes.
 */
export async function askEditor(
  approval: OpenApproval,
  deps: PermissionDeps,
): Promise<EditorAnswer | null> {
  const question = questionIn(approval);
  if (question === undefined) return askPermission(approval, deps);
  return deps.hasForms
    ? askByForm(approval, question, deps)
    : askByOptions(approval, question, deps);
}

const selected = z.object({
  outcome: z.object({ outcome: z.literal("selected"), optionId: z.string() }),
});

const texts = acpStrings.permission;
const optionKinds = {
  once: "allow_once",
  session: "allow_always",
  always: "allow_always",
  deny: "reject_once",
} as const;

async function askPermission(
  approval: OpenApproval,
  deps: PermissionDeps,
): Promise<EditorAnswer | null> {
  const [rule] = approval.rules ?? [];
  const options = allowedDecisions(approval).map((decision): PermissionOption => {
    const isLasting = optionKinds[decision].endsWith("always");
    const name = texts[decision];
    return {
      optionId: decision,
      name: rule === undefined || !isLasting ? name : texts.covering(name, rule),
      kind: optionKinds[decision],
    };
  });
  const decision = await request(approval, titleOf(approval), options, deps);
  return decision === undefined ? null : { decision: decision as ApprovalAnswer };
}

/** The option that was chosen, if it is one of those offered. */
async function request(
  approval: OpenApproval,
  title: string,
  options: PermissionOption[],
  { editor, sessionId, folder, signal }: PermissionDeps,
): Promise<string | undefined> {
  const answer = await editor.request(
    methods.client.session.requestPermission,
    {
      sessionId,
      toolCall: {
        toolCallId: approval.callId,
        title,
        name: approval.name,
        kind: kindOf(approval.name),
        status: "pending",
        rawInput: approval.input,
        locations: locationsOf(approval, folder),
        content: [
          ...plannedContent(approval, folder),
          ...remarksOn(approval).map((text) => ({
            type: "content" as const,
            content: { type: "text" as const, text },
          })),
        ],
      },
      options,
    },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  );
  const optionId = selected.safeParse(answer).data?.outcome.optionId;
  return options.find((option) => option.optionId === optionId)?.optionId;
}

/** What else the person should know before they decide. */
function remarksOn({ shown, notes = [], sandbox, after = [], place }: OpenApproval): string[] {
  return [
    ...(after.length === 0 ? [] : [texts.after(describeTaint(after))]),
    ...(shown === undefined ? [] : [shown]),
    ...(place === undefined ? [] : [texts.place(place)]),
    ...notes,
    ...(sandbox === undefined ? [] : [sandbox.words]),
  ];
}

type Question = NonNullable<ReturnType<typeof questionIn>>;

const accepted = z.object({
  action: z.literal("accept"),
  content: z.object({ choice: z.string().optional(), answer: z.string().optional() }),
});
const declined = z.object({ action: z.literal("decline") });
const maxAnswerLength = 10_000;

async function askByForm(
  { callId }: OpenApproval,
  { question, choices }: Question,
  { editor, sessionId, signal }: PermissionDeps,
): Promise<EditorAnswer | null> {
  const choice: Record<string, ElicitationPropertySchema> =
    choices.length === 0 ? {} : { choice: { type: "string", title: texts.choose, enum: choices } };
  const answer = await editor.request(
    methods.client.elicitation.create,
    {
      mode: "form",
      sessionId,
      toolCallId: callId,
      message: question,
      requestedSchema: {
        type: "object",
        properties: {
          ...choice,
          answer: {
            type: "string",
            title: choices.length === 0 ? texts.answer : texts.ownWords,
            maxLength: maxAnswerLength,
          },
        },
        ...(choices.length === 0 && { required: ["answer"] }),
      },
    },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  );
  if (declined.safeParse(answer).success) return { decision: "deny" };
  const given = accepted.safeParse(answer).data?.content;
  const text = (given?.answer?.trim() || given?.choice?.trim())?.slice(0, maxAnswerLength);
  return text === undefined || text === "" ? null : { decision: "once", answer: text };
}

const noAnswer = "no-answer";

/** Without forms an editor can still offer the choices. A free answer is then given on the page or in a terminal. */
async function askByOptions(
  approval: OpenApproval,
  { question, choices }: Question,
  deps: PermissionDeps,
): Promise<EditorAnswer | null> {
  const options: PermissionOption[] = [
    ...choices.map((name, index) => ({
      optionId: `choice-${index}`,
      name,
      kind: "allow_once" as const,
    })),
    { optionId: noAnswer, name: texts.noAnswer, kind: "reject_once" },
  ];
  const chosen = await request(approval, question, options, deps);
  if (chosen === undefined) return null;
  if (chosen === noAnswer) return { decision: "deny" };
  const answer = choices[Number(chosen.slice("choice-".length))];
  return answer === undefined ? null : { decision: "once", answer };
}
