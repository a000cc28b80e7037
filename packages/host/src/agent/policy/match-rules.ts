import { isIP } from "node:net";

import type { Json } from "@holdfast/protocol";
import { z } from "zod";

import { Jail } from "../workspace/jail.ts";
import { compileGlob } from "../../util/text/glob.ts";
import { parsePatch } from "../../util/text/patch.ts";
import { formatRule, longestRule, type Rule } from "./rule.ts";

/** A call as rules see it. */
export interface ToolQuestion {
  readonly name: string;
  readonly input: Json;
  /** The workspace, if the tool works in one. */
  readonly place?: string;
}

/** What a call is about, parsed once from its arguments. */
export type CallSubject =
  | { readonly kind: "argv"; readonly argv: readonly string[]; readonly folder?: string }
  | { readonly kind: "shell"; readonly line: string; readonly folder?: string }
  | { readonly kind: "paths"; readonly paths: readonly string[] }
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "tool" };

const command = z.looseObject({
  command: z.union([z.string(), z.array(z.string()).min(1)]),
  folder: z.string().optional(),
});
const withPath = z.looseObject({ path: z.string() });
const withPatch = z.looseObject({ patch: z.string() });
const withUrl = z.looseObject({ url: z.string() });

const pathTools: ReadonlySet<string> = new Set(["read_file", "write_file", "edit_file"]);

/** `null` if its effect cannot be determined, so that no rule covers it. */
export async function subjectOf({ name, input, place }: ToolQuestion): Promise<CallSubject | null> {
  if (name === "terminal") {
    const asked = command.safeParse(input).data;
    if (asked === undefined) return null;
    const { command: given } = asked;
    const where = await otherFolder(place, asked.folder);
    if (where === null) return null;
    return typeof given === "string"
      ? { kind: "shell", line: given, ...where }
      : { kind: "argv", argv: given, ...where };
  }
  if (pathTools.has(name)) {
    const path = withPath.safeParse(input).data?.path;
    return path === undefined ? null : pathsOf(place, [path]);
  }
  if (name === "apply_patch") {
    const parsed = parsePatch(withPatch.safeParse(input).data?.patch ?? "");
    if (!parsed.ok) return null;
    return pathsOf(
      place,
      parsed.files.map(({ from, to }) => to ?? from ?? ""),
    );
  }
  if (name === "fetch_url") {
    const url = URL.parse(withUrl.safeParse(input).data?.url ?? "");
    return url === null ? null : { kind: "host", host: hostOf(url) };
  }
  return { kind: "tool" };
}

