import type { AskedField } from "./read-form.ts";
import { elicitationStrings as t } from "./strings.ts";

export type FormValue = string | number | boolean | string[];

export type ReadAnswer =
  | { readonly ok: true; readonly content: Readonly<Record<string, FormValue>> }
  /** What does not fit, in words for the person. */
  | { readonly ok: false; readonly problems: readonly string[] };

const maxProblems = 5;

/**
 * Reads a person's words as the answer to a form: a line for each field, a JSON object, or the bare value of the only
 * field. What is not mentioned has its usual value; what is left empty has none.
 */
export function readAnswer(fields: readonly AskedField[], answer: string): ReadAnswer {
  const given =
    answer.trim() === t.asItIs ? new Map<string, string>() : splitAnswer(fields, answer);
  if (given === null) return { ok: false, problems: [t.linesNeeded(fields[0]?.title ?? "")] };
  const problems: string[] = [];
  const content: [string, FormValue][] = [];
  for (const field of fields) {
    const text = given.get(field.name);
    const value = text === undefined ? field.usual : readValue(field, text);
    if (typeof value === "object" && "problem" in value) problems.push(value.problem);
    else if (value !== undefined) content.push([field.name, value]);
    else if (field.isNeeded) problems.push(t.missing(field.title));
  }
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, maxProblems) };
  return { ok: true, content: Object.fromEntries(content) };
}

/** The words for each field that is mentioned; `null` if they cannot be told apart. */
function splitAnswer(
  fields: readonly AskedField[],
  answer: string,
): ReadonlyMap<string, string> | null {
  const byJson = readJson(fields, answer);
  if (byJson !== null) return byJson;
  const found = new Map<string, string>();
  let current: string | null = null;
  for (const line of answer.split(/\r?\n/)) {
    const at = line.search(/[:=]/);
    const field = at === -1 ? undefined : findField(fields, line.slice(0, at));
    if (field !== undefined) {
      current = field.name;
      found.set(current, line.slice(at + 1).trim());
    } else if (current !== null) found.set(current, `${found.get(current) ?? ""}\n${line}`.trim());
    else if (line.trim() !== "") {
      const [only] = fields;
      return fields.length === 1 && only !== undefined
        ? new Map([[only.name, answer.trim()]])
        : null;
    }
  }
  return found;
}

function readJson(
  fields: readonly AskedField[],
  answer: string,
): ReadonlyMap<string, string> | null {
  if (!answer.trimStart().startsWith("{")) return null;
  try {
    const parsed: unknown = JSON.parse(answer);
    if (typeof parsed !== "object" || parsed === null) return null;
    return new Map(
      Object.entries(parsed).flatMap(([key, value]: [string, unknown]) => {
        const field = findField(fields, key);
        const text = Array.isArray(value) ? value.map(plainText).join(", ") : plainText(value);
        return field === undefined ? [] : [[field.name, text] as const];
      }),
    );
  } catch {
    return null;
  }
}

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

function findField(fields: readonly AskedField[], written: string): AskedField | undefined {
  const name = plain(written);
  return (
    fields.find((field) => plain(field.name) === name) ??
    fields.find((field) => plain(field.title) === name)
  );
}

/** `undefined`: it is left empty. */
function readValue(
  field: AskedField,
  written: string,
): FormValue | undefined | { readonly problem: string } {
  const text = unquote(written);
  if (text === "") return undefined;
  const { kind, title, min = -Infinity, max = Infinity } = field;
  const outside = (amount: number): boolean => amount < min || amount > max;
  switch (kind) {
    case "yes_or_no":
      if (/^(?:yes|y|true|1)$/i.test(text)) return true;
      return /^(?:no|n|false|0)$/i.test(text) ? false : { problem: t.notYesOrNo(title) };
    case "number":
    case "whole_number": {
      const amount = Number(text);
      const isWhole = kind === "number" || Number.isSafeInteger(amount);
      if (!Number.isFinite(amount) || !isWhole) return { problem: t.notNumber(title, kind) };
      return outside(amount) ? { problem: t.outside(title, field.min, field.max) } : amount;
    }
    case "choice":
      return findOption(field, text) ?? { problem: t.notOption(title, labelsOf(field)) };
    case "choices": {
      const chosen = splitChoices(field, text);
      const values = chosen.map((each) => findOption(field, each));
      if (values.includes(undefined)) return { problem: t.notOption(title, labelsOf(field)) };
      if (outside(values.length)) return { problem: t.wrongCount(title, field.min, field.max) };
      return values.filter((value) => value !== undefined);
    }
    case "text":
      if (outside(text.length)) return { problem: t.wrongLength(title, field.min, field.max) };
      return fitsFormat(field, text)
        ? text
        : { problem: t.notFormat(title, field.format ?? "text") };
  }
}

/** The server's own patterns are not run here: it judges the answer itself. */
function fitsFormat({ format }: AskedField, text: string): boolean {
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(text);
    case "uri":
      return URL.canParse(text);
    case "date":
      return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
    case "date-time":
      return /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text));
    case undefined:
      return true;
  }
}

function findOption({ options = [] }: AskedField, text: string): string | undefined {
  const named = plain(text);
  return (
    options.find(({ value }) => value === text) ??
    options.find(({ label }) => plain(label) === named) ??
    options.find(({ value }) => plain(value) === named)
  )?.value;
}

/** A line for each, or commas; an option may have commas itself. */
function splitChoices(field: AskedField, text: string): readonly string[] {
  const isOne = !text.includes("\n") && findOption(field, text) !== undefined;
  const parts = isOne ? [text] : text.split(text.includes("\n") ? "\n" : ",");
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function labelsOf({ options = [] }: AskedField): readonly string[] {
  return options.map(({ label }) => label);
}

function plain(text: string): string {
  return text
    .replaceAll(/[*_`-]+/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .toLowerCase();
}

function unquote(written: string): string {
  const text = written.trim();
  if (!text.startsWith('"')) return text;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "string" ? parsed : text;
  } catch {
    return text;
  }
}
