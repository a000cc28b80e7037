import { schemaFacts } from "./facts.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: { readonly pattern?: string; readonly enum?: readonly string[] };
}

type Content = Readonly<Record<string, { readonly schema: unknown }>>;

interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly "x-repeat": string;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, object>>;
    readonly schemas: Readonly<Record<string, unknown>>;
  };
}

export interface DescribedRoute {
  /** `GET /api/sessions/{id}` */
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Sorted, so that the order of requests does not depend on the document. */
export function routesIn({ paths }: ApiDocument): DescribedRoute[] {
  return Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([name, operation]) => {
        const method = name.toUpperCase();
        return { title: `${method} ${path}`, method, path, operation };
      }),
    )
    .toSorted((a, b) => (a.title < b.title ? -1 : 1));
}

/** The security schemes that a caller may use. */
export function policyOf({ security }: Operation): string {
  return security.length === 0 ? "anybody" : security.flatMap(Object.keys).toSorted().join(" or ");
}

const examples = ["1", "anthropic", "ABCD", `blob_${"0".repeat(64)}`, "0".repeat(16)];

/** The path with valid values for things that do not exist. */
export function filledPath({ path, operation: { parameters = [] } }: DescribedRoute): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = parameters.find(
      (parameter) => parameter.in === "path" && parameter.name === name,
    )?.schema;
    const { pattern = "", enum: [first] = [] } = schema ?? {};
    const prefix = /^\^([a-z]+_)\[0-7\]/.exec(pattern)?.[1];
    if (prefix !== undefined) return `${prefix}${"0".repeat(26)}`;
    const found = first ?? examples.find((parameter) => new RegExp(pattern).test(parameter));
    if (found === undefined) throw new Error(`Nothing fits ${name} in ${path}: ${pattern}`);
    return found;
  });
}

export function operationFacts({ title, operation }: DescribedRoute): string[] {
  const { operationId, parameters = [], requestBody, responses } = operation;
  return [
    `${title}: ${operationId}`,
    ...parameters.flatMap((parameter) =>
      schemaFacts(
        `${title} ${parameter.in} ${parameter.name}`,
        parameter.schema,
        needed(parameter),
      ),
    ),
    ...(requestBody === undefined
      ? []
      : contentFacts(`${title} body`, requestBody.content, needed(requestBody))),
    ...Object.entries(responses).flatMap(([status, { content }]) =>
      content === undefined ? [`${title} ${status}`] : contentFacts(`${title} ${status}`, content),
    ),
  ];
}

const needed = ({ required }: { readonly required: boolean }): string =>
  required ? "required" : "optional";

function contentFacts(path: string, content: Content, presence?: string): string[] {
  return Object.entries(content).flatMap(([media, { schema }]) => {
    // Problems share one schema and differ in their codes.
    const codes = problemCodes(schema);
    if (codes !== undefined) return codes.map((code) => `${path} ${code}`);
    return [`${path} as ${media}`, ...schemaFacts(path, schema, presence)];
  });
}

function problemCodes(schema: unknown): readonly string[] | undefined {
  const { allOf, properties } = schema as {
    readonly allOf?: readonly { readonly $ref?: string }[];
    readonly properties?: { readonly code?: { readonly enum?: readonly string[] } };
  };
  return allOf?.[0]?.$ref === "#/components/schemas/Problem" ? properties?.code?.enum : undefined;
}

export function componentFacts({ components }: ApiDocument): string[] {
  const { securitySchemes, schemas } = components;
  return [
    ...Object.entries(securitySchemes).map(
      ([name, scheme]) => `security ${name}: ${JSON.stringify(scheme)}`,
    ),
    ...Object.entries(schemas).flatMap(([name, schema]) => schemaFacts(`schema ${name}`, schema)),
  ];
}
