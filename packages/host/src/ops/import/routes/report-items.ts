import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { ImportItemFilter, ImportItemView } from "@holdfast/protocol";

import { parseReport, type ReportItem } from "../report.ts";

export interface ItemQuery {
  readonly show: ImportItemFilter;
  /** In lower case. */
  readonly words: string;
  readonly after: number;
  readonly limit: number;
}

export interface ItemPage {
  readonly items: readonly ImportItemView[];
  readonly next: number | null;
}

/** A page of a report's items, without the hashes: a report of years may be larger than a browser likes. */
export async function readItems(
  path: string,
  { show, words, after, limit }: ItemQuery,
): Promise<ItemPage> {
  const items: ImportItemView[] = [];
  let place = 0;
  let next: number | null = null;
  await parseReport(createInterface({ input: createReadStream(path, "utf8") }), (item) => {
    place += 1;
    if (place <= after || next !== null) return;
    if (!isShown(item, show) || !hasWords(item, words)) return;
    if (items.length === limit) next = place - 1;
    else {
      const { texts: _hashes, ...view } = item;
      items.push(view);
    }
  });
  return { items, next };
}

const ordinary: ReadonlySet<string> = new Set(["taken", "merged", "known", "extended", "note"]);

function isShown({ outcome, differs = 0, remarks = [] }: ReportItem, show: ImportItemFilter) {
  const outcomes = [outcome, ...remarks.map((remark) => remark.outcome)];
  switch (show) {
    case "all":
      return true;
    case "noteworthy":
      return differs > 0 || outcomes.some((each) => !ordinary.has(each));
    default:
      return outcomes.includes(show);
  }
}

function hasWords({ name, path = "", ids = [], remarks = [] }: ReportItem, words: string): boolean {
  if (words === "") return true;
  const said = remarks.map(({ text, path: place }) => `${text}\n${place}`);
  return [name, path, ...ids, ...said].join("\n").toLowerCase().includes(words);
}
