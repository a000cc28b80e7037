import { z } from "zod";

import type { Json } from "../parts.ts";
import { planAnswers, planModes } from "../rights/session-mode.ts";

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});
const planInput = z.looseObject({ plan: z.string() });

/** A question as every surface shows it. Any other words answer it too. */
export interface AskedQuestion {
  readonly question: string;
  readonly choices: readonly string[];
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
  return data && { question: data.question, choices: data.choices ?? [] };
}
