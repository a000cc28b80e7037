import type { Edit, Mutant, Where } from "./mutant.ts";
import { type Bindings, fillIn, findMatches, type Match, parsePattern } from "./pattern.ts";
import type { Declaration, Sources } from "./sources.ts";
import { isNode, parse, type SyntaxNode, walk } from "./syntax.ts";

/** The sources have changed since the fault was written. */
export class StaleFault extends Error {}

/** A range of a file and its new text. */
interface Change {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** The text of every file that the fault changes. */
export function plant(sources: Sources, mutant: Mutant): ReadonlyMap<string, string> {
  const { also = [] } = mutant;
  const broken = sources.unedited();
  for (const edit of [mutant, ...also]) {
    const { file, start, end, by } = changeFor(broken, edit);
    const before = broken.text(file);
    const after = before.slice(0, start) + by + before.slice(end);
    if (stripped(after) === stripped(before))
      throw new StaleFault(`${edit.in}: the edit changes nothing in ${file}.`);
    const parsed = file.endsWith(".sql") ? undefined : parse(file, after);
    if (parsed?.ok === false)
      throw new StaleFault(`${edit.in}: ${file} does not parse any more: ${parsed.problem}`);
    broken.edited.set(file, after);
  }
  return broken.edited;
}

function stripped(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

function changeFor(sources: Sources, edit: Edit): Change {
  if ("text" in edit) return changeText(sources, edit.in, edit.text, edit.by);
  if ("import" in edit) {
    const { file } = theOnly(edit.in, sources.declarations(edit.in), "declarations");
    return { file, start: 0, end: 0, by: `${edit.import}\n` };
  }
  if ("member" in edit) return addMember(sources, edit.in, edit.member, edit.given ?? []);
  const find = "drop" in edit ? edit.drop : edit.replace;
  const pattern = parsePattern(find);
  const found = declared(sources, edit.in).flatMap((declaration) =>
    findMatches(pattern, declaration.node, sources.text(declaration.file)).map((match) => ({
      declaration,
      match,
    })),
  );
  const { declaration, match } = theOnly(edit.in, found, `places like \`${find}\``);
  const { file } = declaration;
  if ("drop" in edit) return { file, ...dropped(match, sources.text(file)) };
  const { start, end } = match;
  const bindings = bindGiven(sources, edit.in, declaration, edit.given ?? [], match.bindings);
  return { file, start, end, by: fillIn(edit.by, bindings, sources.text(file).slice(start, end)) };
}

function theOnly<T>(where: Where, found: readonly T[], what: string): T {
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new StaleFault(`${where}: ${found.length} ${what}, and one is needed.`);
  return only;
}

function declared(sources: Sources, where: Where): readonly Declaration[] {
  const found = sources.declarations(where);
  if (found.length === 0) throw new StaleFault(`${where}: there is no such symbol.`);
  return found;
}

/** Matches further patterns in the same declaration, for names that the new text needs. */
function bindGiven(
  sources: Sources,
  where: Where,
  { file, node }: Declaration,
  given: readonly string[],
  known: Bindings,
): Bindings {
  return given.reduce((bindings, text) => {
    const matches = findMatches(parsePattern(text), node, sources.text(file), bindings);
    return theOnly(where, matches, `places like \`${text}\``).bindings;
  }, known);
}

/** Removes the match together with its comma or operator. */
function dropped({ place, start, end }: Match, text: string): Omit<Change, "file"> {
  const { node, parent, list } = place;
  const [left, right] = [parent?.["left"], parent?.["right"]];
  if (parent && isNode(left) && isNode(right)) {
    const other = left === node ? right : left;
    return { start: parent.start, end: parent.end, by: `(${text.slice(other.start, other.end)})` };
  }
  const isStatement = node.type.endsWith("Statement");
  if (list === undefined) return { start, end, by: isStatement ? "{}" : "" };
  const comma = isStatement ? null : /^\s*,/.exec(text.slice(end));
  return { start, end: end + (comma?.[0].length ?? 0), by: "" };
}

function addMember(
  sources: Sources,
  where: Where,
  member: string,
  given: readonly string[],
): Change {
  const declaration = theOnly(where, declared(sources, where), "declarations");
  const body = declaration.node["body"];
  if (!isNode(body) || body.type !== "ClassBody") throw new StaleFault(`${where}: not a class.`);
  const bindings = bindGiven(sources, where, declaration, given, new Map());
  const at = body.end - 1;
  return { file: declaration.file, start: at, end: at, by: `${fillIn(member, bindings)}\n` };
}

function changeText(sources: Sources, where: Where, wanted: string, by: string): Change {
  const words = wanted.split(/\s+/).map((word) => word.replaceAll(/\W/g, "\\$&"));
  const pattern = new RegExp(words.join("\\s+"), "g");
  const found = literalRanges(sources, where).flatMap(({ file, start, end }) => {
    const text = sources.text(file).slice(start, end);
    return [...text.matchAll(pattern)].map((match) => ({
      file,
      start: start + match.index,
      end: start + match.index + match[0].length,
      by: fillIn(by, new Map(), match[0]),
    }));
  });
  return theOnly(where, found, `texts like \`${wanted}\``);
}

interface Range {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

function literalRanges(sources: Sources, where: Where): readonly Range[] {
  if (where.endsWith(".sql"))
    return sources
      .sqlFiles(where)
      .map((file) => ({ file, start: 0, end: sources.text(file).length }));
  return declared(sources, where).flatMap(({ file, node }) =>
    [...walk(node)]
      .filter((place) => isText(place.node))
      .map((place) => ({ file, start: place.node.start, end: place.node.end })),
  );
}

function isText(node: SyntaxNode): boolean {
  const isString = node.type === "Literal" && typeof node["value"] === "string";
  return isString || node.type === "TemplateElement";
}
