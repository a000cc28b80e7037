import { compileGlob } from "../../util/text/glob.ts";

/**
 * What a rule is about, as a person reads it:
 *
 *     terminal: git status        these arguments and no others
 *     terminal: git *             this program, whatever comes behind
 *     terminal shell: "make; ls"  this very line
 *     terminal at "docs": make    the same in another folder than the workspace itself
 *     write_file in docs/**       files whose path is like this
 *     fetch_url host example.org  this host; *.example.org for what is below it
 *     remember                    the whole tool
 */
export type Rule =
  | {
      readonly kind: "argv";
      readonly tool: string;
      readonly argv: readonly string[];
      readonly rest: "none" | "any";
      readonly folder?: string;
    }
  | {
      readonly kind: "shell";
      readonly tool: string;
      readonly line: string;
      readonly folder?: string;
    }
  | { readonly kind: "path"; readonly tool: string; readonly pattern: string }
  | { readonly kind: "host"; readonly tool: string; readonly host: string }
  | { readonly kind: "tool"; readonly tool: string };

export const longestRule = 2_000;
const toolName = /^[A-Za-z0-9_.-]{1,128}$/;
const hostName = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^[0-9a-f:]+$/;
const grammar =
  /^([A-Za-z0-9_.-]{1,128})(?:(?: at ("(?:[^"\\]|\\.)*"))?( shell)?: (.+)| in (.+)| host (.+))?$/s;

/** `null` if it is not a rule. */
export function parseRule(text: string): Rule | null {
  const found = text.length > longestRule ? null : grammar.exec(text);
  if (found === null) return null;
  const [, tool = "", place, shell, words, pattern, host] = found;
  const folder = place === undefined ? undefined : unquote(place);
  // The workspace itself is written without a folder.
  if (folder === null || folder === "") return null;
  const where = folder === undefined ? {} : { folder };
  if (pattern !== undefined)
    return compileGlob(pattern) === null ? null : { kind: "path", tool, pattern };
  if (host !== undefined) return hostName.test(host) ? { kind: "host", tool, host } : null;
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
      return tool;
  }
}

function whereOf({ folder }: { readonly folder?: string }): string {
  return folder === undefined ? "" : ` at ${JSON.stringify(folder)}`;
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
  readonly effect: "allow" | "ask" | "deny";
  readonly rule: Rule;
}

/** A configured rule: `allow terminal: git *`, `ask remember`, `deny fetch_url`. */
export function parseToolRule(text: string): OperatorRule | null {
  const found = /^(allow|ask|deny) (.+)$/s.exec(text);
  const rule = found === null ? null : parseRule(found[2] ?? "");
  if (found === null || rule === null) return null;
  return { effect: found[1] as OperatorRule["effect"], rule };
}
