import { isIP } from "node:net";
import { join } from "node:path";

import type { Json } from "@holdfast/protocol";
import { z } from "zod";

import { Jail } from "../workspace/jail.ts";
import { compileGlob } from "../../util/text/glob.ts";
import { parsePatch } from "../../util/text/patch.ts";
import {
  commandsOf,
  commandsOfLine,
  isOwnGitCommand,
  isPlainProgram,
  nameOfProgram,
  namesOf,
  startsShell,
} from "./programs.ts";
import { formatRule, longestRule, type OperatorRule, type Rule } from "./rule.ts";

/** A call as rules see it. */
export interface ToolQuestion {
  readonly name: string;
  readonly input: Json;
  /** The workspace, if the tool works in one. */
  readonly place?: string;
  /** What the tool is, if that may change behind its name. */
  readonly identity?: string;
}

/** What a call is about, parsed once from its arguments. */
export type CallSubject =
  | ({ readonly kind: "argv"; readonly argv: readonly string[] } & CommandReach)
  | ({ readonly kind: "shell"; readonly line: string } & CommandReach)
  | { readonly kind: "paths"; readonly paths: readonly string[] }
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "tool" };

/** Where a command runs, and what it reaches. */
interface CommandReach {
  readonly folder?: string;
  readonly hosts?: readonly string[];
  /** Opens a port to people, which no rule about commands allows. */
  readonly publishes?: true;
}

const commandInput = z.looseObject({
  command: z.union([z.string(), z.array(z.string()).min(1)]),
  folder: z.string().optional(),
  hosts: z.array(z.string()).optional(),
  publish: z.unknown().optional(),
});
const withPath = z.looseObject({ path: z.string() });
const withPatch = z.looseObject({ patch: z.string() });
const withUrl = z.looseObject({ url: z.string() });

const pathTools: ReadonlySet<string> = new Set([
  "read_file",
  "write_file",
  "edit_file",
  "send_file",
]);

/** Tools that show or confirm what is in a file: who may not read it may not use these on it either. */
const readers: ReadonlySet<string> = new Set([
  "read_file",
  "send_file",
  "edit_file",
  "apply_patch",
]);

