import type { FormField } from "@holdfast/protocol";
import { z } from "zod";

const maxFields = 20;
const maxNameLength = 100;
const maxTextLength = 500;
const maxOptions = 50;

const words = z.string().max(maxTextLength);
const titled = z.object({ const: words, title: words });
/** The kinds that the protocol allows in a form: flat and simple. What else a schema says is not looked at. */
const property = z.looseObject({
  type: z.enum(["string", "number", "integer", "boolean", "array"]),
  title: words.optional(),
  description: words.optional(),
  format: z.string().optional(),
  enum: z.array(words).min(1).max(maxOptions).optional(),
  enumNames: z.array(words).max(maxOptions).optional(),
  oneOf: z.array(titled).min(1).max(maxOptions).optional(),
  items: z
    .looseObject({
      enum: z.array(words).min(1).max(maxOptions).optional(),
      anyOf: z.array(titled).min(1).max(maxOptions).optional(),
    })
    .optional(),
  default: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
});
type Property = z.infer<typeof property>;

const schema = z.looseObject({
  type: z.literal("object").optional(),
  properties: z.record(z.string().min(1).max(maxNameLength), property),
  required: z.array(z.string()).max(maxFields).optional(),
});

/** A field with the limits that an answer has to keep. */
export interface AskedField extends FormField {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** The fields of a form; `null` if it is none that may be shown: nested, empty or far too large. */
export function readForm(requested: unknown): readonly AskedField[] | null {
  const decoded = schema.safeParse(requested);
  if (!decoded.success) return null;
  const { properties, required = [] } = decoded.data;
  const entries = Object.entries(properties);
  if (entries.length === 0 || entries.length > maxFields) return null;
  const fields = entries.map(([name, each]) => readField(name, each, required.includes(name)));
  return fields.includes(null) ? null : fields.filter((field) => field !== null);
}

function readField(name: string, asked: Property, isNeeded: boolean): AskedField | null {
  // A name with these would break the lines that people answer with.
  if (/[\n\r:=]/.test(name)) return null;
  const { title, description, format } = asked;
  const options = optionsOf(asked);
  const kind = kindOf(asked, options !== undefined);
  if (kind === null) return null;
  const knownFormat = z.enum(["email", "uri", "date", "date-time"]).safeParse(format).data;
  const [min, max] = limitsOf(asked);
  const usual = usualOf(kind, asked.default, options ?? []);
  return {
    name,
    title: oneLine(title ?? name),
    ...(description !== undefined && { about: oneLine(description) }),
    kind,
    ...(kind === "text" && knownFormat !== undefined && { format: knownFormat }),
    ...(options !== undefined && { options: [...options] }),
    isNeeded,
    ...(usual !== undefined && { usual }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
  };
}

function kindOf({ type }: Property, hasOptions: boolean): FormField["kind"] | null {
  switch (type) {
    case "string":
      return hasOptions ? "choice" : "text";
    case "array":
      return hasOptions ? "choices" : null;
    case "boolean":
      return "yes_or_no";
    case "integer":
      return "whole_number";
    case "number":
      return "number";
  }
}

function optionsOf(asked: Property): FormField["options"] {
  const plain = asked.type === "array" ? asked.items?.enum : asked.enum;
  const named = asked.type === "array" ? asked.items?.anyOf : asked.oneOf;
  if (named !== undefined)
    return named.map(({ const: value, title }) => ({ value, label: oneLine(title) }));
  return plain?.map((value, index) => ({
    value,
    label: oneLine(asked.enumNames?.[index] ?? value),
  }));
}

function limitsOf(asked: Property): readonly [number | undefined, number | undefined] {
  switch (asked.type) {
    case "string":
      return [asked.minLength, asked.maxLength];
    case "array":
      return [asked.minItems, asked.maxItems];
    default:
      return [asked.minimum, asked.maximum];
  }
}

/** A default that does not fit its own field is none. */
function usualOf(
  kind: FormField["kind"],
  given: unknown,
  options: NonNullable<FormField["options"]>,
): FormField["usual"] {
  const isOption = (value: unknown): boolean => options.some((option) => option.value === value);
  switch (kind) {
    case "text":
      return words.safeParse(given).data;
    case "number":
      return z.number().safeParse(given).data;
    case "whole_number":
      return z.int().safeParse(given).data;
    case "yes_or_no":
      return z.boolean().safeParse(given).data;
    case "choice":
      return isOption(given) ? words.safeParse(given).data : undefined;
    case "choices": {
      const list = z.array(words).max(maxOptions).safeParse(given).data;
      return list?.every(isOption) === true ? list : undefined;
    }
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
