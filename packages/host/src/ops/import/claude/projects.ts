import { z } from "zod";

import { list, record, text } from "../reading/json.ts";
import type { ImportedFact, ImportedProject } from "../source.ts";
import { cleanText } from "../transcript/entries.ts";

const project = z.looseObject({
  uuid: z.string().min(1),
  name: z.string().min(1),
  prompt_template: text,
  docs: list,
});
const doc = z.looseObject({ filename: text, content: z.string() });

/** `null`: it is none. */
export function readProject(value: unknown): ImportedProject | null {
  const read = project.safeParse(value).data;
  if (read === undefined || "chat_messages" in read) return null;
  const files = read.docs.flatMap((each) => {
    const found = doc.safeParse(each).data;
    if (found === undefined || found.content === "") return [];
    return [{ name: cleanText(found.filename ?? "document.txt"), text: found.content }];
  });
  const name = cleanText(read.name).trim() || "Claude project";
  const instructions = cleanText(read.prompt_template ?? "");
  return { kind: "project", key: read.uuid, name, text: instructions, persona: null, files };
}

const memory = z.looseObject({
  conversations_memory: text,
  project_memories: record,
  memory_files: list,
});
const memoryFile = z.looseObject({ path: text, content: z.string() });

/** As long as a fact may be. */
const maxFactLength = 2_000;

/** What Claude knew about the person, a paragraph each; what it knew about a project fits there only. */
export function factsIn(
  value: unknown,
  {
    path,
    at,
    projects,
  }: {
    readonly path: string;
    readonly at: number;
    readonly projects: ReadonlyMap<string, string>;
  },
): readonly ImportedFact[] | null {
  const read = memory.safeParse(value).data;
  if (read === undefined) return null;
  const about = { kind: "fact", path } as const;
  const facts: Omit<ImportedFact, "at" | "key">[] = [];
  for (const fact of paragraphs(read.conversations_memory ?? ""))
    facts.push({ ...about, text: fact, about: "person", use: "always" });
  for (const each of read.memory_files) {
    const file = memoryFile.safeParse(each).data;
    for (const fact of paragraphs(file?.content ?? ""))
      facts.push({ ...about, text: fact, about: "rest", use: "when_it_fits" });
  }
  for (const [id, known] of Object.entries(read.project_memories)) {
    if (typeof known !== "string") continue;
    const name = projects.get(id) ?? id;
    for (const fact of paragraphs(known, `In the project ${name}: `))
      facts.push({ ...about, text: fact, about: "rest", use: "when_it_fits" });
  }
  // A millisecond apart: facts are listed by time, and entries have an order.
  return facts.map((fact, index) => ({ ...fact, key: fact.text, at: at + index }));
}

/** A heading belongs to the paragraph that follows it. */
function paragraphs(source: string, prefix = ""): readonly string[] {
  const found: string[] = [];
  let heading = "";
  for (const part of cleanText(source).split(/\n\s*\n/u)) {
    const paragraph = part.trim();
    if (paragraph === "") continue;
    if (/^(?:#{1,6}\s.+|\*\*[^*\n]+\*\*:?)$/u.test(paragraph)) {
      heading = `${paragraph}\n`;
      continue;
    }
    const room = maxFactLength - prefix.length - heading.length;
    for (let from = 0; from < paragraph.length; from += room)
      found.push(`${prefix}${heading}${paragraph.slice(from, from + room)}`.toWellFormed());
  }
  return found;
}
