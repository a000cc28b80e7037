import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { sessionId, taintSources } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty } from "../../util/atomic-file.ts";
import { factId, type NewFact } from "./fact-rows.ts";

/** Where earlier versions stored facts: one file for each session, and a list of those that wait for a yes. */
const factsFolder = "facts";
const waitingFile = "waiting.json";

const factFile = z.looseObject({
  facts: z.array(z.looseObject({ text: z.string(), at: z.number() })),
});
const waitingFacts = z.looseObject({
  facts: z.array(
    z.looseObject({
      text: z.string(),
      session: sessionId,
      at: z.number(),
      after: taintSources,
      provider: z.enum(["facts", "notes"]),
    }),
  ),
  decided: z.array(z.string()),
});

export interface EarlierFacts {
  readonly facts: readonly NewFact[];
  /** Ids of facts that a person has decided on: they must not be asked about again. */
  readonly decided: readonly string[];
  /** The files that all of it came from. */
  readonly files: readonly string[];
}

const fileName = /^(?<session>ses_[a-z0-9]+)(?<kind>\.review|\.approved)?\.json$/u;

/** A file that cannot be read is left where it is. */
export async function readEarlierFacts(folder: string): Promise<EarlierFacts> {
  const facts: NewFact[] = [];
  const files: string[] = [];
  const names = await readdir(join(folder, factsFolder)).catch(() => []);
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    const { session, kind } = fileName.exec(name)?.groups ?? {};
    const saidIn = sessionId.safeParse(session).data;
    const file = join(folder, factsFolder, name);
    const found = saidIn && (await readJson(file, factFile));
    if (saidIn === undefined || found === undefined) continue;
    files.push(file);
    const source = { kind: kind === ".review" ? "review" : "said", sessionId: saidIn } as const;
    for (const { text, at } of found.facts) facts.push({ text, at, use: "when_it_fits", source });
  }
  const file = join(folder, waitingFile);
  const waiting = await readJson(file, waitingFacts);
  if (waiting === undefined) return { facts, decided: [], files };
  files.push(file);
  for (const { text, session, at, after, provider } of waiting.facts) {
    const use = provider === "facts" ? "when_it_fits" : "always";
    facts.push({ text, at, after, use, source: { kind: "said", sessionId: session } });
  }
  const known = new Set(facts.map(({ source, text }) => factId(source.sessionId ?? "", text)));
  return { facts, decided: waiting.decided.filter((id) => !known.has(id)), files };
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readTextOrEmpty(file);
  try {
    return text === "" ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Only after all of it is stored: a fact that is removed later must not be left here. */
export async function removeEarlierFiles(
  folder: string,
  { files }: Pick<EarlierFacts, "files">,
): Promise<void> {
  for (const file of files) await rm(file, { force: true });
  await rmdir(join(folder, factsFolder)).catch(() => undefined);
}
