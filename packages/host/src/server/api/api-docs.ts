import { z } from "zod";
import { createHash } from "node:crypto";
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
import { escapeHtml } from "../../util/escape-html.ts";
import { version as hostVersion } from "../../util/version.ts";
import type { Route } from "../http/routing.ts";
import { answer as reply, mountCall, mountStream } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

const openapiMethods = {
  GET: "get",
  POST: "post",
  PUT: "put",
  PATCH: "patch",
  DELETE: "delete",
} as const;

/** The contract as OpenAPI 3.1, generated from the route table and the schemas the host answers with. */
function describeApi(version: string, basePath: string): JsonObject {
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
  // A JSON Schema is plain data, but the library's type does not say so for nested values.
  return JSON.parse(JSON.stringify(written)) as JsonObject;
}

const objectSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

function parametersOf(
  schema: z.ZodType | undefined,
  location: "path" | "query" | "header",
): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = objectSchema.parse(toSchema(schema, "input"));
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    schema: property as JsonObject,
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

const style = `
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; }
article { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .75rem 0; }
code, pre { font: .875rem/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
h3 b { display: inline-block; min-width: 4.5rem; }
p { margin: .25rem 0; }
nav a { margin-right: 1rem; }
`;
const styleHash = createHash("sha256").update(style).digest("base64");

/** The page is static: it fetches nothing and runs no script. */
const docsContentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

function renderDocsPage(version: string): string {
  const groups = Map.groupBy(Object.entries<ContractRoute>(routes), ([, { path }]) =>
    groupOf(path),
  );
  const names = [...groups.keys()].toSorted();
  const links = names.map((name) => `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`);
  const sections = names.map((name) => {
    const all = (groups.get(name) ?? []).map(([id, route]) => renderRoute(id, route));
    return `<h2 id="${escapeHtml(name)}">${escapeHtml(name)}</h2>\n${all.join("\n")}`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast API</title>
<style>${style}</style>
</head>
<body>
<h1>Holdfast API ${escapeHtml(version)}</h1>
<p>The same contract for machines: <a href="openapi.json">openapi.json</a>. Send <code>Authorization: Bearer &lt;token&gt;</code>, or the cookie of a sign-in, with the key of its page in <code>X-Holdfast-Page-Key</code>. Whatever is not done is answered with <code>application/problem+json</code> and a stable <code>code</code>.</p>
<nav>${links.join("\n")}</nav>
${sections.join("\n")}
</body>
</html>
`;
}

function groupOf(path: string): string {
  return path.split("/").find((part) => part !== "" && part !== "api") ?? "";
}

function renderRoute(name: string, route: ContractRoute): string {
  const open = route.access === "open" ? " Answers anybody." : "";
  const pieces = [
    `<h3 id="${escapeHtml(name)}"><b>${route.method}</b> <code>${escapeHtml(route.path)}</code></h3>`,
    `<p>${escapeHtml(route.summary)}.${open}</p>`,
    detailsElement("Parameters", schemasOf(route)),
    detailsElement("Body", typeof route.body === "object" ? [schemaText(route.body)] : []),
    detailsElement(
      "Example",
      route.example === undefined ? [] : [JSON.stringify(route.example, null, 2)],
    ),
    detailsElement(
      `Answer ${route.answer.status}`,
      route.answer.media === "json" ? [schemaText(route.answer.schema)] : [route.answer.media],
    ),
    detailsElement("Problems", [
      problemsOf(route)
        .map((code) => `${problemKinds[code].status} ${code}: ${problemKinds[code].title}`)
        .join("\n"),
    ]),
  ];
  return `<article>\n${pieces.filter((piece) => piece !== "").join("\n")}\n</article>`;
}

function schemasOf({ params, query, headers }: ContractRoute): string[] {
  return [params, query, headers].flatMap((schema) =>
    schema === undefined ? [] : [schemaText(schema)],
  );
}

function schemaText(schema: z.ZodType): string {
  const { $schema: _, ...written } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
  });
  return JSON.stringify(written, null, 2);
}

function detailsElement(summary: string, texts: readonly string[]): string {
  const nonEmpty = texts.filter((text) => text !== "");
  if (nonEmpty.length === 0) return "";
  const body = nonEmpty.map((text) => `<pre>${escapeHtml(text)}</pre>`).join("\n");
  return `<details><summary>${escapeHtml(summary)}</summary>${body}</details>`;
}

/** The contract for machines and for people, rendered on first request. */
export function apiDocsRoutes(deps: ApiDeps): Route[] {
  let described: ReturnType<typeof describeApi> | undefined;
  let page: string | undefined;
  return [
    mountCall(deps, "openapi", async () => {
      described ??= describeApi(hostVersion, deps.basePath ?? "");
      return reply(described);
    }),
    mountStream(deps, "apiDocs", async (_, c) => {
      page ??= renderDocsPage(hostVersion);
      return c.body(page, 200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": docsContentSecurityPolicy,
        "cache-control": "no-store",
      });
    }),
  ];
}
