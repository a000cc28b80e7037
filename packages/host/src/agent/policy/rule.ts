import { compileGlob } from "../../util/text/glob.ts";
import { parseCondition, type TaintCondition } from "./taint-rules.ts";

/**
 * What a rule is about, as a person reads it:
 *
 *     terminal: git status        these arguments and no others
 *     terminal: git *             this program, whatever comes behind
 *     terminal shell: "make; ls"  this very line
 *     terminal at "docs": make    the same in another folder than the workspace itself
 *     terminal to example.org: x  with this host on its network, or some of several: a.org,*.b.org
 *     write_file in docs/**       files whose path is like this
 *     fetch_url host example.org  this host; *.example.org for what is below it
 *     web_search host a.org       searches that go to this host
 *     remember                    the whole tool
 *     wiki__search as 9f2c…       the tool of an MCP server, while that server describes it in the same way
 */
export type Rule =
  | {
      readonly kind: "argv";
      readonly tool: string;
      readonly argv: readonly string[];
      readonly rest: "none" | "any";
      readonly folder?: string;
      readonly hosts?: readonly string[];
    }
  | {
      readonly kind: "shell";
      readonly tool: string;
      readonly line: string;
      readonly folder?: string;
      readonly hosts?: readonly string[];
    }
  | { readonly kind: "path"; readonly tool: string; readonly pattern: string }
  | { readonly kind: "host"; readonly tool: string; readonly host: string }
  | { readonly kind: "tool"; readonly tool: string; readonly identity?: string };

export const longestRule = 2_000;
const toolName = /^[A-Za-z0-9_.-]{1,128}$/;
export const hostName = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^[0-9a-f:]+$/;
const grammar =
  /^([A-Za-z0-9_.-]{1,128})(?:(?: at ("(?:[^"\\]|\\.)*"))?(?: to ([a-z0-9_.*,:-]+?))?( shell)?: (.+)| in (.+)| host (.+)| as ([0-9a-f]{16,64}))?$/s;

/** `null` if it is not a rule. */
export function parseRule(text: string): Rule | null {
  const found = text.length > longestRule ? null : grammar.exec(text);
  if (found === null) return null;
  const [, tool = "", place, to, shell, words, pattern, host, identity] = found;
  const folder = place === undefined ? undefined : unquote(place);
  // The workspace itself is written without a folder.
  if (folder === null || folder === "") return null;
  const hosts = to?.split(",");
  if (hosts?.every((name) => hostName.test(name)) === false) return null;
  const where = { ...(folder !== undefined && { folder }), ...(hosts !== undefined && { hosts }) };
  if (pattern !== undefined)
    return compileGlob(pattern) === null ? null : { kind: "path", tool, pattern };
  if (host !== undefined) return hostName.test(host) ? { kind: "host", tool, host } : null;
  if (identity !== undefined) return { kind: "tool", tool, identity };
  if (words === undefined) return toolName.test(tool) ? { kind: "tool", tool } : null;
  if (shell !== undefined) {
    const line = unquote(words);
    return line === null ? null : { kind: "shell", tool, line, ...where };
  }
  const rule = parseArgv(tool, words);
  return rule && { ...rule, ...where };
}

/** The canonical text of a rule: parsing it gives the same rule. */
export function formatRule(rule: Rule): string {
  const { tool } = rule;
  switch (rule.kind) {
    case "argv":
      return `${tool}${whereOf(rule)}: ${[...rule.argv.map(quoteWord), ...(rule.rest === "any" ? ["*"] : [])].join(" ")}`;
    case "shell":
      return `${tool}${whereOf(rule)} shell: ${JSON.stringify(rule.line)}`;
    case "path":
      return `${tool} in ${rule.pattern}`;
    case "host":
      return `${tool} host ${rule.host}`;
    case "tool":
      return rule.identity === undefined ? tool : `${tool} as ${rule.identity}`;
  }
}

function whereOf({ folder, hosts }: Pick<Extract<Rule, { kind: "argv" }>, "folder" | "hosts">) {
  const place = folder === undefined ? "" : ` at ${JSON.stringify(folder)}`;
  return hosts === undefined ? place : `${place} to ${hosts.join(",")}`;
}

/**
 * Words separated by spaces; one with a space, or with anything else that is not plain, in quotes. A bare `*` at the
 * end matches the rest.
 */
function parseArgv(tool: string, text: string): Rule | null {
  const words = splitWords(text);
  if (words === null) return null;
  const rest = words.at(-1) === "*" ? "any" : "none";
  const argv: string[] = [];
  for (const word of rest === "any" ? words.slice(0, -1) : words) {
    const plain = word.startsWith('"') ? unquote(word) : word;
    // A star elsewhere would look like a wildcard.
    if (plain === null || (plain.includes("*") && !word.startsWith('"'))) return null;
    argv.push(plain);
  }
  return argv[0] === undefined || argv[0] === "" ? null : { kind: "argv", tool, argv, rest };
}

/** `null` if there is anything else between the words. */
function splitWords(text: string): readonly string[] | null {
  const words: string[] = [];
  const word = /\s*("(?:[^"\\]|\\.)*"|[^\s"]+)(?=\s|$)/gy;
  let at = 0;
  for (let found = word.exec(text); found !== null; found = word.exec(text)) {
    words.push(found[1] ?? "");
    at = word.lastIndex;
  }
  return text.slice(at).trim() === "" ? words : null;
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./~^-]+$/.test(word) ? word : JSON.stringify(word);
}

function unquote(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

export interface OperatorRule {
  /** `taint`: what such a call brings may have been written by a stranger. */
  readonly effect: "allow" | "ask" | "deny" | "taint";
  readonly rule: Rule;
  /** It counts only after the model has read text from there. */
  readonly when?: readonly TaintCondition[];
}

/**
 * A configured rule: `allow terminal: git *`, `ask remember`, `deny fetch_url`, `ask terminal when web`, `taint
 * read_file in vendor/**`.
 */
export function parseToolRule(text: string): OperatorRule | null {
  const found = /^(allow|ask|deny|taint) (.+)$/s.exec(text);
  const condition = parseCondition(found?.[2] ?? "");
  const rule = found === null ? null : parseRule(condition?.rest ?? found[2] ?? "");
  if (found === null || rule === null) return null;
  const effect = found[1] as OperatorRule["effect"];
  return { effect, rule, ...(condition !== null && { when: condition.when }) };
}
