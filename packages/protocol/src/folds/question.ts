import { z } from "zod";

import type { Json } from "../parts.ts";
import { planAnswers, planModes } from "../rights/session-mode.ts";

/** A field of a form that an MCP server asks a person to fill in. */
export const formField = z.object({
  name: z.string(),
  title: z.string(),
  about: z.string().optional(),
  kind: z.enum(["text", "number", "whole_number", "yes_or_no", "choice", "choices"]),
  format: z.enum(["email", "uri", "date", "date-time"]).optional(),
  options: z.array(z.object({ value: z.string(), label: z.string() })).optional(),
  isNeeded: z.boolean(),
  /** What is sent if the person leaves it as it is. */
  usual: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
});
export type FormField = z.infer<typeof formField>;

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
  /** The question without what `form` or `link` tell, for surfaces that show those. */
  lead: z.string().optional(),
  form: z.array(formField).optional(),
  /** An address that the person is asked to open. */
  link: z.string().optional(),
});
const planInput = z.looseObject({ plan: z.string() });

/** A question as every surface shows it. Any other words answer it too. */
export interface AskedQuestion {
  readonly question: string;
  readonly choices: readonly string[];
  readonly lead?: string | undefined;
  readonly form?: readonly FormField[] | undefined;
  readonly link?: string | undefined;
}

interface Asked {
  readonly kind?: string | undefined;
  readonly plan?: true | undefined;
}

/** What an approval asks, if it is a question or a plan; `undefined` if it is neither, or cannot be read. */
export function questionOf({ kind, plan }: Asked, input: Json): AskedQuestion | undefined {
  if (kind !== "question") return undefined;
  if (plan === true) {
    const choices = planModes.map((mode) => planAnswers[mode]);
    const data = planInput.safeParse(input).data;
    return data && { question: data.plan, choices };
  }
  const data = questionInput.safeParse(input).data;
  if (data === undefined) return undefined;
  const { question, choices = [], lead, form, link } = data;
  return {
    question,
    choices,
    ...(lead !== undefined && { lead }),
    ...(form !== undefined && { form }),
    ...(link !== undefined && { link }),
  };
}

/**
 * The answer to a form as words, a line for each field, which any surface can also write by hand. An empty field is sent
 * as such: what is usual would otherwise be taken.
 */
export function formAnswer(values: ReadonlyMap<string, string>): string {
  return [...values]
    .map(([name, value]) => `${name}: ${/[\n\r]|^"/.test(value) ? JSON.stringify(value) : value}`)
    .join("\n");
}
