import {
  type ReasoningEffort,
  reasoningEffort,
  type RunBudget,
  type SessionMode,
  sessionMode,
  toolPattern,
} from "@holdfast/protocol";
import { z } from "zod";

import { readFrontMatter } from "../skills/front-matter.ts";

/** What a profile's file says. */
export interface ProfileText {
  readonly name: string;
  readonly description: string;
  /** Stands in the place of the persona. */
  readonly prompt: string;
  /** The only tools that it may have; `null` for all that its parent has. */
  readonly tools: readonly string[] | null;
  /** The name of a rights profile. */
  readonly rights: string | null;
  readonly mode: SessionMode | null;
  /** `null`: that of its parent. */
  readonly model: string | null;
  readonly effort: ReasoningEffort | null;
  readonly budget: RunBudget | null;
}

export type ProfileParse =
  | { readonly ok: true; readonly profile: ProfileText; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** It is stored with each task. */
const maxPromptLength = 24_000;
const maxDescriptionLength = 600;
const maxTools = 100;
const namePattern = /^(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)$/u;

const words = z.union([z.string(), z.array(z.string())]).optional();
const fieldsSchema = z.looseObject({
  name: z.string().optional(),
  description: z.string().optional(),
  tools: words,
  rights: z.string().optional(),
  mode: z.string().optional(),
  model: z.string().optional(),
  effort: z.string().optional(),
  budget: z.record(z.string(), z.string()).optional(),
});

const knownFields: ReadonlySet<string> = new Set(Object.keys(fieldsSchema.shape));

/** Whatever limits what a child may do has to be understood, or the file is not used: a typing error must not widen it. */
export async function parseProfile(text: string, file: string): Promise<ProfileParse> {
  const read = await readFrontMatter(text, file);
  if (!read.ok) return read;
  const decoded = fieldsSchema.safeParse(read.fields);
  if (!decoded.success) {
    const [field = "front matter"] = decoded.error.issues.map(({ path }) => String(path[0]));
    return unusable(
      `The field ${field} in ${file} cannot be read. The documentation shows its format.`,
    );
  }
  const { data } = decoded;
  const name = (data.name ?? file.replace(/\.md$/u, "")).trim();
  if (!namePattern.test(name))
    return unusable(
      `An agent's name has 1 to 64 lower-case letters, digits and single hyphens. Rename ${JSON.stringify(name.slice(0, 80))}.`,
    );
  const description = (data.description ?? "").replaceAll(/\s+/gu, " ").trim();
  if (description === "")
    return unusable(
      `${file} has no description. Add one, so that the model knows what to give to this agent.`,
    );
  const prompt = read.body.trim();
  if (prompt === "")
    return unusable(
      `${file} has no text below its front matter. Describe there how the agent works.`,
    );
  if (prompt.length > maxPromptLength)
    return unusable(
      `The text of ${file} is longer than ${maxPromptLength} characters. Shorten it, or move a part of it to a skill.`,
    );
  const limits = parseLimits(data);
  if (typeof limits === "string") return unusable(`${limits} Correct it in ${file}.`);
  const warnings = Object.keys(data)
    .filter((field) => !knownFields.has(field))
    .map((field) => `${JSON.stringify(field.slice(0, 40))} is not a known field and is ignored.`);
  if (description.length > maxDescriptionLength)
    warnings.push(`The description was cut: it has more than ${maxDescriptionLength} characters.`);
  const short = description.slice(0, maxDescriptionLength).toWellFormed();
  return { ok: true, profile: { name, description: short, prompt, ...limits }, warnings };
}

type Limits = Omit<ProfileText, "name" | "description" | "prompt">;

/** A sentence if one of them is wrong. */
function parseLimits(data: z.infer<typeof fieldsSchema>): Limits | string {
  const tools = data.tools === undefined ? null : wordsOf(data.tools);
  if (tools !== null && tools.length > maxTools) return `It names more than ${maxTools} tools.`;
  const badTool = tools?.find((tool) => !toolPattern.safeParse(tool).success);
  if (badTool !== undefined)
    return `${JSON.stringify(badTool.slice(0, 80))} is neither a tool's name nor a prefix followed by *.`;
  const mode = data.mode === undefined ? null : sessionMode.safeParse(data.mode.trim()).data;
  if (mode === undefined) return `The mode must be one of ${sessionMode.options.join(", ")}.`;
  const effort =
    data.effort === undefined ? null : reasoningEffort.safeParse(data.effort.trim()).data;
  if (effort === undefined)
    return `The effort must be one of ${reasoningEffort.options.join(", ")}.`;
  const budget = parseBudget(data.budget);
  if (typeof budget === "string") return budget;
  const model = (data.model ?? "inherit").trim();
  return {
    tools,
    rights: data.rights?.trim() ?? null,
    mode,
    model: model === "inherit" || model === "" ? null : model.slice(0, 200),
    effort,
    budget,
  };
}

/** `Read, Grep` and `[read_file, grep]` are both common. */
function wordsOf(given: string | readonly string[]): readonly string[] {
  return [given].flat().flatMap((each) => each.split(/[\s,]+/u).filter((word) => word !== ""));
}

const budgetFields = {
  steps: { most: 1_000, whole: true },
  tokens: { most: 1_000_000_000, whole: true },
  /** In dollars. */
  cost: { most: 10_000, whole: false },
  minutes: { most: 50, whole: false },
} as const;
type BudgetField = keyof typeof budgetFields;

function parseBudget(
  given: Readonly<Record<string, string>> | undefined,
): RunBudget | null | string {
  if (given === undefined) return null;
  const numbers: Partial<Record<BudgetField, number>> = {};
  for (const [field, text] of Object.entries(given)) {
    if (!isBudgetField(field))
      return `A budget can have ${Object.keys(budgetFields).join(", ")}, but not ${JSON.stringify(field.slice(0, 40))}.`;
    const { most, whole } = budgetFields[field];
    const number = /^\d{1,12}(?:\.\d{1,6})?$/u.test(text.trim()) ? Number(text) : 0;
    if (number <= 0 || number > most || (whole && !Number.isInteger(number)))
      return `The budget's ${field} must be a ${whole ? "whole " : ""}number above 0 and at most ${most}.`;
    numbers[field] = number;
  }
  const { steps, tokens, cost, minutes } = numbers;
  return {
    ...(steps !== undefined && { steps }),
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { costMicros: Math.max(1, Math.round(cost * 1_000_000)) }),
    ...(minutes !== undefined && { timeMs: Math.max(1, Math.round(minutes * 60_000)) }),
  };
}

function isBudgetField(field: string): field is BudgetField {
  return Object.hasOwn(budgetFields, field);
}

function unusable(reason: string): ProfileParse {
  return { ok: false, reason };
}
