import {
  type Json,
  type JsonObject,
  type ProblemCode,
  problem,
  problemKinds,
  problemMediaType,
  problemsOf,
  type Route as ContractRoute,
  routes,
} from "@holdfast/protocol";
import { z } from "zod";

const openapiMethods = {
  GET: "get",
  POST: "post",
  PUT: "put",
  PATCH: "patch",
  DELETE: "delete",
} as const;

/** The contract as OpenAPI 3.1, made from the table and the schemas that the host itself answers by. */
export function describeApi(version: string, basePath: string): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const [name, route] of Object.entries<ContractRoute>(routes)) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [openapiMethods[route.method]]: describeRoute(name, route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Holdfast",
      version,
      description:
        "Problems are application/problem+json with a stable `code`. Unknown fields are refused.",
    },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        cookie: { type: "apiKey", in: "cookie", name: "holdfast" },
        signature: { type: "apiKey", in: "header", name: "webhook-signature" },
      },
      schemas: { Problem: toSchema(problem, "output") },
    },
  };
}

function describeRoute(name: string, route: ContractRoute): JsonObject {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...parametersOf(route.headers, "header"),
  ];
  return {
    operationId: name,
    summary: route.summary,
    security: securityOf[route.access],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && { requestBody: describeBody(route) }),
    responses: { ...describeAnswer(route), ...describeProblems(route) },
    "x-repeat": route.repeat,
  };
}

const securityOf = {
  open: [],
  principal: [{ bearer: [] }, { cookie: [] }],
  signed: [{ signature: [] }],
} as const satisfies Record<ContractRoute["access"], Json>;

function toSchema(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _, ...written } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  // A JSON Schema is plain data; the library's type only says so of its parts.
  return JSON.parse(JSON.stringify(written)) as JsonObject;
}

const objectSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query" | "header"): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = objectSchema.parse(toSchema(schema, "input"));
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: each as JsonObject,
  }));
}

function describeBody({ body, example }: ContractRoute): JsonObject {
  if (body === "bytes" || body === undefined)
    return { required: true, content: { "*/*": { schema: { type: "string", format: "binary" } } } };
  return {
    required: !body.safeParse({}).success,
    content: {
      "application/json": {
        schema: toSchema(body, "input"),
        ...(example !== undefined && { example }),
      },
    },
  };
}

const mediaTypes = { events: "text/event-stream", bytes: "*/*", text: "text/plain" } as const;

function describeAnswer({ answer }: ContractRoute): JsonObject {
  const { status } = answer;
  if (answer.media === "none") return { [status]: { description: "Done." } };
  if (answer.media === "json") {
    const schema = toSchema(answer.schema, "output");
    return { [status]: { description: "Done.", content: { "application/json": { schema } } } };
  }
  const schema = { type: "string" };
  const content = { [mediaTypes[answer.media]]: { schema } };
  return { [status]: { description: "Done.", content } };
}

function describeProblems(route: ContractRoute): JsonObject {
  const byStatus = Map.groupBy(problemsOf(route), (code) => problemKinds[code].status);
  const described = [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${problemTitle(code)}`).join(" "),
        content: {
          [problemMediaType]: {
            schema: {
              allOf: [{ $ref: "#/components/schemas/Problem" }],
              properties: { code: { enum: [...codes] } },
            },
          },
        },
      },
    ]);
  return Object.fromEntries(described) as JsonObject;
}

function problemTitle(code: ProblemCode): string {
  return problemKinds[code].title;
}
