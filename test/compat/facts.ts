import {
  attachment,
  idPrefixes,
  part,
  runState,
  runView,
  scheduleView,
  sessionView,
  toolDetails,
  webhookCommand,
} from "@holdfast/protocol";

/** The parts of a JSON Schema that have a line of their own. Every other keyword is a limit. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}

const notLimits = new Set([
  "type",
  "const",
  "enum",
  "anyOf",
  "oneOf",
  "properties",
  "required",
  "items",
  "prefixItems",
  "additionalProperties",
  "propertyNames",
  "description",
  "title",
  "$schema",
]);

/** Shapes that are used in many places get their lines once. The names exist only in the snapshot. */
const shapes = {
  Attachment: attachment,
  Part: part,
  Run: runView,
  RunState: runState,
  Schedule: scheduleView,
  Session: sessionView,
  ToolDetails: toolDetails,
  WebhookCommand: webhookCommand,
};

const shapeNames = new Map(
  Object.entries(shapes).flatMap(([name, shape]) =>
    (["input", "output"] as const).map((io) => [keyOf(shape.toJSONSchema({ io })), name] as const),
  ),
);

function keyOf(schema: object): string {
  return JSON.stringify({ ...schema, $schema: undefined, description: undefined });
}

export function shapeFacts(): string[] {
  return Object.entries(shapes).flatMap(([name, shape]) => {
    const whole = shape.toJSONSchema() as Schema;
    return describe(name, whole, { whole });
  });
}

/** One line for the value, one for each allowed value and one for each field. */
export function schemaFacts(path: string, schema: unknown, presence?: string): string[] {
  return describe(path, schema as Schema, { presence });
}

interface Described {
  readonly presence?: string | undefined;
  /** The shape to describe field by field instead of by its name. */
  readonly whole?: Schema;
}

function describe(path: string, schema: Schema, { presence, whole }: Described): string[] {
  const alternatives = alternativesOf(schema, whole);
  const names = alternatives.map((alternative) =>
    alternative === whole ? undefined : shapeNames.get(keyOf(alternative)),
  );
  const kinds = new Set(
    alternatives.map((alternative, index) => names[index] ?? kindOf(alternative)),
  );
  const kind = [...kinds].toSorted().join(" | ");
  return [
    `${path}: ${presence === undefined ? kind : `${kind}, ${presence}`}`,
    ...alternatives.flatMap((alternative, index) => {
      if (names[index] !== undefined) return [];
      return insideFacts(
        alternatives.length > 1 ? path + tellApart(alternative) : path,
        alternative,
      );
    }),
  ];
}

/** The alternatives of a union, flat. */
function alternativesOf(schema: Schema, whole?: Schema): readonly Schema[] {
  const { anyOf, oneOf } = schema;
  if (schema !== whole && shapeNames.has(keyOf(schema))) return [schema];
  return (anyOf ?? oneOf)?.flatMap((alternative) => alternativesOf(alternative)) ?? [schema];
}

/** `(type="text")`: the fields that tell the alternatives of a union apart. */
function tellApart({ properties = {}, required = [] }: Schema): string {
  const fixed = Object.entries(properties).flatMap(([name, { const: only }]) =>
    only === undefined || !required.includes(name) ? [] : [`${name}=${JSON.stringify(only)}`],
  );
  return fixed.length === 0 ? "" : `(${fixed.toSorted().join(",")})`;
}

function kindOf(schema: Schema): string {
  const { type = typeOfValues(schema), additionalProperties } = schema;
  const limits = Object.entries(schema)
    .filter(([name, value]) => !notLimits.has(name) && !isUnlimited(value))
    .map(([name, value]) => `${name} ${limitText(value)}`);
  if (additionalProperties === false) limits.push("closed");
  const named = [type].flat().toSorted().join(" | ");
  return limits.length === 0 ? named : `${named} (${limits.toSorted().join(", ")})`;
}

function typeOfValues({ const: only, enum: values = [only] }: Schema): string {
  const types = new Set(values.filter((value) => value !== undefined).map((value) => typeof value));
  return types.size === 0 ? "anything" : [...types].toSorted().join(" | ");
}

/** JSON Schema of an unlimited integer names the largest safe one. */
function isUnlimited(value: unknown): boolean {
  return value === Number.MAX_SAFE_INTEGER || value === Number.MIN_SAFE_INTEGER;
}

function limitText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replace("[0-7][0-9a-hjkmnp-tv-z]{25}", "<id>");
}

function insideFacts(path: string, schema: Schema): string[] {
  const { properties = {}, required = [], items, prefixItems = [], additionalProperties } = schema;
  const values = schema.const === undefined ? (schema.enum ?? []) : [schema.const];
  const isMap = typeof additionalProperties === "object" && !isEmpty(additionalProperties);
  return [
    ...values.map((value) => `${path} may be ${JSON.stringify(value)}`),
    ...Object.entries(properties).flatMap(([name, inner]) =>
      schemaFacts(`${path}.${name}`, inner, required.includes(name) ? "required" : "optional"),
    ),
    ...(isMap ? schemaFacts(`${path}.*`, additionalProperties) : []),
    ...(items === undefined ? [] : schemaFacts(`${path}[]`, items)),
    ...prefixItems.flatMap((inner, index) => schemaFacts(`${path}[${index}]`, inner)),
  ];
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** The names of all fields in an observed value. */
export function fieldFacts(path: string, value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [path];
  const fields = Object.entries(value);
  if (fields.length === 0) return [path];
  if (Array.isArray(value)) return value.flatMap((item) => fieldFacts(`${path}[]`, item));
  return fields.flatMap(([name, inner]) => fieldFacts(`${path}.${withoutIds(name)}`, inner));
}

const anyId = new RegExp(`\\b(${Object.values(idPrefixes).join("|")})_[0-9a-z]{26}`, "g");

/** Replaces ids by placeholders. */
export function withoutIds(text: string): string {
  return text
    .replaceAll(anyId, "<$1>")
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>");
}