/** `null` if its effect cannot be determined, so that no rule covers it. */
export async function subjectOf({
  name,
  input,
  place,
  identity,
}: ToolQuestion): Promise<CallSubject | null> {
  if (name === "terminal") {
    const asked = commandInput.safeParse(input).data;
    if (asked === undefined) return null;
    const { command: given } = asked;
    const folder = await otherFolder(place, asked.folder);
    if (folder === null) return null;
    const hosts = asked.hosts?.map((host) => host.toLowerCase());
    const where: CommandReach = {
      ...folder,
      ...(hosts !== undefined && hosts.length > 0 && { hosts }),
      ...(asked.publish !== undefined && { publishes: true }),
    };
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
  // Whatever is searched for goes to the provider that is set up, and nowhere else.
  if (name === "web_search")
    return identity === undefined ? null : { kind: "host", host: identity };
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

/** Whether an allow rule covers a call. */
export function covers(
  rule: Rule,
  { name, identity }: Pick<ToolQuestion, "name" | "identity">,
  subject: CallSubject | null,
): boolean {
  if (rule.tool !== name) return false;
  if (rule.kind === "tool") return rule.identity === undefined || rule.identity === identity;
  switch (subject?.kind) {
    case "argv":
      return rule.kind === "argv" && coversReach(rule, subject) && coversArgv(rule, subject.argv);
    case "shell":
      return rule.kind === "shell" && coversReach(rule, subject) && rule.line === subject.line;
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

/** The same folder, and no host beyond those that the rule names. */
function coversReach(
  rule: Pick<CommandReach, "folder" | "hosts">,
  { folder, hosts = [], publishes }: CommandReach,
): boolean {
  if (rule.folder !== folder || publishes === true) return false;
  return hosts.every((host) => rule.hosts?.some((allowed) => coversName(allowed, host)) === true);
}

/** A granted name may itself stand for all names below it. */
function coversName(allowed: string, host: string): boolean {
  if (!host.startsWith("*.")) return coversHost(allowed, host);
  return allowed === host || (allowed.startsWith("*.") && host.endsWith(allowed.slice(1)));
}

/** Argument by argument: one never becomes two, and none reaches a shell. */
function coversArgv(
  { argv, rest }: Extract<Rule, { kind: "argv" }>,
  actual: readonly string[],
): boolean {
  if (!argv.every((word, n) => word === actual[n])) return false;
  return rest === "none" ? actual.length === argv.length : isOwnGitCommand(actual);
}

export function coversHost(allowed: string, host: string): boolean {
  if (!allowed.startsWith("*.")) return allowed === host;
  return isIP(host) === 0 && host.endsWith(allowed.slice(1));
}

/**
 * Whether a person's rule would allow more than such a call shows: every argument of a program that can run others, a
 * whole tool whose calls differ, or a tool that its server may replace.
 */
export function isTooWide(
  rule: Rule,
  { identity }: Pick<ToolQuestion, "identity">,
  subject: CallSubject | null,
): boolean {
  switch (rule.kind) {
    case "argv":
      return rule.rest === "any" && !isPlainProgram(rule.argv[0]);
    case "tool":
      return subject?.kind !== "tool" || rule.identity !== identity;
    default:
      return false;
  }
}

/** A stored rule that an older version accepted and that is too wide whatever the call is. */
export function isAlwaysTooWide(rule: Rule): boolean {
  return rule.kind === "argv" && isTooWide(rule, {}, null);
}

/** What a call starts, as far as its arguments show, with each program's names. */
export interface StartedCommand {
  readonly names: readonly string[];
  readonly args: readonly string[];
}

const maxCommands = 400;

export async function startedCommands(
  subject: CallSubject | null,
  place: string | undefined,
): Promise<readonly StartedCommand[]> {
  if (subject?.kind !== "argv" && subject?.kind !== "shell") return [];
  const found = subject.kind === "argv" ? commandsOf(subject.argv) : commandsOfLine(subject.line);
  const folder = join(place ?? "/", subject.folder ?? "");
  const known = new Map<string, Promise<readonly string[]>>();
  return Promise.all(
    found.slice(0, maxCommands).map(async ([program = "", ...args]) => {
      const names = known.get(program) ?? namesOf(program, folder);
      known.set(program, names);
      return { names: await names, args };
    }),
  );
}

/**
 * Whether a deny or ask rule applies to a call. One matching file or command is enough, and an undeterminable call
 * matches too.
 */
export function concerns(
  rule: Rule,
  { name, identity }: Pick<ToolQuestion, "name" | "identity">,
  subject: CallSubject | null,
  commands: readonly StartedCommand[],
): boolean {
  const isReader = rule.kind === "path" && rule.tool === "read_file" && readers.has(name);
  if (rule.tool !== name && !isReader) return false;
  if (rule.kind === "tool") return rule.identity === undefined || rule.identity === identity;
  switch (subject?.kind) {
    case undefined:
    case "tool":
      return true;
    case "argv":
    case "shell":
      if (rule.kind === "host") return namesHost(subject, rule.host);
      if ((rule.kind !== "argv" && rule.kind !== "shell") || !concernsHosts(rule, subject))
        return false;
      // Without a folder it applies in every folder.
      if (rule.folder !== undefined && rule.folder !== subject.folder) return false;
      if (rule.folder !== undefined) {
        const { folder: _, hosts: __, publishes: ___, ...command } = subject;
        return covers(withoutReach(rule), { name }, command);
      }
      if (rule.kind === "shell") return subject.kind === "shell" && subject.line === rule.line;
      return commands.some((command) => isOneOf(rule, command));
    case "paths": {
      const matches = rule.kind === "path" ? compileGlob(rule.pattern) : null;
      return matches !== null && subject.paths.some(matches);
    }
    case "host":
      return covers(rule, { name }, subject);
  }
}

/** Whether a command could reach the host, or one of those below it, by what it names: `*.org` reaches `evil.org`. */
function namesHost({ hosts = [] }: CommandReach, host: string): boolean {
  return hosts.some((named) => coversName(host, named) || coversName(named, host));
}

/** Without hosts a rule applies whatever is reached. */
function concernsHosts({ hosts }: Pick<CommandReach, "hosts">, subject: CommandReach): boolean {
  return hosts === undefined || hosts.some((host) => namesHost(subject, host));
}

function withoutReach(rule: Extract<Rule, { kind: "argv" | "shell" }>): Rule {
  const { folder: _, hosts: __, ...command } = rule;
  return command;
}

function isOneOf(
  { argv: [program = "", ...words], rest }: Extract<Rule, { kind: "argv" }>,
  { names, args }: StartedCommand,
): boolean {
  if (!names.includes(nameOfProgram(program))) return false;
  if (rest === "none" && args.length !== words.length) return false;
  return words.every((word, n) => word === args[n]);
}

/** The paths that no search may show, since reading them is denied or has to be asked for. */
export function unreadablePatterns(rules: readonly OperatorRule[]): readonly string[] {
  return rules.flatMap(({ effect, rule }) =>
    effect !== "allow" && rule.kind === "path" && rule.tool === "read_file" ? [rule.pattern] : [],
  );
}

const editTools: ReadonlySet<string> = new Set(["write_file", "edit_file", "apply_patch"]);

/** Whether a call changes files of the workspace, and nothing that git itself runs. */
export function isEdit({ name }: Pick<ToolQuestion, "name">, subject: CallSubject | null): boolean {
  if (!editTools.has(name) || subject?.kind !== "paths" || subject.paths.length === 0) return false;
  return !subject.paths.some((path) => gitInternals.test(path));
}

/** Whether a command reaches none but these hosts. */
export function coversHosts(
  allowed: readonly string[],
  { hosts = [] }: Pick<CommandReach, "hosts">,
): boolean {
  return hosts.every((host) => allowed.some((each) => coversName(each, host)));
}

/** Whether a call passes a line to a shell, as far as its arguments show. */
export function isShell(subject: CallSubject | null): boolean {
  return subject?.kind === "shell" || (subject?.kind === "argv" && startsShell(subject.argv));
}

/** Rules that would cover such a call, the narrowest first. */
export function suggestRules(
  question: Pick<ToolQuestion, "name" | "identity">,
  subject: CallSubject | null,
): readonly string[] {
  const { name, identity } = question;
  const rules: Rule[] = [];
  switch (subject?.kind) {
    case "argv": {
      const [program = ""] = subject.argv;
      const { folder, hosts } = subject;
      const where = { ...(folder !== undefined && { folder }), ...(hosts && { hosts }) };
      rules.push({ kind: "argv", tool: name, argv: subject.argv, rest: "none", ...where });
      rules.push({ kind: "argv", tool: name, argv: [program], rest: "any", ...where });
      break;
    }
    case "shell": {
      const { publishes: _, ...rule } = subject;
      rules.push({ ...rule, tool: name });
      break;
    }
    case "paths":
      rules.push(...pathRules(name, subject.paths));
      break;
    case "host":
      rules.push({ kind: "host", tool: name, host: subject.host });
      break;
    case "tool":
      rules.push({ kind: "tool", tool: name, ...(identity !== undefined && { identity }) });
      break;
    case undefined:
  }
  // Offers only rules that round-trip and are short enough to read.
  return rules
    .filter((rule) => covers(rule, question, subject) && !isTooWide(rule, question, subject))
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
