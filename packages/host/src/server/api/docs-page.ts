import { createHash } from "node:crypto";
import { problemKinds, problemsOf, type Route as ContractRoute, routes } from "@holdfast/protocol";
import { z } from "zod";

import { escapeHtml } from "../../util/escape-html.ts";

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

/** Nothing is fetched and nothing runs: the page is the contract, written down. */
export const docsContentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function renderDocsPage(version: string): string {
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
<p>The same contract for machines: <a href="openapi.json">openapi.json</a>. Send <code>Authorization: Bearer &lt;token&gt;</code>, or the cookie of a sign-in. Whatever is not done is answered with <code>application/problem+json</code> and a stable <code>code</code>.</p>
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
  const shown = texts.filter((text) => text !== "");
  if (shown.length === 0) return "";
  const body = shown.map((text) => `<pre>${escapeHtml(text)}</pre>`).join("\n");
  return `<details><summary>${escapeHtml(summary)}</summary>${body}</details>`;
}
