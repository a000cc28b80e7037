import { json, type Json } from "@holdfast/protocol";
import * as fc from "fast-check";
import { z } from "zod";

/** The part of JSON Schema that the contract uses. */
interface Shape {
  readonly type?: string | undefined;
  readonly const?: Json | undefined;
  readonly enum?: readonly Json[] | undefined;
  readonly anyOf?: readonly Shape[] | undefined;
  readonly oneOf?: readonly Shape[] | undefined;
  readonly allOf?: readonly Shape[] | undefined;
  readonly properties?: Readonly<Record<string, Shape>> | undefined;
  readonly required?: readonly string[] | undefined;
  /** `false`: nothing after the first ones. */
  readonly items?: Shape | false | undefined;
  readonly prefixItems?: readonly Shape[] | undefined;
  readonly pattern?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
}
const shape: z.ZodType<Shape> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    const: json.optional(),
    enum: z.array(json).optional(),
    anyOf: z.array(shape).optional(),
    oneOf: z.array(shape).optional(),
    allOf: z.array(shape).optional(),
    properties: z.record(z.string(), shape).optional(),
    required: z.array(z.string()).optional(),
    items: z.union([z.literal(false), shape]).optional(),
    prefixItems: z.array(shape).optional(),
    pattern: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
  }),
);

/** Texts that exist, so that a generated value sometimes names something. */
export type Known = readonly string[];

/** Values that fit the schema, as far as its JSON form says. */
export function validValues(schema: z.ZodType, known: Known): fc.Arbitrary<unknown> {
  return valuesOf(
    shape.parse(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
    known,
  );
}

function valuesOf(of: Shape, known: Known): fc.Arbitrary<unknown> {
  const { anyOf, oneOf, allOf } = of;
  if (of.const !== undefined) return fc.constant(of.const);
  if (of.enum !== undefined) return fc.constantFrom(...of.enum);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((item) => valuesOf(item, known)));
  if (allOf !== undefined)
    return fc
      .tuple(...allOf.map((item) => valuesOf(item, known)))
      .map((all) => Object.assign({}, ...all) as unknown);
  switch (of.type) {
    case "object":
      return objects(of, known);
    case "array":
      if (of.prefixItems !== undefined)
        return fc.tuple(...of.prefixItems.map((item) => valuesOf(item, known)));
      return fc.array(of.items ? valuesOf(of.items, known) : anything, {
        minLength: of.minItems ?? 0,
        maxLength: Math.min(of.maxItems ?? 3, Math.max(3, of.minItems ?? 0)),
      });
    case "string":
      return texts(of, known);
    case "integer":
    case "number":
      return numbers(of);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return anything;
  }
}

const anything = fc.jsonValue({ maxDepth: 3 });

function objects({ properties, required = [] }: Shape, known: Known): fc.Arbitrary<unknown> {
  if (properties === undefined) return fc.dictionary(fc.string(), anything, { maxKeys: 3 });
  const fields = Object.entries(properties).map(
    ([name, item]) => [name, valuesOf(item, known)] as const,
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
}

function texts({ pattern, minLength = 0, maxLength }: Shape, known: Known): fc.Arbitrary<string> {
  if (pattern === undefined) {
    const longest = Math.min(maxLength ?? 40, Math.max(40, minLength));
    return fc.oneof(
      fc.string({ minLength, maxLength: longest, unit: trickyCharacters }),
      fc.string({ minLength, maxLength: longest, unit: "binary" }),
    );
  }
  const matches = new RegExp(pattern);
  const fits = known.filter((item) => matches.test(item));
  const byPattern = matching(pattern);
  // Small numbers name something too: a seq, an epoch, a limit.
  const small = ["0", "1", "2", "3"].filter((item) => matches.test(item));
  const named = [...fits, ...small];
  return named.length === 0
    ? byPattern
    : fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...named) },
        { weight: 1, arbitrary: byPattern },
      );
}

/** Characters that are often handled wrongly. */
const trickyCharacters = fc.oneof(
  fc.constantFrom(...Array.from("aZ0 -_/.%'\"\\<&;\n\t\u0000\u007f\u202eé漢")),
  fc.constantFrom("🪨", "👩‍👧"),
);

const made = new Map<string, fc.Arbitrary<string>>();

/** Built once per pattern: parsing one costs more than a request. */
function matching(pattern: string): fc.Arbitrary<string> {
  const known = made.get(pattern) ?? fc.stringMatching(new RegExp(pattern));
  made.set(pattern, known);
  return known;
}

function numbers({ minimum = -1e9, maximum = 1e9 }: Shape): fc.Arbitrary<number> {
  const longest = Math.min(maximum, Number.MAX_SAFE_INTEGER);
  const near = fc.integer({ min: minimum, max: Math.min(longest, minimum + 10) });
  return fc.oneof(
    near,
    fc.constantFrom(minimum, longest),
    fc.integer({ min: minimum, max: longest }),
  );
}

const foreign: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    -1,
    1.5,
    1e308,
    "",
    "\u0000",
    "\ud800",
    "x".repeat(300_000),
    [],
    {},
    "../../etc/passwd",
    "'; DROP TABLE events; --",
    "<img src=x onerror=alert(1)>",
    "${HOME}",
  ),
  fc.jsonValue({ maxDepth: 2 }).map((value) => json.parse(JSON.parse(JSON.stringify(value)))),
  fc.constant(deep(200)),
);

function deep(levels: number): Json {
  let value: Json = "end";
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

/** The same with one mistake: a value of another type somewhere inside, an extra field, or a missing one. */
export function invalidValues(of: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const name = fc.constantFrom("surprise", "__proto__", "constructor", "owner", "ownerId", "by");
  const how = fc.constantFrom("replace", "remove", "add");
  return fc
    .tuple(of, how, name, foreign, fc.nat())
    .map(([value, act, added, other, at]) => corrupt(value, { act, added, other, at }));
}

interface Wrong {
  readonly act: "replace" | "remove" | "add";
  readonly added: string;
  readonly other: Json;
  readonly at: number;
}

function corrupt(value: unknown, wrong: Wrong): unknown {
  const { act, added, other, at } = wrong;
  if (typeof value !== "object" || value === null) return other;
  const fields: [string, unknown][] = Object.entries(value);
  const [name, inner] = fields[at % Math.max(1, fields.length)] ?? [];
  if (name === undefined || act === "add") {
    const next = Array.isArray(value) ? String(fields.length) : added;
    return rebuildLike(value, [...fields, [next, other]]);
  }
  const isInside = typeof inner === "object" && inner !== null && at % 2 === 0;
  const changed = isInside ? corrupt(inner, { ...wrong, at: Math.floor(at / 2) }) : other;
  return rebuildLike(
    value,
    fields.flatMap(([item, before]): [string, unknown][] => {
      if (item !== name) return [[item, before]];
      return act === "remove" ? [] : [[item, changed]];
    }),
  );
}

/** Defines an own field even if it is called `__proto__`. */
function rebuildLike(before: object, fields: readonly [string, unknown][]): unknown {
  return Array.isArray(before) ? fields.map(([, item]) => item) : Object.fromEntries(fields);
}