/** The same command does something else in another folder: `make` reads the files there. */
async function otherFolder(
  place: string | undefined,
  folder: string | undefined,
): Promise<{ readonly folder?: string } | null> {
  if (folder === undefined) return {};
  const [real] = (await realPaths(place, [folder])) ?? [];
  if (real === undefined) return null;
  return real === "" || real === "." ? {} : { folder: real };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

async function pathsOf(
  place: string | undefined,
  paths: readonly string[],
): Promise<CallSubject | null> {
  const real = await realPaths(place, paths);
  return real && { kind: "paths", paths: real };
}

/** Resolved, since a link inside an allowed folder may lead to another one. */
async function realPaths(
  place: string | undefined,
  paths: readonly string[],
): Promise<readonly string[] | null> {
  const jail = place === undefined ? null : await Jail.open(place);
  if (jail?.ok !== true) return null;
  const real: string[] = [];
  for (const path of paths) {
    const found = await jail.value.canonical(path);
    if (!found.ok) return null;
    real.push(found.value);
  }
  return real;
}

/** Git itself runs what is in there. */
const gitInternals = /(^|\/)\.git($|\/)/i;

export function covers(rule: Rule, name: string, subject: CallSubject | null): boolean {
  if (rule.tool !== name) return false;
  if (rule.kind === "tool") return true;
  switch (subject?.kind) {
    case "argv":
      return (
        rule.kind === "argv" && rule.folder === subject.folder && coversArgv(rule, subject.argv)
      );
    case "shell":
      return rule.kind === "shell" && rule.folder === subject.folder && rule.line === subject.line;
    case "paths": {
      const matches = rule.kind === "path" ? compileGlob(rule.pattern) : null;
      if (matches === null) return false;
      return subject.paths.every((path) => matches(path) && !gitInternals.test(path));
    }
    case "host":
      return rule.kind === "host" && coversHost(rule.host, subject.host);
    case "tool":
    case undefined:
      return false;
  }
}

/** Whether a deny rule applies to a call. One matching file is enough, and an undeterminable call matches too. */
export function concerns(rule: Rule, name: string, subject: CallSubject | null): boolean {
  if (rule.tool !== name) return false;
  if (subject === null || subject.kind === "tool") return true;
  // A deny rule without a folder applies in every folder.
  if ((rule.kind === "argv" || rule.kind === "shell") && rule.folder === undefined)
    return covers(rule, name, atTheTop(subject));
  if (rule.kind !== "path" || subject.kind !== "paths") return covers(rule, name, subject);
  const matches = compileGlob(rule.pattern);
  return matches === null || subject.paths.some(matches);
}

function atTheTop(subject: CallSubject): CallSubject {
  if (subject.kind === "argv") return { kind: "argv", argv: subject.argv };
  return subject.kind === "shell" ? { kind: "shell", line: subject.line } : subject;
}

/** Argument by argument: one never becomes two, and none reaches a shell. */
function coversArgv(
  { argv, rest }: Extract<Rule, { kind: "argv" }>,
  actual: readonly string[],
): boolean {
  if (rest === "none" && actual.length !== argv.length) return false;
  return actual.length >= argv.length && argv.every((word, n) => word === actual[n]);
}

function coversHost(allowed: string, host: string): boolean {
  if (!allowed.startsWith("*.")) return allowed === host;
  return isIP(host) === 0 && host.endsWith(allowed.slice(1));
}

/** Programs that run their arguments: a rule with a trailing star would allow everything. */
const runners = new Set(
  "sh bash zsh dash ksh fish csh tcsh busybox env sudo doas su xargs nice nohup timeout time setsid ssh python python3 node deno bun perl ruby php lua awk gawk sed find make npx bunx eval exec watch parallel script docker podman".split(
    " ",
  ),
);
const shells = new Set("sh bash zsh dash ksh fish csh tcsh busybox ash".split(" "));

const programOf = ([program = ""]: readonly string[]): string =>
  program.slice(program.lastIndexOf("/") + 1);

/** Programs whose arguments name another program. */
const wrappers = new Set(
  "env sudo doas su xargs nice nohup timeout time setsid watch script busybox".split(" "),
);

/** Whether a call passes a line to a shell, as far as its arguments show. */
export function isShell(subject: CallSubject | null): boolean {
  if (subject?.kind === "shell") return true;
  if (subject?.kind !== "argv") return false;
  const names = subject.argv.map((_, at) => programOf(subject.argv.slice(at)));
  const [program = ""] = names;
  return shells.has(program) || (wrappers.has(program) && names.some((name) => shells.has(name)));
}

/** Rules that would cover such a call, the narrowest first. */
export function suggestRules(name: string, subject: CallSubject | null): readonly string[] {
  const rules: Rule[] = [];
  switch (subject?.kind) {
    case "argv": {
      const [program = ""] = subject.argv;
      const where = subject.folder === undefined ? {} : { folder: subject.folder };
      rules.push({ kind: "argv", tool: name, argv: subject.argv, rest: "none", ...where });
      if (!runners.has(programOf(subject.argv)))
        rules.push({ kind: "argv", tool: name, argv: [program], rest: "any", ...where });
      break;
    }
    case "shell":
      rules.push({ ...subject, tool: name });
      break;
    case "paths":
      rules.push(...pathRules(name, subject.paths));
      break;
    case "host":
      rules.push({ kind: "host", tool: name, host: subject.host });
      break;
    case "tool":
      rules.push({ kind: "tool", tool: name });
      break;
    case undefined:
  }
  // Offers only rules that round-trip and are short enough to read.
  return rules
    .filter((rule) => covers(rule, name, subject))
    .map(formatRule)
    .filter((text) => text.length <= longestRule);
}

function pathRules(tool: string, paths: readonly string[]): readonly Rule[] {
  const [path] = paths;
  if (path === undefined || paths.length > 1) return [];
  const escaped = path.replace(/[\\*?[\]{}]/g, "\\$&");
  const folder = escaped.slice(0, escaped.lastIndexOf("/"));
  const exact: Rule = { kind: "path", tool, pattern: escaped };
  return folder === "" ? [exact] : [exact, { kind: "path", tool, pattern: `${folder}/**` }];
}
